# SPDX-License-Identifier: Apache-2.0
"""The script `myriarm`, and `python -m myriarm`: `bench` runs in Python; for every other command this starts
the C++ command line that the package contains."""

from __future__ import annotations

import os
import pathlib
import sys
from typing import List, NoReturn, Union

COMMAND_LINE = pathlib.Path(__file__).resolve().parent / "bin" / "myriarm"


def main(arguments: Union[List[str], None] = None) -> Union[int, NoReturn]:
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["bench"]:
        try:
            from .bench.__main__ import main as bench
        except ImportError as error:
            print(f"myriarm bench: {error}; install it with: pip install myriarm[bench]", file=sys.stderr)
            return 2
        return int(bench(given[1:]))
    if not os.access(COMMAND_LINE, os.X_OK):
        print(
            "myriarm: this package was built without the command line, because libfmt-dev,"
            " nlohmann-json3-dev or libcli11-dev was missing; install all three, then install myriarm again.",
            file=sys.stderr,
        )
        return 2
    sys.stdout.flush()
    os.execv(COMMAND_LINE, ["myriarm", *given])


if __name__ == "__main__":
    sys.exit(main())
