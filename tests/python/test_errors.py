# SPDX-License-Identifier: Apache-2.0
"""Mistakes of callers: each raises the exception that the package documents, with one sentence that names the
wrong value, and leaves the fleet unchanged. A mistake of a guest never raises an exception."""

import pickle

import a64
import myriarm
import myriarm.kvrm
import numpy as np
import pytest
from myriarm import ArgumentError, DeviceError, Error, Permission, Program, StateError, StopReason

LANES = 3
MEMORY = 64 << 10
BIG = 2**63


@pytest.fixture
def fleet(make_fleet):
    return make_fleet(a64.COUNT, lanes=LANES, memory=MEMORY)


def nothing(*arguments):
    pass


# (a wrong call, a text that its message must contain)
ON_A_FLEET = {
    # lanes
    "lane beyond the end": (lambda f: f.read(0, 8, LANES), "lane 3.*lanes 0 to 2"),
    "lane below 0": (lambda f: f.read(0, 8, -1), "lane -1"),
    "one of the lanes": (lambda f: f.read(0, 8, [0, 7]), "lane 7"),
    "lane of a write": (lambda f: f.write(0x2000, b"a", [0, 7]), "lane 7"),
    "lane twice": (lambda f: f.write(0x2000, b"a", [1, 1]), "lane 1 is given twice"),
    "mask": (lambda f: f.read(0, 8, [True, False]), "2 elements.*3 lanes"),
    "one bool": (lambda f: f.read(0, 8, True), "one bool"),
    "float lanes": (lambda f: f.read(0, 8, 1.0), "float64"),
    "text lanes": (lambda f: f.read(0, 8, "0"), "str"),
    "table of lanes": (lambda f: f.read(0, 8, [[0]]), r"\(1, 1\)"),
    "ragged lanes": (lambda f: f.read(0, 8, [[0], [1, 2]]), "list"),
    "slice of text": (lambda f: f.read(0, 8, slice("a")), "slice"),
    "resume": (lambda f: f.resume(LANES), "lane 3"),
    "set_stops": (lambda f: f.set_stops(LANES, 1), "lane 3"),
    "map": (lambda f: f.map(0, 4096, lanes=[LANES]), "lane 3"),
    "protect": (lambda f: f.protect(0, 4096, "r", LANES), "lane 3"),
    "snapshot": (lambda f: f.snapshot(LANES), "lane 3"),
    "restore": (lambda f: f.restore(f.snapshot(), [LANES]), "lane 3"),
    "restore another": (lambda f: f.restore(f.snapshot([0]), [1]), "lane 1"),
    "fork from": (lambda f: f.fork(LANES, [0]), "is 3"),
    "fork from below": (lambda f: f.fork(-1, [0]), "-1"),
    "fork to": (lambda f: f.fork(0, [LANES]), "lane 3"),
    "fork twice": (lambda f: f.fork(0, [1, 1]), "lane 1"),
    # addresses
    "tag": (lambda f: f.read(BIG, 8), "0x8000000000000000 is outside the window of 65536 bytes"),
    "tag of one lane": (lambda f: f.read([0, 2**56, 0], 8), "0x100000000000000 of lane 1"),
    "written tag": (lambda f: f.write(2**56 + 0x2000, b"a"), "0x100000000002000"),
    "tag in a list": (lambda f: f.write([0x2000, 2**56], b"a", [2, 0]), "0x100000000000000 of lane 0"),
    "past the end": (lambda f: f.read(MEMORY, 1), "0x10000 is outside"),
    "over the end": (lambda f: f.read(MEMORY - 4, 8), "0xfffc of lane 0: 0x10000 is outside"),
    "written over the end": (lambda f: f.write(MEMORY - 1, b"\0\0"), "0x10000 is outside"),
    "last byte of all": (lambda f: f.read(2**64 - 1, 1), "0xffffffffffffffff"),
    "address below 0": (lambda f: f.read(-1, 8), "-1"),
    "address of 65 bits": (lambda f: f.read(2**64, 8), str(2**64)),
    "float address": (lambda f: f.read(1.5, 8), "float"),
    "text address": (lambda f: f.write("0", b"a"), "U1"),
    "addresses of too few lanes": (lambda f: f.read([0, 1], 8), r"\(2,\) for 3 lanes"),
    "table of addresses": (lambda f: f.read([[0, 1, 2]], 8), r"\(1, 3\)"),
    "unmap": (lambda f: f.unmap(0, 4096, [LANES]), "lane 3"),
    "unmap past the end": (lambda f: f.unmap(MEMORY, 4096), "0x10000"),
    "unmap of half a page": (lambda f: f.unmap(0, 2048), "2048"),
    "permissions of a lane": (lambda f: f.permissions(0, 4096, [LANES]), "lane 3"),
    "permissions over the end": (lambda f: f.permissions(4096, MEMORY), "65536 bytes at 0x1000"),
    "permissions of half a page": (lambda f: f.permissions(0, 100), "100"),
    "map of a tag": (lambda f: f.map(BIG, 4096), "0x8000000000000000"),
    "map past the end": (lambda f: f.map(MEMORY, 4096), "0x10000"),
    "map over the end": (lambda f: f.map(4096, MEMORY), "65536 bytes at 0x1000"),
    "map around": (lambda f: f.map(4096, 2**64 - 4096), "at 0x1000"),
    "map of no page": (lambda f: f.map(1, 4096), "4096 bytes at 0x1 are"),
    "map of half a page": (lambda f: f.map(0, 2048), "2048"),
    "map of nothing": (lambda f: f.map(0, 0), "0 bytes"),
    "protect of a tag": (lambda f: f.protect(2**56, 4096, "r"), "0x100000000000000"),
    # sizes
    "size below 0": (lambda f: f.read(0, -1), "-1"),
    "size": (lambda f: f.read(0, MEMORY + 1), "65537"),
    "huge size": (lambda f: f.read(0, BIG), str(BIG)),
    "float size": (lambda f: f.read(0, 8.0), "float"),
    "pool": (lambda f: f.grow_pool(-1), "-1"),
    # data
    "rows": (lambda f: f.write(0x2000, np.zeros((2, 4), np.uint8)), "2 rows for 3 lanes"),
    "float data": (lambda f: f.write(0x2000, np.zeros(4)), "float64"),
    "wide data": (lambda f: f.write(0x2000, np.zeros(4, np.uint16)), "uint16"),
    "signed data": (lambda f: f.write(0x2000, np.zeros(4, np.int8)), "int8"),
    "text data": (lambda f: f.write(0x2000, "abc"), "str"),
    "no bytes": (lambda f: f.write(0x2000, [1, 256]), "0 to 255"),
    "negative bytes": (lambda f: f.write(0x2000, [-1]), "0 to 255"),
    "one number": (lambda f: f.write(0x2000, 5), "int"),
    "None": (lambda f: f.write(0x2000, None), "object|NoneType"),
    "three dimensions": (lambda f: f.write(0x2000, np.zeros((1, 1, 1), np.uint8)), r"\(1, 1, 1\)"),
    "much data": (lambda f: f.write(0, bytes(MEMORY + 1)), "65537"),
    "permissions": (lambda f: f.protect(0, 4096, "rq"), "'rq'"),
    "permissions twice": (lambda f: f.map(0, 4096, "rr"), "'rr'"),
    "permission bits": (lambda f: f.map(0, 4096, 7), "7"),
    # registers and stops
    "field": (lambda f: f.fill("q0", 1), "'q0'"),
    "negative field": (lambda f: f.fill("x0", -1), "-1"),
    "reason": (lambda f: f.set_stops(0, 77), "77"),
    "reason by name": (lambda f: f.set_stops(0, "halt"), "U4"),
    "detail": (lambda f: f.set_stops(0, 1, 2**32), str(2**32)),
    "reasons": (lambda f: f.set_stops([0, 1], [1, 2, 3]), r"\(3,\) for 2 lanes"),
    "snapshot of what": (lambda f: f.restore(None), "NoneType"),
    # runs
    "budget below 0": (lambda f: f.run(-1), "-1"),
    "float budget": (lambda f: f.run(1e6), "float"),
    "text budget": (lambda f: f.run("1"), "str"),
    "budget of 65 bits": (lambda f: f.run_mega(2**64), str(2**64)),
    "mega": (lambda f: f.run_mega(None), "number of instructions"),
    "mega, started": (lambda f: f.start(mode="mega"), "number of instructions"),
    "time-out of 0": (lambda f: f.run(timeout=0), "is 0"),
    "time-out below 0": (lambda f: f.run(timeout=-1.5), "-1.5"),
    "time-out that is none": (lambda f: f.run(timeout=float("nan")), "nan"),
    "text time-out": (lambda f: f.run(timeout="1"), "'1'"),
    "time-out of what": (lambda f: f.run(timeout=[]), "list"),
    "wait": (lambda f: f.wait(-1), "-1"),
    "wait for what": (lambda f: f.wait("1"), "'1'"),
    "go_on": (lambda f: f.run(go_on=1), "int"),
    "batch": (lambda f: f.run_continuous(instructions_per_batch=0), "is 0"),
    "batches": (lambda f: f.run_continuous(max_batches=0), "0"),
    "batches below 0": (lambda f: f.run_self_dispatch(max_batches=-1), "-1"),
    "on_batch": (lambda f: f.run_continuous(on_batch="x"), "str"),
    "on_syscall": (lambda f: f.run(on_syscall=7), "int"),
    "mode": (lambda f: f.start(mode="fast"), "'fast'"),
    "number of a mode": (lambda f: f.start(mode=1), "int"),
    "on_batch of a run": (lambda f: f.start(on_batch=nothing), "on_batch.*mode run"),
    "max_batches of a run": (lambda f: f.start(max_batches=3), "max_batches.*mode run"),
}


