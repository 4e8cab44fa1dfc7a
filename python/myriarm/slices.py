# SPDX-License-Identifier: Apache-2.0
"""What a device works off when several share a queue: a function of a program, options and a slice of the
inputs that gives results.

work_off() is that function. SliceWorker gives the same results in parts, while the slice is worked on; each
device that shares a queue has one, in a process of its own."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from .arguments import U8, U64
from .errors import ArgumentError, StateError
from .program import ProgramFile
from .queue import Input, Queue, QueueProgress, QueueResult
from .results import STOP_DTYPE, stop_of

PART_BYTES = 4 << 20
PART_SECONDS = 0.2


class Slice(NamedTuple):
    """Some of the inputs of a queue."""

    numbers: Sequence[int]
    """of the inputs, each above the one before"""
    inputs: Sequence[Input]
    """as many"""


class RunOptions(NamedTuple):
    """What is the same for all slices of a run; Queue.run() explains each."""

    ordered: bool
    group: bool
    held_bytes: int
    instructions: Optional[int]


@dataclass(frozen=True)
class _Strings:
    """Byte strings, one behind the other."""

    data: bytes
    ends: U64
    """(n,): string i ends before data[ends[i]] and begins where the one before ends"""

    @classmethod
    def of(cls, strings: Sequence[bytes]) -> _Strings:
        return cls(b"".join(strings), np.cumsum([len(string) for string in strings], dtype=np.uint64))

    def __iter__(self) -> Iterator[bytes]:
        begin = 0
        for end in self.ends.tolist():
            yield self.data[begin:end]
            begin = end


@dataclass(frozen=True)
class SliceResults:
    """The results of n inputs as arrays, which travel between processes in one piece. Its elements are
    QueueResults; two of them with the same elements have the same arrays."""

    numbers: U64
    """(n,) of the inputs"""
    stops: npt.NDArray[np.void]
    """(n,) with the fields of Stop, of STOP_DTYPE"""
    exit_statuses: npt.NDArray[np.int16]
    """(n,): 0 to 255 if the process exited, else -1"""
    signals: U8
    """(n,): the number of the signal that ended it, 0 for none"""
    instructions: U64
    """(n,)"""
    pcs: U64
    """(n,)"""
    stdout: _Strings
    stderr: _Strings

    @classmethod
    def of(cls, results: Sequence[QueueResult]) -> SliceResults:
        """Packs results."""

        def column(name: str, dtype: Any) -> Any:
            return np.array([getattr(result, name) for result in results], dtype)

        return cls(
            column("number", np.uint64),
            np.array([tuple(result.stop) for result in results], STOP_DTYPE),
            column("exit_status", np.int16),
            column("signal", np.uint8),
            column("instructions", np.uint64),
            column("pc", np.uint64),
            _Strings.of([result.stdout for result in results]),
            _Strings.of([result.stderr for result in results]),
        )

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[QueueResult]:
        columns = zip(
            self.numbers.tolist(),
            self.stops.tolist(),
            self.exit_statuses.tolist(),
            self.signals.tolist(),
            self.instructions.tolist(),
            self.pcs.tolist(),
            self.stdout,
            self.stderr,
        )
        for number, stop, *rest in columns:
            yield QueueResult(number, stop_of(*stop), *rest)

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays and outputs."""
        per_input = sum(
            array.nbytes
            for array in (
                self.numbers,
                self.stops,
                self.exit_statuses,
                self.signals,
                self.instructions,
                self.pcs,
                self.stdout.ends,
                self.stderr.ends,
            )
        )
        return per_input + len(self.stdout.data) + len(self.stderr.data)


Program = Union[str, "os.PathLike[str]", bytes, ProgramFile]


