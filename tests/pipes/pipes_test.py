#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# pipes.c does the same natively on the host's Linux, under QEMU user mode and under myriarm, on each engine.
#   pipes_test.py MYRIARM FOLDER [DEVICE]
# Then as a queue of inputs over fewer lanes, which begin where the program first calls one of its functions:
# what lies in pipes, and timers that count, are part of what is frozen, forked and restored.
# sharing.c does so too, on each engine: there threads and processes share what pipes.c has alone.
# What is native is right. QEMU may differ where QEMU_DIFFERS says so, and myriarm nowhere.
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
from peer import Peer  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
QEMU = ["qemu-aarch64", "-cpu", "cortex-a72"]
DESCRIPTORS = 1024
INPUTS = 3
FORKED_AT = ["capacity", "events_of", "take", "nap", "overrun", "pairs_of", "modify"]
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
    "take(fd)": "looks at the buffer before it reads a counter",
    "syscall(SYS_signalfd4, -1, &set, 4, 0)": "takes sets of any size",
    "sigismember(&pending, SIGUSR1)": "takes no signal for which there is no place",
    "syscall(441, set, some, 4, &limit, NULL, 0)": "has no epoll_pwait2",
    "recvmmsg(fds[1], several, 1, MSG_DONTWAIT, &wrong)": "does not look at the time before it receives",
    "recvmmsg(fds[1], several, 1, MSG_DONTWAIT, nowhere)": "of the same",
    "last.si_value.sival_int == timer": "has ids of its own",
    "last.si_timerid == timer": "of the same",
    "last.si_overrun >= 10": "takes a signal from the host when its thread runs, and the timer starts anew",
    "made": "has 32 timers",
    "socketpair(AF_UNIX, 99, 0, fds)": "masks the type",
    "recv(fds[0], block, 3, MSG_DONTWAIT)": "leaves a message for which there is no place",
    "prctl(PR_SET_CHILD_SUBREAPER, 1)": "has few options of prctl",
    "prctl(PR_GET_CHILD_SUBREAPER, &value)": "of the same",
    "value": "of the same",
    "prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)": "of the same",
    "prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0)": "of the same",
}


def run(command, seconds=120):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))

    # A user without privileges, as the process of a lane.
    more = {"user": 1000, "group": 1000, "extra_groups": []} if os.geteuid() == 0 else {}
    more |= {"stdin": subprocess.DEVNULL, "preexec_fn": limit, "timeout": seconds}
    done = subprocess.run(command, capture_output=True, text=True, **more)
    return done.stdout.splitlines(), done.returncode, done.stderr


def text_of(line):
    return re.sub(r"^\d+ ", "", line).rsplit(": ", 1)[0]


def differences(who, native, got, may_differ=lambda line: False):
    different = native.differences(got, may_differ)
    for right, line in different:
        print(f"{who}: it should be {right}\n  and is {line}")
    return len(different)


def queue(myriarm, folder, device, guest, function):
    """The output of each input of a queue whose lanes begin at a function."""
    inputs, outputs = folder / "inputs", folder / "outputs"
    shutil.rmtree(outputs, ignore_errors=True)
    inputs.mkdir(exist_ok=True)
    for i in range(INPUTS):
        (inputs / str(i)).write_bytes(b"")
    command = [os.path.abspath(myriarm), "run", "--device", device, "--quiet", "--ignore-unimplemented"]
    command += ["--lanes", "2", "--inputs", str(inputs), "--fork-after", function]
    command += ["--output-dir", str(outputs), str(guest)]
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=600, check=False)
    found = [file for file in outputs.rglob("*") if file.is_file() and file.stat().st_size > 20000]
    return {str(file): file.read_text().splitlines() for file in found}


def compile_both(folder, source):
    """The program for the host and for the guest."""
    outputs = [folder / f"{source}.{who}" for who in ("native", "guest")]
    for compiler, output in zip(("gcc", "aarch64-linux-gnu-gcc"), outputs):
        options = ["-O1", "-fno-inline", "-w", "-static", "-pthread"]
        command = [compiler, *options, str(HERE / source), "-o", str(output)]
        subprocess.run(command, check=True)
    return outputs


def share(myriarm, folder):
    """How many results of threads and processes that share descriptors are wrong."""
    native, guest = compile_both(folder, "sharing.c")
    natively = Peer(lambda: run([str(native)]))
    wrong = int(natively.status != 0 or len(natively.lines) < 100)
    for engine in ("interpreter", "stepper", "translate"):
        ours = [os.path.abspath(myriarm), "run", "--quiet", "--ignore-unimplemented", "--engine", engine]
        got, status, problem = run([*ours, str(guest)], 600)
        if engine == "translate" and "LLVM" in problem:
            continue
        more = differences(f"sharing.c, {engine}", natively, got)
        wrong += more + (status != 0)
        print(f"sharing.c, {engine}: {len(got)} results, {more} differ, status {status}\n{problem}")
    return wrong


def main(myriarm, folder, device="cpu"):
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    native, guest = compile_both(folder, "pipes.c")
    natively = Peer(lambda: run([str(native)]))
    if natively.status != 0 or len(natively.lines) < 1000:
        print(f"natively: status {natively.status}, {len(natively.lines)} lines\n{natively.problem}")
        return 1
    wrong = share(myriarm, folder) if device == "cpu" else 0
    for engine in ["interpreter", "stepper"] + (["translate"] if device == "cpu" else []):
        ours = [os.path.abspath(myriarm), "run", "--device", device, "--quiet", "--engine", engine]
        got, status, problem = run([*ours, "--ignore-unimplemented", str(guest)], 600)
        if engine == "translate" and "LLVM" in problem:
            print("translate: this build has no translator")
            continue
        more = differences(engine, natively, got)
        wrong += more + (status != 0)
        print(f"{engine}: {len(got)} checks, {more} differ, status {status}\n{problem}")
    for function in FORKED_AT:
        outputs = queue(myriarm, folder, device, guest, function)
        begin = f"from the first call of {function}"
        bad = sum(differences(f"{name}, {begin}", natively, lines) for name, lines in outputs.items())
        wrong += bad + (len(outputs) != INPUTS)
        print(f"{begin}: {len(outputs)} inputs, {bad} lines differ")
    try:
        theirs = Peer(lambda: run([*QEMU, str(guest)]))
        more = differences("QEMU", natively, theirs, lambda line: text_of(line) in QEMU_DIFFERS)
        print(f"QEMU: {len(theirs.lines)} checks, {more} differ for another reason than QEMU_DIFFERS says")
        wrong += more
    except (subprocess.TimeoutExpired, FileNotFoundError) as problem:
        print(f"QEMU: {problem}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