def one_sentence(error):
    text = str(error)
    return text and "\n" not in text and not text.endswith(".") and text == text.strip()


@pytest.mark.parametrize("name", ON_A_FLEET)
def test_wrong_arguments(fleet, name):
    call, says = ON_A_FLEET[name]
    memory = fleet.read(0, MEMORY - 2)
    with pytest.raises(ArgumentError, match=says) as caught:
        call(fleet)
    assert one_sentence(caught.value)
    # No run has begun, and nothing has changed.
    assert not fleet.is_running()
    np.testing.assert_array_equal(fleet.read(0, MEMORY - 2), memory)
    assert not fleet.x[...].any() and not fleet.stops["reason"].any()
    assert fleet.run(2).instructions == 2 * LANES


def raw(**options):
    return Program.raw(a64.COUNT, memory=MEMORY, **options)


MAKING = {
    "lanes of 0": (lambda d: myriarm.Fleet(raw(), lanes=0, device=d), "is 0"),
    "lanes below 0": (lambda d: myriarm.Fleet(raw(), lanes=-1, device=d), "-1"),
    "lanes of 33 bits": (lambda d: myriarm.Fleet(raw(), lanes=2**32, device=d), str(2**32)),
    "float lanes": (lambda d: myriarm.Fleet(raw(), lanes=1.0, device=d), "float"),
    "device": (lambda d: myriarm.Fleet(raw(), device="gpu"), '"gpu"'),
    "number of a device": (lambda d: myriarm.Fleet(raw(), device=0), "int"),
    "no memory": (lambda d: myriarm.Fleet(raw(), memory=0, device=d), "is 0"),
    "memory of no pages": (lambda d: myriarm.Fleet(a64.COUNT, memory=1000, device=d), "1000"),
    "huge memory": (lambda d: myriarm.Fleet(raw(), memory=BIG, device=d), str(BIG)),
    "policy": (lambda d: myriarm.Fleet(raw(), memory_policy="mine", device=d), "'mine'"),
    "policy of what": (lambda d: myriarm.Fleet(raw(), memory_policy=1, device=d), "is 1"),
    "threads": (lambda d: myriarm.Fleet(raw(), threads=-1, device=d), "-1"),
    "pool": (lambda d: myriarm.Fleet(raw(), pool=-1, device=d), "-1"),
    "path": (lambda d: myriarm.Fleet("hello", device=d), "str"),
    "no program": (lambda d: myriarm.Fleet(None, device=d), "NoneType"),
    "no programs": (lambda d: myriarm.Fleet([], device=d), "needs a program"),
    "pair": (lambda d: myriarm.Fleet([(1, 2)], device=d), r"program\[0\]"),
    "lanes of a program": (
        lambda d: myriarm.Fleet([(raw(), 32), (raw(), 0)], device=d),
        r"program\[1\] is 0",
    ),
    "lanes of programs": (lambda d: myriarm.Fleet([(raw(), 32)], lanes=5, device=d), "5.*32"),
    "machine of 32": (lambda d: myriarm.Machine([(raw(), 32)], device=d), "one lane"),
    "empty program": (lambda d: myriarm.Fleet(b"", device=d), "empty"),
    "memory below the program": (lambda d: Program.raw(bytes(5000), memory=4096), "5000"),
    "address": (lambda d: raw(address=BIG), "0x8000000000000000"),
    "address below 0": (lambda d: raw(address=-4), "-4"),
    "entry": (lambda d: raw(entry="start"), "str"),
    "name": (lambda d: raw(name=3), "int"),
    "text program": (lambda d: Program.raw("abcd"), "str"),
    "two dimensions": (lambda d: Program.raw(np.zeros((1, 4), np.uint8)), "one dimension"),
    "no file": (lambda d: Program.elf("/nowhere/at/all"), "/nowhere/at/all"),
    "no ELF": (lambda d: Program.elf(b"MZ"), "not an ELF"),
    "no path": (lambda d: Program.elf(3), "int"),
    "segment": (lambda d: Program([(0, b"ab")], 0), "segments"),
    "size of a segment": (lambda d: Program([(0, b"ab", 1, "r")], 0), r"segments\[0\] is 1"),
    "permissions of a segment": (lambda d: Program([(0, b"ab", 4, "q")], 0), "'q'"),
    "segments that overlap": (
        lambda d: myriarm.Fleet(Program([(0, b"ab", 4, "r"), (2, b"ab", 4, "r")], 0), device=d),
        "0x0 and 0x2 overlap",
    ),
    "segment that wraps": (
        lambda d: myriarm.Fleet(Program([(2**64 - 2, b"ab", 4, "r")], 0), device=d),
        "0xfffffffffffffffe",
    ),
    "nothing to load": (lambda d: myriarm.Fleet(Program([], 0), device=d), "no bytes to load"),
    "ELF of a process": (lambda d: myriarm.LinuxFleet(b"xx", device=d), "not an ELF"),
    "file of a process": (lambda d: myriarm.LinuxFleet("/nowhere/at/all", device=d), "/nowhere/at/all"),
    "arguments": (lambda d: myriarm.LinuxFleet(b"", arguments="a", device=d), "arguments.*str"),
    "argument": (lambda d: myriarm.LinuxFleet(b"", arguments=["a", 1], device=d), r"arguments\[1\].*int"),
    "NUL": (lambda d: myriarm.LinuxFleet(b"", arguments=["a\0"], device=d), r"arguments\[0\].*NUL"),
    "environment": (
        lambda d: myriarm.LinuxFleet(b"", environment=["A"], device=d),
        r"environment\[0\] is 'A'",
    ),
    "arguments that are no text": (
        lambda d: myriarm.LinuxFleet(b"", arguments=["a", "\ud800"], device=d),
        r"arguments\[1\] is '\\ud800', which has no bytes: it holds a lone surrogate",
    ),
    "stdin with a str": (
        lambda d: myriarm.LinuxFleet(b"", stdin=[b"a", "b"], device=d),
        r"stdin\[1\] must be bytes or uint8, not str",
    ),
    "stdin of no lane": (
        lambda d: myriarm.LinuxFleet(b"", stdin=iter(()), device=d),
        r"stdin holds nothing for any lane",
    ),
    "stdin for other lanes": (
        lambda d: myriarm.LinuxFleet(b"", stdin=[b"a", b"b"], lanes=3, device=d),
        r"stdin is for 2 lanes and lanes for 3; give as many",
    ),
    "an iterator that ends": (
        lambda d: myriarm.LinuxFleet(b"", file=iter([b"a"]), lanes=3, device=d),
        r"file is for 1 lanes and lanes for 3",
    ),
    "inputs and arguments for other lanes": (
        lambda d: myriarm.LinuxFleet(b"", stdin=[b"a", b"b"], arguments=[["x"]] * 3, device=d),
        r"arguments is for 3 lanes and stdin for 2",
    ),
    "offsets that fall": (
        lambda d: myriarm.LinuxFleet(b"", stdin=(b"abc", np.array([0, 2, 1])), device=d),
        r"the offsets of stdin must rise",
    ),
    "offsets beyond the end": (
        lambda d: myriarm.LinuxFleet(b"", stdin=(b"abc", np.array([0, 4])), device=d),
        r"within its 3 bytes",
    ),
    "arguments of a lane": (
        lambda d: myriarm.LinuxFleet(b"", arguments=[["a"], "b"], device=d),
        r"arguments\[1\] must be a list of str, not str",
    ),
    "environment of a lane": (
        lambda d: myriarm.LinuxFleet(b"", environment=[{"A": "1"}, ["B"]], device=d),
        r"environment\[1\]\[0\] is 'B'; give it as NAME=value",
    ),
    "NUL in a path": (lambda d: Program.elf("a\0b"), 'the path that begins with "a" holds a NUL character'),
    "path that is no text": (lambda d: Program.elf("/nowhere/\udcff"), r"/nowhere/\\xff: cannot be read"),
    "name of a program": (lambda d: raw(name="a\udcff", address=2), r"^a\\udcff: "),
    "stdin": (lambda d: myriarm.LinuxFleet(b"", stdin="text", device=d), "stdin.*str"),
    "kvrm memory": (lambda d: myriarm.kvrm.MetalCPU(0, device=d), "memory_size is 0"),
    "kvrm batch": (lambda d: myriarm.kvrm.ContinuousMetalCPU(cycles_per_batch=0, device=d), "is 0"),
    "kvrm budget": (lambda d: myriarm.kvrm.MetalCPU(4096, device=d).execute(-1), "-1"),
    "address of a machine": (lambda d: myriarm.Machine(raw(), device=d).read([0], 4), "list"),
    "data of a machine": (lambda d: myriarm.Machine(raw(), device=d).write(0, [[1]]), r"\(1, 1\)"),
    "word": (lambda d: myriarm.disassemble(-1), "-1"),
    "word of text": (lambda d: myriarm.disassemble("nop"), "str"),
}


