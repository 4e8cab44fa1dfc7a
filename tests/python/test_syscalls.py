# SPDX-License-Identifier: Apache-2.0
"""System calls that a Python handler serves; one call of the handler gets all lanes that stopped."""

import a64
import myriarm
import numpy as np
import pytest
from myriarm import ArgumentError, Signal, StateError, StopReason, SyscallAction

MODES = ("run", "continuous", "mega", "self_dispatch")
LANES = 35

# Three times SVC #3 with x8 = 64, with the result added to x9; then SVC with x8 = 93, then HLT.
CALLS = a64.code(
    a64.movz(10, 3),
    a64.movz(8, 64),
    a64.svc(3),
    a64.add(9, 9, 0),
    a64.sub_imm(10, 10, 1),
    a64.cbnz(10, -16),
    a64.movz(8, 93),
    a64.svc(0),
    a64.hlt(),
)
RETIRED = 1 + 5 * 3 + 2


@pytest.fixture
def fleet(make_fleet):
    fleet = make_fleet(CALLS, lanes=LANES)
    fleet.x[:, 0:6] = np.arange(LANES)[:, None] * 10 + np.arange(6)
    return fleet


def run_served(fleet, mode, handler):
    fleet.start(10**9, mode=mode, instructions_per_batch=7, on_syscall=handler)
    return fleet.wait()


@pytest.mark.parametrize("mode", MODES)
def test_batches(fleet, mode):
    """The arrays that a handler gets; what it does not write stays as it is."""
    seen = np.zeros(LANES, int)
    expected = fleet.x[:, 0:6]

    def handler(batch):
        n = len(batch)
        assert batch.fleet is fleet
        for name, shape, dtype in (
            ("lanes", (n,), np.uint32),
            ("numbers", (n,), np.uint64),
            ("immediates", (n,), np.uint32),
            ("arguments", (n, 6), np.uint64),
            ("results", (n,), np.uint64),
            ("actions", (n,), np.uint8),
        ):
            array = getattr(batch, name)
            assert (array.shape, array.dtype) == (shape, dtype), name
            assert array.flags.c_contiguous
        assert (np.diff(batch.lanes.astype(int)) > 0).all()
        last = seen[batch.lanes] == 3
        assert (batch.numbers == np.where(last, 93, 64)).all()
        assert (batch.immediates == np.where(last, 0, 3)).all()
        np.testing.assert_array_equal(batch.arguments, expected[batch.lanes])
        np.testing.assert_array_equal(batch.results, batch.arguments[:, 0])
        assert (batch.actions == SyscallAction.resume).all()
        seen[batch.lanes] += 1

    result = run_served(fleet, mode, handler)
    assert (result.stops, result.signal) == ({"halt": LANES}, Signal.halt)
    assert result.instructions == RETIRED * LANES
    assert (seen == 4).all()
    np.testing.assert_array_equal(fleet.x[:, 9], expected[:, 0] * 3)


@pytest.mark.parametrize("mode", MODES)
def test_results_and_actions_of_a_stateful_handler(fleet, mode):
    class Counter:
        def __init__(self):
            self.calls = np.zeros(LANES, np.uint64)

        def __call__(self, batch):
            self.calls[batch.lanes] += np.uint64(1)
            batch.results = self.calls[batch.lanes] * batch.lanes
            ending = batch.numbers == 93
            batch.actions[ending & (batch.lanes % 3 == 0)] = SyscallAction.stop
            batch.actions[ending & (batch.lanes % 3 == 1)] = SyscallAction.exit

    counter = Counter()
    result = run_served(fleet, mode, counter)
    lanes = np.arange(LANES)
    assert (counter.calls == 4).all()
    np.testing.assert_array_equal(fleet.x[:, 9], 6 * lanes)
    reasons = np.choose(lanes % 3, [StopReason.syscall, StopReason.exited, StopReason.halt])
    np.testing.assert_array_equal(fleet.stops["reason"], reasons)
    assert result.stops == {"halt": 11, "syscall": 12, "exited": 12}
    stopped, exited = lanes % 3 == 0, lanes % 3 == 1
    np.testing.assert_array_equal(fleet.x[stopped, 0], 4 * lanes[stopped])  # x0 has the result
    np.testing.assert_array_equal(fleet.stops["detail"][exited], 4 * lanes[exited])  # the status
    assert result.instructions == (RETIRED) * LANES
    # A lane that kept the stop of its call continues after the call.
    fleet.resume(stopped)
    assert fleet.run().stops == {"halt": 12}


