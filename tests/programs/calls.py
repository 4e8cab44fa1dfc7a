# SPDX-License-Identifier: Apache-2.0
# System calls as `qemu-aarch64 -strace` and `myriarm run --strace` print them, and where the two must agree:
# names, arguments and results. Names of constants are compared as the numbers that Linux's headers give them;
# addresses, descriptors and the process's number, which differ, by where the process got them from.
import dataclasses
import errno
import functools
import itertools
import re
import struct
import subprocess
import typing

HEADERS = (
    "asm/fcntl.h asm/ioctls.h asm/mman.h asm/resource.h asm/signal.h asm/unistd.h linux/fcntl.h linux/fs.h"
    " linux/futex.h linux/mman.h linux/prctl.h linux/random.h linux/resource.h linux/time.h"
).split()
LINE = re.compile(r"(?:\d+ )?(?:(\w+)\(|Unknown syscall (\d+))")  # QEMU prints the process's number in front
RESULT = re.compile(r" = (-?\w+|\?)(?: errno=(\d+)| (E\w+) \(| \(error (\d+)\))?")
FIRST_ADDRESS = 65536  # Linux maps nothing below: a smaller number is the program's own
REGISTERS = 6  # QEMU prints all of a call for which it has no format
KNOWN_QEMU = 7  # the major version whose differences are listed below

Arguments = typing.Optional[typing.List[str]]


@dataclasses.dataclass
class Call:
    name: str
    arguments: Arguments  # as printed; None: not printed
    result: typing.Union[str, int, None]  # as printed, an error as -number; None: not printed


@dataclasses.dataclass(frozen=True)
class Difference:
    """What QEMU prints otherwise. `part`: the number of an argument, or "result". `program`: one whose calls
    have it. `allowed`: whether QEMU's text and ours differ only in this."""

    call: str
    part: typing.Union[int, str]
    program: str
    reason: str
    allowed: typing.Callable[[typing.Any, typing.Any], bool]


@functools.lru_cache(maxsize=None)
def constants():
    """The numbers of Linux's constants by name, from the headers for AArch64."""
    includes = "".join(f"#include <{header}>\n" for header in HEADERS)
    command = ["aarch64-linux-gnu-gcc", "-E", "-dM", "-x", "c", "-"]
    made = subprocess.run(command, input=includes, capture_output=True, text=True, check=True)
    definitions = re.findall(r"#define (\w+) (-?\w+)$", made.stdout, re.MULTILINE)
    return {name: number(text) for name, text in definitions if number(text) is not None}


def number(text):
    """The value of a number in C; None if it is none."""
    if not re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)", text):
        return None
    octal = re.fullmatch(r"(-?)0+(\d+)", text)
    return int(octal[1] + octal[2], 8) if octal else int(text, 0)


@functools.lru_cache(maxsize=None)
def call_names():
    return {value: name[5:] for name, value in constants().items() if name.startswith("__NR_")}


def split_arguments(text):
    """The arguments that follow a bracket, and what follows them; None without the bracket at the end."""
    arguments, depth, quoted, at, begin = [], 0, False, 0, 0
    while at < len(text):
        letter = text[at]
        if quoted:
            at += letter == "\\"
            quoted = letter != '"'
        elif letter == '"':
            quoted = True
        elif depth == 0 and letter in ",)":
            arguments.append(text[begin:at].strip())
            begin = at + 1
            if letter == ")":
                return ([] if arguments == [""] else arguments), text[at + 1 :]
        else:
            depth += (letter in "{[(") - (letter in "}])")
        at += 1
    return None, ""


def calls_in(text, error_number):
    """The calls of a trace. `error_number`: gives the number of an error's name."""
    calls = []
    for line in text.splitlines():
        begin = LINE.match(line)
        if not begin:
            continue
        if begin[2]:
            calls.append(Call(call_names().get(int(begin[2]), "syscall_" + begin[2]), None, None))
            continue
        arguments, rest = split_arguments(line[begin.end() :])
        result = RESULT.match(rest)
        value, code, name, unnamed = result.groups() if result else (None, None, None, None)
        if code or name or unnamed:
            value = -(error_number(name) if name else int(code or unnamed))
        calls.append(Call(begin[1], arguments, None if value == "?" else value))
    return calls


