# SPDX-License-Identifier: Apache-2.0
# System calls as `qemu-aarch64 -strace` and `myriarm run --strace` print them, and where the two must agree.
import re

CALL = re.compile(r"(?:\d+ )?(\w+)\(")  # QEMU prints the process's number in front
RESULT = re.compile(r"\) = (-?\w+|\?)(?: errno=(\d+)| (\w+) \()?")
# Their results are addresses, identities, or descriptors, of which QEMU has one more, its log: only success
# and failure are compared.
SUCCESS_ALONE = set(
    "dup fcntl openat brk mmap mremap set_tid_address getpid gettid getppid getpgid getuid geteuid getgid"
    " getegid readlinkat futex getcwd umask sched_getaffinity".split()
)
# QEMU 7.2 answers the first with ENOSYS, and prints the second, which C libraries only try, without its name.
LEFT_OUT = {"set_robust_list", "rseq"}


def calls_in(text, error_number):
    """The calls of a trace: (name, result); an error is ("error", number), the end of the process None."""
    calls = []
    for line in text.splitlines():
        call = CALL.match(line)
        if not call or call[1] in LEFT_OUT or call[1].startswith("syscall_"):
            continue
        name = call[1]
        results = list(RESULT.finditer(line))
        result, number, error = results[-1].groups() if results else (None, None, None)
        if name in ("exit", "exit_group"):
            calls.append((name, None))
        elif number or error:
            calls.append((name, ("error", int(number) if number else error_number(error))))
        elif name in SUCCESS_ALONE:
            calls.append((name, "success"))
        else:
            calls.append((name, int(result or "0", 0)))
    return calls


def first_difference(expected, found):
    """What differs, as text; None if nothing does."""
    for number, (one, other) in enumerate(zip(expected, found)):
        if one != other:
            return f"call {number} is {other}, and under QEMU {one}"
    if len(expected) != len(found):
        return f"there are {len(found)} calls, and under QEMU {len(expected)}"
    return None
