# SPDX-License-Identifier: Apache-2.0
"""Registers by their names as attributes: ints of a Machine; for a Fleet the error says where they are. No
other name is taken for an attribute."""

import myriarm
import pytest
from a64 import COUNT, add_imm, code, hlt, movz
from myriarm import ArgumentError, Fleet, LinuxFleet, Machine
from test_fork import HELLO


@pytest.fixture
def machine(device):
    with Machine(code(add_imm(0, 0, 1), hlt()), device=device, memory=1 << 16) as made:
        yield made


def test_registers_of_a_machine_by_name(machine):
    machine.x0 = 41
    machine.x30 = 2**64 - 1
    machine.sp, machine.pc = 0x4000, 0
    machine.run()
    assert (machine.x0, machine.w0, machine.x30, machine.w30) == (42, 42, 2**64 - 1, 2**32 - 1)
    assert [int(machine.x[n]) for n in (0, 30)] == [42, 2**64 - 1]
    assert (machine.pc, machine.sp, type(machine.x0), type(machine.v0)) == (4, 0x4000, int, int)
    machine.w30 = 7
    assert machine.x30 == 7, "writing a W register clears the upper half of the X register"
    for n in range(31):
        setattr(machine, f"x{n}", n << 40 | n)
        assert getattr(machine, f"w{n}") == n
    assert machine.x[...].tolist() == [n << 40 | n for n in range(31)]
    for n in range(32):
        setattr(machine, f"v{n}", n << 64 | 1)
        assert getattr(machine, f"v{n}") == n << 64 | 1
    assert machine.v[...].tolist() == [[1, n] for n in range(32)]
    machine.v31 += 1
    assert machine.v31 == 31 << 64 | 2
    assert {"x0", "x30", "w0", "v31", "step"} <= set(dir(machine)) | {"step"}


@pytest.mark.parametrize(
    "name, value, says",
    [
        ("x0", 2**64, "x0 is 18446744073709551616; it must be at most 18446744073709551615"),
        ("x3", -1, "x3 is -1; it must be at least 0"),
        ("w0", 2**32, "w0 is 4294967296; it must be at most 4294967295"),
        ("v1", 2**128, f"v1 is {2**128}; it must be at most {2**128 - 1}"),
        ("x1", 1.5, "x1 must be an integer, not float"),
    ],
)
def test_values_that_a_register_cannot_hold(machine, name, value, says):
    with pytest.raises(ArgumentError, match=f"^{says}$"):
        setattr(machine, name, value)


@pytest.mark.parametrize(
    "name, place", [("x0", "x[:, 0]"), ("x30", "x[:, 30]"), ("w7", "x[:, 7]"), ("v31", "v[:, 31]")]
)
def test_a_fleet_says_where_its_registers_are(make_fleet, name, place):
    fleet = make_fleet(COUNT, lanes=4)
    says = f"a Fleet has no {name} of its own; {name} of its lanes is fleet.{place}"
    with pytest.raises(AttributeError) as read:
        getattr(fleet, name)
    with pytest.raises(AttributeError) as written:
        setattr(fleet, name, 1)
    assert str(read.value) == str(written.value) == says


def test_no_other_name_becomes_an_attribute(machine, make_fleet, device):
    process = LinuxFleet(HELLO, device=device)
    for thing in (machine, make_fleet(COUNT), process):
        for name in ("x31", "w31", "v32", "x00", "xzr", "registers_", "lane", "_hidden"):
            with pytest.raises(AttributeError, match=name):
                setattr(thing, name, 1)
            with pytest.raises(AttributeError, match=name):
                getattr(thing, name)
        with pytest.raises(AttributeError):
            thing.device = "cpu"
    process.close()


def test_classes_of_users_may_have_attributes(device):
    class Mine(Fleet):
        def __init__(self):
            super().__init__(COUNT, lanes=2, device=device, memory=1 << 16)
            self.steps = 3

    with Mine() as fleet:
        assert fleet.steps == 3
        with pytest.raises(AttributeError, match=r"fleet\.x\[:, 0\]"):
            fleet.x0 = 1


def test_a_run_in_which_no_lane_took_part_says_so(make_fleet):
    fleet = make_fleet(code(movz(0, 1), hlt()), lanes=8)
    first = fleet.run()
    assert (first.lanes_run, first.note) == (8, "")
    assert "note" not in repr(first) and "lanes_run=8" in repr(first)
    again = fleet.run()
    assert (again.lanes_run, again.instructions, again.stopped, again.stops) == (0, 0, 8, {})
    assert again.note == "no lane took part, for every lane had a stop: resume() takes stops away"
    assert again.note in repr(again)
    fleet.start()
    assert fleet.wait().note == again.note
    fleet.resume([3])
    assert (fleet.run().lanes_run, fleet.run().lanes_run) == (1, 0)
    fleet.resume([3])
    fleet.pc = 0
    result = fleet.run(1)
    assert (result.lanes_run, result.stops) == (1, {"budget": 1})
    assert (fleet.run(go_on=False).lanes_run, fleet.run().lanes_run) == (0, 1)


def test_a_run_in_which_no_process_took_part_says_so(device):
    with LinuxFleet(HELLO, lanes=3, device=device) as fleet:
        assert fleet.run().lanes_run == 3
        again = fleet.run()
        assert again.lanes_run == 0
        assert again.note in repr(again) and "every process had ended" in again.note


@pytest.mark.parametrize("policy", myriarm.fleet.MEMORY_POLICIES)
def test_memory_policies_by_either_spelling(make_fleet, policy):
    for spelling in (policy, policy.replace("-", "_")):
        assert make_fleet(COUNT, memory_policy=spelling).memory_policy == policy
    with pytest.raises(ArgumentError, match="'device.shared'; use one of private, read-only"):
        make_fleet(COUNT, memory_policy="device.shared")
