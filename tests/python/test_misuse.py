# SPDX-License-Identifier: Apache-2.0
"""What a careless or hostile caller does: absurd values in shared arrays, arrays kept for too long, the
extension called past its checks, fleets by the hundred. Python goes on, and says what was wrong."""

import gc
import os

import numpy as np
import pytest
from a64 import COUNT, code, hlt, svc
from myriarm import Error, Fleet, StopReason

FIELDS = ("pc", "sp", "nzcv", "fpcr", "limit", "instructions")


def make_fleet(program=COUNT, lanes=8):
    return Fleet(program, lanes=lanes, device="cpu", memory=1 << 16)


def test_absurd_values_in_shared_arrays():
    with make_fleet() as fleet:
        shared = {name: np.from_dlpack(getattr(fleet, name)) for name in FIELDS}
        for name in FIELDS:
            start = fleet.snapshot()
            for value in (2**64 - 1, 2**63, 2**56 - 4, 3):
                shared[name][:] = np.array(value, np.uint64).astype(shared[name].dtype)
                fleet.run(1000)
                assert np.all(fleet.stops["reason"] != StopReason.none), (name, value)
                fleet.restore(start)
            assert fleet.run(1000).instructions == 8000, f"{name}: as if nothing had been"
            fleet.restore(start)


def test_what_a_handler_was_given_is_kept():
    kept = []

    def keep(batch):
        kept.append((batch, batch.numbers, batch.arguments, batch.lanes))
        return 0

    fleet = make_fleet(code(svc(), svc(), hlt()))
    fleet.run(on_syscall=keep)
    fleet.close()
    del fleet
    gc.collect()
    assert len(kept) == 2
    for batch, numbers, arguments, lanes in kept:
        assert np.array_equal(lanes, np.arange(8))
        assert numbers.shape == (8,) and arguments.shape == (8, 6)
        with pytest.raises(Error):
            batch.fleet.run()


def test_the_extension_without_the_checks_of_the_package():
    odd = [
        (),
        (None,),
        (-1,),
        (2**64,),
        ("x0",),
        (99, 99),
        (0, 0, 0),
        (np.array([99], np.uint32),),
        (np.array([99], np.uint32), np.array([2**63], np.uint64)),
        (np.array([200], np.uint8), np.zeros((8, 1), np.uint64)),
        (np.zeros(1, np.uint64), np.array([99], np.uint32), np.zeros((1, 4), np.uint8)),
        (np.zeros(1, np.uint8), None, np.zeros((3, 3), np.uint64)),
    ]
    blocking = ("run", "start", "wait", "close")
    calls = 0
    with make_fleet() as fleet:
        for name in dir(fleet._core):
            method = getattr(fleet._core, name)
            if name.startswith("_") or name in blocking or not callable(method):
                continue
            for arguments in odd:
                calls += 1
                try:
                    method(*arguments)
                except (Error, TypeError, ValueError, IndexError, OverflowError, RuntimeError):
                    pass
        assert calls > 100
    with make_fleet() as fleet:
        assert fleet.run(1000).instructions == 8000


def test_hundreds_of_fleets_leave_no_threads():
    def threads():
        gc.collect()
        return len(os.listdir("/proc/self/task"))

    make_fleet().run(10)
    before = threads()
    fleets = [make_fleet(lanes=4) for _ in range(300)]
    assert sum(fleet.run(10).instructions for fleet in fleets) == 300 * 40
    del fleets
    assert threads() <= before + 1
