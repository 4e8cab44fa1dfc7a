# SPDX-License-Identifier: Apache-2.0
"""The guest programs of the benchmark, as machine code.

Two endless loops, and a program of many loops, for engines that can stop after a number of instructions, and
the same two loops with a counter that counts down, for engines that can only run a program to its end.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import List, Tuple

STORE_ADDRESS = 0x10000  # where the loop with a store writes: on another page than the code


def movz(d: int, imm16: int, shift: int = 0) -> int:
    """MOVZ Xd, #imm16, LSL #shift."""
    return 0xD2800000 | shift // 16 << 21 | imm16 << 5 | d


def movk(d: int, imm16: int, shift: int = 0) -> int:
    """MOVK Xd, #imm16, LSL #shift."""
    return 0xF2800000 | shift // 16 << 21 | imm16 << 5 | d


def add(d: int, n: int, imm12: int) -> int:
    """ADD Xd, Xn, #imm12."""
    return 0x91000000 | imm12 << 10 | n << 5 | d


def subs(d: int, n: int, imm12: int) -> int:
    """SUBS Xd, Xn, #imm12."""
    return 0xF1000000 | imm12 << 10 | n << 5 | d


def cmp_register(n: int, m: int) -> int:
    """CMP Xn, Xm."""
    return 0xEB00001F | m << 16 | n << 5


def cset_ne(d: int) -> int:
    """CSET Wd, NE."""
    return 0x1A9F07E0 | d


def str_x(t: int, n: int) -> int:
    """STR Xt, [Xn]."""
    return 0xF9000000 | n << 5 | t


def b(words: int) -> int:
    """B to the instruction that is `words` instructions further on; a negative number is a branch back."""
    return 0x14000000 | words & 0x3FFFFFF


def b_ne(words: int) -> int:
    """B.NE; words: as in b()."""
    return 0x54000001 | (words & 0x7FFFF) << 5


def bl(words: int) -> int:
    """BL; words: as in b()."""
    return 0x94000000 | words & 0x3FFFFFF


RET = 0xD65F03C0


def cbz(t: int, words: int) -> int:
    """CBZ Xt; words: as in b()."""
    return 0xB4000000 | (words & 0x7FFFF) << 5 | t


def svc(imm16: int) -> int:
    """SVC #imm16."""
    return 0xD4000001 | imm16 << 5


def code(words: List[int]) -> bytes:
    """The bytes of these instruction words."""
    return struct.pack("<%dI" % len(words), *words)


@dataclass(frozen=True)
class Loop:
    """An endless loop at address 0. After n instructions x0 is expected_x0(n)."""

    key: str  # "add" or "store"
    name: str  # its name in the table
    words: List[int]
    setup: int  # instructions before the loop
    length: int  # instructions of one iteration; the first of them is ADD x0, x0, #1

    @property
    def code(self) -> bytes:
        return code(self.words)

    @property
    def stores(self) -> bool:
        return self.key == "store"

    def expected_x0(self, instructions: int) -> int:
        return max(0, instructions - self.setup + self.length - 1) // self.length

    def expected_store(self, instructions: int) -> int:
        """The value at STORE_ADDRESS after as many instructions: x0 at the last STR, the second one of an
        iteration."""
        return max(0, instructions - self.setup + self.length - 2) // self.length


LOOPS = (
    Loop("add", "ADD, B", [add(0, 0, 1), b(-1)], 0, 2),
    # x1 points to another page than the code's, because a store to that page discards its decoded
    # instructions.
    Loop("store", "ADD, STR, B", [movz(1, STORE_ADDRESS >> 16, 16), add(0, 0, 1), str_x(0, 1), b(-2)], 1, 3),
)


@dataclass(frozen=True)
class ManyLoops:
    """An endless program at address 0: it calls one function after the other, each of which is a loop of its
    own length and number of turns. The first take most of the time, the last little."""

    name: str
    shapes: Tuple[Tuple[int, int], ...]  # of each function: ADD x0, x0, #1 in a turn, and turns

    @property
    def code(self) -> bytes:
        functions: List[int] = []
        begins = []
        for adds, turns in self.shapes:
            begins.append(len(functions))
            functions += [movz(1, turns), *[add(0, 0, 1)] * adds, subs(1, 1, 1), b_ne(-adds - 1), RET]
        main = len(self.shapes) + 1
        calls = [bl(main + begin - at) for at, begin in enumerate(begins)]
        return code([*calls, b(-len(calls)), *functions])

    def expected_x0(self, instructions: int) -> int:
        """x0 after so many instructions."""
        lengths = [3 + turns * (adds + 2) for adds, turns in self.shapes]  # with the BL
        rounds, left = divmod(instructions, sum(lengths) + 1)
        x0 = rounds * sum(adds * turns for adds, turns in self.shapes)
        for (adds, turns), length in zip(self.shapes, lengths):
            if left < length:
                whole, rest = divmod(max(0, left - 2), adds + 2)
                return x0 + (adds * turns if whole >= turns else whole * adds + min(rest, adds))
            left -= length
            x0 += adds * turns
        return x0


MANY_LOOPS = ManyLoops("96 loops", tuple((3 + 5 * n % 14, max(1, 600 // (n + 1))) for n in range(96)))


# The loops that count down: x19 holds the iterations that are left, and x1 the address of the store.
COUNTDOWN_LENGTH = {"add": 3, "store": 4}  # instructions of one iteration
COUNTDOWN_TEXT = {
    "add": "ADD x0, x0, #1; SUBS x19, x19, #1; B.NE",
    "store": "ADD x0, x0, #1; STR x0, [x1]; SUBS x19, x19, #1; B.NE",
}


def countdown_loop(key: str) -> List[int]:
    """The loop alone. It tests x19 after an iteration, so for 0 iterations the program must skip it."""
    body = [add(0, 0, 1)] + ([str_x(0, 1)] if key == "store" else [])
    return body + [subs(19, 19, 1), b_ne(-len(body) - 1)]


def load(d: int, value: int) -> List[int]:
    """MOVZ and three MOVK that load a 64-bit value; four instructions whatever the value."""
    return [movz(d, value & 0xFFFF)] + [movk(d, value >> s & 0xFFFF, s) for s in (16, 32, 48)]


def countdown_elf(key: str, iterations: int) -> bytes:
    """A static Linux program of a few hundred bytes: the loop that counts down, then exit(x0 != iterations).

    It has one segment of 128 KiB at 0x400000, readable, writable and executable; the store goes to its second
    half.
    """
    base, size, header = 0x400000, 0x20000, 64 + 56
    loop = countdown_loop(key)
    words = load(19, iterations) + load(20, iterations) + load(1, base + STORE_ADDRESS) + [movz(0, 0)]
    words += [cbz(19, 1 + len(loop))] + loop
    words += [cmp_register(0, 20), cset_ne(0), movz(8, 93), svc(0)]  # 93 is exit
    text = code(words)
    elf = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 183, 1, base + header, 64, 0, 0, 64, 56, 1, 0, 0, 0
    )
    segment = struct.pack("<IIQQQQQQ", 1, 7, 0, base, base, header + len(text), size, 0x1000)
    return elf + segment + text
