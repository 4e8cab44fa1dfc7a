# SPDX-License-Identifier: Apache-2.0
"""Shares one queue of inputs among several workers, each of which has a device: cuts slices, hands them out
as workers become free, gives what a failed worker had to the others, and puts the results in order.

A worker may be a process of this host (multi_device.py) or an actor of a cluster (ray.py); here it is an
interface."""

from __future__ import annotations

import abc
import heapq
import inspect
import itertools
import os
import pickle
import time
import warnings
from dataclasses import dataclass
from typing import (
    Any,
    Collection,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Tuple,
    Union,
)

from ._core import QueueRate
from .arguments import count, integer
from .errors import ArgumentError, DeviceError, StateError
from .job import job_of_run
from .program import ProgramFile, read_program, root_of
from .progress import make_queue_tick
from .queue import Input, Queue, QueueProgress, QueueResult, len_of
from .result_file import ResultFile
from .slices import Answer, Failed, Part, Program, Ready, RunOptions, Slice, SliceResults

SLICE_BYTES = 64 << 20
"""A slice is cut off when its inputs have so many bytes."""
LANES_SHARE = 4
"""Inputs of a slice, for each lane of the worker that gets it."""
PATIENCE = 0.2
"""Seconds between two looks at cancel() and at new workers."""


class Worker(abc.ABC):
    """A device, as the dispatcher sees it. It gives one answer when it has started, and one to each ask()."""

    name: str

    @abc.abstractmethod
    def ask(self, new: Optional[Slice], run: RunOptions) -> None:
        """Asks for the next Part of its slice, or of a new one."""

    @abc.abstractmethod
    def stop(self) -> None:
        """Ends it at once, whatever it does."""


class Pool(abc.ABC):
    """All devices that can have a worker."""

    @abc.abstractmethod
    def start(self, running: Collection[Worker], retry: bool) -> List[Worker]:
        """Starts workers on the devices that have none among the running ones, and returns them. retry: also
        where one has failed."""

    @abc.abstractmethod
    def answers(self, asked: Collection[Worker], seconds: float) -> List[Tuple[Worker, Answer]]:
        """Waits at most some seconds for answers. `asked`: those that owe one, at least one."""


class DeviceFailure(NamedTuple):
    """A device that took no further part in a run."""

    name: str
    reason: str


@dataclass
class _State:
    """What the dispatcher knows of a worker."""

    ready: Optional[Ready] = None
    asked: bool = True
    left: Optional[Dict[int, Input]] = None
    """the inputs of its slice that have no result, by number, in rising order; None: it has no slice"""
    dropped: bool = False
    """whether further results of its slice are dropped, to be made again"""


