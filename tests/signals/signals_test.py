#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# signals.c does the same natively on the host's Linux, under QEMU user mode and under myriarm, on each
# engine; random.c natively and under myriarm.
#   signals_test.py MYRIARM FOLDER [DEVICE]
# What is native is right. QEMU may differ where QEMU_DIFFERS says so, and myriarm nowhere but in ARM, for
# which there is no native Linux here.
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
from peer import Peer  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
SEEDS, STEPS = 60, 300  # of random.c
ENDINGS = 20
# One model: newer ones have SVE, and QEMU 7.2 then takes the vectors of a frame from a record that a handler
# does not know.
QEMU = ["qemu-aarch64", "-cpu", "cortex-a72"]
# Checks, by their text, in which QEMU 7.2 differs from Linux; elsewhere it must agree.
QEMU_DIFFERS = {
    "known.flags == SA_RESTART": "keeps flags that it does not know",
    "known.mask == ~(1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1))": "keeps SIGKILL and SIGSTOP in sa_mask",
    "syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, &information)": "refuses codes that it does not know",
    "last_code": "of the same",
    "value": "of the same",
    "runs": "of the same",
    "second.tv_sec == 0 && second.tv_nsec > 0": "ppoll() stores no time that is left when a signal ends it",
    "is_pending(SIGSEGV)": "a blocked SIGSEGV is taken from the host otherwise",
    "sigaltstack(&stack, NULL)": "knows no SS_AUTODISARM",
    "old.ss_flags": "of the same",
    "change_error": "of the same",
}
# What AArch64 Linux does, by its sources (arch/arm64/kernel/signal.c, asm/sigcontext.h) and its manual pages.
ARM = """seen[i]: 128
seen[i]: 592
seen[i]: 1179680769
seen[i]: 528
seen[i]: 4660
seen[i]: 4660
seen[i]: 6
seen[i]: 4688
seen[i]: 1
seen[i]: 0
seen[10] == 0xd2801168 && seen[11] == 0xd4000001: 1
seen[13] - seen[7]: 16
damaged frame 0: signal 11, code 2
damaged frame 1: signal 11, code 2
damaged frame 2: signal 11, code 2
damaged frame 3: signal 11, code 2
damaged frame 4: signal 11, code 2
damaged frame 5: signal 11, code 2
damaged frame 6: signal 7, code 1
damaged frame 7: signal 11, code 1
exclusive that is not aligned: signal 7, code 1, address + 13
branch to an odd address: signal 7, code 1, address + 2
brk: signal 5, code 1, address + 0
privileged: signal 4, code 1, address + 0
address of the kernel: signal 11, code 1, address + -281474976710640
address with a tag: signal 11, code 1, address + 16""".splitlines()


def compile_for(compiler, source, output):
    command = [compiler, "-O1", "-w", "-static", str(HERE / source), "-o", str(output)]
    subprocess.run(command, check=True)


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    # Natively the signal ends the process itself.
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return done.stdout.splitlines(), status, done.stderr


def several():
    """A pool for several commands at a time: on a GPU each takes seconds to start."""
    return concurrent.futures.ThreadPoolExecutor(os.cpu_count())


def text_of(line):
    return re.sub(r"^\d+ ", "", line).rsplit(": ", 1)[0]


def differences(who, peer, got, may_differ=lambda line: False, first=None):
    different = peer.differences(got, may_differ, first)
    for right, line in different:
        print(f"{who}: it should be {right}\n  and is {line}")
    return len(different)


def of_arm(checks):
    """The lines of ARM, which come after so many checks."""
    lines = ["arm checks"] + [f"{i} {line}" for i, line in enumerate(ARM, checks + 1)]
    return Peer(lambda: (lines, 0, ""))


def endings(start):
    """The status of each way to end."""
    with several() as pool:
        return list(pool.map(lambda how: run([*start, "die", str(how)])[1], range(ENDINGS)))


def main(myriarm, folder, device="cpu"):
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    native, guest = folder / "native", folder / "guest"
    compile_for("gcc", "signals.c", native)
    compile_for("aarch64-linux-gnu-gcc", "signals.c", guest)
    linux = Peer(lambda: run([str(native)]))
    checks = len(linux.lines)
    if linux.status != 0 or checks < 300:
        print(f"natively: status {linux.status}, {checks} lines\n{linux.problem}")
        return 1
    wrong = 0
    engines = ["interpreter", "stepper"] + (["translate"] if device == "cpu" else [])
    for engine in engines:
        ours = [os.path.abspath(myriarm), "run", "--device", device, "--quiet", "--engine", engine]
        ours += ["--ignore-unimplemented", str(guest)]
        got, status, problem = run(ours)
        arm = got.index("arm checks") if "arm checks" in got else len(got)
        wrong += differences(engine, linux, got[:arm])
        wrong += differences(engine, of_arm(checks), got[arm:])
        if status != 0:
            wrong += 1
            print(f"{engine}: status {status}\n{problem}")
        for how, (right, status) in enumerate(zip(endings([str(native)]), endings(ours))):
            if status != right:
                wrong += 1
                print(f"{engine}: ending {how} has status {status}, natively {right}")
        print(f"{engine}: {arm} checks as natively, {len(got) - arm} of AArch64, {ENDINGS} endings")
    native_random, guest_random = folder / "native_random", folder / "guest_random"
    compile_for("gcc", "random.c", native_random)
    compile_for("aarch64-linux-gnu-gcc", "random.c", guest_random)
    ours = [os.path.abspath(myriarm), "run", "--device", device, "--quiet", str(guest_random)]

    def random_sequence(seed):
        words = [str(seed), str(STEPS)]
        return Peer(lambda: run([str(native_random), *words])), *run([*ours, *words])

    with several() as pool:
        for seed, (right, got, status, problem) in enumerate(pool.map(random_sequence, range(SEEDS))):
            more = differences(f"random {seed} {STEPS}", right, got)
            wrong += more + (status != right.status)
            if status != right.status:
                print(f"random {seed} {STEPS}: status {status}, natively {right.status}\n{problem}")
    print(f"{SEEDS} random sequences of {STEPS} steps")
    theirs = Peer(lambda: run([*QEMU, str(guest)]))
    more = differences("QEMU", linux, theirs, lambda line: text_of(line) in QEMU_DIFFERS, checks)
    print(f"QEMU: {checks} checks, {more} differ for another reason than QEMU_DIFFERS says")
    return 1 if wrong or more else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
