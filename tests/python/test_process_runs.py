# SPDX-License-Identifier: Apache-2.0
"""A fleet of processes is a fleet: modes, budgets, handlers, snapshots, forks and transactions, and what
on_call is told."""

import gc
import threading
import weakref

import numpy as np
import pytest
from a64 import COUNT, ELF_BASE, add_imm, b, cbnz, cbz, elf, hlt, mov64, movk, movn, movz, svc
from myriarm import ArgumentError, LinuxFleet, Queue, Signal, StateError, StopReason, SyscallAction

OPENAT, READ, WRITE, EXIT, GETPID = 56, 63, 64, 93, 172
EACCES = 13
BUFFER, PIECE = ELF_BASE + 0x10000, 4

# Copies standard input to standard output in pieces of 4 bytes. After n pieces it has retired
# SETUP + n * ROUND instructions.
SETUP, ROUND = 4, 10
COPY = elf(
    *mov64(1, BUFFER),
    movz(0, 0),
    movz(2, PIECE),
    movz(8, READ),
    svc(),
    cbz(0, 24),  # to the exit
    add_imm(2, 0, 0),
    movz(0, 1),
    movz(8, WRITE),
    svc(),
    b(-36),
    movz(8, EXIT),
    svc(),
    hlt(),  # where a process goes on whose exit was answered by somebody else
)
# Leaves the result of getpid in x19 and that of openat("/input") in x20, and exits.
ASK = elf(
    *mov64(1, ELF_BASE + 120 + 4 * 17),
    movz(8, GETPID),
    svc(),
    add_imm(19, 0, 0),
    movn(0, 99),  # AT_FDCWD
    movz(2, 0),
    movz(8, OPENAT),
    svc(),
    add_imm(20, 0, 0),
    movz(0, 0),
    movz(8, EXIT),
    svc(),
    hlt(),
    0,
    *np.frombuffer(b"/input\0\0", "<u4").tolist(),
)
INPUTS = [bytes(range(65, 65 + size)) for size in (0, 3, 4, 9, 16, 26)]


@pytest.fixture
def process(device):
    made = []

    def make(program=COPY, **options):
        options.setdefault("device", device)
        made.append(LinuxFleet(program, **options))
        return made[-1]

    yield make
    for fleet in made:
        fleet.close()