def work_off(
    program: Program,
    options: Mapping[str, Any],
    inputs: Iterable[Input],
    first_number: int = 0,
    *,
    numbers: Optional[Sequence[int]] = None,
    instructions: Optional[int] = None,
) -> SliceResults:
    """The results of a slice of the inputs of a queue, in their order: the same as a Queue over all inputs
    gives for these.

    program and options: those of Queue(program, **options), the device among them. first_number: the number
    of the first input, on which MYRIARM_LANE and the guest's random bytes depend; the others follow, or have
    the given numbers. instructions: as for Queue.run(). Raises ArgumentError, DeviceError."""
    items = list(inputs)
    named = range(first_number, first_number + len(items)) if numbers is None else numbers
    with Queue(program, **options) as queue:
        return SliceResults.of(list(queue.run(items, numbers=named, instructions=instructions)))


class Ready(NamedTuple):
    """A worker's first answer: it has its device and can take slices."""

    lanes: int
    device: str
    """"cpu", "cuda:0", ... on its host"""


class Part(NamedTuple):
    """Some more results of a slice."""

    results: SliceResults
    ended: bool
    """whether it has no further ones"""
    mistake: str = ""
    """why the first input that has no result cannot run; what ArgumentError says"""
    instructions: int = 0
    """at the end, that lanes have retired for the slice"""
    idle_share: float = 0.0
    """QueueProgress.idle_share then"""


class Failed(NamedTuple):
    """A worker's last answer: its device is of no use any more, and what it worked on has no more results."""

    reason: str
    mistake: bool = False
    """whether the caller's arguments are wrong, so that other devices would fail too"""


Answer = Union[Ready, Part, Failed]


class SliceWorker:
    """Works slices off on one device, and gives their results in parts."""

    def __init__(self, program: Program, options: Mapping[str, Any]) -> None:
        self._queue = Queue(program, **options)
        self._run: Optional[Iterator[Optional[QueueResult]]] = None

    def ready(self) -> Ready:
        return Ready(self._queue.lanes, self._queue.device.id)

    def begin(self, new: Slice, run: RunOptions) -> None:
        """Begins with a slice. The one before has ended."""
        self._run = self._queue._work(new.inputs, new.numbers, *run)

    def part(self) -> Part:
        """Waits for the next results, and gives what comes within PART_SECONDS, or PART_BYTES of it."""
        run = self._run
        if run is None:
            raise StateError("this worker has no slice; begin() with one")
        results: List[QueueResult] = []
        size, end = 0, time.monotonic() + PART_SECONDS
        ended, mistake = False, ""
        try:
            while size < PART_BYTES and not (results and time.monotonic() > end):
                result = next(run)
                if result is not None:
                    results.append(result)
                    size += len(result.stdout) + len(result.stderr) + 64
                elif results:
                    break
        except StopIteration:
            ended = True
        except ArgumentError as error:
            ended, mistake = True, str(error)
        end_of = self._queue.progress if ended else QueueProgress(0, 0, 0, 0, 0.0)
        return Part(SliceResults.of(results), ended, mistake, end_of.instructions, end_of.idle_share or 0.0)


class WorkerHost:
    """A SliceWorker where it runs: in another process, or on another host. What it raises becomes an
    answer."""

    def __init__(self, worker_class: Any, program: ProgramFile, options: Dict[str, Any]) -> None:
        self._make: Tuple[Any, ...] = (worker_class, program, options)
        self._worker: Optional[SliceWorker] = None

    def start(self) -> Answer:
        """Takes the device, and says whether it can be used."""
        try:
            worker_class, program, options = self._make
            self._worker = worker_class(program, options)
            return self._worker.ready()
        except Exception as error:
            return failed(error)

    def work(self, new: Optional[Slice], run: RunOptions) -> Answer:
        """Begins with a slice, or goes on with it if `new` is None, and gives its next part."""
        try:
            assert self._worker is not None
            if new is not None:
                self._worker.begin(new, run)
            return self._worker.part()
        except Exception as error:
            return failed(error)


def failed(error: BaseException) -> Failed:
    reason = str(error) or type(error).__name__
    return Failed(reason, isinstance(error, ArgumentError))
