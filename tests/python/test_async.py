# SPDX-License-Identifier: Apache-2.0
"""Runs in the background: start, poll, wait, cancel, threads, Ctrl-C, and handlers that raise. The guests
never end by themselves, so a run is in progress until the test ends it."""

import os
import signal
import subprocess
import sys
import threading

import a64
import myriarm
import numpy as np
import pytest
from myriarm import Signal, StateError, StopReason

MODES = ("run", "continuous", "mega", "self_dispatch")
ENDLESS = 10**18


def until(condition):
    """Returns when the condition holds. If it never does, CTest ends the test after its TIMEOUT."""
    while not condition():
        os.sched_yield()


def start_endless(fleet, mode="run", **options):
    fleet.start(ENDLESS, mode=mode, instructions_per_batch=100_000, **options)


def check_usable(fleet, x0=None):
    """Every lane continues COUNT: two instructions add 1 to x0."""
    before = fleet.x[:, 0]
    pc = fleet.pc[...]
    assert fleet.run(2).instructions == 2 * fleet.lanes
    np.testing.assert_array_equal(fleet.x[:, 0], before + 1)
    np.testing.assert_array_equal(fleet.pc, pc)


@pytest.mark.parametrize("mode", MODES)
def test_start_returns_while_it_runs(make_fleet, mode):
    fleet = make_fleet(a64.COUNT, lanes=3)
    start_endless(fleet, mode)
    assert fleet.is_running()
    assert fleet.poll().running
    assert fleet.poll().signal == Signal.running
    fleet.cancel()
    result = fleet.wait()
    assert not fleet.is_running()
    assert (result.stops, result.signal) == ({"cancelled": 3}, Signal.cancelled)
    assert (result.stopped, result.lanes_left, result.timed_out) == (3, 3, False)
    np.testing.assert_array_equal(fleet.x[:, 0], (fleet.instructions[...] + 1) // 2)
    check_usable(fleet)


@pytest.mark.parametrize("mode", MODES)
def test_poll_sees_progress_grow(make_fleet, mode):
    fleet = make_fleet(a64.COUNT, lanes=3)
    start_endless(fleet, mode)
    seen = []

    def grows():
        poll = fleet.poll()
        assert (poll.running, poll.lanes_running) == (True, 3)
        seen.append((poll.instructions, poll.seconds))
        return len({count for count, _ in seen}) >= 4

    until(grows)
    counts, signals = fleet.poll_lanes()
    fleet.cancel()
    result = fleet.wait()
    assert seen == sorted(seen)
    assert seen[-1][0] <= result.instructions == fleet.instructions.sum()
    assert (counts <= fleet.instructions).all()
    assert counts.dtype == np.uint64 and counts.shape == (3,)
    assert signals.dtype == np.uint8 and set(signals.tolist()) == {Signal.running}
    poll = fleet.poll()
    assert (poll.running, poll.instructions, poll.lanes_running) == (False, result.instructions, 0)
    assert poll.signal == Signal.cancelled


def test_poll_before_the_first_run(make_fleet):
    fleet = make_fleet(a64.COUNT, lanes=2)
    poll = fleet.poll()
    assert (poll.running, poll.instructions, poll.signal) == (False, 0, Signal.running)
    assert not fleet.is_running()
    assert fleet.poll_lanes()[0].tolist() == [0, 0]


def test_poll_lanes_tells_lanes_that_have_ended(make_fleet):
    fleet = make_fleet(a64.code(a64.sub_imm(0, 0, 1), a64.cbnz(0, -4), a64.hlt()), lanes=34)
    fleet.x[:, 0] = 2**62
    fleet.x[::2, 0] = 5
    # Without batches a CPU would begin some lanes only when others have ended.
    start_endless(fleet, "continuous")
    halted = np.arange(34) % 2 == 0
    until(lambda: (fleet.poll_lanes()[1][halted] == Signal.halt).all())
    until(lambda: fleet.poll().lanes_running == 17)
    counts, signals = fleet.poll_lanes()
    assert (counts[halted] == 10).all()
    assert (signals[~halted] == Signal.running).all()
    fleet.cancel()
    assert fleet.wait().stops == {"halt": 17, "cancelled": 17}


@pytest.mark.parametrize("call", ("run", "wait"))
def test_gil_is_free_meanwhile(make_fleet, call):
    """A thread of Python counts, and only its count lets the run end."""
    fleet = make_fleet(a64.COUNT)
    counted = []

    def count():
        for i in range(2000):
            counted.append(i)
            if i % 100 == 0:
                os.sched_yield()
        until(fleet.is_running)
        fleet.cancel()

    if call == "wait":
        start_endless(fleet)
    thread = threading.Thread(target=count)
    thread.start()
    result = fleet.run() if call == "run" else fleet.wait()
    thread.join()
    assert len(counted) == 2000
    assert result.stops == {"cancelled": 1}


@pytest.mark.parametrize("mode", MODES)
def test_cancel_is_between_two_instructions(make_fleet, mode):
    fleet = make_fleet(a64.STORE, lanes=33)
    fleet.x[:, 1] = 0x8000
    start_endless(fleet, mode)
    until(lambda: fleet.poll().instructions > 0)
    fleet.cancel()
    fleet.wait()
    # The stored values agree with the counts.
    done = fleet.instructions[...]
    assert done.sum() > 0
    np.testing.assert_array_equal(fleet.x[:, 0], (done + 2) // 3)
    np.testing.assert_array_equal(fleet.read(0x8000, 8).view(np.uint64)[:, 0], (done + 1) // 3)


def test_cancel_before_a_run_ends_the_next_only(make_fleet):
    fleet = make_fleet(a64.COUNT, lanes=2)
    fleet.cancel()
    assert fleet.run(1000).stops == {"cancelled": 2}
    assert fleet.instructions.sum() == 0
    check_usable(fleet)


def test_cancel_twice_and_from_many_threads(make_fleet):
    fleet = make_fleet(a64.COUNT)
    start_endless(fleet)
    threads = [threading.Thread(target=fleet.cancel) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert fleet.wait().stops == {"cancelled": 1}
    for thread in threads:
        thread.join()


# Calls that raise StateError while the fleet runs.
BUSY = {
    "start": lambda fleet: fleet.start(1),
    "run": lambda fleet: fleet.run(1),
    "run_continuous": lambda fleet: fleet.run_continuous(1),
    "run_mega": lambda fleet: fleet.run_mega(1),
    "run_self_dispatch": lambda fleet: fleet.run_self_dispatch(1),
    "x": lambda fleet: fleet.x[0, 0],
    "set x": lambda fleet: setattr(fleet, "x", 1),
    "fill": lambda fleet: fleet.fill("x0", 1),
    "pc": lambda fleet: fleet.pc.copy(),
    "stops": lambda fleet: fleet.stops,
    "signals": lambda fleet: fleet.signals,
    "resume": lambda fleet: fleet.resume(),
    "set_stops": lambda fleet: fleet.set_stops(0, StopReason.halt),
    "read": lambda fleet: fleet.read(0, 4),
    "write": lambda fleet: fleet.write(0, b"1234"),
    "map": lambda fleet: fleet.map(0, 4096),
    "unmap": lambda fleet: fleet.unmap(0, 4096),
    "permissions": lambda fleet: fleet.permissions(0, 4096),
    "protect": lambda fleet: fleet.protect(0, 4096, "r"),
    "snapshot": lambda fleet: fleet.snapshot(),
    "fork": lambda fleet: fleet.fork(0, 1),
    "dlpack": lambda fleet: fleet.x.__dlpack_device__(),
    "grow_pool": lambda fleet: fleet.grow_pool(1 << 20),
    "pool_used": lambda fleet: fleet.pool_used,
}
CLOSED = {
    **BUSY,
    "poll": lambda fleet: fleet.poll(),
    "poll_lanes": lambda fleet: fleet.poll_lanes(),
    "wait": lambda fleet: fleet.wait(),
    "cancel": lambda fleet: fleet.cancel(),
    "is_running": lambda fleet: fleet.is_running(),
    "with": lambda fleet: fleet.__enter__(),
    "memory_end": lambda fleet: fleet.memory_end,
    "device": lambda fleet: fleet.device,
}


def test_while_it_runs_anything_else_is_a_state_error(make_fleet):
    fleet = make_fleet(a64.COUNT, lanes=2)
    kept = fleet.snapshot()
    start_endless(fleet)
    for name, call in {**BUSY, "restore": lambda fleet: fleet.restore(kept)}.items():
        with pytest.raises(StateError) as caught:
            call(fleet)
        assert "run" in str(caught.value) and "\n" not in str(caught.value), name
    assert fleet.lanes == len(fleet) == 2
    assert "LaneArray" in repr(fleet.x)
    assert "2 lanes" in repr(fleet)
    fleet.cancel()
    fleet.wait()
    check_usable(fleet)


def test_result_must_be_taken_before_the_next_start(make_fleet):
    fleet = make_fleet(a64.COUNT)
    fleet.start(10)
    until(lambda: not fleet.is_running())
    with pytest.raises(StateError, match="wait"):
        fleet.start(10)
    assert fleet.wait().instructions == 10
    with pytest.raises(StateError):
        fleet.wait()
    fleet.start(10)
    assert fleet.wait().instructions == 10


def test_wait_with_time_out(make_fleet):
    fleet = make_fleet(a64.COUNT)
    start_endless(fleet)
    assert fleet.wait(0) is None
    assert fleet.wait(0.01) is None
    assert fleet.is_running()
    fleet.cancel()
    assert fleet.wait().stops == {"cancelled": 1}


def test_two_threads_may_not_wait(make_fleet):
    fleet = make_fleet(a64.COUNT)
    start_endless(fleet)
    results = []

    def other():
        try:
            results.append(fleet.wait())
        except StateError as error:
            results.append(error)

    threads = [threading.Thread(target=other) for _ in range(2)]
    for thread in threads:
        thread.start()
    until(lambda: results)
    assert isinstance(results[0], StateError)
    fleet.cancel()
    for thread in threads:
        thread.join()
    assert results[1].stops == {"cancelled": 1}


def test_many_threads_on_one_fleet_never_crash(make_fleet):
    fleet = make_fleet(a64.COUNT, lanes=3)
    failures = []

    def use(number):
        for i in range(60):
            try:
                (
                    lambda: fleet.run(100),
                    lambda: fleet.x[:, 0],
                    lambda: fleet.write(0x2000, b"abc"),
                    lambda: fleet.poll_lanes(),
                    lambda: fleet.snapshot(),
                    lambda: fleet.cancel(),
                )[(number + i) % 6]()
            except StateError:
                pass
            except BaseException as error:  # noqa: BLE001
                failures.append(error)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    fleet.cancel()
    fleet.run()  # takes a cancel that nobody has taken
    check_usable(fleet)


# Closing.
@pytest.mark.parametrize("name", CLOSED)
def test_use_after_close(make_fleet, name):
    fleet = make_fleet(a64.COUNT, lanes=2)
    fleet.close()
    fleet.close()
    assert fleet.closed
    assert repr(fleet) == "<Fleet, closed>"
    with pytest.raises(StateError, match="closed; make a new one"):
        CLOSED[name](fleet)


def test_snapshot_of_a_closed_fleet(make_fleet):
    first, second = make_fleet(a64.COUNT), make_fleet(a64.COUNT)
    kept = first.snapshot()
    first.close()
    with pytest.raises(StateError, match="closed"):
        first.restore(kept)
    with pytest.raises(myriarm.Error):
        second.restore(kept)
    with pytest.raises(myriarm.Error):
        make_fleet(a64.COUNT).restore(second.snapshot())


def test_close_ends_what_runs(make_fleet):
    fleet = make_fleet(a64.COUNT)
    start_endless(fleet)
    fleet.close()
    assert fleet.closed


def test_close_while_another_thread_waits(make_fleet):
    fleet = make_fleet(a64.COUNT)
    start_endless(fleet)
    ended = []

    def wait():
        with pytest.raises(StateError) as caught:
            fleet.wait()
        ended.append(str(caught.value))

    # Whether the other thread waits already or begins to afterwards, it hears the same.
    thread = threading.Thread(target=wait)
    thread.start()
    fleet.close()
    thread.join()
    assert ended == ["the fleet is closed; make a new one"]


def test_with_closes(make_fleet):
    with make_fleet(a64.COUNT) as fleet:
        start_endless(fleet)
    assert fleet.closed


def test_fleet_that_runs_can_be_forgotten(device):
    for _ in range(3):
        fleet = myriarm.Fleet(a64.COUNT, device=device, memory=4096)
        fleet.start()
        del fleet


# Ctrl-C.
INTERRUPTED = """
import os, signal, sys, threading
import myriarm
import numpy as np

fleet = myriarm.Fleet(bytes.fromhex("00040091ffffff17"), lanes=2, device=sys.argv[1], memory=4096)

def interrupt():
    while not fleet.is_running() or fleet.poll().instructions == 0:
        os.sched_yield()
    os.kill(os.getpid(), signal.SIGINT)

thread = threading.Thread(target=interrupt)
thread.start()
try:
    {call}
except KeyboardInterrupt:
    print("interrupted")
else:
    print("not interrupted")
thread.join()
{after}
assert not fleet.is_running()
assert (fleet.stops["reason"] == myriarm.StopReason.cancelled).all()
np.testing.assert_array_equal(fleet.x[:, 0], (fleet.instructions[...] + 1) // 2)
assert fleet.run(2).instructions == 4
print("usable")
"""


@pytest.mark.parametrize(
    ("call", "after"),
    (
        ("fleet.run()", ""),
        ("fleet.run_continuous(instructions_per_batch=1000)", ""),
        ("fleet.run_continuous(instructions_per_batch=1000, on_batch=lambda report: None)", ""),
        ("fleet.run_mega(10**18)", ""),
        ("fleet.run_self_dispatch(instructions_per_batch=1000)", ""),
        # Only the waiting ends.
        ("fleet.start(); fleet.wait()", "assert fleet.is_running(); fleet.cancel(); fleet.wait()"),
    ),
)
def test_interrupt(device, call, after):
    program = INTERRUPTED.replace("{call}", call).replace("{after}", after)
    ran = subprocess.run([sys.executable, "-c", program, device], capture_output=True, text=True, timeout=300)
    assert (ran.returncode, ran.stdout) == (0, "interrupted\nusable\n"), ran.stderr


def test_interrupt_that_nobody_catches_ends_the_process(device):
    program = (
        "import myriarm, sys; print(flush=True); myriarm.Fleet(b'\\0\\0\\0\\x14', device=sys.argv[1]).run()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, device], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "\n"
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=300)
    assert process.returncode == -signal.SIGINT
    assert error.endswith("KeyboardInterrupt\n")


# Handlers that raise.
class Oops(Exception):
    pass


class Quit(BaseException):
    pass


@pytest.mark.parametrize("kind", (Oops, Quit, KeyboardInterrupt, SystemExit))
@pytest.mark.parametrize("way", ("run", "start"))
def test_exception_in_on_batch(make_fleet, kind, way):
    fleet = make_fleet(a64.COUNT, lanes=2)
    raised = kind("on purpose")

    def on_batch(report):
        if report.batch == 2:
            raise raised

    with pytest.raises(kind) as caught:
        if way == "run":
            fleet.run_continuous(instructions_per_batch=1000, on_batch=on_batch)
        else:
            fleet.start(mode="continuous", instructions_per_batch=1000, on_batch=on_batch)
            fleet.wait()
    assert caught.value is raised
    assert caught.traceback[-1].name == "on_batch"
    assert fleet.instructions.tolist() == [3000, 3000]
    assert not fleet.is_running()
    check_usable(fleet)
    assert fleet.instructions.tolist() == [3002, 3002]


def test_exception_of_a_started_run_that_is_closed(make_fleet):
    fleet = make_fleet(a64.COUNT)

    def on_batch(report):
        raise Oops

    fleet.start(mode="continuous", instructions_per_batch=10, on_batch=on_batch)
    until(lambda: not fleet.is_running())
    fleet.close()
    assert fleet.closed


def test_handlers_use_the_fleet_but_do_not_run_it(make_fleet):
    fleet = make_fleet(a64.COUNT, lanes=2)
    caught = []

    def on_batch(report):
        fleet.x[1, 5] = report.batch
        fleet.write(0x2000, b"batch")
        for call in (fleet.run, fleet.start, fleet.wait):
            try:
                call()
            except StateError as error:
                caught.append(str(error))
        return report.batch < 3

    fleet.run_continuous(instructions_per_batch=10, on_batch=on_batch)
    assert len(caught) == 12
    assert fleet.x[:, 5].tolist() == [0, 3]
    assert fleet.read(0x2000, 5).tobytes() == b"batch" * 2
    check_usable(fleet)


def test_time_out_ends_a_run_at_a_checkpoint(make_fleet):
    for mode in MODES:
        fleet = make_fleet(a64.COUNT, lanes=2)
        start_endless(fleet, mode, timeout=0.02)
        result = fleet.wait()
        assert (result.timed_out, result.signal) == (True, Signal.checkpoint)
        assert result.stops == {"cancelled": 2}
        check_usable(fleet)


def test_progress_is_quiet_without_a_terminal(make_fleet, capfd):
    fleet = make_fleet(a64.COUNT)
    assert fleet.run(1000, progress=True).instructions == 1000
    assert capfd.readouterr() == ("", "")
