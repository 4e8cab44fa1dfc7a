# SPDX-License-Identifier: Apache-2.0
"""A budget may be split into runs of any mode, batches, cancels, time-outs, snapshots and restores:
the final state is that of one run, and every instruction counts once. The oracle is one run() of another
fleet."""

import os
import pathlib
import threading

import a64
import myriarm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from myriarm import Signal, StopReason

DEVICE = os.environ.get("MYRIARM_TEST_DEVICE", "cpu")
SOURCE = pathlib.Path(os.environ.get("MYRIARM_SOURCE", pathlib.Path(__file__).parents[2]))
POLICIES = ("private", "transactional", "shared", "device-shared")
MODES = ("run", "continuous", "mega", "self_dispatch")
MEMORY = 64 << 10
DATA = 0x4000  # programs store from here to 0x7000
POINTER, COUNTER = 20, 27

# Programs: a loop of random instructions on x0 to x7 and the data, with forward branches, and a HLT at the
# end.
low = st.integers(0, 7)
imm12 = st.integers(0, 4095)
plain = st.one_of(
    st.builds(
        lambda op, rd, value, shift: op(rd, value, shift),
        st.sampled_from([a64.movz, a64.movk, a64.movn]),
        low,
        st.integers(0, 0xFFFF),
        st.sampled_from([0, 16, 32, 48]),
    ),
    st.builds(
        lambda op, rd, rn, rm: op(rd, rn, rm),
        st.sampled_from([a64.add, a64.adds, a64.sub, a64.subs, a64.and_, a64.orr, a64.eor]),
        low,
        low,
        st.sampled_from([*range(8), a64.XZR]),
    ),
    st.builds(
        lambda op, rd, rn, value: op(rd, rn, value),
        st.sampled_from([a64.add_imm, a64.adds_imm, a64.sub_imm, a64.subs_imm]),
        low,
        low,
        imm12,
    ),
    st.builds(lambda value: a64.add_imm(31, 31, value & ~15), imm12),  # sp
    st.builds(
        lambda op, size, rt, at: op(rt, POINTER, at * size),
        st.sampled_from([a64.ldr, a64.str_, a64.str_]),
        st.just(8),
        low,
        st.integers(0, 511),
    ),
    st.builds(
        lambda op, rt, at: op(rt, POINTER, at * 4), st.sampled_from([a64.ldr_w, a64.str_w]), low, imm12
    ).filter(lambda word: (word >> 10 & 0xFFF) < 1024),
    st.builds(lambda op, rt, at: op(rt, POINTER, at), st.sampled_from([a64.ldr_b, a64.str_b]), low, imm12),
    st.just(a64.bl(4)),
    st.builds(lambda: a64.NOP),
)
skips = st.one_of(
    st.builds(lambda condition, n: a64.b_cond(condition, 4 * n), st.integers(0, 13), st.integers(2, 4)),
    st.builds(lambda op, rt, n: op(rt, 4 * n), st.sampled_from([a64.cbz, a64.cbnz]), low, st.integers(2, 4)),
    st.builds(lambda n: a64.b(4 * n), st.integers(1, 3)),
)
ENDS = {
    "halt": [a64.hlt(7)],
    "syscall": [a64.svc(9), a64.hlt()],
    "breakpoint": [a64.brk(3)],
    "undefined": [0],
    "fault": [a64.movn(9, 0, 32), a64.str_(0, 9)],
    "budget": [a64.add_imm(0, 0, 1), a64.b(-4)],
}


@st.composite
def programs(draw):
    body = draw(st.lists(st.one_of(plain, plain, skips), min_size=1, max_size=12))
    loop = [*body, a64.NOP, a64.NOP, a64.NOP, a64.sub_imm(COUNTER, COUNTER, 1)]
    loop.append(a64.cbnz(COUNTER, -4 * len(loop)))
    return a64.code(*loop, *ENDS[draw(st.sampled_from(sorted(ENDS)))])


few = st.integers(1, 400)
actions = st.one_of(
    st.tuples(st.sampled_from(["run", "mega", "start"]), few, st.sampled_from(MODES)),
    st.tuples(st.sampled_from(["continuous", "self_dispatch", "until_false"]), few, st.integers(1, 9)),
    st.tuples(
        st.just("cancel"), st.sampled_from(MODES), st.sampled_from([0, 1, 100, 5000, 40_000]), st.booleans()
    ),
    st.tuples(st.just("time_out"), st.sampled_from([1e-6, 1e-4, 5e-4])),
    st.tuples(st.sampled_from(["cancelled_before", "snapshot", "poll", "resume"])),
    st.tuples(st.just("restore"), st.integers(0, 9), st.integers(0, 2**40 - 1) | st.none()),
)


