# SPDX-License-Identifier: Apache-2.0
"""The tests of the earlier systems that myriarm replaces, in every mode and through the classes of
myriarm.kvrm: memory, ALU, branches, control, and a million instructions with stores."""

import a64
import myriarm
import myriarm.kvrm
import numpy as np
import pytest
from myriarm import Signal, StopReason

MODES = ("run", "continuous", "mega", "async", "self_dispatch")
DATA = 0x10000


def run_in_mode(runner, mode, budget, **options):
    """A run of at most `budget` instructions. The batches' size does not divide it, so the last batch is
    shorter."""
    batch = max(1, budget // 3 + 1)
    if mode == "run":
        return runner.run(budget, **options)
    if mode == "mega":
        return runner.run_mega(budget, **options)
    if mode == "async":
        runner.start(budget, **options)
        return runner.wait()
    if mode == "continuous":
        return runner.run_continuous(budget, instructions_per_batch=batch, **options)
    return runner.run_self_dispatch(budget, instructions_per_batch=batch, **options)


class ModeSubject:
    """A Machine that runs in one mode, with the methods that the tests of the earlier systems use."""

    def __init__(self, device, mode):
        self.mode = mode
        program = myriarm.Program.raw(bytes(4), memory=1 << 20)
        self.machine = myriarm.Machine(program, device=device, memory_policy="shared")

    def load_program(self, program, address):
        self.machine.write(address, program)

    def set_pc(self, address):
        self.machine.pc = address

    def get_register(self, index):
        return 0 if index == 31 else int(self.machine.x[index])

    def set_register(self, index, value):
        self.machine.x[index] = value

    def read_memory_64(self, address):
        return int.from_bytes(self.machine.read(address, 8), "little")

    def write_memory(self, address, data):
        self.machine.write(address, data)

    def go(self, budget):
        """(cycles, name of the stop)"""
        result = run_in_mode(self.machine, self.mode, budget)
        assert result.signal_name == self.machine.signal.name.upper()
        if self.machine.stop.reason == StopReason.syscall:
            self.machine.resume()
        return result.instructions, result.signal_name


class KvrmSubject:
    """A class of myriarm.kvrm, with one of the methods by which it runs."""

    def __init__(self, cpu, way):
        self.way = way
        for name in (
            "load_program",
            "set_pc",
            "get_register",
            "set_register",
            "read_memory_64",
            "write_memory",
        ):
            setattr(self, name, getattr(cpu, name))
        self.cpu = cpu

    def go(self, budget):
        if self.way == "execute":
            result = self.cpu.execute(budget)
            return result.cycles, {"MAX_CYCLES": "CHECKPOINT"}.get(
                result.stop_reason_name, result.stop_reason_name
            )
        if self.way == "execute_continuous":
            self.cpu.cycles_per_batch = budget
            result = self.cpu.execute_continuous(max_batches=1)
            return result.total_cycles, result.signal_name
        if self.way == "execute_mega":
            result = self.cpu.execute_mega(budget)
            return result.total_cycles, result.signal_name
        self.cpu.start(budget)
        result = self.cpu.wait()
        return result.cycles_executed, result.signal_name


KVRM = {
    "MLXKernelCPUv2.execute": ("MLXKernelCPUv2", "execute"),
    "MetalCPU.execute": ("MetalCPU", "execute"),
    "ContinuousMetalCPU.execute_continuous": ("ContinuousMetalCPU", "execute_continuous"),
    "ContinuousMetalCPU.execute_mega": ("ContinuousMetalCPU", "execute_mega"),
    "AsyncMetalCPU.start": ("AsyncMetalCPU", "start"),
}
READ_ONLY = "MLXKernelCPU.execute"


@pytest.fixture(params=(*MODES, *KVRM, READ_ONLY))
def reader(request, device):
    """Every subject."""
    yield from _subject(request.param, device)


@pytest.fixture(params=(*MODES, *KVRM))
def subject(request, device):
    """Every subject whose guest may store."""
    yield from _subject(request.param, device)


def _subject(name, device):
    if name in MODES:
        made = ModeSubject(device, name)
        yield made
        made.machine.close()
        return
    cls, way = KVRM.get(name, ("MLXKernelCPU", "execute"))
    cpu = getattr(myriarm.kvrm, cls)(memory_size=1 << 20, device=device)
    yield KvrmSubject(cpu, way)
    cpu.close()


def load(subject, *words, address=0x1000):
    subject.load_program(a64.code(*words), address)
    subject.set_pc(address)


# Memory.
def test_str_64(subject):
    load(subject, *a64.mov64(0, 0x123456789ABCDEF0), a64.movz(1, 1, 16), a64.str_(0, 1), a64.hlt())
    assert subject.go(100) == (6, "HALT")
    assert subject.read_memory_64(DATA) == 0x123456789ABCDEF0


def test_str_then_ldr_64(subject):
    load(
        subject,
        a64.movz(0, 0xBEEF),
        a64.movz(1, 1, 16),
        a64.str_(0, 1, 8),
        a64.movz(0, 0),
        a64.ldr(2, 1, 8),
        a64.hlt(),
    )
    assert subject.go(100) == (5, "HALT")
    assert (subject.get_register(0), subject.get_register(2)) == (0, 0xBEEF)


def test_strb(subject):
    subject.write_memory(DATA, [0xFF] * 8)
    load(subject, a64.movz(0, 0x1AB), a64.movz(1, 1, 16), a64.str_b(0, 1, 2), a64.hlt())
    assert subject.go(100) == (3, "HALT")
    assert subject.read_memory_64(DATA) == 0xFFFFFFFFFFABFFFF


def test_str_32(subject):
    subject.write_memory(DATA, [0xFF] * 16)
    load(subject, a64.movn(0, 0), a64.movk(0, 0x1234), a64.movz(1, 1, 16), a64.str_w(0, 1, 4), a64.hlt())
    assert subject.go(100) == (4, "HALT")
    assert subject.read_memory_64(DATA) == 0xFFFF1234FFFFFFFF
    assert subject.read_memory_64(DATA + 8) == 2**64 - 1


def test_loads_of_32_and_8_bits_extend_with_zeros(reader):
    reader.write_memory(DATA, [0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88])
    load(reader, a64.movz(1, 1, 16), a64.ldr(2, 1), a64.ldr_w(3, 1, 4), a64.ldr_b(4, 1, 1), a64.hlt())
    assert reader.go(100) == (4, "HALT")
    assert [reader.get_register(i) for i in (2, 3, 4)] == [0x8887868584838281, 0x88878685, 0x82]


def test_several_addresses(subject):
    load(
        subject,
        a64.movz(1, 1, 16),
        a64.movz(2, 2, 16),
        a64.movz(3, 0x0FF8),
        *[word for n in (1, 2, 3) for word in (a64.movz(0, 100 + n), a64.str_(0, n))],
        a64.hlt(),
    )
    assert subject.go(100) == (9, "HALT")
    assert [subject.read_memory_64(at) for at in (0x10000, 0x20000, 0x0FF8)] == [101, 102, 103]


def test_str_in_a_loop(subject):
    load(
        subject,
        a64.movz(0, 10),
        a64.movz(1, 1, 16),
        a64.str_(0, 1),
        a64.add_imm(1, 1, 8),
        a64.sub_imm(0, 0, 1),
        a64.cbnz(0, -12),
        a64.hlt(),
    )
    assert subject.go(1000) == (2 + 4 * 10, "HALT")
    assert [subject.read_memory_64(DATA + 8 * i) for i in range(11)] == [*range(10, 0, -1), 0]


# ALU.
def test_movz(reader):
    load(reader, a64.movz(0, 0xFFFF), a64.movz(1, 0x1234, 48), a64.hlt())
    assert reader.go(100) == (2, "HALT")
    assert (reader.get_register(0), reader.get_register(1)) == (0xFFFF, 0x1234 << 48)


def test_movk_movn(reader):
    load(reader, a64.movn(0, 0), a64.movk(0, 5, 32), a64.hlt())
    assert reader.go(100) == (2, "HALT")
    assert reader.get_register(0) == 0xFFFF0005FFFFFFFF


def test_add_immediate(reader):
    reader.set_register(0, 2**64 - 1)
    load(reader, a64.add_imm(1, 0, 4095), a64.hlt())
    assert reader.go(100) == (1, "HALT")
    assert reader.get_register(1) == 4094


def test_sub_immediate(reader):
    reader.set_register(0, 5)
    load(reader, a64.sub_imm(1, 0, 7), a64.hlt())
    assert reader.go(100) == (1, "HALT")
    assert reader.get_register(1) == 2**64 - 2


def test_registers_and_flags(reader):
    reader.set_register(0, 0b1100)
    reader.set_register(1, 0b1010)
    load(
        reader,
        a64.and_(2, 0, 1),
        a64.orr(3, 0, 1),
        a64.eor(4, 0, 1),
        a64.add(5, 0, 1),
        a64.subs(6, 1, 0),
        a64.b_cond(a64.MI, 8),
        a64.hlt(1),
        a64.adr(7, 4),
        a64.hlt(),
    )
    assert reader.go(100) == (7, "HALT")
    assert [reader.get_register(i) for i in range(2, 8)] == [8, 14, 6, 22, 2**64 - 2, 0x1020]


def test_register_31_is_zero(reader):
    reader.set_register(0, 7)
    load(reader, a64.add(a64.XZR, 0, 0), a64.add(1, a64.XZR, 0), a64.orr(2, a64.XZR, a64.XZR), a64.hlt())
    reader.set_register(2, 9)
    assert reader.go(100) == (3, "HALT")
    assert [reader.get_register(i) for i in (1, 2, 31)] == [7, 0, 0]


# Branches.
def test_b(reader):
    load(reader, a64.b(12), a64.movz(0, 1), a64.hlt(), a64.movz(0, 2), a64.b(-8))
    assert reader.go(100) == (3, "HALT")
    assert reader.get_register(0) == 2


def test_cbnz_loop(reader):
    load(reader, a64.movz(0, 1000), a64.add_imm(1, 1, 3), a64.sub_imm(0, 0, 1), a64.cbnz(0, -8), a64.hlt())
    assert reader.go(10_000) == (1 + 3 * 1000, "HALT")
    assert (reader.get_register(0), reader.get_register(1)) == (0, 3000)


def test_calls(reader):
    """BL, BLR, BR, RET, CBZ"""
    load(
        reader,
        a64.bl(20),
        a64.adr(5, 16),
        a64.blr(5),
        a64.cbz(a64.XZR, 16),
        a64.hlt(1),
        a64.add_imm(0, 0, 1),
        a64.ret(),
        a64.adr(6, 12),
        a64.br(6),
        a64.movz(0, 99),
        a64.hlt(),
    )
    assert reader.go(100) == (1 + 2 + 2 + 2 + 1 + 2, "HALT")
    assert reader.get_register(0) == 2


# Control.
def test_hlt_stops(reader):
    load(reader, a64.NOP, a64.hlt(0xFFFF), a64.movz(0, 1))
    assert reader.go(100) == (1, "HALT")
    assert reader.get_register(0) == 0


def test_svc_stops_and_goes_on(reader):
    load(reader, a64.movz(0, 1), a64.svc(), a64.movz(0, 2), a64.svc(0xFFFF), a64.movz(0, 3), a64.hlt())
    assert reader.go(100) == (2, "SYSCALL")
    assert reader.get_register(0) == 1
    reader.set_register(0, 77)
    assert reader.go(100) == (2, "SYSCALL")
    assert reader.get_register(0) == 2
    assert reader.go(100) == (1, "HALT")
    assert reader.get_register(0) == 3


def test_budget_stops_and_goes_on(reader):
    load(reader, a64.add_imm(0, 0, 1), a64.b(-4))
    assert reader.go(1000) == (1000, "CHECKPOINT")
    assert reader.get_register(0) == 500
    assert reader.go(1001) == (1001, "CHECKPOINT")
    assert reader.get_register(0) == 1001


# Performance: no assertion about the time.
def test_a_million_instructions_with_stores(subject):
    subject.set_register(1, DATA)
    load(subject, a64.add_imm(0, 0, 1), a64.str_(0, 1), a64.b(-8))
    assert subject.go(1_000_000) == (1_000_000, "CHECKPOINT")
    assert subject.get_register(0) == 333_334
    assert subject.read_memory_64(DATA) == 333_333


# Several lanes, and what only one of the two interfaces has.
@pytest.mark.parametrize("mode", MODES)
def test_modes_over_lanes_with_inputs_of_their_own(make_fleet, mode):
    lanes = 40
    program = a64.code(a64.sub_imm(0, 0, 1), a64.str_(0, 1, 8), a64.cbnz(0, -8), a64.hlt())
    fleet = make_fleet(program, lanes=lanes)
    fleet.x[:, 0] = np.arange(1, lanes + 1)
    fleet.x[:, 1] = 0x8000
    result = run_in_mode(fleet, mode, 60)
    done = np.minimum(np.arange(1, lanes + 1) * 3, 60)
    assert fleet.instructions.tolist() == done.tolist()
    assert result.instructions == done.sum()
    # Lane 19 has x0 = 20: its sixtieth instruction is the CBNZ, and the budget ends it before the HLT.
    assert result.stops == {"halt": 19, "budget": 21}
    assert (result.signal, result.signal_name) == (Signal.halt, "HALT")
    assert (result.stopped, result.lanes_left, result.timed_out) == (lanes, 21, False)
    left = np.maximum(np.arange(1, lanes + 1) - 20, 0)
    np.testing.assert_array_equal(fleet.x[:, 0], left)
    np.testing.assert_array_equal(fleet.read(0x8008, 8).view(np.uint64)[:, 0], left)


def test_numbers_of_signals():
    assert [int(Signal[name]) for name in ("running", "halt", "syscall", "checkpoint")] == [0, 1, 2, 3]


@pytest.mark.parametrize("name", (*KVRM, READ_ONLY))
def test_zero_word_halts(device, name):
    for subject in _subject(name, device):
        load(subject, a64.movz(0, 5), 0)
        assert subject.go(100) == (1, "HALT")
        assert subject.get_register(0) == 5


@pytest.mark.parametrize("mode", MODES)
def test_zero_word_is_an_undefined_instruction_of_the_real_api(device, mode):
    for subject in _subject(mode, device):
        load(subject, a64.movz(0, 5), 0)
        assert subject.go(100) == (1, "FAULT")
        assert subject.machine.stop == (StopReason.undefined, 0, 0, 0)


def test_read_only_kernel_refuses_stores(device):
    cpu = myriarm.kvrm.MLXKernelCPU(memory_size=1 << 20, device=device)
    cpu.load_program(a64.code(a64.movz(0, 1), a64.str_(0, 1), a64.hlt()), 0)
    cpu.set_register(1, DATA)
    result = cpu.execute(100)
    assert (result.cycles, result.stop_reason_name) == (1, "FAULT")
    assert cpu.read_memory_64(DATA) == 0
    cpu.write_memory(DATA, [9])  # the host may
    assert cpu.read_memory_64(DATA) == 9
    cpu.close()


def test_double_buffer_leaves_what_was_loaded_for_the_next_run(device):
    cpu = myriarm.kvrm.MLXKernelCPUv2(memory_size=1 << 20, device=device)
    cpu.load_program(a64.STORE, 0)
    cpu.set_register(1, DATA)
    cpu.execute(3)
    cpu.execute(3)
    assert (cpu.read_memory_64(DATA), cpu.get_register(0)) == (2, 2)
    cpu.machine.rollback()  # no effect, because every run was committed
    assert cpu.read_memory_64(DATA) == 2
    cpu.close()


# The results, field by field, as existing scripts read them.
def kvrm_cpu(cls, device, *words, **options):
    cpu = getattr(myriarm.kvrm, cls)(device=device, **options)
    cpu.load_program(a64.code(*words), 0x2000)
    cpu.set_pc(0x2000)
    return cpu


@pytest.mark.parametrize("cls", ("MLXKernelCPU", "MLXKernelCPUv2", "MetalCPU"))
@pytest.mark.parametrize(
    ("word", "cycles", "number", "name"),
    ((a64.hlt(), 1, 1, "HALT"), (a64.svc(), 2, 2, "SYSCALL"), (a64.b(-4), 10, 3, "MAX_CYCLES")),
)
def test_execute_result(device, cls, word, cycles, number, name):
    cpu = kvrm_cpu(cls, device, a64.add_imm(0, 0, 1), word, memory_size=1 << 16)
    result = cpu.execute(max_cycles=10)
    assert (result.cycles, result.stop_reason, result.stop_reason_name) == (cycles, number, name)
    assert result.elapsed > 0
    assert result.ips == pytest.approx(result.cycles / result.elapsed)
    cpu.close()


@pytest.mark.parametrize(
    ("word", "cycles", "batches", "number", "name"),
    ((a64.hlt(), 1, 1, 1, "HALT"), (a64.svc(), 2, 1, 2, "SYSCALL"), (a64.b(-4), 70, 7, 3, "CHECKPOINT")),
)
def test_continuous_result(device, word, cycles, batches, number, name):
    cpu = kvrm_cpu("ContinuousMetalCPU", device, a64.add_imm(0, 0, 1), word, cycles_per_batch=10)
    result = cpu.execute_continuous(max_batches=7, timeout_seconds=600)
    assert (result.total_cycles, result.batches) == (cycles, batches)
    assert (result.signal, result.signal_name) == (number, name)
    assert result.ips > 0
    cpu.close()


def test_continuous_time_out_is_a_checkpoint(device):
    cpu = kvrm_cpu("ContinuousMetalCPU", device, a64.add_imm(0, 0, 1), a64.b(-4), cycles_per_batch=1000)
    # x0 counts every second instruction, so it shows that exactly the reported instructions were executed. On
    # a busy machine the time may be over before the first instruction, so several runs may be needed.
    total = 0
    while total == 0:
        result = cpu.execute_continuous(timeout_seconds=0.05)
        assert (result.signal, result.signal_name) == (3, "CHECKPOINT")
        total += result.total_cycles
        assert cpu.get_register(0) == (total + 1) // 2
    again = cpu.execute_continuous(max_batches=1)
    assert again.total_cycles == 1000
    assert cpu.get_register(0) == (total + 1000 + 1) // 2
    cpu.close()


def test_mega_result(device):
    cpu = kvrm_cpu("ContinuousMetalCPU", device, a64.add_imm(0, 0, 1), a64.b(-4))
    result = cpu.execute_mega(total_cycles=100_000)
    assert (result.total_cycles, result.signal, result.signal_name) == (100_000, 3, "CHECKPOINT")
    assert (result.batches, cpu.get_register(0)) == (1, 50_000)
    assert result.ips > 0
    cpu.close()


def test_async_result(device):
    cpu = kvrm_cpu("AsyncMetalCPU", device, a64.add_imm(0, 0, 1), a64.b(-4))
    cpu.start(10**15)
    assert cpu.is_running() is True
    assert cpu.poll().is_running is True
    assert cpu.wait(timeout_seconds=0.01) is None
    cpu.cancel()
    result = cpu.wait()
    assert cpu.is_running() is False
    poll = cpu.poll()
    assert (poll.is_running, poll.cycles_executed) == (False, result.cycles_executed)
    assert cpu.get_register(0) == (result.cycles_executed + 1) // 2
    cpu.start(max_cycles=1000)
    again = cpu.wait()
    assert again.cycles_executed == 1000
    assert again.ips > 0
    cpu.close()


def test_memory_of_their_classes(device):
    cpu = myriarm.kvrm.MetalCPU(device=device)
    assert cpu.memory_size == 4 << 20
    cpu.write_memory(0x1003, [1, 2, 3, 4, 5, 6, 7, 0xFF])
    assert cpu.read_memory_64(0x1003) == 0xFF07060504030201
    cpu.write_memory(cpu.memory_size - 1, b"\x80")
    assert cpu.read_memory_64(cpu.memory_size - 8) == 0x80 << 56
    with pytest.raises(myriarm.ArgumentError, match="outside the window"):
        cpu.read_memory_64(cpu.memory_size - 7)
    with pytest.raises(myriarm.ArgumentError, match="not a byte"):
        cpu.write_memory(0, [256])
    cpu.close()


def test_registers_of_their_classes(device):
    cpu = myriarm.kvrm.MetalCPU(device=device)
    cpu.set_register(0, -1)
    cpu.set_register(31, 5)
    assert (cpu.get_register(0), cpu.get_register(31)) == (2**64 - 1, 0)
    for wrong in (-1, 32):
        with pytest.raises(myriarm.ArgumentError, match=str(wrong)):
            cpu.get_register(wrong)
    cpu.close()