class SharedQueue:
    """A queue that several devices share; MultiDeviceQueue and myriarm.ray.ClusterQueue say which."""

    def __init__(
        self, pool: Pool, slice_inputs: Optional[int], job: Optional[Mapping[str, str]] = None
    ) -> None:
        self._pool = pool
        self._job = job or {}
        """what the results of every run depend on"""
        self._slice_inputs = None if slice_inputs is None else integer(slice_inputs, "slice_inputs", 1)
        self._workers: Dict[Worker, _State] = {}
        self._failures: List[DeviceFailure] = []
        self._run: Optional[_Run] = None
        self._last = QueueProgress(0, 0, 0, 0, 0.0)
        self._closed = False

    def run(
        self,
        inputs: Iterable[Input],
        *,
        ordered: bool = True,
        group: bool = False,
        held_bytes: int = 2**28,
        instructions: Optional[int] = None,
        results: Union[str, os.PathLike[str], None] = None,
        resume: bool = False,
        progress: bool = False,
    ) -> Iterator[QueueResult]:
        """Works the inputs off, and gives the same results as Queue.run(), whatever devices there are and
        whichever of them fail: an input has its result once, and in the order of the inputs.

        inputs, ordered, instructions: as for Queue.run(). group: as there, in each slice. held_bytes: while
        results that wait for an earlier one take more than that here, no later ones are asked for; those on
        their way are at most 4 MiB for each device, or one result. Each device may hold back as much of its
        slice. results: the path of a file that gets a line of JSON for each result before it is given here,
        as `myriarm run --results` writes it, and beside it one that says which job they are of. resume: goes
        on with that file: inputs that have a result there are left out, and the iterator gives those of the
        others. Then the job must be the same as before, and the inputs be no iterator.
        progress: as for Queue.run().

        A device that fails is left out with a RuntimeWarning, see `failures`; the next run tries it again.
        Raises ArgumentError, StateError, DeviceError if no device is left, and Error if the file cannot be
        written."""
        if self._closed:
            raise StateError("this queue is closed; make a new one")
        if self._run is not None:
            raise StateError("this queue is at work; take all results of its run, or make another queue")
        limit = count(instructions, "instructions")
        held = integer(held_bytes, "held_bytes")
        options = RunOptions(bool(ordered) and not group, bool(group), held, limit)
        if resume and results is None:
            raise ArgumentError("resume needs the file of the earlier run; give its path as `results`")
        if resume and isinstance(inputs, Iterator):
            raise ArgumentError(
                "inputs from an iterator cannot be resumed, for it may give others now; give a list, or run"
                " without resume"
            )
        file = None
        if results is not None:
            own = job_of_run(inputs, None if instructions is None else limit)
            file = ResultFile(results, resume, {**self._job, **own})
        try:
            finished = file.finished if file else set()
            run = self._run = _Run(self, inputs, options, finished)
            with make_queue_tick(progress, run.total) as tick:
                for part in run.parts():
                    listed = list(part)
                    if file:
                        for result in listed:
                            file.write(result)
                        file.flush()
                    if tick:
                        tick(lambda: self.progress)
                    yield from listed
                if tick:
                    tick(lambda: self.progress, last=True)
        finally:
            self._last, self._run = self.progress, None
            self._stop([worker for worker, state in self._workers.items() if state.left is not None])
            if file:
                file.close()

    def _stop(self, workers: Iterable[Worker]) -> None:
        for worker in workers:
            worker.stop()
            del self._workers[worker]

    @property
    def devices(self) -> List[str]:
        """The names of the devices that are ready."""
        return [worker.name for worker, state in self._workers.items() if state.ready is not None]

    @property
    def failures(self) -> List[DeviceFailure]:
        """The devices that failed in this run, or the last one, in the order in which they failed."""
        return list(self._failures)

    @property
    def progress(self) -> QueueProgress:
        """How far the run is, or how it ended. `running` are the inputs that a device has."""
        run = self._run
        if run is None:
            return self._last
        running = sum(len(state.left or ()) for state in list(self._workers.values()))
        rate = run.rate
        return QueueProgress(
            run.done,
            run.failed,
            running,
            run.retired,
            time.monotonic() - run.begun,
            rate.inputs_per_second(),
            rate.instructions_per_second(),
            None if run.total is None else rate.seconds_for(max(0, run.total - run.done)),
            run.idle_share,
            longest_number=run.longest[1],
            longest_instructions=run.longest[0],
        )

    def cancel(self) -> None:
        """Ends a run that another thread reads results of."""
        run = self._run
        if run is not None:
            run.cancelled = True

    def close(self) -> None:
        """Ends the workers, and with them a run. Call it in the thread that takes results; cancel() may be
        called from any."""
        self._closed = True
        self.cancel()
        self._stop(list(self._workers))

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, closed>" if self._closed else f"<{type(self).__name__}>"


