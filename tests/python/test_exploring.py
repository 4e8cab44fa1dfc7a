# SPDX-License-Identifier: Apache-2.0
"""For teaching and exploring: programs from assembly, single steps, registers as ints, what a dump shows,
instructions with symbols, breakpoints."""

import importlib.util
import re
import shutil
import subprocess

import myriarm
import pytest
from a64 import brk, code, hlt
from myriarm import ArgumentError, DeviceError, Machine, Program, StateError, StopReason, assembly
from test_fork import PREBUILT

SUM = """
        mov  x1, #0          // the sum of the numbers from x0 down to 1
again:  add  x1, x1, x0
        subs x0, x0, #1
        b.ne again
done:   hlt  #0
"""
# As `as` makes it of SUM at 0x1000.
SUM_BYTES = code(0xD2800001, 0x8B000021, 0xF1000400, 0x54FFFFC1, 0xD4400000)
SYMBOLS = {"again": 0x1004, "done": 0x1010}


def assemblers():
    have = {
        "binutils": shutil.which("aarch64-linux-gnu-as") is not None,
        "keystone": importlib.util.find_spec("keystone") is not None,
    }
    return [
        pytest.param(name, marks=pytest.mark.skipif(not have[name], reason=f"no {name}")) for name in have
    ]


@pytest.fixture
def machine(device):
    program = Program.raw(SUM_BYTES, 0x1000, memory=1 << 16)
    with Machine(program, device=device) as made:
        made.symbols = SYMBOLS
        made.x0 = 3
        yield made


@pytest.mark.parametrize("assembler", assemblers())
def test_a_program_from_assembly(assembler, device):
    program = Program.from_assembly(SUM, 0x1000, memory=1 << 16, assembler=assembler)
    assert program.symbols == SYMBOLS
    assert (program.entry, program.memory) == (0x1000, 1 << 16)
    assert dict((a, data) for a, data, _, _ in program.segments)[0x1000] == SUM_BYTES
    with Machine(program, device=device) as machine:
        machine.x0 = 100
        assert (machine.run().instructions, machine.x1, machine.symbols) == (301, 5050, SYMBOLS)
    later = Program.from_assembly(SUM, 0x1000, entry="done", assembler=assembler)
    assert later.entry == 0x1010


@pytest.mark.parametrize("assembler", assemblers())
def test_labels_are_in_the_order_of_addresses(assembler):
    program = Program.from_assembly("z: b: nop\na: nop\n", assembler=assembler)
    assert list(program.symbols.items()) == [("b", 0), ("z", 0), ("a", 4)]


@pytest.mark.parametrize("assembler", assemblers())
@pytest.mark.parametrize(
    "text", ["nop\nfoo x1\n", "b nowhere", "", "// only a comment", "add x0, x0, #99999"]
)
def test_assembly_that_is_refused(assembler, text):
    with pytest.raises(ArgumentError) as caught:
        Program.from_assembly(text, assembler=assembler)
    assert "\n" not in str(caught.value)
    if assembler == "binutils" and "foo" in text:
        assert str(caught.value).startswith("line 2 of the assembly: unknown mnemonic `foo'")


def test_arguments_of_assembly():
    for call, says in (
        (lambda: Program.from_assembly(b"nop"), "text must be a str of assembly, not bytes"),
        (
            lambda: Program.from_assembly("nop", assembler="gas"),
            "assembler is 'gas'; use one of auto, binutils",
        ),
        (lambda: Program.from_assembly("a: nop", entry="b"), "has no label 'b'; it has a"),
    ):
        with pytest.raises(ArgumentError, match=says):
            call()


def test_without_an_assembler(monkeypatch):
    monkeypatch.setattr(assembly, "_binutils", lambda: None)
    monkeypatch.setattr(assembly, "_keystone", lambda: None)
    for assembler in ("auto", "binutils", "keystone"):
        with pytest.raises(
            DeviceError, match=r"is not there; install binutils-aarch64.*myriarm\[assembler\]$"
        ):
            Program.from_assembly("nop", assembler=assembler)


@pytest.mark.parametrize("engine", ["interpreter", "stepper"])
def test_steps(machine, engine):
    machine.engine = engine
    seen = []
    while machine.stop.reason in (StopReason.none, StopReason.budget):
        seen.append((machine.pc, machine.x0, machine.x1))
        result = machine.step()
    assert seen[:5] == [(0x1000, 3, 0), (0x1004, 3, 0), (0x1008, 3, 3), (0x100C, 2, 3), (0x1004, 2, 3)]
    assert (len(seen), result.instructions, result.stops) == (11, 0, {"halt": 1})
    assert machine.instructions == 10 and machine.step().lanes_run == 0
    with pytest.raises(ArgumentError, match="^n is 0"):
        machine.step(0)