def image_range(elf):
    """The addresses of an ELF file's segments."""
    header = elf.read_bytes()[:64]
    offset, size, count = struct.unpack_from("<Q", header, 32) + struct.unpack_from("<HH", header, 54)
    table = elf.read_bytes()[offset : offset + size * count]
    begin, end = 1 << 64, 0
    for at in range(0, len(table), size):
        kind, _, _, address, _, _, memory, _ = struct.unpack_from("<IIQQQQQQ", table, at)
        if kind == 1:  # PT_LOAD
            begin, end = min(begin, address), max(end, address + memory)
    return begin, end


class Places:
    """What a process has got in one of the two runs, and the same name for it in both."""

    def __init__(self, image):
        self.image = image
        self.mappings = []  # (begin, end, name), the latest last
        self.heap = None
        self.stack = None
        self.descriptors = {}
        self.process = None

    def address(self, value):
        if value < FIRST_ADDRESS or self.image[0] <= value < self.image[1]:
            return value
        for begin, end, name in reversed(self.mappings):
            if begin <= value < end:
                return f"{name} + {value - begin}"
        if self.heap and self.heap[0] <= value <= self.heap[1]:
            return f"heap + {value - self.heap[0]}"
        # What is left are mostly structures in frames, which have the same distances in both.
        self.stack = self.stack or value
        return f"stack + {value - self.stack}"

    def note(self, call, position):
        """Names what the call has made."""
        value = number(call.result) if isinstance(call.result, str) else None
        if value is None:
            return
        if call.name == "brk":
            self.heap = (min(value, self.heap[0]), max(value, self.heap[1])) if self.heap else (value, value)
        elif call.name in ("mmap", "mremap"):
            size = number(call.arguments[1 if call.name == "mmap" else 2])
            self.mappings.append((value, value + max(size, 1), f"mapping {position}"))
        elif call.name in ("dup", "openat") or (call.name == "fcntl" and "F_DUPFD" in call.arguments[1]):
            self.descriptors[value] = f"descriptor {position}"
        elif call.name in ("getpid", "gettid", "set_tid_address"):
            self.process = self.process or value


def value_of(text):
    """A number, constants and several of them at once by the headers; otherwise the text."""
    if text == "NULL":
        return 0
    values = [constants().get(part, number(part)) for part in text.split("|")]
    if None in values:
        return text
    total = 0
    for value in values:
        total = value if value < 0 else total | value
    return total


DESCRIPTOR_FIRST = set("close dup dup3 fcntl ioctl lseek newfstatat read write writev".split())
PROCESSES = {("kill", 0), ("tgkill", 0), ("tgkill", 1)}


def named(call, part, value, is_address, places):
    """A number of a call in the form that is the same in both runs."""
    if part == "result":
        if call.name in ("brk", "mmap", "mremap"):
            return places.address(value)
        if call.name in ("dup", "openat", "fcntl"):
            return places.descriptors.get(value, value)
        return "the process" if value == places.process else value
    if call.name == "brk" and places.heap:
        return f"heap + {value - places.heap[0]}" if value else 0  # it may ask for more than there is
    if part == 0 and call.name in DESCRIPTOR_FIRST:
        return places.descriptors.get(value, value)
    if (call.name, part) in PROCESSES and value == places.process:
        return "the process"
    return places.address(value) if is_address else value


