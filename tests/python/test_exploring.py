# SPDX-License-Identifier: Apache-2.0
"""For teaching and exploring: programs from assembly, single steps, registers as ints, what a dump shows,
instructions with symbols."""

import importlib.util
import re
import shutil

import pytest
from a64 import code
from myriarm import ArgumentError, DeviceError, Machine, Program, StopReason, assembly

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
    lines = machine.disassemble(before=1, after=2).splitlines()
    assert [line[:3] for line in lines] == ["aga", "   ", "=> ", "   ", "don", "   "]
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
