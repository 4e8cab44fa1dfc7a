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


def run_all(commands):
    """What run() gives for each, several at a time: on a GPU each takes seconds to start."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(run, commands))


def without_number(line):
    return re.sub(r"^\d+ ", "", line)


def main(myriarm, folder, device="cpu"):
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    native, guest = folder / "native", folder / "guest"
    compile_for("gcc", "signals.c", native)
    compile_for("aarch64-linux-gnu-gcc", "signals.c", guest)
    expected, status, problem = run([str(native)])
    if status != 0 or len(expected) < 300:
        print(f"natively: status {status}, {len(expected)} lines\n{problem}")
        return 1
    wrong = 0
    engines = ["interpreter", "stepper"] + (["translate"] if device == "cpu" else [])
    for engine in engines:
        ours = [os.path.abspath(myriarm), "run", "--device", device, "--quiet", "--engine", engine]
        ours += ["--ignore-unimplemented", str(guest)]
        got, status, problem = run(ours)
        arm = got.index("arm checks") if "arm checks" in got else len(got)
        wanted = expected + ["arm checks"] + [f"{i} {line}" for i, line in enumerate(ARM, len(expected) + 1)]
        for i in range(max(len(wanted), len(got))):
            right, line = (lines[i] if i < len(lines) else "nothing" for lines in (wanted, got))
            if right != line:
                wrong += 1
                print(f"{engine}: it should be {right}\n  and is {line}")
        if status != 0:
            wrong += 1
            print(f"{engine}: status {status}\n{problem}")
        ways = [["die", str(how)] for how in range(ENDINGS)]
        statuses = run_all([[*start, *way] for way in ways for start in ([str(native)], ours)])
        for how, (_, ended, _), (_, status, _) in zip(range(ENDINGS), statuses[::2], statuses[1::2]):
            if status != ended:
                wrong += 1
                print(f"{engine}: ending {how} has status {status}, natively {ended}")
        print(f"{engine}: {arm} checks as natively, {len(got) - arm} of AArch64, {ENDINGS} endings")
    native_random, guest_random = folder / "native_random", folder / "guest_random"
    compile_for("gcc", "random.c", native_random)
    compile_for("aarch64-linux-gnu-gcc", "random.c", guest_random)
    ours = [os.path.abspath(myriarm), "run", "--device", device, "--quiet", str(guest_random)]
    sequences = [[str(seed), str(STEPS)] for seed in range(SEEDS)]
    both = ([str(native_random)], ours)
    results = run_all([[*start, *sequence] for sequence in sequences for start in both])
    for seed, right, found in zip(range(SEEDS), results[::2], results[1::2]):
        if right[:2] != found[:2]:
            wrong += 1
            pairs = enumerate(zip(right[0] + ["nothing"], found[0] + ["nothing"]))
            at, (line, other) = next(((i, pair) for i, pair in pairs if pair[0] != pair[1]), (0, ("", "")))
            print(f"random {seed} {STEPS}, line {at}: it should be {line}\n  and is {other}")
    print(f"{SEEDS} random sequences of {STEPS} steps")
    theirs, _, _ = run([*QEMU, str(guest)])
    theirs = theirs[: theirs.index("arm checks")] if "arm checks" in theirs else theirs
    differ = 0
    for right, line in zip(expected, theirs):
        if right == line:
            continue
        differ += 1
        if without_number(right).rsplit(": ", 1)[0] not in QEMU_DIFFERS:
            wrong += 1
            print(f"QEMU: it should be {right}\n  and is {line}")
    print(f"QEMU: {len(theirs)} checks, {differ} differ as QEMU_DIFFERS says")
    return 1 if wrong or len(theirs) < len(expected) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