def test_several_steps_are_as_many_single_ones(machine):
    assert machine.step(7).instructions == 7
    assert (machine.pc, machine.x0, machine.x1) == (0x1004, 1, 5)


def test_registers_are_ints_by_name(machine):
    machine.v3 = 5 << 64 | 1
    machine.step(3)
    registers = machine.registers
    assert {type(value) for value in registers.values()} == {int}
    assert (registers["x0"], registers["x1"], registers["pc"], registers["v3"]) == (2, 3, 0x100C, 5 << 64 | 1)
    names = [f"x{n}" for n in range(31)] + ["sp", "pc", "nzcv"] + [f"v{n}" for n in range(32)]
    assert list(registers) == [*names, "tpidr", "fpcr", "fpsr"]


def marked(text):
    """The registers of a dump that have a star."""
    registers = [line for line in text.splitlines()[1:] if re.match(r"[ *] *[a-z]+\d* ", line)]
    return {part.split()[0] for line in registers for part in line.split("*")[1:]}


def test_a_dump_shows_what_has_changed(machine):
    assert marked(machine.dump()) == set(), "nothing was shown before"
    machine.step(2)
    text = machine.dump()
    assert marked(text) == {"x1", "pc"}
    assert text.startswith("pc 0x1008 <again+0x4>, 2 instructions, stopped: budget\n")
    assert "*   x1 0000000000000003" in text and " nzcv ----" in text
    machine.step()
    assert marked(str(machine)) == {"x0", "pc", "nzcv"}
    machine.v7 = 1 << 64
    assert marked(str(machine)) == {"v7"}
    assert "v7 00000000000000010000000000000000" in str(machine)
    machine.step()
    page = machine._repr_html_()
    assert "<td><b>0000000000001004</b></td>" in page and "&lt;again+0x4&gt;" not in page.split("<pre>")[0]
    assert page.count("<b>") == 1, "pc alone has changed"
    machine.close()
    assert (str(machine), machine._repr_html_()) == ("<Machine, closed>", None)


def test_instructions_around_pc(machine):
    assert machine.disassemble(0x1000, after=4).splitlines() == [
        "=>      0x1000  d2800001  movz x1, #0x0",
        "again:",
        "        0x1004  8b000021  add x1, x1, x0",
        "        0x1008  f1000400  subs x0, x0, #0x1",
        "        0x100c  54ffffc1  b.ne 0x1004 <again>",
        "done:",
        "        0x1010  d4400000  hlt #0x0",
    ]
    machine.step(2)
    machine.add_breakpoint("done")
    lines = machine.disassemble(before=1, after=2).splitlines()
    assert [line[:3] for line in lines] == ["aga", "   ", "=> ", "   ", "don", "  *"]
    assert machine.disassemble("done", after=0).splitlines()[-1].endswith("hlt #0x0")
    with pytest.raises(ArgumentError, match="no symbol 'start'"):
        machine.disassemble("start")


def test_instructions_at_the_edges_of_memory(machine):
    machine.pc = 0
    assert len(machine.disassemble().splitlines()) == 9
    machine.pc = 0xFFFC
    assert len(machine.disassemble().splitlines()) == 5
    machine.pc = 2**64 - 4
    assert machine.disassemble() == ""
    machine.unmap(0x2000, 0x1000)
    assert len(machine.disassemble(0x2000, before=2, after=0x401).splitlines()) == 4


def test_breakpoints(machine):
    assert machine.add_breakpoint("again") == 0x1004 and machine.add_breakpoint(0x1010) == 0x1010
    before = machine.read(0x1000, 0x20)
    first = machine.run()
    assert (first.instructions, first.stops, first.signal_name) == (1, {"breakpoint": 1}, "BREAKPOINT")
    assert (machine.stop.reason, machine.pc, machine.read(0x1000, 0x20)) == (
        StopReason.breakpoint,
        0x1004,
        before,
    )
    assert (machine.run().instructions, machine.pc, machine.x0) == (3, 0x1004, 2)
    assert machine.breakpoints == [0x1004, 0x1010]
    machine.remove_breakpoint("again")
    assert (machine.run().instructions, machine.pc, machine.x1) == (6, 0x1010, 6)
    last = machine.run()
    assert (last.instructions, last.stops, machine.stop.reason) == (0, {"halt": 1}, StopReason.halt)
    machine.remove_breakpoint()
    assert machine.breakpoints == []


