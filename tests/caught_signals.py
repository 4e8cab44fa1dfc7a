# SPDX-License-Identifier: Apache-2.0
"""Which signals a process handles by now: tests that interrupt the command line wait for its handlers."""

import pathlib
import signal


def catches(process, *numbers):
    """Whether a process, by its id, has a handler for each of these signals."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    caught = int(next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:")), 16)
    return all(caught >> (number - 1) & 1 for number in numbers)


def is_interruptible(process):
    """Whether a command line that a test started handles SIGINT by now.

    At the end of execve() a process has the handlers of the program before for a moment, here Python's for
    SIGINT, although the files that close then are closed, so that Popen() has returned: about once in 1,500
    times on a loaded machine. SIGTERM, which myriarm handles before SIGINT and Python does not, tells the two
    apart.
    """
    return catches(process, signal.SIGINT, signal.SIGTERM)
