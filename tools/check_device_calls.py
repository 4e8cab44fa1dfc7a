#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# No function of the GPU's code calls itself, also not through others: else no compiler knows what stack a
# kernel needs, the driver gives each thread 1 KiB, and a system call ends the run with an illegal access.
#   check_device_calls.py FILE.ptx
# Prints each cycle, and the exit status is then 1.
import pathlib
import re
import sys

FUNCTION = re.compile(r"(?m)^(?=(?:\.visible |\.weak )?\.(?:func|entry)\b)")
NAME = re.compile(r"(\w+)\s*\(")
RESULT = re.compile(r"\.func\s*\([^)]*\)")
CALLED = re.compile(r"(?m)^\s*(?:call(?:\.uni)?\s*(?:\([^)]*\),)?\s*)?(_Z\w+),?\s*$")


def calls_of(ptx):
    calls = {}
    for part in FUNCTION.split(ptx)[1:]:
        body, end = part.find("{"), part.find(";")
        if body < 0 or 0 <= end < body:
            continue  # it is declared only
        name = NAME.search(RESULT.sub(".func ", part[:body]))
        calls[name.group(1)] = set(CALLED.findall(part[body:]))
    return calls


def cycles(calls):
    """Functions that can come back to themselves, in groups that call each other (Tarjan's components)."""
    number, low, stack, found = {}, {}, [], []
    for start in calls:
        work = [(start, None)] if start not in number else []
        while work:
            at, rest = work.pop()
            if rest is None:
                number[at] = low[at] = len(number)
                stack.append(at)
                rest = iter(sorted(calls[at] & calls.keys()))
            for called in rest:
                if called not in number:
                    work += [(at, rest), (called, None)]
                    break
                if called in stack:
                    low[at] = min(low[at], low[called])
            else:
                if low[at] == number[at]:
                    group = stack[stack.index(at) :]
                    del stack[-len(group) :]
                    if len(group) > 1 or at in calls[at]:
                        found.append(group)
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
    return found


def main(path):
    calls = calls_of(pathlib.Path(path).read_text())
    bad = cycles(calls)
    for group in bad:
        print("cycle: " + " ".join(sorted(group)))
    print(f"{len(calls):,} functions of the GPU's code, {len(bad)} cycles")
    return 1 if bad or not calls else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
