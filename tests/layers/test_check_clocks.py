#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The test of tools/check_clocks.py: every way to depend on time is noticed, what only looks like one is not,
# and an exception that is not needed is a mistake.
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_clocks  # noqa: E402

NOTICED = [
    ("a.cpp", "auto end = std::chrono::steady_clock::now();"),
    ("a.cpp", "std::this_thread::sleep_for(1ms);"),
    ("a.cpp", "std::this_thread::sleep_until(end);"),
    ("a.h", "changed.wait_for(lock, 1s);"),
    ("a.h", "changed.wait_until(lock, end, condition);"),
    ("a.h", "mutex.try_lock_for(1s);"),
    ("a.cpp", "usleep(10);"),
    ("a.c", "nanosleep(&pause, NULL);"),
    ("a.c", "clock_gettime(CLOCK_MONOTONIC, &now);"),
    ("a.c", "gettimeofday(&now, NULL);"),
    ("a.cpp", "EXPECT_FALSE(fleet.wait(0.5).has_value());"),
    ("a.py", "import time"),
    ("a.py", "import os, sys, time"),
    ("a.py", "from time import sleep"),
    ("a.py", "    time.sleep(0.1)"),
    ("a.py", "end = time.monotonic() + 60"),
    ("a.py", "begin = time.perf_counter()"),
    ("a.py", "now = datetime.now()"),
    ("a.py", "thread.join(60)"),
    ("a.py", "event.wait(0.01)"),
    ("a.sh", "sleep 1"),
    ("programs/a.c", "sleep(1);"),
]
PASSED = [
    ("a.cpp", "until([&] { return !fleet.is_running(); });"),
    ("a.cpp", "RunOptions options{.timeout = 0.02};"),
    ("a.cpp", "EXPECT_EQ(result.seconds, 0.25);"),
    ("a.cpp", "EXPECT_FALSE(fleet.wait(0).has_value());"),
    ("a.cpp", "caller.call({{kNanosleep, kData}, {kClockGettime, 1}});"),
    ("a.py", "thread.join()"),
    ("a.py", "subprocess.run(command, timeout=600)"),
    ("a.py", "process.wait(timeout=120)"),
    ("a.py", "text = ''.join(words)"),
    ("a.md", "import time"),
    ("programs/src/a.c", "nanosleep(&pause, NULL);"),
]


def mistakes(name, text, exceptions):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "tests" / name
        path.parent.mkdir(parents=True)
        path.write_text(f"first line\n{text}\n")
        return check_clocks.check(pathlib.Path(folder), exceptions)


def main():
    wrong = 0

    def expect(what, condition, found):
        nonlocal wrong
        if not condition:
            wrong += 1
            print(f"{what}: {found}")

    guests = {"tests/programs/src": "guests"}
    for name, text in NOTICED:
        found = [mistake for mistake in mistakes(name, text, guests) if "EXCEPTIONS" not in mistake]
        one = len(found) == 1 and f"{name}:2: " in found[0]
        expect(f"{name} with \"{text}\" must be noticed", one, found)
    for name, text in PASSED:
        found = [mistake for mistake in mistakes(name, text, guests) if "EXCEPTIONS" not in mistake]
        expect(f"{name} with \"{text}\" must pass", found == [], found)
    found = mistakes("a.py", "import time", {"tests/a.py": "a test"})
    expect("a listed file passes", found == [], found)
    found = mistakes("a.py", "import os", {"tests/a.py": "a test"})
    one = len(found) == 1 and "lists tests/a.py" in found[0]
    expect("a listed file without a clock is a mistake", one, found)
    print("every way to depend on time is noticed" if not wrong else f"{wrong} checks failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