class _Run:
    """One run. Slices are cut in the order of the inputs, and a worker gives the results of its slice in that
    order too; so of those that are outstanding, the first of some slice is the first of all."""

    def __init__(
        self, queue: SharedQueue, inputs: Iterable[Input], options: RunOptions, finished: Collection[int]
    ) -> None:
        self._queue, self._workers = queue, queue._workers
        self._options = options
        self._source, self._numbers = iter(inputs), itertools.count()
        self._finished = finished
        self._more = True
        self._returned: List[Tuple[int, Dict[int, Input]]] = []
        """a heap of what failed workers have left, by the first number"""
        self._held: List[Tuple[int, SliceResults]] = []
        """a heap of results, by the first number"""
        self._held_bytes = 0
        self._mistakes: Dict[int, str] = {}
        """by the number of an input, why it cannot run"""
        self.cancelled = False
        self.done = self.failed = self.retired = 0
        count = len_of(inputs)
        self.total = None if count is None else max(0, count - len(finished))
        """how many inputs there are to work off, if that is known"""
        self.longest = (0, 0)
        """the most instructions of an input, and its number"""
        self.idle_share: Optional[float] = None
        """of slices that have ended; None: none has"""
        self._slice_instructions = 0
        """that lanes have retired for these"""
        self._lane_instructions = 0.0
        """the same if no lane had waited for others"""
        self.begun = time.monotonic()
        self.rate = QueueRate()
        self.rate.add(0.0, 0, 0)

    def parts(self) -> Iterator[SliceResults]:
        """All results; with `ordered`, in order."""
        self._queue._failures.clear()
        self._start_workers(retry=True)
        while True:
            due = list(self._take_held())
            self._hand_out()
            yield from due
            if self.cancelled:
                return
            first = self._first()
            if first in self._mistakes:
                raise ArgumentError(self._mistakes[first])
            # A worker that has given all results of its slice still says that the slice has ended: only then
            # can it go on with another run, and one that is at work when a run ends is stopped.
            have_slices = any(state.left is not None for state in self._workers.values())
            if not self._more and first is None and not have_slices:
                return
            if not self._workers:
                self._no_worker()
            asked = [worker for worker, state in self._workers.items() if state.asked]
            if not asked:
                time.sleep(PATIENCE / 4)  # the source has nothing now
                continue
            for worker, answer in self._queue._pool.answers(asked, PATIENCE):
                self._take(worker, answer)
            self._start_workers(retry=False)

    def _start_workers(self, retry: bool) -> None:
        for worker in self._queue._pool.start(self._workers, retry):
            self._workers[worker] = _State()

    def _no_worker(self) -> None:
        reasons = ", ".join(f"{name} failed ({reason})" for name, reason in self._queue._failures)
        raise DeviceError(
            f"no device is left to work inputs off: {reasons}; the results so far are kept, so mend a device"
            " or name another, and go on with them"
        )

    # Slices.
    def _first(self) -> Optional[int]:
        """The number of the first input that has been cut off and has no result."""
        firsts = [next(iter(state.left)) for state in self._workers.values() if state.left]
        firsts += [first for first, _ in self._returned[:1]]
        firsts += self._mistakes
        return min(firsts, default=None)

    def _cut(self, most: int) -> Dict[int, Input]:
        """The next inputs for a worker: those of a failed one, or new ones."""
        if self._returned:
            _, left = heapq.heappop(self._returned)
            numbers = list(left)
            if len(numbers) > most:
                self._give_back({number: left[number] for number in numbers[most:]})
            return {number: left[number] for number in numbers[:most]}
        cut: Dict[int, Input] = {}
        size = 0
        room = self._has_room()
        while self._more and room and not self._mistakes and len(cut) < most and size < SLICE_BYTES:
            try:
                item = next(self._source)
            except StopIteration:
                self._more = False
                break
            if item is None:
                break
            number = next(self._numbers)
            if number not in self._finished:
                cut[number] = item
                size += _size_of(item)
        return cut

    def _give_back(self, left: Dict[int, Input]) -> None:
        if left:
            heapq.heappush(self._returned, (next(iter(left)), left))

    def _hand_out(self) -> None:
        """Asks each worker that can go on for results."""
        free = [(w, s) for w, s in self._workers.items() if s.ready is not None and not s.asked]
        first = self._first()
        for worker, state in free:
            if state.left is not None:
                if state.dropped or first in state.left or self._has_room():
                    self._ask(worker, state, None)
                continue
            assert state.ready is not None
            cut = self._cut(self._queue._slice_inputs or LANES_SHARE * state.ready.lanes)
            if cut:
                state.left = cut
                self._ask(worker, state, Slice(list(cut), list(cut.values())))
        if self._returned and not any(state.asked for state in self._workers.values()):
            # What all wait for was given back, and every worker has a later slice whose results do not fit.
            later = [(next(iter(s.left)), w) for w, s in self._workers.items() if s.left]
            if later:
                worker = max(later, key=lambda pair: pair[0])[1]
                self._workers[worker].dropped = True
                self._ask(worker, self._workers[worker], None)

    def _has_room(self) -> bool:
        return not self._options.ordered or self._held_bytes <= self._options.held_bytes

    def _ask(self, worker: Worker, state: _State, new: Optional[Slice]) -> None:
        state.asked = True
        worker.ask(new, self._options)

    # Answers.
    def _take(self, worker: Worker, answer: Answer) -> None:
        state = self._workers[worker]
        state.asked = False
        if isinstance(answer, Ready):
            state.ready = answer
        elif isinstance(answer, Part):
            self._take_part(worker, state, answer)
        elif answer.mistake:
            self._queue._stop([worker])
            raise ArgumentError(answer.reason)
        else:
            self._fail(worker, state, answer)

    def _take_part(self, worker: Worker, state: _State, part: Part) -> None:
        left = state.left
        assert left is not None
        if not state.dropped:
            for number in part.results.numbers.tolist():
                del left[number]
            if len(part.results):
                heapq.heappush(self._held, (int(part.results.numbers[0]), part.results))
                self._held_bytes += part.results.nbytes
        if not part.ended:
            return
        if part.idle_share < 1:  # else no lane has run, as where a mistake ends the slice at once
            self._slice_instructions += part.instructions
            self._lane_instructions += part.instructions / (1 - part.idle_share)
        if self._lane_instructions:
            self.idle_share = 1 - self._slice_instructions / self._lane_instructions
        state.left, dropped, state.dropped = None, state.dropped, False
        if part.mistake and not dropped:
            self._mistakes[next(iter(left))] = part.mistake
        elif left and not dropped:
            self._give_back(left)
            self._fail(worker, state, Failed("it has left inputs without results"))
        else:
            self._give_back(left)

    def _fail(self, worker: Worker, state: _State, failure: Failed) -> None:
        self._give_back(state.left or {})
        self._queue._failures.append(DeviceFailure(worker.name, failure.reason))
        self._queue._stop([worker])
        warnings.warn(
            f"{worker.name} takes no further part: {failure.reason}; the other devices get its inputs",
            RuntimeWarning,
            stacklevel=5,
        )

    def _take_held(self) -> Iterator[SliceResults]:
        first = self._first() if self._options.ordered else None
        while self._held and (first is None or self._held[0][0] < first):
            _, results = heapq.heappop(self._held)
            self._held_bytes -= results.nbytes
            self.done += len(results)
            self.failed += int((results.exit_statuses != 0).sum())
            self.retired += int(results.instructions.sum())
            for number, instructions in zip(results.numbers.tolist(), results.instructions.tolist()):
                if instructions > self.longest[0] or (instructions, number) < self.longest:
                    self.longest = (instructions, number)
            self.rate.add(time.monotonic() - self.begun, self.done, self.retired)
            yield results


def _size_of(item: Any) -> int:
    """About how many bytes an input has."""
    if isinstance(item, Mapping):
        return sum(map(_size_of, item.values()))
    return int(getattr(item, "nbytes", 0)) or (len(item) if hasattr(item, "__len__") else 0)


def file_of(program: Program, options: Mapping[str, Any]) -> ProgramFile:
    """The program with its bytes, which other processes and hosts get. options: those of a Queue, whose root
    may have it. Raises ArgumentError."""
    return read_program(program, root_of(options.get("root"), options.get("binds", ())))


def options_of_queue(options: Mapping[str, Any], what: str) -> Dict[str, Any]:
    """Options of Queue that can go to another process. what: the class that got them. collect is none of
    them: slices of results have no files."""
    known = set(inspect.signature(Queue).parameters) - {"program", "device", "collect"}
    unknown = set(options) - known
    if unknown:
        raise ArgumentError(f"{what} has no option {min(unknown)!r}; it has {', '.join(sorted(known))}")
    for name, value in options.items():
        try:
            pickle.dumps(value)
        except Exception:
            value = len
        if callable(value):
            raise ArgumentError(
                f"{name} cannot go to the processes that have the devices; use a Queue for it"
            )
    return dict(options)