def calls_of(data):
    """read and write of each piece, read at the end, exit"""
    return 2 * -(-len(data) // PIECE) + 2


def outputs(fleet):
    return [fleet.stdout(lane) for lane in range(fleet.lanes)]


RUNS = {
    "run": {"mode": "run"},
    "run with a budget": {"instructions": 1_000_000},
    "continuous": {"mode": "continuous", "instructions_per_batch": 13},
    "mega": {"mode": "mega", "instructions": 1_000_000},
    "self_dispatch": {"mode": "self_dispatch", "instructions_per_batch": 13},
    "a handler": {"on_syscall": lambda batch: None},
    "a handler in batches": {
        "mode": "continuous",
        "instructions_per_batch": 7,
        "on_syscall": lambda batch: None,
    },
}


@pytest.mark.parametrize("engine", ("interpreter", "stepper"))
@pytest.mark.parametrize("run", RUNS)
def test_every_way_to_run_gives_the_same(process, run, engine):
    fleet = process(stdin=INPUTS)
    result = fleet.run(engine=engine, **RUNS[run])
    assert outputs(fleet) == INPUTS
    assert result.stops == {"exited": len(INPUTS)}
    rounds = np.array([-(-len(data) // PIECE) for data in INPUTS])
    assert fleet.fleet.instructions.tolist() == (SETUP + ROUND * rounds + 7).tolist()
    assert result.instructions == fleet.fleet.instructions.sum()
    assert (result.lanes_left, result.lanes_run) == (0, len(INPUTS))
    if "instructions_per_batch" in RUNS[run]:
        assert result.batches > 1
    again = fleet.run(engine=engine, **RUNS[run])
    assert (again.lanes_run, again.instructions) == (0, 0)
    assert "every process had ended" in again.note


def test_start_poll_and_wait(process):
    fleet = process(stdin=INPUTS)
    fleet.start(SETUP + ROUND)
    result = fleet.wait()
    assert not fleet.is_running()
    assert (fleet.poll().instructions, fleet.poll().running) == (result.instructions, False)
    assert outputs(fleet) == [data[:PIECE] for data in INPUTS]
    fleet.start(mode="continuous")
    assert fleet.wait().stops == {"exited": 5}
    assert outputs(fleet) == INPUTS
    counts, signals = fleet.poll_lanes()
    assert counts.tolist() == fleet.fleet.instructions.tolist()
    assert (signals == Signal.halt).all()
    with pytest.raises(StateError, match="no run was started"):
        fleet.wait()


def test_poll_of_a_run_in_another_thread(process):
    fleet = process(elf(*np.frombuffer(COUNT, "<u4").tolist()), lanes=3)
    results = []
    thread = threading.Thread(target=lambda: results.append(fleet.run()))
    thread.start()
    while not fleet.is_running() or fleet.poll().instructions == 0:
        pass
    assert fleet.poll().lanes_running == 3
    with pytest.raises(StateError):
        fleet.start()
    fleet.cancel()
    thread.join()
    assert results[0].stops == {"cancelled": 3}
    assert (fleet.poll().running, fleet.poll().instructions) == (False, results[0].instructions)


def test_closing_ends_a_run_in_another_thread(process):
    fleet = process(elf(*np.frombuffer(COUNT, "<u4").tolist()), lanes=3)
    errors = []

    def run():
        try:
            fleet.run()
        except StateError as error:
            errors.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    while not fleet.is_running() or fleet.poll().instructions == 0:
        pass
    fleet.close()
    thread.join()
    assert len(errors) == 1
    assert "closed" in errors[0]


@pytest.mark.parametrize("way", ("own", "fleet's"))
def test_a_cancel_ends_one_run_whoever_runs_it(process, way):
    fleet = process(stdin=INPUTS)
    runs = (fleet.run, lambda: fleet.fleet.run())
    first, second = runs if way == "own" else runs[::-1]
    fleet.cancel()
    assert first().stops == {"cancelled": len(INPUTS)}
    assert second().stops == {"exited": len(INPUTS)}


def test_a_time_out(process):
    fleet = process(elf(*np.frombuffer(COUNT, "<u4").tolist()), lanes=2)
    result = fleet.run(timeout=0.01)
    assert (result.timed_out, result.stops) == (True, {"cancelled": 2})


def test_a_handler_counts_the_calls_of_each_lane(process):
    fleet = process(stdin=INPUTS)
    counts, numbers = np.zeros(len(INPUTS), int), set()

    def count(batch):
        assert (batch.actions == SyscallAction.serve).all()
        counts[batch.lanes] += 1
        numbers.update(batch.numbers.tolist())

    fleet.run(on_syscall=count)
    assert counts.tolist() == [calls_of(data) for data in INPUTS]
    assert numbers == {READ, WRITE, EXIT}
    assert outputs(fleet) == INPUTS


def test_a_handler_answers_one_call_itself(process):
    fleet = process(ASK, lanes=3, file=b"abc", keep_memory=True)
    fleet.run()
    own = fleet.fleet.x[:, 19].tolist()
    assert fleet.fleet.x[:, 20].tolist() == [3, 3, 3]

    fleet = process(ASK, lanes=3, file=b"abc", keep_memory=True)

    def answer(batch):
        batch.answer((batch.numbers == GETPID) & (batch.lanes > 0), 4711 + batch.lanes)

    fleet.run(on_syscall=answer)
    assert fleet.fleet.x[:, 19].tolist() == [own[0], 4712, 4713]
    assert own[0] < 4711
    assert fleet.fleet.x[:, 20].tolist() == [3, 3, 3]
    assert [outcome.exit_status for outcome in fleet.outcomes] == [0, 0, 0]


def test_a_handler_refuses_a_call_of_one_lane(process):
    fleet = process(ASK, lanes=3, file=b"abc", keep_memory=True)

    def refuse(batch):
        batch.answer((batch.numbers == OPENAT) & (batch.lanes == 1), -EACCES)

    fleet.run(on_syscall=refuse)
    assert fleet.fleet.x[:, 20].astype(np.int64).tolist() == [3, -EACCES, 3]


def test_a_handler_changes_a_call(process):
    fleet = process(stdin=INPUTS)
    reads = []

    def shorten(batch):
        reading = batch.lanes[batch.numbers == READ]
        batch.fleet.x[reading, 2] = 1
        reads.append(reading.size)

    fleet.run(on_syscall=shorten)
    assert sum(reads) == sum(len(data) + 1 for data in INPUTS)
    assert outputs(fleet) == INPUTS


def test_a_handler_that_returns_results_has_answered_all(process):
    fleet = process(stdin=INPUTS)
    assert fleet.run(on_syscall=lambda batch: 0).stops == {"halt": len(INPUTS)}
    assert outputs(fleet) == [b""] * len(INPUTS)


def test_a_handler_ends_a_process(process):
    fleet = process(stdin=INPUTS)

    def end(batch):
        batch.results[batch.numbers == WRITE] = 9
        batch.actions[batch.numbers == WRITE] = SyscallAction.exit

    fleet.run(on_syscall=end)
    assert [outcome.exit_status for outcome in fleet.outcomes] == [9 if data else 0 for data in INPUTS]


def test_after_an_exception_of_a_handler_the_library_serves_the_call(process):
    fleet = process(stdin=INPUTS)

    def fail(batch):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fleet.run(on_syscall=fail)
    assert (fleet.fleet.stops["reason"] == StopReason.syscall).all()
    assert fleet.run().stops == {"exited": len(INPUTS)}
    assert outputs(fleet) == INPUTS


def test_only_the_calls_of_processes_can_be_left_to_the_library(make_fleet):
    fleet = make_fleet(np.array([svc(), hlt()], "<u4").tobytes())
    with pytest.raises(ArgumentError, match="no processes"):
        fleet.run(on_syscall=lambda batch: batch.actions.fill(SyscallAction.serve))


def test_a_snapshot_between_two_pieces(process):
    fleet = process(stdin=INPUTS)
    fleet.run(SETUP + ROUND)
    after_one = [data[:PIECE] for data in INPUTS]
    assert outputs(fleet) == after_one
    kept = fleet.fleet.snapshot()
    fleet.run(ROUND)
    assert outputs(fleet) == [data[: 2 * PIECE] for data in INPUTS]
    for _ in range(2):
        fleet.fleet.restore(kept)
        assert outputs(fleet) == after_one
        assert fleet.run().lanes_left == 0
        assert outputs(fleet) == INPUTS
    fleet.fleet.restore(kept, [5])
    fleet.run(ROUND)
    assert outputs(fleet) == [*INPUTS[:5], INPUTS[5][: 2 * PIECE]]


def test_clones_go_on_where_their_parent_is(process):
    fleet = process(stdin=INPUTS)
    fleet.run(SETUP + 2 * ROUND)
    fleet.fleet.fork(5, [0, 3])
    assert outputs(fleet)[0] == outputs(fleet)[3] == INPUTS[5][: 2 * PIECE]
    fleet.run()
    assert outputs(fleet) == [INPUTS[5], *INPUTS[1:3], INPUTS[5], *INPUTS[4:]]
    assert fleet.fleet.instructions[0] == fleet.fleet.instructions[5]


def test_transactions(process):
    fleet = process(stdin=INPUTS, memory_policy="transactional")
    fleet.run(SETUP + ROUND)
    fleet.fleet.commit()
    for _ in range(2):
        fleet.run()
        assert outputs(fleet) == INPUTS
        fleet.fleet.rollback()
        assert outputs(fleet) == [data[:PIECE] for data in INPUTS]
    assert fleet.fleet.instructions.tolist() == [11] + [SETUP + ROUND] * 5


@pytest.mark.parametrize("policy", ("shared", "device-shared", "read-only"))
def test_policies_under_which_no_process_can_live(device, policy):
    with pytest.raises(ArgumentError, match="a process cannot live with this memory policy"):
        LinuxFleet(COPY, memory_policy=policy, device=device)


def test_traced_calls(process):
    told = []
    fleet = process(stdin=INPUTS, on_call=lambda lane, text: told.append((lane, text)), traced_lanes=[1, 3])
    fleet.run()
    assert {lane for lane, _ in told} == {1, 3}
    for lane, first in ((1, "ABC"), (3, "ABCD")):
        size = len(first)
        texts = [text for of, text in told if of == lane]
        assert len(texts) == calls_of(INPUTS[lane])
        assert texts[:2] == [f'read(0, "{first}", 4) = {size}', f'write(1, "{first}", {size}) = {size}']
        assert texts[-2:] == ['read(0, "", 4) = 0', "exit(0) = ?"]


def test_threads_and_processes_that_leave_are_traced(process):
    clone, exit_group, wait4 = 220, 94, 260
    # Makes a thread and waits for a process; the thread leaves with 4, the process with 3.
    family = elf(
        movz(0, 0x0F00),  # with CLONE_THREAD
        movk(0, 1, 16),
        movz(8, clone),
        svc(),
        cbnz(0, 16),
        movz(0, 4),
        movz(8, EXIT),
        svc(),
        movz(0, 17),
        svc(),
        cbnz(0, 16),
        movz(0, 3),
        movz(8, exit_group),
        svc(),
        movn(0, 0),
        movz(8, wait4),
        svc(),
        movz(0, 0),
        movz(8, exit_group),
        svc(),
    )
    told = []
    process(family, on_call=lambda lane, text: told.append(text)).run()
    assert told[-1] == "exit_group(0) = ?"
    assert told.count("exit(4) = ?") == told.count("exit_group(3) = ?") == 1
    assert told.index("exit(4) = ?") < told.index("exit_group(3) = ?") < len(told) - 2
    assert told[-2].startswith("wait4(-1, ") and told[-2].endswith(" = 1002")


def test_all_lanes_are_traced_by_default_and_none_of_an_empty_list(process):
    for chosen, traced in ((None, set(range(6))), ([], set()), ([False] * 5 + [True], {5})):
        told = set()
        def on_call(lane, text, told=told):
            told.add(lane)

        fleet = process(stdin=INPUTS, on_call=on_call, traced_lanes=chosen)
        fleet.run()
        assert told == traced


@pytest.mark.parametrize("way", ("run", "run with a budget", "start"))
def test_an_exception_of_on_call_ends_the_run(process, way):
    told = []

    def fail(lane, text):
        told.append(lane)
        if len(told) == 2:
            raise KeyError(text)

    fleet = process(stdin=INPUTS, on_call=fail)
    with pytest.raises(KeyError, match=r"read|write|exit"):
        if way == "start":
            fleet.start()
            fleet.wait()
        else:
            fleet.run(1_000_000 if "budget" in way else None)
    assert len(told) == 2
    fleet.run()
    assert outputs(fleet) == INPUTS


@pytest.mark.parametrize("call", ("close", "wait", "run"))
def test_what_on_call_may_not_do(process, call):
    errors = []

    def use(lane, text):
        with pytest.raises(StateError) as caught:
            getattr(fleet, call)()
        errors.append(str(caught.value))
        assert fleet.unimplemented == {}

    fleet = process(stdin=b"", on_call=use)
    fleet.start()
    assert fleet.wait().stops == {"exited": 1}
    assert len(errors) == 2


def test_on_call_cancels_the_run(process):
    fleet = process(stdin=INPUTS[5], on_call=lambda lane, text: fleet.cancel())
    assert fleet.run().stops == {"cancelled": 1}
    assert fleet.stdout() == b""


def test_a_fleet_that_only_its_on_call_refers_to_is_freed(device):
    class Watched:
        def __init__(self):
            self.fleet = LinuxFleet(COPY, stdin=b"abc", device=device, on_call=self.tell)
            self.queue = Queue(COPY, lanes=2, device=device, on_call=self.tell)

        def tell(self, lane, text):
            pass

    watched = Watched()
    watched.fleet.run()
    gone = weakref.ref(watched)
    del watched
    gc.collect()
    assert gone() is None


def test_wrong_traces(device):
    with pytest.raises(ArgumentError, match="traced_lanes has no effect without on_call"):
        LinuxFleet(COPY, device=device, traced_lanes=[0])
    with pytest.raises(ArgumentError, match="on_call must be a function, not int"):
        LinuxFleet(COPY, device=device, on_call=1)
    with pytest.raises(ArgumentError, match="2"):
        LinuxFleet(COPY, lanes=2, device=device, on_call=print, traced_lanes=[2])


def test_a_queue_tells_the_calls_of_inputs(device):
    told = []
    with Queue(
        COPY,
        lanes=2,
        device=device,
        on_call=lambda number, text: told.append((number, text)),
        traced_lanes=[0, 3],
    ) as queue:
        results = list(queue.run(INPUTS))
    assert [result.stdout for result in results] == INPUTS
    assert {number for number, _ in told} == {0, 3}, "of inputs"
    assert sum(text.startswith("exit(0)") for _, text in told) == 2


def test_an_exception_of_on_call_ends_the_run_of_a_queue(device):
    def fail(lane, text):
        raise KeyError("mine")

    with Queue(COPY, lanes=2, device=device, on_call=fail) as queue:
        with pytest.raises(KeyError, match="mine"):
            list(queue.run(INPUTS))
        with pytest.raises(KeyError, match="mine"):
            list(queue.run(INPUTS))
