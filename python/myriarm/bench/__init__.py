# SPDX-License-Identifier: Apache-2.0
"""`myriarm bench`: repeats the measurements of the earlier systems that myriarm replaces, in every mode.

    python -m myriarm.bench --help

guests.py holds the programs, runs.py measures them, peers.py and pytorch_baseline.py measure the same loops
in other engines, report.py makes the table and the JSON, plot.py draws, __main__.py is the command line.
"""
