#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mistakes in the instruction table, its forms, its features and the CUDA list stop the build.

test_faults.py COMPILER: each fault is planted into a copy of one file, which the compiler finds first.
"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ISA, FORMS, TOKENS = "src/isa", "src/isa/forms", "src/isa/disassembly"
FEATURES = "src/core/system/features.inc"
COMMON = "src/backends/cuda/common_rows.inc"
# The file that is compiled to find a fault: a source file, or a header that is compiled alone.
DECODER, CHECKS, NUMBERS = f"{ISA}/decoder.h", f"{ISA}/table_checks.cpp", "src/backends/cuda/row_numbers.h"
SYNTAX = f"{TOKENS}/tokens_data_processing.cpp"

# (file, its text, the text with a fault, the file to compile, a part of the error message)
FAULTS = [
    (f"{FORMS}/data_processing.h", "o.imm = field<'c', 4>", "o.imm = field<'x', 4>", DECODER,
     "the form's picture does not have this letter"),
    (f"{FORMS}/data_processing.h", "field<'i', 12>", "field<'i', 11>", DECODER,
     "the form's picture has this letter with another width"),
    (f"{FORMS}/branch_system.h", "o.offset = signed_field<'i'>", "o.offset = signed_field<'k'>", DECODER,
     "the form's picture does not have this letter"),
    (f"{FORMS}/branch_system.h", "joined<'h', 'b'>", "joined<'h', 'k'>", DECODER,
     "the form's picture does not have this letter"),
    (f"{FORMS}/data_processing.inc", 'FORM(Extract64, "...........mmmmmssssss',
     'FORM(Extract64, "s..........mmmmm.sssss', DECODER, "has this letter in pieces"),
    (f"{FORMS}/fields.h", "kFixedPtype = {22, 2}", "kFixedPtype = {12, 2}", DECODER,
     "the form's picture has a letter there"),
    (f"{FORMS}/data_processing.inc", 'FORM(OneSource, "......................nnnnnddddd")',
     'FORM(OneSource, "......................dddddnnnnn")',
     CHECKS, "are not those of the picture of form OneSource"),
    (f"{ISA}/a64_data_processing.inc", '"000100010siiiiiiiiiiiinnnnnddddd"',
     '"000100010siiiiiiiiiiiinnnnndddd"', CHECKS, "ADD_32_addsub_imm: the bit string is not 32 characters"),
    (f"{ISA}/a64_data_processing.inc", "(add_sub_imm<32, AddSub::add, Setting::keep_flags>), BASE)",
     "(add_sub_imm<32, AddSub::add, Setting::keep_flags>), BAES)", CHECKS, "BAES"),
    (f"{ISA}/a64_data_processing.inc", "<Wn|WSP>, #<imm>{, <shift>}", "<Wn|WSP>, #<imm>{, <shiftt>}", SYNTAX,
     "ADD_32_addsub_imm: a token of its syntax has no function"),
    (f"{ISA}/a64_data_processing.inc", '"add <Wd|WSP>, <Wn|WSP>, #<imm>', '"add <Wd|WSP>, <Wm>, #<imm>',
     SYNTAX, "form AddSubImm lacks a field that the function needs"),
    (SYNTAX, "Letter<'i', 5> imm", "Letter<'i', 6> imm", SYNTAX,
     "form CondCompareImm lacks a field that the function needs"),
    (FEATURES, "ROWLESS(DPB,", "FEATURE(DPB,", CHECKS, "no row has DPB"),
    (FEATURES, "FEATURE(LRCPC,", "ROWLESS(LRCPC,", CHECKS, "there are rows of LRCPC"),
    (f"{ISA}/a64_data_processing.inc", "(crc32<kCrc32, 8>)", "todo", CHECKS,
     "programs are told of CRC32, but a row of it has no semantics"),
    (COMMON, "RARE(CLREX_BN_barriers)", "RARE(CLREX_BN_barrier)", NUMBERS, "CLREX_BN_barrier"),
    (COMMON, "RARE(LDAXRB_LR32_ldstexclr)\n", "", NUMBERS, "another one with the same semantics rare"),
    (COMMON, "RARE(CLREX_BN_barriers)", "COMMON(CLREX_BN_barriers)", NUMBERS,
     "CLREX_BN_barriers is of the base set, and common without an entry"),
    (COMMON, "COMMON(FMOV_S_floatimm)", "RARE(FMOV_S_floatimm)", NUMBERS,
     "FMOV_S_floatimm is not of the base set, and rare without an entry"),
]


def compile_file(compiler, name, planted=None):
    """Compiles one file; files of the folder `planted` replace those of the tree. Returns the finished
    process."""
    path = next(p for p in (planted and planted / name, ROOT / name) if p and p.exists())
    includes = [f"-I{folder / 'src'}" for folder in (planted, ROOT) if folder]
    return subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-x", "c++", "-w", *includes,
                           f"-I{ROOT / 'include'}", str(path)], capture_output=True, text=True)


def main():
    if len(sys.argv) != 2:
        raise SystemExit("usage: test_faults.py COMPILER")
    compiler, mistakes = sys.argv[1], []
    for name in sorted({fault[3] for fault in FAULTS}):
        result = compile_file(compiler, name)
        if result.returncode != 0:
            mistakes.append(f"{name} does not compile without a fault:\n{result.stderr[:2000]}")
    for path, before, after, compiled, message in FAULTS:
        text = (ROOT / path).read_text()
        if before not in text:
            mistakes.append(f"{path} no longer has: {before}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            planted = pathlib.Path(folder)
            (planted / path).parent.mkdir(parents=True)
            (planted / path).write_text(text.replace(before, after, 1))
            result = compile_file(compiler, compiled, planted)
        if result.returncode == 0:
            mistakes.append(f"{path} with {after!r} in place of {before!r} compiles")
        elif message not in result.stderr:
            said = result.stderr[:2000]
            mistakes.append(f"{path} with {after!r}: no message says {message!r}, but:\n{said}")
    if mistakes:
        raise SystemExit("\n".join(mistakes))
    print(f"{len(FAULTS)} faults stop the build")


if __name__ == "__main__":
    main()
