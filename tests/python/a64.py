# SPDX-License-Identifier: Apache-2.0
"""Functions that encode A64 instructions for the tests. Offsets of branches and of ADR are in bytes, relative
to the instruction itself."""

import struct

XZR = 31
EQ, NE, CS, CC, MI, PL, VS, VC, HI, LS, GE, LT, GT, LE = range(14)
NOP = 0xD503201F


def code(*words):
    return struct.pack(f"<{len(words)}I", *words)


def movz(rd, value, shift=0):
    return 0xD2800000 | (shift // 16) << 21 | value << 5 | rd


def movk(rd, value, shift=0):
    return 0xF2800000 | (shift // 16) << 21 | value << 5 | rd


def movn(rd, value, shift=0):
    return 0x92800000 | (shift // 16) << 21 | value << 5 | rd


def mov64(rd, value):
    """Four instructions that load any 64-bit value into a register."""
    return [movz(rd, value & 0xFFFF)] + [movk(rd, value >> s & 0xFFFF, s) for s in (16, 32, 48)]


def add_imm(rd, rn, value):
    return 0x91000000 | value << 10 | rn << 5 | rd


def adds_imm(rd, rn, value):
    return 0xB1000000 | value << 10 | rn << 5 | rd


def sub_imm(rd, rn, value):
    return 0xD1000000 | value << 10 | rn << 5 | rd


def subs_imm(rd, rn, value):
    return 0xF1000000 | value << 10 | rn << 5 | rd


def _three(word):
    return lambda rd, rn, rm: word | rm << 16 | rn << 5 | rd


add, adds, sub, subs = (_three(word) for word in (0x8B000000, 0xAB000000, 0xCB000000, 0xEB000000))
and_, orr, eor = (_three(word) for word in (0x8A000000, 0xAA000000, 0xCA000000))


def _access(word, size):
    return lambda rt, rn, offset=0: word | (offset // size) << 10 | rn << 5 | rt


ldr, str_ = _access(0xF9400000, 8), _access(0xF9000000, 8)
ldr_w, str_w = _access(0xB9400000, 4), _access(0xB9000000, 4)
ldr_b, str_b = _access(0x39400000, 1), _access(0x39000000, 1)


def b(offset):
    return 0x14000000 | (offset // 4 & 0x3FFFFFF)


def bl(offset):
    return 0x94000000 | (offset // 4 & 0x3FFFFFF)


def b_cond(condition, offset):
    return 0x54000000 | (offset // 4 & 0x7FFFF) << 5 | condition


def cbz(rt, offset):
    return 0xB4000000 | (offset // 4 & 0x7FFFF) << 5 | rt


def cbnz(rt, offset):
    return 0xB5000000 | (offset // 4 & 0x7FFFF) << 5 | rt


def br(rn):
    return 0xD61F0000 | rn << 5


def blr(rn):
    return 0xD63F0000 | rn << 5


def ret(rn=30):
    return 0xD65F0000 | rn << 5


def adr(rd, offset):
    return 0x10000000 | (offset & 3) << 29 | (offset >> 2 & 0x7FFFF) << 5 | rd


def svc(number=0):
    return 0xD4000001 | number << 5


def brk(number=0):
    return 0xD4200000 | number << 5


def hlt(number=0):
    return 0xD4400000 | number << 5


FOREVER = code(b(0))
"""Branches to itself."""

COUNT = code(add_imm(0, 0, 1), b(-4))
"""An endless loop of two instructions that adds 1 to x0."""

STORE = code(add_imm(0, 0, 1), str_(0, 1), b(-8))
"""An endless loop of three instructions that adds 1 to x0 and stores x0 at x1."""


ELF_BASE, ELF_SIZE, _ELF_HEADERS = 0x400000, 0x20000, 64 + 56


def elf(*words):
    """A static Linux program of these instructions. It may write all of its 128 KiB from ELF_BASE on."""
    text = code(*words)
    entry = ELF_BASE + _ELF_HEADERS
    file = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 183, 1, entry, 64, 0, 0, 64, 56, 1, 0, 0, 0
    )
    size = _ELF_HEADERS + len(text)
    return file + struct.pack("<IIQQQQQQ", 1, 7, 0, ELF_BASE, ELF_BASE, size, ELF_SIZE, 0x1000) + text
