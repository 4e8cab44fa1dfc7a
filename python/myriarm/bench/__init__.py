# SPDX-License-Identifier: Apache-2.0
"""`myriarm bench`: the runs of the systems that myriarm grew out of, repeated here in every mode.

    python -m myriarm.bench --help

guests.py holds the programs, runs.py measures them, peers.py and pytorch_baseline.py run other ways of doing
the same, report.py makes the table and the JSON, plot.py the picture, __main__.py the command line.
"""
