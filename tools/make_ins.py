#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completes tests/insn/*.ins: assembles and disassembles the cases, and runs them under Unicorn for outputs.

tests/insn/README.md describes the format. Expected results must not come from myriarm, so this script never
calls it.
"""
import ctypes
import ctypes.util
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

FEATURES = pathlib.Path(__file__).parent.parent / "src/core/system/features.inc"
ARCH_ARM64, MODE_ARM, PROT_ALL = 2, 0, 7
REGISTERS = {f"x{i}": 199 + i for i in range(29)}
REGISTERS |= {"x29": 1, "x30": 2, "sp": 4, "nzcv": 3, "tpidr": 262, "fpcr": 291, "fpsr": 292}
REGISTERS |= {f"v{i}": 104 + i for i in range(32)}  # 16 bytes each
PC = 260
CTL_WRITE_CPU_MODEL = 1 << 30 | 1 << 26 | 7
CPU_MODEL_MAX = 3
WINDOW = 4 << 20
DATA = (0x8000, 0x20000)
PROBES = (0x180000, 0x1C0040)  # the addresses at which a case without a pc is run


class Unicorn:
    """The functions of libunicorn that this script needs."""

    def __init__(self):
        path = ctypes.util.find_library("unicorn") or "libunicorn.so.2"
        self.lib = ctypes.CDLL(path)

    def check(self, error, what):
        if error:
            raise SystemExit(f"Unicorn refused to {what}: error {error}")

    def run(self, word, pc, inputs, memory):
        """Runs one word at pc. Returns registers, pc and the changed pieces of the data area."""
        lib, uc = self.lib, ctypes.c_void_p()
        self.check(lib.uc_open(ARCH_ARM64, MODE_ARM, ctypes.byref(uc)), "start")
        # The default model has no LSE. uc_ctl() is variadic: a control and its value.
        self.check(lib.uc_ctl(uc, CTL_WRITE_CPU_MODEL, ctypes.c_int(CPU_MODEL_MAX)), "change its model")
        self.check(lib.uc_mem_map(uc, ctypes.c_uint64(0), ctypes.c_size_t(WINDOW), PROT_ALL), "map memory")

        def write(address, data):
            self.check(
                lib.uc_mem_write(uc, ctypes.c_uint64(address), data, ctypes.c_size_t(len(data))),
                "write memory",
            )

        def data_area():
            buffer = ctypes.create_string_buffer(DATA[1] - DATA[0])
            lib.uc_mem_read(uc, ctypes.c_uint64(DATA[0]), buffer, ctypes.c_size_t(len(buffer)))
            return buffer.raw

        write(pc, struct.pack("<I", word))
        for address, data in memory.items():
            write(address, data)
        for name, number in REGISTERS.items():
            value = inputs.get(name, 0) << (28 if name == "nzcv" else 0)
            lib.uc_reg_write(uc, number, value.to_bytes(16, "little"))
        before = data_area()
        error = lib.uc_emu_start(uc, ctypes.c_uint64(pc), ctypes.c_uint64(2**64 - 4), ctypes.c_uint64(0),
                                 ctypes.c_size_t(1))
        after = data_area()
        result = {}
        for name, number in list(REGISTERS.items()) + [("pc", PC)]:
            buffer = ctypes.create_string_buffer(16)
            lib.uc_reg_read(uc, number, buffer)
            value = int.from_bytes(buffer.raw, "little")
            result[name] = value >> (28 if name == "nzcv" else 0)
        lib.uc_close(uc)
        # A branch out of the mapped memory is complete when the pc has changed; only the next fetch fails.
        if error and result["pc"] in (pc, pc + 4):
            raise SystemExit(
                f"{word:08x} at {pc:#x}: Unicorn stops with error {error}; write this case by hand"
            )
        changed = {}
        i = 0
        while i < len(before):
            if before[i] != after[i]:
                start = i
                while i < len(before) and (before[i] != after[i] or before[i : i + 8] != after[i : i + 8]):
                    i += 1
                changed[DATA[0] + start] = after[start:i]
            elif before[i : i + 4096] == after[i : i + 4096]:
                i += 4096
            else:
                i += 1
        return result, changed


def parse_values(text):
    registers, memory = {}, {}
    for item in text.split():
        name, value = item.split("=")
        if name.startswith("["):
            memory[int(name[1:-1], 0)] = bytes.fromhex(value)
        else:
            registers[name] = int(value, 0)
    return registers, memory


def number(name, value):
    return str(value) if name in ("nzcv", "instructions") else f"{value:#x}"


def outputs(unicorn, word, inputs, memory):
    places = (inputs["pc"],) if "pc" in inputs else PROBES
    runs = [unicorn.run(word, pc, inputs, memory) for pc in places]
    result, changed = runs[0]
    items = []
    for name in REGISTERS:
        if any(run[0][name] != result[name] for run in runs):
            raise SystemExit(f"{word:08x}: {name} depends on the pc; give one")
        if result[name] != inputs.get(name, 0):
            items.append(f"{name}={number(name, result[name])}")
    offsets = {run[0]["pc"] - pc for run, pc in zip(runs, places)}
    if offsets != {4}:
        if "pc" not in inputs and len(offsets) == 1:
            items.append(f"pc={offsets.pop():+d}")
        else:
            items.append(f"pc={result['pc']:#x}")
    items += [f"[{address:#x}]={data.hex()}" for address, data in changed.items()]
    return " ".join(items)


def architecture():
    """What the assembler calls the processor that has all features of the table: armv8.3-a+crc+fp..."""
    names = re.findall(r'^(?:FEATURE|ROWLESS)\(\w+, *"([^"]*)"', FEATURES.read_text(), re.MULTILINE)
    versions = [name for name in names if name.startswith("armv")]
    extensions = [name for name in dict.fromkeys(names) if name and name not in versions]
    return "+".join([max(versions, default="armv8.2-a"), *extensions])


def assemble(texts):
    """The machine words of assembly lines. Branch targets are relative to the instruction: b .+8"""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/a.s", "w") as file:
            file.write("\n".join([f".arch {architecture()}", *texts, ""]))
        subprocess.run(["aarch64-linux-gnu-as", "-o", f"{folder}/a.o", f"{folder}/a.s"], check=True)
        subprocess.run(
            ["aarch64-linux-gnu-objcopy", "-O", "binary", "-j", ".text", f"{folder}/a.o", f"{folder}/a.bin"],
            check=True,
        )
        with open(f"{folder}/a.bin", "rb") as file:
            words = [word for (word,) in struct.iter_unpack("<I", file.read())]
    if len(words) != len(texts):
        raise SystemExit("an assembly line did not make exactly one word")
    return words


def disassemble(places):
    """What objdump prints for each (word, pc). A case with a target has a pc, and a file of its own."""
    lines = [""] * len(places)
    for pc in {pc for _, pc in places}:
        chosen = [i for i, place in enumerate(places) if place[1] == pc]
        batches = [chosen] if pc == 0 else [[i] for i in chosen]
        for batch in batches:
            with tempfile.NamedTemporaryFile() as file:
                file.write(b"".join(struct.pack("<I", places[i][0]) for i in batch))
                file.flush()
                for i, line in zip(batch, run_objdump(file.name, pc), strict=True):
                    lines[i] = line
    return lines


def run_objdump(path, pc):
    printed = subprocess.run(
        ["aarch64-linux-gnu-objdump", "-D", "-z", "-b", "binary", "-m", "aarch64", "-M", "no-aliases",
         f"--adjust-vma={pc:#x}", path], check=True, capture_output=True, text=True).stdout
    lines = []
    for line in printed.splitlines():
        match = re.match(r"\s*[0-9a-f]+:\t[0-9a-f]{8} \t(.*)$", line)
        if match:
            lines.append(
                re.sub(r"\s*(//.*|; undefined.*)$", "", match.group(1)).replace("\t", " ", 1).strip()
            )
    return lines


def main():
    if len(sys.argv) != 2:
        raise SystemExit("usage: make_ins.py FILE.ins")
    lines = open(sys.argv[1]).read().splitlines()
    cases, by_hand = {}, False
    for i, line in enumerate(lines):
        if line.startswith("# By hand"):
            by_hand = True
        if not line.strip():
            by_hand = False
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split("|")]
        word = int(parts[0], 16) if len(parts) == 3 else None
        given, _, wanted = parts[-1].partition("=>")
        inputs, memory = parse_values(given)
        cases[i] = dict(word=word, text=parts[0], shown=parts[1], inputs=inputs, memory=memory,
                        by_hand=by_hand, given=given.strip(), wanted=wanted.strip())
    unfinished = [c for c in cases.values() if c["word"] is None]
    if unfinished:
        for case, word in zip(unfinished, assemble([c["text"] for c in unfinished])):
            case["word"] = word
    texts = disassemble([(c["word"], c["inputs"].get("pc", 0)) for c in cases.values()])
    unicorn = Unicorn()
    for (i, case), text in zip(cases.items(), texts):
        wanted = (
            case["wanted"]
            if case["by_hand"]
            else outputs(unicorn, case["word"], case["inputs"], case["memory"])
        )
        if case["by_hand"] and case["shown"].startswith(".inst"):
            text = case["shown"]
        wanted = wanted.replace("address=word", f"address={case['word']:#x}")
        lines[i] = (
            f"{case['word']:08x} | {text} | "
            f"{case['given'] + ' ' if case['given'] else ''}=> {wanted}".rstrip()
        )
    open(sys.argv[1], "w").write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