@pytest.mark.parametrize("name", MAKING)
def test_wrong_arguments_of_what_is_made(device, name):
    call, says = MAKING[name]
    with pytest.raises(ArgumentError, match=says) as caught:
        call(device)
    assert one_sentence(caught.value)


def test_hierarchy():
    bases = {"ArgumentError": ValueError, "DeviceError": RuntimeError, "StateError": RuntimeError}
    for name, base in bases.items():
        error = getattr(myriarm, name)
        assert issubclass(error, (Error,)) and issubclass(error, base), name
        assert not issubclass(error, tuple(getattr(myriarm, other) for other in bases if other != name))
    assert issubclass(Error, Exception) and not issubclass(Error, (ValueError, RuntimeError))
    error = pickle.loads(pickle.dumps(DeviceError("lost")))
    assert (type(error), str(error)) == (DeviceError, "lost")


def test_device_that_is_not_there():
    with pytest.raises(DeviceError, match="cuda:99") as caught:
        myriarm.Fleet(a64.COUNT, device="cuda:99")
    assert one_sentence(caught.value)


def test_pool_beyond_all_bounds(fleet):
    with pytest.raises(DeviceError, match="MiB"):
        fleet.grow_pool(BIG)


def test_policies_and_their_calls(fleet, make_fleet):
    for call in (fleet.commit, fleet.rollback):
        with pytest.raises(StateError, match="transactional"):
            call()


