# SPDX-License-Identifier: Apache-2.0
"""ARM64 interpreted by PyTorch tensor operations: the baseline of the earlier systems' measurements.

Two interpreters of one lane, written in plain PyTorch. Both keep memory, registers and pc in tensors on the
device, and fetch, decode and execute by tensor operations. They implement only the instructions of the loops
and of a few checks (MOVZ, ADD and SUB immediate and register, LDR and STR of 64 bits, B, CBZ, CBNZ, HLT),
which makes them faster than complete interpreters. Register 31 is always XZR, as in the earlier systems.

    python -m myriarm.bench.pytorch_baseline [cpu | cuda | cuda:N ...]

checks both and prints how fast they are.
"""

from __future__ import annotations

import sys
import time
from typing import Any, List, Tuple

import torch  # type: ignore[import-not-found, unused-ignore]

from .guests import LOOPS, STORE_ADDRESS, Loop, add, b, code, movz, str_x

MEMORY = 1 << 20  # bytes; a power of two, so that a mask keeps any address inside
Tensor = Any  # torch.Tensor, where PyTorch is installed
DISCARD = 32  # the register slot for results that the program must not see: of XZR, and of masked writes


class Engine:
    """What both interpreters share. Scalars are tensors of one element, because making a Python number of one
    waits for the device."""

    WHAT = ""

    def __init__(self, program: bytes, device: str):
        padded = program + bytes(-len(program) % 8)
        words = [int.from_bytes(padded[i : i + 8], "little", signed=True) for i in range(0, len(padded), 8)]
        self.device = torch.device(device)
        self.memory = self._tensor(words + [0] * (MEMORY // 8 - len(words)))  # little-endian 64-bit words
        self.registers = self._tensor([0] * 33)
        self.pc = self._tensor([0])
        self.discard = self._tensor([DISCARD])

    def _tensor(self, values: List[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.int64, device=self.device)

    def run(self, instructions: int) -> int:
        """Retires as many instructions, or fewer if the program stops first, and returns how many."""
        raise NotImplementedError

    def x(self, n: int) -> int:
        """Register n as an unsigned number; waits for the device."""
        return int(self.registers[n]) & (1 << 64) - 1

    def load(self, address: int) -> int:
        return int(self.memory[address >> 3]) & (1 << 64) - 1


class PerInstruction(Engine):
    """Tensor operations for one instruction at a time.

    The host reads each word, which waits for the device, and launches the operations of that instruction.
    """

    WHAT = (
        "fetch, fields and execution of each instruction as tensor operations; "
        "the host reads the word to choose them"
    )

    def run(self, instructions: int) -> int:
        for retired in range(instructions):
            if not self._step():
                return retired
        return instructions

    def _step(self) -> bool:
        word = self.memory.index_select(0, self.pc >> 3) >> ((self.pc & 4) << 3) & 0xFFFFFFFF
        bits = int(word)
        kind = bits >> 23 << 23  # sf, opcode and the lowest bit that all immediates below leave alone
        d, n = word & 31, word >> 5 & 31
        if kind in (0x91000000, 0xD1000000):  # ADD, SUB immediate
            imm = (word >> 10 & 0xFFF) << (12 if bits & 1 << 22 else 0)
            a = self.registers.index_select(0, n)
            self._write(d, a + imm if kind == 0x91000000 else a - imm)
        elif bits & 0xFFE0FC00 in (0x8B000000, 0xCB000000):  # ADD, SUB register, not shifted
            a, c = self.registers.index_select(0, n), self.registers.index_select(0, word >> 16 & 31)
            self._write(d, a + c if bits >> 24 == 0x8B else a - c)
        elif kind == 0xD2800000:  # MOVZ
            self._write(d, (word >> 5 & 0xFFFF) << (16 * (bits >> 21 & 3)))
        elif bits & 0xFFC00000 in (0xF9400000, 0xF9000000):  # LDR, STR of 64 bits
            address = self.registers.index_select(0, n) + ((word >> 10 & 0xFFF) << 3)
            slot = address >> 3 & MEMORY // 8 - 1
            if bits & 1 << 22:
                self._write(d, self.memory.index_select(0, slot))
            else:
                self.memory.index_copy_(0, slot, self.registers.index_select(0, d))
        elif bits >> 26 == 0b000101:  # B
            self.pc += _signed(word, 0, 26) * 4
            return True
        elif bits >> 25 == 0b1011010:  # CBZ, CBNZ
            zero = self.registers.index_select(0, d) == 0
            taken = ~zero if bits & 1 << 24 else zero
            self.pc += torch.where(taken, _signed(word, 5, 19) * 4, 4)
            return True
        else:  # HLT, a zero word, or an instruction that is not implemented
            return False
        self.pc += 4
        return True

    def _write(self, d: Tensor, value: Tensor) -> None:
        self.registers.index_copy_(0, torch.where(d == 31, self.discard, d), value)


class Batched(Engine):
    """Fetches and decodes 512 instructions at once, and executes them with masks; the host waits once per 512
    steps.

    The block of 512 words that contains pc becomes a table with a row of numbers for each instruction. A step
    looks up the row of its instruction and performs the operations of all instructions, with masks that
    cancel those that this instruction lacks, so that no step waits for the host. One row more, the last,
    stands for addresses outside the block and changes nothing. Code that the program writes takes effect from
    the next batch on.
    """

    WHAT = (
        "blocks of 512 words decoded by tensor operations, "
        "512 masked steps for each synchronisation with the host"
    )
    SIZE = 512
    # Columns of the table.
    # From NEXT on: row and pc of the next instruction if x[M] is not 0, then those if it is 0.
    D, N, M, IMMEDIATE, SIGN, RETIRES, STAYS, NEXT = range(8)
    # Columns of the table of masks.
    LOADS, STORES = range(2)

    def __init__(self, program: bytes, device: str):
        super().__init__(program, device)
        self.pairs = torch.arange(self.SIZE // 2, device=self.device)
        self.rows = torch.arange(self.SIZE, device=self.device)
        self.outside = self._tensor([DISCARD, 31, 31, 0, 0, 0, 1, self.SIZE, 0, self.SIZE, 0]).reshape(1, -1)

    def run(self, instructions: int) -> int:
        left = instructions
        while left:
            retired = self._batch(min(left, self.SIZE))
            left -= retired
            if retired == 0:  # at a HLT, a zero word, or an instruction that is not implemented
                break
        return instructions - left

    def _decode(self, base: Tensor) -> Tuple[Tensor, Tensor]:
        """The table of the block at `base`, (513, 11), and its masks, (513, 2)."""
        both = self.memory.index_select(0, (base >> 3) + self.pairs)
        word = torch.stack((both & 0xFFFFFFFF, both >> 32 & 0xFFFFFFFF), 1).reshape(-1)
        kind, wide = word & 0xFF800000, word & 0xFFC00000
        add_imm, sub_imm = kind == 0x91000000, kind == 0xD1000000
        add_reg, sub_reg = ((word & 0xFFE0FC00) == value for value in (0x8B000000, 0xCB000000))
        move, load, store = kind == 0xD2800000, wide == 0xF9400000, wide == 0xF9000000
        jump = (word >> 26) == 0b000101
        if_zero, if_not = (word >> 24) == 0xB4, (word >> 24) == 0xB5
        by_register, compare = add_reg | sub_reg, if_zero | if_not
        writes = add_imm | sub_imm | by_register | move | load
        known = writes | store | jump | compare

        zero = torch.zeros_like(word)
        low = word & 31
        imm12 = (word >> 10 & 0xFFF) << torch.where((word & 1 << 22) != 0, 12, zero)
        immediate = torch.where(add_imm, imm12, zero)
        immediate = torch.where(sub_imm, -imm12, immediate)
        immediate = torch.where(move, (word >> 5 & 0xFFFF) << ((word >> 21 & 3) * 16), immediate)
        immediate = torch.where(load | store, (word >> 10 & 0xFFF) << 3, immediate)
        offset = torch.where(jump, _signed(word, 0, 26), _signed(word, 5, 19))

        def successor(taken: Tensor) -> Tuple[Tensor, Tensor]:
            """Row and pc of the instruction that follows each row, where `taken` says which rows branch."""
            index = self.rows + torch.where(known, torch.where(taken, offset, 1), zero)
            inside = (index >= 0) & (index < self.SIZE) & known
            return torch.where(inside, index, self.SIZE), base + index * 4

        columns = (
            torch.where(writes & (low != 31), low, DISCARD),
            torch.where(move | jump | compare, 31, word >> 5 & 31),
            torch.where(by_register, word >> 16 & 31, torch.where(store | compare, low, 31)),
            immediate,
            torch.where(sub_reg, -1, torch.where(add_reg, 1, zero)),
            known.to(torch.int64),
            zero,
            *successor(jump | if_not),
            *successor(jump | if_zero),
        )
        masks = torch.stack((load, store), 1)
        return (
            torch.cat((torch.stack(columns, 1), self.outside)),
            torch.cat((masks, torch.zeros_like(masks[:1]))),
        )

    def _batch(self, steps: int) -> int:
        base = self.pc & -4 * self.SIZE
        table, masks = self._decode(base)
        uses_memory = bool(masks.any())  # blocks without loads and stores skip the operations of memory
        index, pc = self.pc - base >> 2, self.pc
        retired = torch.zeros_like(pc)
        for _ in range(steps):
            row = table.index_select(0, index)[0]
            operands = self.registers.index_select(0, row[self.N : self.M + 1])
            a, c = operands[:1], operands[1:]
            # The results of ADD, SUB and MOVZ, and addresses, are all x[N] + sign * x[M] + immediate.
            result = (
                torch.addcmul(a, row[self.SIGN : self.SIGN + 1], c) + row[self.IMMEDIATE : self.IMMEDIATE + 1]
            )
            if uses_memory:
                mask = masks.index_select(0, index)[0]
                slot = result >> 3 & MEMORY // 8 - 1
                held = self.memory.index_select(0, slot)
                self.memory.index_copy_(0, slot, torch.where(mask[self.STORES :], c, held))
                result = torch.where(mask[self.LOADS : self.STORES], held, result)
            self.registers.index_copy_(0, row[self.D : self.D + 1], result)
            after = row[self.NEXT :].reshape(2, 2).index_select(0, (c == 0).to(torch.int64))[0]
            index = after[:1]
            pc = torch.addcmul(after[1:], row[self.STAYS : self.STAYS + 1], pc)
            retired = retired + row[self.RETIRES : self.RETIRES + 1]
        self.pc = pc
        return int(retired)


def _signed(word: Tensor, shift: int, bits: int) -> Tensor:
    """The field of `bits` bits at bit `shift`, sign-extended."""
    sign = 1 << bits - 1
    return ((word >> shift & 2 * sign - 1) ^ sign) - sign


def measure(kind: type, loop: Loop, device: str, seconds: float, repeat: int) -> Tuple[int, List[float]]:
    """(instructions of a run that takes about `seconds`, seconds of each of `repeat` runs). RuntimeError if a
    result is wrong."""
    engine = kind(loop.code, device)
    _timed(engine, 2 * Batched.SIZE)  # warm-up: PyTorch loads its kernels
    speed = 2 * Batched.SIZE / _timed(engine, 2 * Batched.SIZE)
    instructions = max(Batched.SIZE, int(speed * seconds) // Batched.SIZE * Batched.SIZE)
    total, times = 4 * Batched.SIZE, []
    for _ in range(repeat):
        times.append(_timed(engine, instructions))
        total += instructions
        if engine.x(0) != loop.expected_x0(total):
            raise RuntimeError(f"wrong result: x0 is {engine.x(0)}, not {loop.expected_x0(total)}")
        if loop.stores and engine.load(STORE_ADDRESS) != loop.expected_store(total):
            raise RuntimeError(
                f"wrong result: {engine.load(STORE_ADDRESS)} was stored, not {loop.expected_store(total)}"
            )
    return instructions, times


def _timed(engine: Engine, instructions: int) -> float:
    with torch.no_grad():
        begin = time.perf_counter()
        retired = engine.run(instructions)
        if engine.device.type == "cuda":
            torch.cuda.synchronize(engine.device)
        took = time.perf_counter() - begin
    if retired != instructions:
        raise RuntimeError(f"wrong result: {retired} instructions retired, not {instructions}")
    return took


def check(kind: type, device: str) -> None:
    """Compares an interpreter's results for small programs with the right ones. Raises RuntimeError."""

    def expect(what: str, found: int, expected: int) -> None:
        if found != expected:
            raise RuntimeError(f"{kind.__name__}: {what} is {found}, not {expected}")

    for loop in LOOPS:
        for instructions in (1, 2, 3, 4, 511, 512, 513, 1100):
            engine = kind(loop.code, device)
            expect("the count", engine.run(instructions), instructions)
            expect(f"x0 after {instructions} of {loop.name}", engine.x(0), loop.expected_x0(instructions))
            expect(
                "what was stored",
                engine.load(STORE_ADDRESS),
                loop.expected_store(instructions) if loop.stores else 0,
            )

    # x3 = 5 + 4 + 3 + 2 + 1, stored to memory and loaded in each iteration, with SUB, both forms of ADD,
    # CBNZ, CBZ, LDR and STR: 2 instructions, 5 iterations of 5, and 3 more.
    words = [
        movz(1, 1, 16),
        movz(2, 5),
        0x8B020063,
        str_x(3, 1),
        0xF9400023,
        0xD1000442,
        0xB5000000 | (-4 & 0x7FFFF) << 5 | 2,
        0xB4000042,
        movz(3, 9),  # CBZ x2 jumps over the second
        0xCB0303E4,
        add(31, 31, 7),
        0xD4400000,
    ]
    engine = kind(code(words), device)
    expect("the count of the sum", engine.run(1000), 2 + 5 * 5 + 3)
    expect("the sum", engine.x(3), 15)
    expect("its negative", engine.x(4), -15 & (1 << 64) - 1)
    expect("XZR", engine.x(31), 0)
    expect("the sum in memory", engine.load(STORE_ADDRESS), 15)
    expect("pc", int(engine.pc), 4 * (len(words) - 1))

    # A branch out of a block of 512 words and back into it, and code that continues from one block into the
    # next.
    far = [b(700), 0xD4400000] + [0] * 698 + [add(0, 0, 1), b(1 - 701)]
    engine = kind(code(far), device)
    expect("the count of branches between blocks", engine.run(1000), 3)
    expect("x0 after branches between blocks", engine.x(0), 1)
    engine = kind(code([add(0, 0, 1)] * 1030), device)
    expect("the count of code without branches", engine.run(5000), 1030)
    expect("x0 after code without branches", engine.x(0), 1030)


def main(devices: List[str]) -> int:
    for device in devices or (["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]):
        for kind in (PerInstruction, Batched):
            check(kind, device)
            for loop in LOOPS:
                instructions, times = measure(kind, loop, device, 1.0, 1)
                print(
                    f"{device:8}{kind.__name__:16}{loop.name:14}right, "
                    f"{instructions / times[0] / 1e3:8.1f} K IPS"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
