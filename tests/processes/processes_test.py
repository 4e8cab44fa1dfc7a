#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# processes.c does the same natively on the host's Linux and under myriarm, on each engine, in each of several
# runs; hostile.c is survived.
#   processes_test.py MYRIARM DIVIDED FOLDER
# On the device that MYRIARM_TEST_DEVICE names (default: the CPU).
# QEMU user mode gives programs that its guests execute to the host's kernel, and a vfork() of its own is a
# fork(): it is a second opinion for the checks before these alone.
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
from peer import Peer  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
QEMU = ["qemu-aarch64", "-cpu", "cortex-a72"]
QEMU_CHECKS = 123
QEMU_DIFFERS = {
    "waitpid(child, &status, 0): ECHILD": "of SA_NOCLDWAIT; keeps the child as a zombie",
    "waitpid(-1, &status, 0) > 0: 1": "knows no PR_SET_CHILD_SUBREAPER",
    "WEXITSTATUS(status): 18": "of the same",
    "WEXITSTATUS(status): 20": "of the same",
}
REPEATS, LANES = int(os.environ.get("MYRIARM_TEST_REPEATS", "20")), 1000
MAPPING_CHECKS = 210
FUZZED, FILES = 10, 200
PARTING = 40
DEVICE = os.environ.get("MYRIARM_TEST_DEVICE", "cpu")
ON_GPU = not DEVICE.startswith("cpu")
# Engines, and in how many lanes. On a GPU the host serves the calls of a lane that is alone.
RUNS = [("interpreter", 1), ("stepper", 1), ("translate", 1)]
if ON_GPU:
    RUNS = [("interpreter", 1), ("interpreter", 5), ("stepper", 3), ("translate", 5)]
    REPEATS, LANES, FUZZED = 1, 200, 2
WAYS = 3 if ON_GPU else min(4, REPEATS)  # to divide a run
FOLDER = "/tmp/processes.folder"


def compile_for(compiler, source, output):
    command = [compiler, "-O1", "-w", "-static", "-pthread", str(HERE / source), "-o", str(output)]
    subprocess.run(command, check=True)


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env={})
    return done.stdout.splitlines(), done.returncode, done.stderr


def natively(command):
    subprocess.run(["rm", "-rf", FOLDER], check=True)
    return run(command)


def differences(who, peer, got, may_differ=lambda line: False, first=None):
    different = peer.differences(got, may_differ, first)
    for right, line in different[:20]:
        print(f"{who}: it should be {right}\n  and is {line}")
    return len(different)


def may_differ(line):
    return re.sub(r"^\d+ ", "", line) in QEMU_DIFFERS


def main(myriarm, divided, folder):
    folder = pathlib.Path(folder).resolve()
    root = folder / "root"
    native, guest = folder / "processes", root / "bin" / "processes"
    for made in (folder, root / "bin", root / "tmp"):
        made.mkdir(parents=True, exist_ok=True)
    compile_for("gcc", "processes.c", native)
    compile_for("aarch64-linux-gnu-gcc", "processes.c", guest)
    linux = Peer(lambda: natively([str(native), str(native)]))
    if linux.status != 0 or len(linux.lines) < 150:
        print(f"natively: status {linux.status}, {len(linux.lines)} lines\n{linux.problem}")
        return 1
    wrong = 0
    ours = [os.path.abspath(myriarm), "run", "--quiet", "--ignore-unimplemented", "--root", str(root)]
    ours += ["--device", DEVICE]
    program = ["/bin/processes", "/bin/processes"]
    for engine, lanes in RUNS:
        got, status, problem = run([*ours, "--engine", engine, "--lanes", str(lanes), *program])
        if lanes != 1 and got[:1] == [f"== lanes 0-{lanes - 1}: exited with 0"]:
            del got[0]
        wrong += differences(engine, linux, got)
        if status != 0:
            wrong += 1
            print(f"{engine}: status {status}\n{problem}")
        print(f"{engine}, {lanes} lanes: {len(got)} lines")
    for repeat in range(REPEATS):
        got = run([*ours, *program])[0]
        wrong += differences(f"repeat {repeat}", linux, got)
    compile_for("aarch64-linux-gnu-gcc", "hostile.c", root / "bin" / "hostile")
    for arguments, wanted in [
        (["--lanes", str(LANES), "/bin/hostile", "chain", "5"], 5),
        (["/bin/hostile", "chain", "100"], 63),  # EAGAIN is the last one's
        (["--lanes", str(LANES), "/bin/hostile", "locks"], 127),
        (["--max-instructions", "1M" if ON_GPU else "5M", "--lanes", "20", "/bin/hostile", "bomb"], 124),
        (["--pool", "2M" if ON_GPU else "600K", *program], 137),
    ]:
        status, problem = run([*ours, *arguments])[1:]
        if status != wanted:
            wrong += 1
            print(f"{arguments}: status {status}, not {wanted}\n{problem}")
    for seed in range(FUZZED):
        text, status, problem = run([*ours, "/bin/hostile", "files", str(seed), str(FILES)])
        if status != 0 or len(text) != 1:
            wrong += 1
            print(f"files {seed}: status {status}\n{problem}")
    print(f"{REPEATS} repeats, {LANES} lanes, {FUZZED * FILES} hostile files")
    divide = [os.path.abspath(divided), DEVICE, str(WAYS), str(root)]
    got, status, problem = run([*divide, *program])
    wrong += differences("divided", linux, got) + (status != 0)
    if status != 0:
        print(f"divided: status {status}\n{problem}")
    # Files whose pages are the guest's too: natively they are a test of tests/roots.
    compile_for("aarch64-linux-gnu-gcc", "../roots/mappings.c", root / "bin" / "mappings")
    got, status, problem = run([*divide, "/bin/mappings", "/tmp"])
    if status != 0 or len(got) < MAPPING_CHECKS:
        wrong += 1
        print(f"mappings, divided: {len(got)} lines, status {status}\n{problem}")
    # Lanes that have pages of one file in different ways.
    compile_for("gcc", "parting.c", folder / "parting")
    compile_for("aarch64-linux-gnu-gcc", "parting.c", root / "bin" / "parting")
    alone = Peer(lambda: natively([str(folder / "parting"), str(folder / "parting")]))
    wrong += alone.status != 0
    for way in ([*ours, "--lanes", str(PARTING)], divide):
        got, status, problem = run([*way, "/bin/parting", "/bin/parting"])
        written = [line for line in got if not line.startswith("==")]
        wrong += differences("parting", alone, written) + (status != 0)
        if status != 0:
            print(f"parting: status {status}\n{problem}")
    print(f"parting: {PARTING} lanes, {len(alone.lines)} lines")
    if ON_GPU:
        return 1 if wrong else 0
    theirs = Peer(lambda: natively([*QEMU, str(guest), str(native)]))
    more = differences("QEMU", linux, theirs, may_differ, QEMU_CHECKS)
    wrong += more
    print(f"QEMU: {QEMU_CHECKS} checks, {more} differ for another reason than QEMU_DIFFERS says")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
