#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Makes docs/syscalls.md from the table of system calls.
#   make_syscalls_page.py          writes the page
#   make_syscalls_page.py --check  exit status 1, and a sentence, if the page is not as the table says
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE, PAGE = ROOT / "src/kernel/syscalls.inc", ROOT / "docs/syscalls.md"
ROW = re.compile(r"^SYSCALL\((\d+), (\w+), (\w+), (\w+), ", re.MULTILINE)

HEAD = """# System calls

Made from [`syscalls.inc`](../src/kernel/syscalls.inc) by `tools/make_syscalls_page.py`. {served} of the
{all} calls that the table of Linux on AArch64 names are served, all of them where the lane runs: on the CPU
in the lane's own thread, on a GPU within the kernel ([how](design/system-calls.md)). What each of them does
and lacks is in [limits.md](limits.md#linux).

| number | call | |
|---|---|---|
"""
MISSING = """
These return ENOSYS, as from a kernel that lacks them, and the run reports each by its name, with its
arguments, lane and address:

"""


def page() -> str:
    rows = [(int(number), *rest) for number, *rest in ROW.findall(TABLE.read_text())]
    served = [row for row in rows if row[2] != "host"]
    text = HEAD.format(served=len(served), all=len(rows))
    for number, name, place, handler in served:
        note = "with a [root](roots.md)" if place == "tree" else ""
        if handler == "not_offered":
            note = "ENOSYS without a report: C libraries do without it"
        text += f"| {number} | `{name}` | {note} |\n".replace("|  |", "| |")
    text += MISSING
    line = ""
    for _, name, place, _ in rows:
        if place != "host":
            continue
        word = f"`{name}`, "
        if len(line) + len(word) > 118:
            text += line.rstrip() + "\n"
            line = ""
        line += word
    return text + line.rstrip(", ") + ".\n"


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        if PAGE.exists() and PAGE.read_text() == page():
            return 0
        print("docs/syscalls.md is not as src/kernel/syscalls.inc says; run tools/make_syscalls_page.py")
        return 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