def test_a_program_has_whole_teams(make_fleet):
    program = Program.raw(a64.COUNT, memory=MEMORY)
    team = myriarm.find_device(make_fleet(a64.COUNT).device.id).team_lanes
    if team > 1:
        with pytest.raises(ArgumentError, match=f"{team + 1} lanes.*{team}"):
            make_fleet([(program, team + 1), (program, 3)])
    assert make_fleet([(program, 2 * team), (program, 3)]).team_lanes == team


def test_pages_and_their_permissions(make_fleet):
    fleet = make_fleet(a64.COUNT, lanes=LANES, memory=MEMORY)
    every = Permission.mapped | Permission.read | Permission.write | Permission.execute
    assert (fleet.permissions(0, MEMORY) == every).all()
    fleet.map(0x3000, 8192, "", [0, 2])
    fleet.unmap(0x4000, 4096, 2)
    pages = fleet.permissions(0x3000, 8192)
    assert (pages.dtype, pages.tolist()) == (np.uint8, [[8, 8], [every, every], [8, 0]])
    assert fleet.permissions(0x3000, 4096, [2, 1]).tolist() == [[8], [every]]
    assert fleet.permissions(0x3000, 4096, []).shape == (0, 1)
    assert fleet.read(0x3000, 4, 2).tobytes() == bytes(4), (
        "mapped without permissions, and the host may read it"
    )


