#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Holds the tests to a rule of tests/README.md: no test reads a clock, sleeps, or waits for a span of time. It
# looks for the names that C, C++, Python and the shell have for that, also in programs that a test keeps in a
# string.
#   check_clocks.py [ROOT]     prints one line a mistake; status 1 if there is any
import pathlib
import re
import sys

SUFFIXES = {".c", ".cpp", ".cu", ".h", ".inc", ".py", ".sh"}
CLOCKS = re.compile(
    r"""\b(?:
      (?:steady|system|high_resolution|utc|file)_clock\s*::\s*now
    | sleep(?:_for|_until)? \s*\( | u?sleep\s*\( | nanosleep\s*\( | clock_nanosleep\s*\(
    | clock_gettime\s*\( | gettimeofday\s*\( | clock\s*\(\s*\) | alarm\s*\(
    | wait_(?:for|until)\s*\( | try_(?:lock|acquire)_(?:for|until)\s*\(
    | time\.\w+\s*\( | import\s[\w,\s]*?\btime\b | from\s+time\s+import
    | datetime\.(?:now|today|utcnow)\s*\( | (?:wait|join|get|acquire)\s*\(\s*(?!0\s*\))[\d.]+\s*\)
    )|^\s*sleep\s+[\d$]""",
    re.VERBOSE | re.MULTILINE,
)
# Files and folders that may, each with its reason. An entry that is not needed is a mistake.
EXCEPTIONS = {
    "tests/programs/src": "guests: their clock counts instructions",
    "tests/processes": "guests whose children take turns; what they expect holds however long they take",
    "tests/signals": "guests whose subject are timers; what they expect holds however long they take",
    "tests/threads": "guests whose subject are waits; what they expect holds however long they take",
    "tests/pipes": "the same",
    "tests/suite": "guests whose subjects are clocks and waits; what they expect holds at any speed",
    "tests/isolation/floods.h": "a guest: its clock counts instructions",
    "tests/isolation/guest.c": "the same",
    "tests/isolation/wild.h": "the same",
    "tests/emulated_gpu/threads.cpp": "the clock of the GPU, which kernels read",
    "tests/emulated_gpu/include/emulated_gpu/device_language.h": "the same",
    "tests/roots/debian_commands.py": "programs that are compared; they wait for nothing of the host",
    "tests/roots/scripts": "the same",
    "tests/differential/qemu_engine.cpp": "ends a QEMU that hangs",
    "tests/fleet/fork_test.cpp": "ends a child that hangs",
    "tests/fleet/fake_clock.cpp": "the clock that a test moves",
    "tests/fleet/thread_test.cpp": "limits of wait() by the clock that a test moves",
    "tests/engines/async_test.cpp": "wait() with a limit, of a run that cannot end before it",
    "tests/python/test_async.py": "wait() with a limit, of a run that cannot end before it",
    "tests/python/test_fork.py": "ends a child that hangs",
    "tests/layers/test_check_clocks.py": "the test of this script",
}


def find(text):
    """Line numbers and what is there, for each use of a clock."""
    matches = CLOCKS.finditer(text)
    return [(text.count("\n", 0, match.start()) + 1, match.group(0).strip()) for match in matches]


def check(root, exceptions):
    mistakes, used = [], set()
    for path in sorted((root / "tests").rglob("*")):
        if path.suffix not in SUFFIXES or "__pycache__" in path.parts:
            continue
        name = path.relative_to(root).as_posix()
        covering = [entry for entry in exceptions if name == entry or name.startswith(entry + "/")]
        for line, found in find(path.read_text(errors="replace")):
            used.update(covering)
            if not covering:
                mistakes.append(f"{name}:{line}: \"{found}\" depends on time; wait for an event instead, as"
                                " tests/README.md says.")
    for entry in sorted(set(exceptions) - used):
        mistakes.append(f"tools/check_clocks.py:1: EXCEPTIONS lists {entry}, which uses no clock.")
    return mistakes


def main():
    default = pathlib.Path(__file__).parents[1]
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else default).resolve()
    if not (root / "tests").is_dir():
        print(f"check_clocks.py: {root} has no tests/; give the root of the repository.", file=sys.stderr)
        return 2
    mistakes = check(root, EXCEPTIONS)
    for mistake in mistakes:
        print(mistake)
    summary = f"{len(mistakes)} mistakes" if mistakes else "no test looks at a clock"
    print(f"check_clocks.py: {summary}")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
