# SPDX-License-Identifier: Apache-2.0
"""Small guests for the tests of the command line: instruction words wrapped in an ELF file."""
import struct

BASE = 0x400000
HEADERS = 64 + 56

# Prints its arguments and its environment to standard output, a line each, then copies standard input there,
# prints "err\n" to standard error, makes system call 291 (statx), exits with argc.
SHOW = bytes.fromhex("""
f30340f9 f4230091 550080d2 818640f8 410300b5 b50600f1 a1ffff54 000080d2
e10301d1 020880d2 e80780d2 010000d4 1f0000f1 ed000054 e20300aa 200080d2
e10301d1 080880d2 010000d4 f4ffff17 400080d2 e1020010 820080d2 080880d2
010000d4 682480d2 010000d4 e00313aa c80b80d2 010000d4 020080d2 23686238
63000034 42040091 fdffff17 200080d2 080880d2 010000d4 200080d2 c1000010
220080d2 080880d2 010000d4 d8ffff17 6572720a 0a000000
""")

# Copies the file that its last argument names to standard output. Exits with 0, or the number of the error.
CAT = bytes.fromhex("""
f30340f9 600c8092 e17b73f8 020080d2 080780d2 010000d4 2002f8b7 f40300aa
e00314aa e10308d1 024080d2 e80780d2 010000d4 1f0000f1 ed000054 e20300aa
200080d2 e10308d1 080880d2 010000d4 f4ffff17 000080d2 02000014 e00300cb
a80b80d2 010000d4
""")


def words(*values):
    return struct.pack(f"<{len(values)}I", *values)


LOOP = words(0x14000000)                                  # b .
HALT = words(0x91001401, 0xD44000E0)                      # add x1, x0, #5; hlt #7
SVC = words(0xD4000001)                                   # svc #0
LOAD_FAULT = words(0xF9400021)                            # ldr x1, [x1], with x1 = 0
BREAK = words(0xD4200000)                                 # brk #0
UNDEFINED = words(0x00000000)                             # udf #0
EXIT_7 = words(0xD2800BA8, 0xD28000E0, 0xD4000001)        # mov x8, #93; mov x0, #7; svc #0
ABORT = words(0xD2807D00, 0xD28000C1, 0xD2801028, 0xD4000001)  # kill(1000, SIGABRT), 1000 being itself
# Exits with the last digit of MYRIARM_LANE when it has argc 1 and no other environment:
# ldr x1, [sp, #24]; ldrb w0, [x1, #13]; sub w0, w0, #48; mov x8, #93; svc #0
EXIT_LANE = words(0xF9400FE1, 0x39403420, 0x5100C000, 0xD2800BA8, 0xD4000001)


def elf_with_symbols(code, symbols):
    """elf() with a section .text and these symbols, by name the offset in the code."""
    names = b"\0.text\0" + b"".join(name.encode() + b"\0" for name in symbols)
    table = bytes(24)
    for name, offset in symbols.items():
        table += struct.pack("<IBBHQQ", names.index(b"\0" + name.encode() + b"\0") + 1, 2, 0, 1,
                             BASE + HEADERS + offset, 8)
    program = elf(code)
    at = len(program)
    sections = bytes(64)
    for kind, flags, address, offset, size, link in ((1, 6, BASE + HEADERS, HEADERS, len(code), 0),
                                                     (3, 0, 0, at, len(names), 0),
                                                     (2, 0, 0, at + len(names), len(table), 2)):
        name = 1 if kind == 1 else 0
        sections += struct.pack("<IIQQQQIIQQ", name, kind, flags, address, offset, size, link, 0, 1, 0)
    program += names + table
    header = bytearray(program[:64])
    header[40:48] = struct.pack("<Q", len(program))           # e_shoff
    header[58:64] = struct.pack("<HHH", 64, 4, 2)             # e_shentsize, e_shnum, e_shstrndx
    return bytes(header) + program[64:] + sections


def elf(code, machine=183, flags=5):
    """A static ELF64 executable of one segment."""
    size = HEADERS + len(code)
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header += struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, BASE + HEADERS, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    header += struct.pack("<IIQQQQQQ", 1, flags, 0, BASE, BASE, size, size, 4096)
    return header + code