def test_holes_in_memory(make_fleet):
    fleet = make_fleet(a64.COUNT, lanes=LANES, memory=MEMORY)
    fleet.unmap(0x3000, 4096, 1)
    fleet.write(0x2FFE, b"abcd", [0, 2])
    with pytest.raises(ArgumentError, match="4 bytes at 0x2ffe of lane 1: 0x3000 is not mapped"):
        fleet.read(0x2FFE, 4)
    with pytest.raises(ArgumentError, match="of lane 1: 0x3000 is not mapped"):
        fleet.write([0x4000, 0x2FFF], b"xyz", [0, 1])
    # The mapped part was written, as documented.
    assert fleet.read(0x2FFF, 1, 1).tobytes() == b"x"
    assert fleet.read(0x4000, 3, 0).tobytes() == b"xyz"
    # If an address is outside the window, nothing is written.
    with pytest.raises(ArgumentError, match="lane 1"):
        fleet.write([0x5000, MEMORY], b"xyz", [0, 1])
    assert fleet.read(0x5000, 3, 0).tobytes() == bytes(3)
    assert fleet.read(0x2FFE, 4, [0, 2]).tobytes() == b"abcd" * 2


# Mistakes of guests are data.
GUESTS = {
    "fault": ([a64.movn(1, 0), a64.ldr_b(0, 1)], StopReason.fault),
    "undefined": ([0xFFFFFFFF], StopReason.undefined),
    "jump out": ([a64.movn(1, 0, 32), a64.br(1)], StopReason.fault),
    "misaligned pc": ([a64.movz(1, 2), a64.br(1)], StopReason.fault),
    "breakpoint": ([a64.brk(1)], StopReason.breakpoint),
    "syscall": ([a64.svc(1)], StopReason.syscall),
    "hlt": ([a64.hlt(1)], StopReason.halt),
}