def test_breakpoints_change_nothing_else(machine, device):
    """Every stop, count and register is that of a run without breakpoints."""
    machine.add_breakpoint(0x1008)
    stops = 0
    while machine.stop.reason != StopReason.halt:
        machine.run()
        stops += machine.stop.reason == StopReason.breakpoint
    with Machine(Program.raw(SUM_BYTES, 0x1000, memory=1 << 16), device=device) as plain:
        plain.x0 = 3
        plain.run()
        assert (stops, machine.registers, machine.instructions) == (3, plain.registers, plain.instructions)


def test_breakpoints_and_budgets(machine):
    machine.add_breakpoint("done")
    result = machine.step(4)
    assert (result.instructions, result.stops, machine.pc) == (4, {"budget": 1}, 0x1004)
    machine.limit = 6
    assert (machine.run().stops, machine.instructions) == ({"budget": 1}, 6)
    machine.limit = 2**64 - 1
    assert (machine.run().signal_name, machine.pc) == ("BREAKPOINT", 0x1010)
    machine.pc, machine.x0 = 0x1000, 1
    assert machine.run().lanes_run == 0, "pc was changed, so that the stop is left to the caller"
    machine.resume()
    assert machine.run().instructions == 4


def test_a_breakpoint_on_a_brk_is_not_that_of_the_guest(device):
    with Machine(code(0xD503201F, brk(7), hlt()), device=device, memory=1 << 16) as machine:
        machine.add_breakpoint(4)
        assert (machine.run().signal_name, machine.stop.detail) == ("BREAKPOINT", 0)
        assert (machine.run().signal_name, machine.stop.detail) == ("BREAKPOINT", 7)
        assert machine.run().lanes_run == 0


def test_handlers_are_called_between_breakpoints(device):
    ask = code(0xD4000001, 0x91000400, 0xD4000001, hlt())  # svc #0; add x0, x0, #1; svc #0; hlt #0
    with Machine(ask, device=device, memory=1 << 16) as machine:
        machine.add_breakpoint(12)
        result = machine.run(on_syscall=lambda batch: batch.arguments[:, 0] + 10)
        assert (result.instructions, machine.pc, machine.x0) == (3, 12, 21)

        def fail(batch):
            raise KeyError("mine")

        machine.pc = 0
        machine.resume()
        with pytest.raises(KeyError, match="mine"):
            machine.run(on_syscall=fail)


def test_what_breakpoints_are_not_for(machine):
    machine.add_breakpoint("done")
    for call in (machine.start, lambda: machine.run_continuous(max_batches=1), machine.run_self_dispatch):
        with pytest.raises(StateError, match=r"breakpoints.*remove_breakpoint\(\)"):
            call()
    assert machine.run_mega(3).instructions == 3
    with pytest.raises(ArgumentError, match="0x1002 is not the address of an instruction"):
        machine.add_breakpoint(0x1002)
    with pytest.raises(ArgumentError, match="no symbol 'main'"):
        machine.add_breakpoint("main")
    with pytest.raises(ArgumentError, match="no breakpoint at 0x1000"):
        machine.remove_breakpoint(0x1000)


def test_symbols_of_an_elf_file(tmp_path, device):
    assert Program.elf(PREBUILT / "hello").symbols == {}, "it is stripped"
    if shutil.which("aarch64-linux-gnu-gcc") is None:
        pytest.skip("no compiler for AArch64")
    source, linked = tmp_path / "program.c", tmp_path / "program"
    source.write_text("int twice(int x) { return 2 * x; }\nvoid _start(void) { for (;;) twice(4); }\n")
    for kind in ("-static", "-static-pie"):
        flags = ["-O0", "-nostdlib", "-ffreestanding", "-fno-stack-protector", kind]
        subprocess.run(["aarch64-linux-gnu-gcc", *flags, "-o", linked, source], check=True)
        program = Program.elf(linked)
        assert program.symbols["_start"] == program.entry
        with Machine(program, device=device) as machine:
            machine.map(machine.memory_end - 4096, 4096)
            machine.sp = machine.memory_end
            machine.add_breakpoint("twice")
            machine.run()
            assert (machine.pc, machine.x0) == (program.symbols["twice"], 4)
            assert "twice:" in str(machine) and f"pc {machine.pc:#x} <twice>" in str(machine)
            machine.run()
            assert "<twice>" in machine.disassemble("_start")
    assert myriarm.disassemble(0xD4400000) == "hlt #0x0"