@pytest.mark.parametrize(
    ("answer", "result"),
    (
        (lambda batch: None, None),
        (lambda batch: 7, 7),
        (lambda batch: -38, 2**64 - 38),
        (lambda batch: np.uint64(2**64 - 1), 2**64 - 1),
        (lambda batch: np.full(len(batch), -1, np.int32), 2**64 - 1),
        (lambda batch: [5] * len(batch), 5),
        (lambda batch: np.array([9]), 9),
    ),
)
def test_answers(fleet, answer, result):
    fleet.run(on_syscall=answer)
    expected = fleet.x[:, 1] - 1 if result is None else np.full(LANES, result, np.uint64)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(fleet.x[:, 9], expected * np.uint64(3))


@pytest.mark.parametrize(
    ("answer", "message"),
    (
        (lambda batch: [1, 2], r"\(2,\) for 35 lanes"),
        (lambda batch: 1.5, "float"),
        (lambda batch: "text", "str"),
        (lambda batch: np.zeros((LANES, 2), int), r"\(35, 2\)"),
        (lambda batch: setattr(batch, "results", [1, 2]), r"\(2,\)"),
        (lambda batch: setattr(batch, "results", 0.5), "float"),
        (lambda batch: setattr(batch, "actions", [1, 2]), r"\(2,\)"),
        (lambda batch: setattr(batch, "actions", 300), "300"),
        (lambda batch: batch.actions.fill(3), "no processes"),
        (lambda batch: batch.actions.fill(4), "action 4 of lane 0"),
        (lambda batch: batch.answer([True], 0), "mask or indices of the 35 calls"),
        (lambda batch: batch.answer([35], 0), "mask or indices of the 35 calls"),
        (lambda batch: batch.answer([0, 1], [0, 1]), r"\(2,\) for 35 lanes"),
    ),
)
def test_wrong_answers(fleet, answer, message):
    with pytest.raises(ArgumentError, match=message) as caught:
        fleet.run(on_syscall=answer)
    assert "\n" not in str(caught.value)
    check_waits_at_the_first_call(fleet)


def check_waits_at_the_first_call(fleet):
    """The lanes keep the stop of their call, and a later run can serve it."""
    assert not fleet.is_running()
    assert (fleet.stops["reason"] == StopReason.syscall).all()
    assert (fleet.stops["detail"] == 3).all()
    assert fleet.pc.tolist() == [12] * LANES
    fleet.x[:, 0] = 4
    fleet.resume()
    assert fleet.run(on_syscall=lambda batch: 8).stops == {"halt": LANES}
    assert (fleet.x[:, 9] == 4 + 8 + 8).all()
    assert fleet.instructions.tolist() == [RETIRED] * LANES


class Oops(Exception):
    pass


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", (Oops, KeyboardInterrupt, SystemExit, StopIteration))
def test_handler_that_raises(fleet, mode, kind):
    raised = kind("on purpose")

    def handler(batch):
        batch.results[:] = 99
        raise raised

    with pytest.raises(kind) as caught:
        run_served(fleet, mode, handler)
    assert caught.value is raised
    assert caught.traceback[-1].name == "handler"
    check_waits_at_the_first_call(fleet)


def test_without_a_handler_calls_stop_the_lanes(fleet):
    result = fleet.run()
    assert (result.stops, result.signal_name) == ({"syscall": LANES}, "SYSCALL")
    check_waits_at_the_first_call(fleet)


