#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# threads.c and stress.c do the same natively on the host's Linux, under QEMU user mode and under myriarm, on
# each engine; and under myriarm each run is the same to the instruction.
#   threads_test.py MYRIARM FOLDER [DEVICE]
# What is native is right. QEMU may differ where QEMU_DIFFERS says so, and myriarm nowhere.
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
from peer import Peer  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
REPEATS = int(os.environ.get("MYRIARM_TEST_REPEATS", "20"))
ENDINGS = 11
# Engines, and in how many lanes. They run the stress again and again, in turn.
ON_THE_CPU = [("interpreter", 1), ("stepper", 1), ("translate", 1)]
# There the host serves the calls of a lane that is alone. The stepper takes minutes for each program:
# tests/engines has threads on it.
ON_A_GPU = [("interpreter", 1), ("interpreter", 5), ("translate", 5)]
QEMU = ["qemu-aarch64", "-cpu", "cortex-a72"]
# Checks, by the beginning of their text, in which QEMU 7.2 differs from Linux; elsewhere it must agree.
# Without robust lists the stress would wait for ever there.
QEMU_DIFFERS = {
    "raw_clone(CLONE_NEW": "refuses flags that it does not know by another error",
    "raw_clone3(": "has no clone3()",
    "syscall(SYS_set_robust_list": "has no robust lists",
    "syscall(SYS_get_robust_list": "of the same",
    "list": "of the same",
    "size": "of the same",
    "futex(awaited": "of the same",
}


def compile_for(compiler, source, output):
    command = [compiler, "-O1", "-w", "-static", "-pthread", str(HERE / source), "-o", str(output)]
    subprocess.run(command, check=True)


def run(command, limit=300):
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    # Natively the signal ends the process itself.
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return done.stdout.splitlines(), status, done.stderr


def may_differ(line):
    text = re.sub(r"^\d+ ", "", line)
    return any(text.startswith(known) for known in QEMU_DIFFERS)


def counted(ours, guest):
    """Output, status and instructions of a run, whose lanes are all the same."""
    lines, status, problem = run([*ours, "--json", "-", *guest])
    lanes = json.loads("\n".join(lines))["lane_results"]
    different = {(lane["stdout"], lane["instructions"]) for lane in lanes}
    if len(different) != 1:
        status, problem = -1, f"its {len(lanes)} lanes are {len(different)} different ones\n{problem}"
    return lanes[0]["stdout"].splitlines(), status, lanes[0]["instructions"], problem


def main(myriarm, folder, device="cpu"):
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for source in ("threads", "stress"):
        compile_for("gcc", f"{source}.c", folder / f"native_{source}")
        compile_for("aarch64-linux-gnu-gcc", f"{source}.c", folder / f"guest_{source}")
    wrong = 0
    linux = {}
    for source, least in (("threads", 400), ("stress", 27)):
        linux[source] = Peer(lambda source=source: run([str(folder / f"native_{source}")]))
        count, status = len(linux[source].lines), linux[source].status
        if status != 0 or count < least:
            print(f"{source} natively: status {status}, {count} lines\n{linux[source].problem}")
            return 1
    native, guest = str(folder / "native_threads"), str(folder / "guest_threads")
    runs_on = ON_THE_CPU if device.startswith("cpu") else ON_A_GPU
    ours_on = [os.path.abspath(myriarm), "run", "--device", device, "--quiet", "--memory", "256M"]
    counts = {}
    for engine, in_lanes in runs_on:
        ours = [*ours_on, "--ignore-unimplemented", "--engine", engine, "--lanes", str(in_lanes)]
        for source in ("threads", "stress"):
            lines, status, count, problem = counted(ours, [str(folder / f"guest_{source}")])
            for right, line in linux[source].differences(lines):
                wrong += 1
                print(f"{source}, {engine}: it should be {right}\n  and is {line}")
            if status != 0:
                wrong += 1
                print(f"{source}, {engine}: status {status}\n{problem}")
            if counts.setdefault(source, count) != count:
                wrong += 1
                print(f"{source}, {engine}: {count} instructions, and {counts[source]} on another engine")
        for how in range(ENDINGS):
            ended = run([native, "die", str(how)])[1]
            status = run([*ours, guest, "die", str(how)])[1]
            if status != ended:
                wrong += 1
                print(f"{engine}: ending {how} has status {status}, natively {ended}")
        right, of_stress = (len(linux[source].lines) for source in ("threads", "stress"))
        print(f"{engine}, {in_lanes} lanes: {right} lines as natively, {of_stress} of the stress", flush=True)
    stress = [str(folder / "guest_stress"), "60"]
    runs = set()
    for i in range(REPEATS):
        engine, in_lanes = runs_on[i % len(runs_on)]
        lines, status, count, _ = counted([*ours_on, "--engine", engine, "--lanes", str(in_lanes)], stress)
        runs.add(("\n".join(lines), status, count))
    if len(runs) != 1:
        wrong += 1
        print(f"{REPEATS} runs of the stress are {len(runs)} different ones")
    for status in {status for _, status, _ in runs} - {0}:
        wrong += 1
        print(f"a run of the stress has status {status}")
    # Many lanes, each of which runs its threads as it would alone.
    _, status, count, problem = counted([*ours_on, "--lanes", "8"], stress)
    if status != 0 or {count} != {count for _, _, count in runs}:
        wrong += 1
        print(f"lanes beside each other: status {status}, {count} instructions in each\n{problem}")
    print(f"{REPEATS} runs of the stress and 8 lanes: {counts['stress']} instructions for all rounds")
    theirs = Peer(lambda: run([*QEMU, guest]))
    more = linux["threads"].differences(theirs, may_differ)
    for right, line in more:
        print(f"QEMU: it should be {right}\n  and is {line}")
    print(f"QEMU: {len(theirs.lines)} lines, {len(more)} differ for another reason than QEMU_DIFFERS says")
    return 1 if wrong or more else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