class Comparison:
    """Compares the calls of one program. `used`: the entries of DIFFERENCES that were needed."""

    def __init__(self, elf):
        self.image = image_range(elf)
        self.used = set()

    def first_difference(self, expected, found):
        """What differs between QEMU's calls and ours, as text; None if nothing does."""
        theirs, ours = Places(self.image), Places(self.image)
        for position, (one, other) in enumerate(zip(expected, found)):
            part = self.part_that_differs(one, other, theirs, ours, position)
            if part is not None:
                return f"call {position} is {other}, and under QEMU {one}: compare {part}"
        if len(expected) != len(found):
            return f"there are {len(found)} calls, and under QEMU {len(expected)}"
        return None

    def part_that_differs(self, one, other, theirs, ours, position):
        if one.name != other.name:
            return "the names"
        if one.arguments is not None:
            given = list(one.arguments)
            if len(given) == REGISTERS:
                given = given[: len(other.arguments)]
            for part, (text, found) in enumerate(itertools.zip_longest(given, other.arguments)):
                if self.differs(one, part, text, found, theirs, ours):
                    return f"argument {part}"
        theirs.note(one, position)
        ours.note(other, position)
        if one.result is None and (one.arguments is None or other.result is None):
            return None  # the end of the process, or a call that QEMU does not know
        return "result" if self.differs(one, "result", one.result, other.result, theirs, ours) else None

    def differs(self, call, part, text, other, theirs, ours):
        values = [value_of(form) if isinstance(form, str) else form for form in (text, other)]
        if all(isinstance(value, int) and value >= 0 for value in values):
            is_address = any(form.startswith("0x") for form in (text, other))
            values = [
                named(call, part, value, is_address, places) for value, places in zip(values, (theirs, ours))
            ]
        if values[0] == values[1]:
            return False
        for known in DIFFERENCES:
            if (known.call, known.part) == (call.name, part) and known.allowed(text, other):
                self.used.add(known)
                return False
        return True


def is_bytes(theirs, ours):
    return number(theirs) is not None and ours.startswith('"')


def is_left_out_8(theirs, ours):
    return theirs is None and ours == "8"


def have_same_lower_half(theirs, ours):
    return (number(theirs) - number(ours)) % 2**32 == 0


def unused(program, used):
    """The entries of DIFFERENCES that the program should have needed."""
    return [known for known in DIFFERENCES if known.program == program and known not in used]


BYTES = "QEMU prints their address, we print the bytes; that they are right, the program's output shows"
SIZE = "QEMU does not print the size of the set of signals, for which Linux takes nothing else than 8"
LOWER_HALF = "QEMU prints the lower 32 bits"
DIFFERENCES = [
    Difference("write", 1, "exit42", BYTES, is_bytes),
    Difference("read", 1, "echo", BYTES, is_bytes),
    Difference("getrandom", 0, "kernel", BYTES, is_bytes),
    Difference("readlinkat", 2, "glibc_fft", BYTES, is_bytes),
    Difference("readlinkat", "result", "glibc_fft", "our processes see the last part of their program's name",
               lambda theirs, ours: int(theirs) > int(ours) > 1),
    Difference("openat", "result", "glibc_strings", "there is no such file; we have no folders",
               lambda theirs, ours: theirs == -errno.ENOENT and ours == -errno.ENOSYS),
    Difference("mmap", 1, "glibc_blocks", LOWER_HALF, have_same_lower_half),
    Difference("writev", 2, "kernel", LOWER_HALF, have_same_lower_half),
    Difference("clock_nanosleep", 2, "glibc_ending", "QEMU prints the structure, we print its address",
               lambda theirs, ours: theirs.startswith("{") and ours.startswith("0x")),
    Difference("rt_sigaction", 3, "glibc_ending", SIZE, is_left_out_8),
    Difference("rt_sigprocmask", 3, "glibc_ending", SIZE, is_left_out_8),
    Difference("kill", "result", "glibc_ending", "SIGKILL ends QEMU before it prints the result",
               lambda theirs, ours: theirs is None and ours == "0"),
    Difference("sched_getaffinity", "result", "glibc_ending", "the size of the host's set of processors",
               lambda theirs, ours: int(theirs) % 8 == 0 and ours == "8"),
    Difference("set_robust_list", "result", "glibc_fft", "QEMU 7.2 answers with ENOSYS",
               lambda theirs, ours: theirs == -errno.ENOSYS and ours == "0"),
]  # fmt: skip