@pytest.mark.parametrize("mode", ("run", "continuous", "mega", "self_dispatch"))
@pytest.mark.parametrize("name", GUESTS)
def test_what_a_guest_does_never_raises(make_fleet, name, mode):
    words, reason = GUESTS[name]
    fleet = make_fleet(a64.code(*words), lanes=LANES)
    fleet.start(1000, mode=mode)
    assert fleet.wait().stops == {reason.name: LANES}


def test_spent_pool_is_a_stop_and_can_be_grown(make_fleet):
    lanes, pages, pool = 64, 24, 4 << 20
    program = a64.code(
        a64.movz(1, 1, 16),
        a64.movz(3, pages),
        a64.str_(3, 1),
        a64.add_imm(1, 1, 4095),
        a64.add_imm(1, 1, 1),
        a64.sub_imm(3, 3, 1),
        a64.cbnz(3, -16),
        a64.hlt(),
    )
    fleet = make_fleet(program, lanes=lanes, memory=1 << 20, pool=pool)
    result = fleet.run()
    assert result.stops.get("out_of_memory", 0) > 0
    assert set(result.stops) <= {"out_of_memory", "halt"}
    assert fleet.pool_size >= fleet.pool_used > 0
    fleet.grow_pool(2 * pool)
    assert fleet.pool_size >= 2 * pool
    fleet.resume(fleet.stops["reason"] == StopReason.out_of_memory)
    assert set(fleet.run().stops) == {"halt"}
    assert fleet.instructions.tolist() == [2 + 5 * pages] * lanes
    for page in (0, pages - 1):
        assert (fleet.read(0x10000 + page * 4096, 1) == pages - page).all()


def test_host_write_into_a_spent_pool(make_fleet):
    fleet = make_fleet(a64.COUNT, lanes=64, memory=64 << 20, pool=1 << 20)
    with pytest.raises(DeviceError, match="pool") as caught:
        fleet.write(0x10000, bytes(8 << 20))
    assert one_sentence(caught.value)
    fleet.read(0x10000, 4)
    assert fleet.run(2).instructions == 128
