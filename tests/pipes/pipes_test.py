#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# pipes.c does the same natively on the host's Linux, under QEMU user mode and under myriarm, on each engine.
#   pipes_test.py MYRIARM FOLDER [DEVICE]
# What is native is right. QEMU may differ where QEMU_DIFFERS says so, and myriarm nowhere.
import os
import pathlib
import re
import resource
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
QEMU = ["qemu-aarch64", "-cpu", "cortex-a72"]
DESCRIPTORS = 1024
# Checks, by their text, in which QEMU 7.2 differs from Linux; elsewhere it must agree.
QEMU_DIFFERS = {
    "fds[0]": "has descriptors of its own",
    "fds[1]": "of the same",
    "count": "of the same",
    "sum": "of the same",
    "preadv(fds[0], NULL, 0, 0)": "no buffers are no call",
    "readv(fds[1], NULL, 0)": "of the same",
    "writev(fds[0], NULL, 0)": "of the same",
    "write(fds[1], nowhere, 3)": "looks at the buffer first",
    "runs": "of the same",
}


def run(command, seconds=120):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))

    # A user without privileges, as the process of a lane.
    user = {"user": 1000, "group": 1000, "extra_groups": []} if os.geteuid() == 0 else {}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL, preexec_fn=limit, **user
    )
    return done.stdout.splitlines(), done.returncode, done.stderr


def text_of(line):
    return re.sub(r"^\d+ ", "", line).rsplit(": ", 1)[0]


def differences(who, expected, got, allowed=()):
    wrong = differ = 0
    for i in range(max(len(expected), len(got))):
        right, line = (lines[i] if i < len(lines) else "nothing" for lines in (expected, got))
        if right == line:
            continue
        differ += 1
        if text_of(right) not in allowed:
            wrong += 1
            print(f"{who}: it should be {right}\n  and is {line}")
    return wrong, differ


def main(myriarm, folder, device="cpu"):
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    native, guest = folder / "native", folder / "guest"
    for compiler, output in (("gcc", native), ("aarch64-linux-gnu-gcc", guest)):
        command = [compiler, "-O1", "-w", "-static", str(HERE / "pipes.c"), "-o", str(output)]
        subprocess.run(command, check=True)
    expected, status, problem = run([str(native)])
    if status != 0 or len(expected) < 1000:
        print(f"natively: status {status}, {len(expected)} lines\n{problem}")
        return 1
    wrong = 0
    for engine in ["interpreter", "stepper"] + (["translate"] if device == "cpu" else []):
        ours = [os.path.abspath(myriarm), "run", "--device", device, "--quiet", "--engine", engine]
        got, status, problem = run([*ours, "--ignore-unimplemented", str(guest)], 600)
        if engine == "translate" and "LLVM" in problem:
            print("translate: this build has no translator")
            continue
        more, _ = differences(engine, expected, got)
        wrong += more + (status != 0)
        print(f"{engine}: {len(got)} checks, {more} differ, status {status}\n{problem}")
    try:
        theirs, _, _ = run([*QEMU, str(guest)])
        more, differ = differences("QEMU", expected, theirs, QEMU_DIFFERS)
        print(f"QEMU: {len(theirs)} checks, {differ} differ, {more} of them not as QEMU_DIFFERS says")
    except (subprocess.TimeoutExpired, FileNotFoundError) as problem:
        print(f"QEMU: {problem}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
