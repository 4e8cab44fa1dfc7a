# SPDX-License-Identifier: Apache-2.0
"""The dispatcher of a queue that devices share, with workers that are made up: whatever their speeds, and
whichever of them fail, each input has its result once and in order."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from myriarm import ArgumentError, DeviceError, FaultKind, QueueResult, StateError, Stop, StopReason
from myriarm import dispatch as dispatch_module
from myriarm.dispatch import Pool, SharedQueue, Worker
from myriarm.slices import Failed, Part, Ready, SliceResults

OUTPUT = 1000


def result_of(number, item):
    stop = Stop(StopReason.exited, FaultKind.none, 0, 0)
    return QueueResult(number, stop, 0, 0, 7, 0x1000, item + b"." * OUTPUT, b"")


def results_of(items):
    return [result_of(number, item) for number, item in enumerate(items)]


class MadeUpWorker(Worker):
    """Gives parts of random sizes, and fails with some probability each time that it is asked. That its slice
    has ended it says with the last results, or later."""

    def __init__(self, name, lanes, fails, generator):
        self.name, self.lanes, self.fails, self.generator = name, lanes, fails, generator
        self.started, self.stopped, self.asked = False, False, True
        self.left, self.run, self.has_slice = [], None, False

    def ask(self, new, run):
        assert not self.stopped and not self.asked
        assert (new is None) == self.has_slice, "a slice ends before the next one begins"
        self.asked = True
        if new is not None:
            assert list(new.numbers) == sorted(new.numbers)
            self.left, self.run, self.has_slice = list(zip(new.numbers, new.inputs)), run, True

    def answer(self):
        assert self.asked and not self.stopped
        self.asked = False
        if not self.started:
            self.started = True
            return Ready(self.lanes, "made-up")
        if self.generator.random() < self.fails:
            return Failed("it was taken away")
        n = self.generator.randint(0, len(self.left))
        if not self.run.ordered:
            self.generator.shuffle(self.left)
        done, self.left = self.left[:n], self.left[n:]
        mistakes = [i for i, (_, item) in enumerate(done) if item == b"mistake"]
        if mistakes:
            done, self.left = done[: mistakes[0]], []
        results = SliceResults.of([result_of(*pair) for pair in done])
        self.has_slice = bool(self.left) or (not mistakes and self.generator.random() < 0.5)
        return Part(results, not self.has_slice, "this input is a mistake" if mistakes else "")

    def stop(self):
        assert not self.stopped
        self.stopped = True


class MadeUpPool(Pool):
    """With `slow`, the first worker seldom answers while another one is asked."""

    def __init__(self, fails, seed, lanes=(1, 2, 5), slow=False):
        self.generator = random.Random(seed)
        self.fails, self.lanes, self.slow = fails, lanes, slow
        self.made = []

    def start(self, running, retry):
        if not retry:
            return []
        kept = {worker.name for worker in running}
        new = [
            MadeUpWorker(str(i), lanes, fails, self.generator)
            for i, (lanes, fails) in enumerate(zip(self.lanes, self.fails))
            if str(i) not in kept
        ]
        self.made += new
        return new

    def answers(self, asked, seconds):
        assert asked
        fast = [worker for worker in asked if worker.name != "0"]
        if self.slow and fast and self.generator.random() < 0.98:
            asked = fast
        chosen = self.generator.sample(list(asked), self.generator.randint(1, len(asked)))
        return [(worker, worker.answer()) for worker in chosen]


@pytest.fixture(autouse=True)
def small_slices(monkeypatch):
    monkeypatch.setattr(dispatch_module, "SLICE_BYTES", 100)
    monkeypatch.setattr(dispatch_module, "PATIENCE", 0.0)


ITEMS = [b"input %d" % i for i in range(120)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@given(
    seed=st.integers(0, 2**32),
    fails=st.lists(st.sampled_from([0.0, 0.1, 0.5]), min_size=2, max_size=2),
    slice_inputs=st.sampled_from([None, 1, 3, 1000]),
    held=st.sampled_from([0, 3 * OUTPUT, 10**6]),
    ordered=st.booleans(),
)
def test_each_input_has_its_result_once(seed, fails, slice_inputs, held, ordered):
    pool = MadeUpPool([*fails, 0.0], seed)
    with SharedQueue(pool, slice_inputs) as queue:
        for _ in range(2):
            results = list(queue.run(iter(ITEMS), ordered=ordered, held_bytes=held))
            assert (results if ordered else sorted(results)) == results_of(ITEMS)
            progress = queue.progress
            assert (progress.done, progress.failed, progress.running) == (len(ITEMS), 0, 0)
            assert progress.instructions == 7 * len(ITEMS)
            working = [worker for worker in pool.made if not worker.stopped]
            assert len(working) + len(queue.failures) >= 3, "a device that has not failed is kept"
            assert (progress.longest_number, progress.longest_instructions) == (0, 7)
            assert progress.seconds_left is None
    assert all(worker.stopped for worker in pool.made)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@given(seed=st.integers(0, 2**32), held=st.integers(0, 40 * OUTPUT))
def test_results_that_wait_are_bounded(seed, held):
    """Beside the bound, only what workers give in one part each: here a slice, of at most 8 inputs."""
    pool = MadeUpPool([0.1, 0.1, 0.1, 0.0], seed, lanes=(2, 2, 2, 2), slow=True)
    with SharedQueue(pool, 8) as queue:
        taken = []
        for result in queue.run(ITEMS, held_bytes=held):
            taken.append(result)
            assert queue._run._held_bytes <= held + 4 * 8 * (OUTPUT + 100)
        assert taken == results_of(ITEMS)


def test_no_device_is_left():
    pool = MadeUpPool([1.0, 1.0, 1.0], 1)
    queue = SharedQueue(pool, None)
    each = r"(\d failed \(it was taken away\)(, )?){3};"
    with pytest.warns(RuntimeWarning, match="takes no further part: it was taken away"):
        with pytest.raises(DeviceError, match=f"no device is left to work inputs off: {each}"):
            list(queue.run(ITEMS))
    assert sorted(queue.failures) == [(str(i), "it was taken away") for i in range(3)]
    pool.fails = [0.0, 0.0, 0.0]
    assert list(queue.run(ITEMS)) == results_of(ITEMS), "the next run tries them again"
    assert queue.failures == []


@pytest.mark.parametrize("seed", range(10))
def test_a_mistake_comes_after_the_results_before_it(seed):
    items = ITEMS[:50] + [b"mistake"] + ITEMS[50:] + [b"mistake"]
    with SharedQueue(MadeUpPool([0.0, 0.0, 0.0], seed), None) as queue:
        results = []
        with pytest.raises(ArgumentError, match="this input is a mistake"):
            for result in queue.run(items):
                results.append(result)
        assert results == results_of(items[:50])
        assert list(queue.run(ITEMS)) == results_of(ITEMS)


def test_results_become_inputs():
    taken = [b""]

    def source():
        given = 0
        while len(taken) < 8:
            if given == len(taken):
                yield None
            else:
                given += 1
                yield b"%d" % len(taken[given - 1])

    with SharedQueue(MadeUpPool([0.0], 1, lanes=(1,)), 1) as queue:
        for result in queue.run(source()):
            taken.append(result.stdout)
        assert taken[1:4] == [b"0" + b"." * OUTPUT, b"1001" + b"." * OUTPUT, b"1004" + b"." * OUTPUT]


def test_a_run_that_is_left():
    pool = MadeUpPool([0.0, 0.0, 0.0], 3)
    with SharedQueue(pool, 4) as queue:
        run = queue.run(ITEMS)
        next(run)
        with pytest.raises(StateError, match="at work"):
            next(queue.run(ITEMS))
        run.close()
        assert any(worker.stopped for worker in pool.made), "what it still does is of no use"
        assert list(queue.run(ITEMS)) == results_of(ITEMS)
        run = queue.run(ITEMS)
        next(run)
        queue.cancel()
        assert len(list(run)) < len(ITEMS)
    with pytest.raises(StateError, match="closed"):
        next(queue.run(ITEMS))


def test_the_time_left_is_known_of_a_list():
    with SharedQueue(MadeUpPool([0.0], 1, lanes=(4,)), None) as queue:
        assert len(list(queue.run(ITEMS))) == len(ITEMS)
        progress = queue.progress
        assert progress.seconds_left == 0 and progress.inputs_per_second > 0


def test_what_the_iterator_raises():
    def source():
        yield from ITEMS
        raise KeyError("mine")

    with SharedQueue(MadeUpPool([0.0], 4, lanes=(1,)), None) as queue:
        with pytest.raises(KeyError, match="mine"):
            list(queue.run(source()))
        assert list(queue.run(ITEMS)) == results_of(ITEMS)
