#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Runs the lines of documentation pages that begin with build/bin/myriarm, unchanged:
#   commands.py SOURCE MYRIARM PAGE...
# in a folder that has the files which the lines name. A line must end with status 0, or with the one in
# STATUS.
import pathlib
import re
import subprocess
import sys
import tempfile

PREFIX = "build/bin/myriarm"
# Expected exit statuses, by what the line contains: the limit was reached; a fault killed one of several
# lanes.
STATUS = {"--max-instructions": 124, "fault some": 139, "fault null; echo $?": 0}


def commands(page):
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        found = re.match(rf" *({PREFIX} .*)$", line)
        if found:
            yield number, found[1]


def main(arguments):
    source, program, *pages = arguments
    source = pathlib.Path(source).resolve()
    unused = set(STATUS)
    failed = count = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / PREFIX).parent.mkdir(parents=True)
        (folder / PREFIX).symlink_to(pathlib.Path(program).resolve())
        for entry in ("examples", "README.md"):
            (folder / entry).symlink_to(source / entry)
        for page in pages:
            for number, line in commands(source / page):
                expected = 0
                for text, status in STATUS.items():
                    if text in line:
                        expected = status
                        unused.discard(text)
                ran = subprocess.run(
                    ["sh", "-c", line], cwd=folder, capture_output=True, text=True, check=False
                )
                count += 1
                if ran.returncode != expected:
                    print(f"{page}:{number}: {line}")
                    print(f"  ended with {ran.returncode}, not {expected}\n{ran.stderr}")
                    failed += 1
    for text in unused:
        print(f'commands.py: no line holds "{text}"; take it out of STATUS')
    print(f"{count} commands, {failed} failed")
    return 1 if failed or unused or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