class Split:
    """A fleet that reaches its limit in several runs."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.snapshots = []

    def do(self, action):
        name, *values = action
        before = self.fleet.instructions[...]
        result = getattr(self, name)(*values)
        if result is not None:
            retired = self.fleet.instructions[...] - before
            assert result.instructions == retired.sum()
            poll = self.fleet.poll()
            assert (poll.running, poll.instructions) == (False, result.instructions)
            assert poll.signal == result.signal
            reasons = self.fleet.stops["reason"]
            resumable = (reasons == StopReason.budget) | (reasons == StopReason.cancelled)
            left = resumable & (self.fleet.instructions[...] < self.fleet.limit[...])
            assert (result.lanes_left, result.stopped) == (left.sum(), self.fleet.lanes)
        if name == "cancel":
            self.forget_cancel()

    def run(self, n, mode):
        return self.fleet.run(n)

    def mega(self, n, mode):
        return self.fleet.run_mega(n)

    def start(self, n, mode):
        self.fleet.start(n, mode=mode, instructions_per_batch=max(1, n // 7))
        return self.fleet.wait()

    def continuous(self, n, batches):
        return self.fleet.run_continuous(instructions_per_batch=n, max_batches=batches)

    def self_dispatch(self, n, batches):
        return self.fleet.run_self_dispatch(instructions_per_batch=n, max_batches=batches)

    def until_false(self, n, batches):
        reports = []

        def on_batch(report):
            reports.append(report)
            return len(reports) < batches

        result = self.fleet.run_continuous(instructions_per_batch=n, on_batch=on_batch)
        assert [report.batch for report in reports] == list(range(len(reports)))
        assert sum(report.instructions for report in reports) == result.instructions
        assert result.batches == len(reports) <= batches
        return result

    def cancel(self, mode, enough, waiting):
        """Cancels when poll() reports at least `enough` instructions, or when the run has ended."""
        budget = 10**18 if mode == "mega" else None
        self.fleet.start(budget, mode=mode, instructions_per_batch=5000)

        def later():
            while (poll := self.fleet.poll()).running and poll.instructions < enough:
                os.sched_yield()
            self.fleet.cancel()

        thread = threading.Thread(target=later)
        thread.start()
        if waiting:
            result = self.fleet.wait()
            thread.join()
        else:
            thread.join()
            result = self.fleet.wait()
        return result

    def cancelled_before(self):
        self.fleet.cancel()
        result = self.fleet.run()
        assert result.instructions == 0
        return result

    def forget_cancel(self):
        """Ends the next run at once if the cancel came after the end of the last one."""
        before = self.fleet.instructions[...]
        self.fleet.cancel()
        self.fleet.run()
        np.testing.assert_array_equal(before, self.fleet.instructions)

    def time_out(self, seconds):
        return self.fleet.run(timeout=seconds)

    def poll(self):
        counts, signals = self.fleet.poll_lanes()
        np.testing.assert_array_equal(counts, self.fleet.instructions)
        np.testing.assert_array_equal(signals, self.fleet.signals)

    def resume(self):
        reasons = self.fleet.stops["reason"]
        mask = (reasons == StopReason.budget) | (reasons == StopReason.cancelled)
        self.fleet.resume(mask)
        assert not self.fleet.stops["reason"][mask].any()
        assert (self.fleet.signals[mask] == Signal.running).all()

    def snapshot(self):
        self.snapshots.append(self.fleet.snapshot())

    def restore(self, which, lanes):
        if not self.snapshots:
            return
        if lanes is not None:
            lanes = np.array([lanes >> lane & 1 for lane in range(self.fleet.lanes)], bool)
        self.fleet.restore(self.snapshots[which % len(self.snapshots)], lanes)


def state(fleet):
    fields = ("x", "v", "sp", "pc", "nzcv", "tpidr", "fpcr", "fpsr", "instructions")
    values = {name: np.asarray(getattr(fleet, name)) for name in fields}
    values["stops"] = fleet.stops
    values["memory"] = fleet.read(fleet.memory_begin, fleet.memory_end - fleet.memory_begin)
    return values


def check_split(program, lanes, policy, seed, budget, pieces):
    """Compares one run with the pieces, on two fleets with the same inputs; each lane has its own input."""
    random = np.random.default_rng(seed)
    x = random.integers(0, 2**64, (lanes, 31), dtype=np.uint64)
    x[:, POINTER] = DATA + random.integers(0, 0x2000, lanes)
    x[:, COUNTER] = random.integers(1, 400, lanes)
    data = random.integers(0, 256, (lanes, 0x3000), dtype=np.uint8)
    limits = np.full(lanes, budget) if seed % 2 else random.integers(1, budget + 1, lanes)

    def prepared():
        fleet = myriarm.Fleet(program, lanes=lanes, device=DEVICE, memory=MEMORY, memory_policy=policy)
        fleet.x = x
        fleet.write(DATA, data)
        fleet.limit = limits
        return fleet

    with prepared() as whole, prepared() as fleet:
        whole.run()
        split = Split(fleet)
        for piece in pieces:
            split.do(piece)
        split.do(("start", 10**18, "mega"))
        expected, actual = state(whole), state(fleet)
        for name, values in expected.items():
            np.testing.assert_array_equal(actual[name], values, err_msg=name)
        assert set(np.unique(fleet.stops["reason"])) <= {1, 2, 3, 4, 5, 6}
        assert (fleet.instructions[...] <= limits).all()


@given(
    program=programs(),
    lanes=st.sampled_from([1, 2, 3, 33]),
    policy=st.sampled_from(POLICIES),
    seed=st.integers(0, 2**32),
    budget=st.integers(1, 20_000),
    pieces=st.lists(actions, max_size=8),
)
@settings(max_examples=4 * settings.default.max_examples)
def test_any_split_is_one_run(program, lanes, policy, seed, budget, pieces):
    check_split(program, lanes, policy, seed, budget, pieces)


def mixed_lanes(fleet):
    fleet.x[:, 0] = np.arange(1, fleet.lanes + 1)


@given(
    lanes=st.sampled_from([1, 3, 32, 40]),
    policy=st.sampled_from(POLICIES),
    pieces=st.lists(
        st.one_of(
            actions,
            st.tuples(st.just("run"), st.integers(1, 300_000), st.just("run")),
            st.tuples(st.just("continuous"), st.integers(1000, 100_000), st.integers(1, 9)),
            st.tuples(st.just("self_dispatch"), st.integers(1000, 100_000), st.integers(1, 9)),
        ),
        max_size=10,
    ),
)
def test_any_split_of_the_mixed_program_is_one_run(mixed_results, lanes, policy, pieces):
    program, results = mixed_results
    with myriarm.Fleet(program, lanes=lanes, device=DEVICE, memory=128 << 10, memory_policy=policy) as fleet:
        mixed_lanes(fleet)
        split = Split(fleet)
        for piece in pieces:
            split.do(piece)
        split.do(("start", 10**18, "mega"))
        for name, values in state(fleet).items():
            np.testing.assert_array_equal(values, results[name][:lanes], err_msg=name)
        assert (fleet.stops["reason"] == StopReason.halt).all()


@pytest.fixture(scope="module")
def mixed_results():
    """The result of 40 lanes of the mixed program (hashing, sorting, searching, strings) in one run."""
    program = (SOURCE / "examples" / "prebuilt" / "mixed_1.bin").read_bytes()
    with myriarm.Fleet(program, lanes=40, device=DEVICE, memory=128 << 10) as fleet:
        mixed_lanes(fleet)
        assert fleet.run().stops == {"halt": 40}
        return program, state(fleet)


@given(
    program=programs(),
    seed=st.integers(0, 2**32),
    rounds=st.lists(
        st.tuples(st.lists(actions, max_size=3), st.sampled_from(["commit", "rollback"])), max_size=4
    ),
)
def test_rollback_takes_back_what_was_done_since_the_commit(program, seed, rounds):
    random = np.random.default_rng(seed)
    fleet = myriarm.Fleet(program, lanes=3, device=DEVICE, memory=MEMORY, memory_policy="transactional")
    with fleet:
        fleet.x[:, POINTER] = DATA
        fleet.x[:, COUNTER] = random.integers(1, 400, 3)
        fleet.limit = 20_000
        split = Split(fleet)
        for pieces, end in rounds:
            before = state(fleet)
            for piece in pieces:
                if piece[0] != "restore":  # a restore is a change by the host
                    split.do(piece)
            after = state(fleet)
            getattr(fleet, end)()
            # The run and the resume() of a cancel change only stops, before the first run or after it.
            for name, values in (before if end == "rollback" and ran(pieces) else after).items():
                if name != "stops":
                    np.testing.assert_array_equal(state(fleet)[name], values, err_msg=name)


def ran(pieces):
    return any(piece[0] not in ("restore", "snapshot", "poll", "resume") for piece in pieces)
