# SPDX-License-Identifier: Apache-2.0
"""Fleet.threads(): whose registers a lane shows, and those of its other threads."""

import dataclasses

import numpy as np
import pytest
from a64 import ELF_BASE, add_imm, b, cbnz, code, elf, hlt, movk, movz, svc
from myriarm import ArgumentError, Fleet, GuestThread, LinuxFleet, StateError

CLONE, FUTEX, SP = 220, 98, 31
FMOV_D5_X19 = 0x9E670265
# Makes a thread, which waits for a futex, and a process. They have 1, 2 and 3 in x19; the first and the third
# spin.
WORDS = [
    movz(19, 1),
    movz(0, 0x0F00),  # with CLONE_THREAD
    movk(0, 1, 16),
    movz(8, CLONE),
    svc(),
    cbnz(0, 32),  # behind the thread's call
    movz(19, 2),
    add_imm(0, SP, 0),
    movz(1, 128),  # FUTEX_WAIT_PRIVATE
    0xB94003E2,  # ldr w2, [sp]
    movz(3, 0),
    movz(8, FUTEX),
    svc(),
    movz(0, 17),
    svc(),
    cbnz(0, 12),
    movz(19, 3),
    FMOV_D5_X19,
    b(0),
]
FUTEX_AT, SPIN_AT = ELF_BASE + 120 + 12 * 4, ELF_BASE + 120 + 18 * 4
SLICE = 50_000


@pytest.fixture
def family(device):
    with LinuxFleet(elf(*WORDS), lanes=2, device=device) as fleet:
        yield fleet


def test_all_threads_of_all_processes(family):
    fleet = family.fleet
    (only,) = fleet.threads(1)
    assert (only.id, only.process, only.state, only.pc) == (1000, 1000, "running", ELF_BASE + 120)
    processes = [1000, 1000, 1002]

    family.run(SLICE // 2)
    threads = fleet.threads(1)
    assert [thread.id for thread in threads] == [1000, 1001, 1002]
    assert [thread.process for thread in threads] == processes
    assert [thread.state for thread in threads] == ["running", "ready", "ready"]

    family.run(SLICE)
    threads = fleet.threads(1)
    assert [thread.process for thread in threads] == processes
    assert [thread.x[19] for thread in threads] == [1, 2, 3]
    first, waiting, child = threads
    assert (waiting.state, waiting.is_waiting, waiting.x[8], waiting.pc) == ("waiting", True, FUTEX, FUTEX_AT)
    assert first.pc == SPIN_AT
    assert (first.state, child.state) == ("ready", "running")
    assert (first.x[0], child.x[0]) == (1002, 0)
    assert (first.v[5], child.v[5]) == (0, 3)
    (running,) = (thread for thread in threads if thread.is_running)
    shown = {name: int(getattr(fleet, name)[1]) for name in ("pc", "sp", "nzcv", "tpidr", "fpcr", "fpsr")}
    assert {name: getattr(running, name) for name in shown} == shown
    assert running.x == tuple(fleet.x[1].tolist())
    assert running.v == tuple(low | high << 64 for low, high in fleet.v[1].tolist())


def test_the_registers_of_a_thread_keep_all_bits(make_fleet):
    fleet = make_fleet(code(hlt()), lanes=3)
    fleet.v[1, 31] = np.array([2**64 - 1, 2**63 + 5], np.uint64)
    fleet.x[1, 30] = 2**64 - 2
    (thread,) = fleet.threads(1)
    assert thread.v[31] == (2**63 + 5) << 64 | 2**64 - 1 and thread.v[30] == 0 and len(thread.v) == 32
    assert thread.x[30] == 2**64 - 2 and len(thread.x) == 31
    assert (thread.id, thread.process, thread.is_running, thread.is_waiting) == (0, 0, True, False)
    assert fleet.threads() == fleet.threads(0) != fleet.threads(1)
    assert repr(thread) == "<GuestThread 0 of process 0, running, pc 0x0>"


def test_a_thread_is_a_value(make_fleet):
    (thread,) = make_fleet(code(hlt())).threads()
    assert isinstance(thread, GuestThread)
    assert hash(thread) == hash(dataclasses.replace(thread))
    with pytest.raises(dataclasses.FrozenInstanceError):
        thread.pc = 4


def test_mistakes(family, device):
    for lane in (2, -1):
        with pytest.raises(ArgumentError, match="lane"):
            family.fleet.threads(lane)
    with pytest.raises(ArgumentError, match="lane"):
        family.fleet.threads("first")
    exit_at_once = elf(movz(8, 93), svc())
    with LinuxFleet(exit_at_once, device=device) as ended:
        ended.run()
        with pytest.raises(StateError, match="given its memory back"):
            ended.fleet.threads()
    fleet = Fleet(code(hlt()), device=device, memory=1 << 16)
    fleet.close()
    with pytest.raises(StateError, match="closed"):
        fleet.threads()