def test_handler_uses_memory_and_registers(make_fleet):
    """A call that reads a string of each lane and writes one back."""
    fleet = make_fleet(a64.code(a64.svc(), a64.ldr(9, 1), a64.hlt()), lanes=LANES)
    fleet.x[:, 0] = 0x2000 + 16 * np.arange(LANES)
    fleet.x[:, 1] = 0x3000 + 8 * np.arange(LANES)
    text = np.arange(LANES * 8, dtype=np.uint8).reshape(LANES, 8)
    fleet.write(fleet.x[:, 0], text)

    def handler(batch):
        data = batch.fleet.read(batch.arguments[:, 0], 8, batch.lanes)
        batch.fleet.write(batch.arguments[:, 1], data[:, ::-1], batch.lanes)
        batch.fleet.x[batch.lanes, 5] = 55
        return data[:, 3]

    fleet.run(on_syscall=handler)
    np.testing.assert_array_equal(fleet.x[:, 0], text[:, 3])
    np.testing.assert_array_equal(fleet.x[:, 9].copy().view(np.uint8).reshape(LANES, 8), text[:, ::-1])
    assert (fleet.x[:, 5] == 55).all()


def test_handler_does_not_run_its_fleet_but_may_run_another(fleet, make_fleet):
    other = make_fleet(a64.COUNT)

    def handler(batch):
        with pytest.raises(StateError):
            batch.fleet.run()
        with pytest.raises(StateError):
            fleet.start()
        return other.run(100).instructions

    fleet.run(on_syscall=handler)
    assert (fleet.x[:, 9] == 300).all()
    assert other.instructions[0] == 400


def test_handler_that_cancels(fleet):
    served = []

    def handler(batch):
        served.append(len(batch))
        fleet.cancel()

    result = fleet.run(on_syscall=handler)
    assert result.stops == {"cancelled": LANES}
    assert fleet.instructions.tolist() == [3] * LANES
    assert sum(served) == LANES
    assert fleet.run(on_syscall=lambda batch: None).stops == {"halt": LANES}
    assert fleet.instructions.tolist() == [RETIRED] * LANES


def test_lanes_that_call_at_different_times(make_fleet):
    """Each lane executes as many rounds of a loop as its number before its first call; every call is
    served."""
    program = a64.code(a64.sub_imm(1, 1, 1), a64.cbnz(1, -4), a64.svc(), a64.add_imm(2, 2, 1), a64.b(-8))
    fleet = make_fleet(program, lanes=LANES)
    fleet.x[:, 1] = np.arange(1, LANES + 1) * 50
    calls = np.zeros(LANES, int)

    def handler(batch):
        np.add.at(calls, batch.lanes, 1)

    result = fleet.run_continuous(3000, instructions_per_batch=250, on_syscall=handler)
    assert result.stops == {"budget": LANES}
    waited = 100 * np.arange(1, LANES + 1)
    # After these rounds the lane repeats SVC, ADD, B.
    np.testing.assert_array_equal(calls, np.maximum(3000 - waited + 2, 0) // 3)
    np.testing.assert_array_equal(fleet.x[:, 2], np.maximum(3000 - waited + 1, 0) // 3)


def test_machine_is_what_its_handler_is_given(device):
    with myriarm.Machine(CALLS, device=device, memory=4096) as machine:
        given = []
        machine.run(on_syscall=lambda batch: given.append(batch.fleet) or 2)
        assert given == [machine] * 4
        assert int(machine.x[9]) == 6


def test_torch_handler(fleet, on_cuda):
    """The handler works on the registers without a copy, and returns a tensor."""
    torch = pytest.importorskip("torch")

    def handler(batch):
        x = torch.from_dlpack(batch.fleet.x).view(torch.int64)
        assert x.device.type == ("cuda" if on_cuda else "cpu")
        x[:, 20] += 1
        answer = x[:, 1] * 2
        if on_cuda:
            torch.cuda.synchronize()
        return answer.cpu()[torch.from_numpy(batch.lanes.astype(np.int64))]

    fleet.run(on_syscall=handler)
    np.testing.assert_array_equal(fleet.x[:, 9], fleet.x[:, 1] * np.uint64(6))
    assert fleet.x[:, 20].min() >= 4
