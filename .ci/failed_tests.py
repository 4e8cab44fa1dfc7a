#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print the tests that failed in ctest's last run, each with the end of what it printed.

`failed_tests.py BUILD`: BUILD is a folder of CMake's in which ctest has run. Whoever is given only the
last lines of a long run finds there what failed. Nothing is printed if ctest kept no list of failed tests.
"""

import pathlib
import sys

LINES = 40  # of each test, from its end


def outputs(log: str) -> dict[str, list[str]]:
    """What each test printed, by its name, from ctest's LastTest.log."""
    found: dict[str, list[str]] = {}
    name = ""
    inside = False
    for line in log.splitlines():
        if not inside and " Test: " in line:
            name = line.split(" Test: ", 1)[1]
        elif not inside and name and line == "Output:":
            found[name] = []
            inside = True
        elif line == "<end of output>":
            inside = False
        elif inside:
            found[name].append(line)
    return {name: lines[1:] for name, lines in found.items()}  # the first is a rule


def main() -> None:
    kept = pathlib.Path(sys.argv[1]) / "Testing" / "Temporary"
    try:
        failed = (kept / "LastTestsFailed.log").read_text().splitlines()
        printed = outputs((kept / "LastTest.log").read_text(errors="replace"))
    except OSError:
        return
    for line in failed:
        name = line.split(":", 1)[-1]
        lines = printed.get(name, [])
        shown = lines[-LINES:]
        print(f"ci: {name} failed; the last {len(shown)} of the {len(lines)} lines that it printed:")
        for each in shown:
            print("    " + each)


main()
