# SPDX-License-Identifier: Apache-2.0
"""Queue: any number of inputs, worked off by the lanes of one fleet."""

from __future__ import annotations

import contextlib
import itertools
import os
from typing import (
    Any,
    Dict,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Sized,
    Tuple,
    TypeVar,
    Union,
)

from . import _core
from .arguments import count, integer, kind, octets
from .digests import Batch, Digests, work
from .errors import ArgumentError, StateError
from .fleet import Device, find_device, fleet_options
from .inputs import FILE_BYTES, Octets, OnCall, arguments_of, environment_of, process_options, trace_of
from .program import PROCESS_MEMORY, ProgramFile, read_program, root_of
from .progress import make_queue_tick
from .results import CollectedFile, Stop, UnimplementedCall, collected_file, stop_of

Input = Union[Octets, Mapping[str, Any], None]
_Given = TypeVar("_Given")

GPU_LANES = 16384
CPU_LANES = 1024
TRACED_INPUTS = 2**20
"""Inputs with higher numbers cannot be chosen to be traced."""


class QueueResult(NamedTuple):
    """What became of one input. It depends on the input, its number and the options alone."""

    number: int
    """of the input, from 0"""
    stop: Stop
    exit_status: int
    """0 to 255 if the process exited, else -1"""
    signal: int
    """the number of the signal that ended it, 0 for none"""
    instructions: int
    pc: int
    stdout: bytes
    stderr: bytes
    files: Sequence[CollectedFile] = ()
    """what the paths in `collect` of the queue lead to, at the end of the process"""


class QueueProgress(NamedTuple):
    done: int
    """inputs whose process has ended"""
    failed: int
    """of these: those that did not exit with 0"""
    running: int
    instructions: int
    seconds: float
    inputs_per_second: float = 0.0
    """in the last 30 seconds, as what follows"""
    instructions_per_second: float = 0.0
    seconds_left: Optional[float] = None
    """if inputs have a len()"""
    idle_share: Optional[float] = None
    """the share of the lanes' time, in instructions, in which they waited for others. If several devices
    share the queue, it is that of the slices that have ended; None: none has. On the CPU it costs nothing as
    long as each thread has a lane that runs"""
    longest_number: int = 0
    """at the end: the input whose process retired most instructions, the first of several"""
    longest_instructions: int = 0
    median_instructions: int = 0
    """at the end: exact up to 128, within 1 % above; 0 if several devices share the queue"""


class Queue:
    """Runs an AArch64 Linux executable over any number of inputs. `lanes` of them run at a time; a lane
    whose process has ended is put back to the beginning and takes the next one.

    program, memory, pool, threads, seed, engine, compile_threads, translation_cache, fork_after, root,
    binds, cwd, file_bytes: as for LinuxFleet. collect: paths of the root, files or folders, that each
    result has as its process has left them. on_call, traced_lanes: the same with numbers of
    inputs, below 2**20 in traced_lanes. arguments, environment: what inputs have that bring none of
    their own. lanes: by default 1,024 on the CPU and 16,384 on a GPU. What on_call raises ends the run,
    and the iterator of results raises it.

        with myriarm.Queue("examples/prebuilt/sha256") as queue:
            for result in queue.run([b"one", b"two"]):
                print(result.number, result.exit_status, result.stdout)
    """

    __slots__ = ("__weakref__", "_begin", "_core", "_inputs", "_running")

    def __init__(
        self,
        program: Union[str, os.PathLike[str], bytes, ProgramFile],
        *,
        arguments: Sequence[str] = (),
        environment: Union[Sequence[str], Mapping[str, str]] = (),
        root: Union[None, str, os.PathLike[str]] = None,
        binds: Sequence[Sequence[Any]] = (),
        cwd: str = "",
        file_bytes: int = FILE_BYTES,
        collect: Sequence[str] = (),
        seed: int = 0,
        lanes: Optional[int] = None,
        device: str = "auto",
        memory: int = PROCESS_MEMORY,
        pool: int = 0,
        threads: int = 0,
        engine: str = "interpreter",
        compile_threads: int = 0,
        translation_cache: bool = True,
        on_call: Optional[OnCall] = None,
        traced_lanes: Any = None,
        fork_after: Union[str, int] = "start",
    ) -> None:
        if lanes is None:
            lanes = CPU_LANES if find_device(device).kind == "cpu" else GPU_LANES
        size = integer(memory, "memory", 1)
        options = fleet_options(
            integer(lanes, "lanes", 1),
            device,
            size,
            pool,
            threads,
            "private",
            engine,
            compile_threads,
            translation_cache,
        )
        words, variables = arguments_of(arguments), environment_of(environment)
        if words.each or variables.each:
            raise ArgumentError("a queue takes one list of arguments; give each input its own in the inputs")
        tree = root_of(root, binds)
        file = read_program(program, tree)
        self._begin = file.begin
        self._core: Optional[_core.Queue] = _core.queue(
            file.data,
            file.name,
            options,
            process_options(
                file.begin,
                words,
                variables,
                seed,
                trace=trace_of(on_call, traced_lanes, TRACED_INPUTS),
                fork_after=fork_after,
                root=tree,
                file_bytes=file_bytes,
                cwd=cwd,
                collect=collect,
            ),
        )
        self._running = False
        self._inputs: Optional[int] = None

    def run(
        self,
        inputs: Iterable[Input],
        *,
        numbers: Optional[Iterable[int]] = None,
        ordered: bool = True,
        group: bool = False,
        held_bytes: int = 2**28,
        instructions: Optional[int] = None,
        progress: bool = False,
    ) -> Iterator[QueueResult]:
        """Works the inputs off, and gives their results as they come, in the order of the inputs.

        inputs: for each, bytes that the process reads from descriptor 0, or a mapping with some of "stdin",
        "file", "arguments" and "environment", as for LinuxFleet; None: there is none now, and the iterator is
        asked again, so that inputs can be made from results. numbers: those of the inputs, each above the one
        before and below 10**10; by default 0, 1, 2, ... ordered: if False, results come as they are ready;
        otherwise those that wait for an earlier one take at most held_bytes. group: inputs that resemble
        each other run at the same time, for a GPU, where 32 lanes execute an instruction together; results
        come as they are ready. Lanes get what the iterator gives before it says None or ends, up to 2**18
        inputs, or 256 MiB in which each counts twice, together: so an iterator that waits for inputs should
        say None meanwhile. instructions: the most that a process retires; it then has the stop `budget`.
        progress: draws a bar with tqdm, if there is a terminal or a notebook, and tqdm is installed. The
        iterator of results can be left early; processes that run then have no result. Raises ArgumentError,
        StateError."""
        counted = itertools.count() if numbers is None else numbers
        work = self._work(inputs, counted, ordered, group, held_bytes, instructions)
        yield from self._with_bar(work, progress, len_of(inputs))

    def digests(
        self,
        inputs: Iterable[Batch],
        *,
        as_file: bool = False,
        first_number: int = 0,
        ordered: bool = True,
        group: bool = False,
        held_bytes: int = 2**28,
        instructions: Optional[int] = None,
        progress: bool = False,
    ) -> Iterator[Digests]:
        """Works off inputs that come many at a time, and gives digests in place of results: structured arrays
        of DIGEST, of any length above 0 and read-only, with 72 bytes for each input. On a GPU the lanes take
        inputs by themselves, 32 lanes together when the longest of their processes has ended.

        inputs: batches, each of which is a uint8 array of shape (inputs, bytes), a row for each input; a
        pair of a uint8 array of shape (bytes,) and a uint64 array of shape (inputs + 1,), where input i is
        from offsets[i] to offsets[i + 1]; or a list of bytes. Arrays are not copied if they are contiguous,
        and must not change until their digests have come. None: there is no batch now, and the iterator is
        asked again, so that inputs can be made from digests. as_file: processes read an input as the file
        that `@@` names in an argument, not as standard input. first_number: that of the first input; the
        others follow. ordered, group, held_bytes, instructions, progress: as for run(). What the iterable
        raises ends the run and is raised; the iterator of digests can be left early. Raises ArgumentError,
        StateError."""
        runs = self._digests(inputs, as_file, first_number, ordered, group, held_bytes, instructions)
        yield from self._with_bar(runs, progress, None)

    def _with_bar(
        self, work: Generator[Optional[_Given], None, None], progress: bool, inputs: Optional[int]
    ) -> Iterator[_Given]:
        """What `work` gives, without None, while a bar is drawn."""
        with contextlib.closing(work), make_queue_tick(progress, inputs) as tick:
            for given in work:
                if tick:
                    tick(lambda: self.progress)
                if given is not None:
                    yield given
            if tick:
                tick(lambda: self.progress, last=True)

    @contextlib.contextmanager
    def _at_work(self, inputs: Optional[int]) -> Iterator[_core.Queue]:
        """Holds the queue for one run, and ends that."""
        core = self._open()
        if self._running:
            raise StateError("this queue is at work; take all results of its run, or make another queue")
        self._running = True
        self._inputs = inputs
        try:
            yield core
        finally:
            self._running = False
            if self._core is not None:
                core.abandon()

    def _digests(
        self,
        inputs: Iterable[Batch],
        as_file: bool,
        first_number: int,
        ordered: bool,
        group: bool,
        held_bytes: int,
        instructions: Optional[int],
    ) -> Generator[Optional[Digests], None, None]:
        """digests(), which gives None some times a second while there are none."""
        first = integer(first_number, "first_number")
        held, limit = integer(held_bytes, "held_bytes"), count(instructions, "instructions")
        with self._at_work(None) as core:
            core.start_digests(bool(ordered) and not group, bool(group), held, limit)
            yield from work(core, inputs, first, bool(as_file))

    def _work(
        self,
        inputs: Iterable[Input],
        numbers: Iterable[int],
        ordered: bool,
        group: bool,
        held_bytes: int,
        instructions: Optional[int],
    ) -> Generator[Optional[QueueResult], None, None]:
        """run(), which gives None some times a second while there is no result."""
        held, limit = integer(held_bytes, "held_bytes"), count(instructions, "instructions")
        with self._at_work(len_of(inputs)) as core:
            core.start(bool(ordered) and not group, bool(group), held, limit)
            source, counter = iter(inputs), iter(numbers)
            more = True
            while True:
                for _ in range(core.room() if more else 0):
                    try:
                        item = next(source)
                    except StopIteration:
                        core.no_more_inputs()
                        more = False
                        break
                    if item is None:
                        core.end_group()
                        break
                    number = next(counter, None)
                    if number is None:
                        raise ArgumentError("there are more inputs than numbers; give each input a number")
                    number = integer(number, "the number of an input")
                    if not core.push(number, *self._input(item, f"input {number}")):
                        break
                result = core.pop(wait=True)
                if result is False:
                    return
                if result is None:
                    yield None
                    continue
                number, stop, status, signal, retired, pc, stdout, stderr, files = result
                collected = tuple(collected_file(*file) for file in files)
                how = (stop_of(*stop), status, signal)
                yield QueueResult(number, *how, retired, pc, stdout, stderr, collected)

    def _input(self, item: Any, what: str) -> Tuple[Any, ...]:
        """(arguments, environment, standard input, file), each of them None if it is not given."""
        if not isinstance(item, Mapping):
            return None, None, _octets(item, what), None
        unknown = set(item) - {"stdin", "file", "arguments", "environment"}
        if unknown:
            first = min(map(str, unknown))
            raise ArgumentError(f"{what} has {first!r}; use stdin, file, arguments, environment")
        arguments = arguments_of(item["arguments"]) if "arguments" in item else None
        environment = environment_of(item["environment"]) if "environment" in item else None
        if (arguments and arguments.each) or (environment and environment.each):
            raise ArgumentError(f"{what}: give one list of arguments, and one environment")
        return (
            arguments and [*self._begin, *arguments.shared],
            environment and environment.shared,
            _octets(item["stdin"], f"stdin of {what}") if "stdin" in item else None,
            _octets(item["file"], f"file of {what}") if "file" in item else None,
        )

    def _open(self) -> _core.Queue:
        if self._core is None:
            raise StateError("this queue is closed; make a new one")
        return self._core

    @property
    def lanes(self) -> int:
        return self._open().lanes

    @property
    def device(self) -> Device:
        return Device(*self._open().device)

    @property
    def progress(self) -> QueueProgress:
        """How far the run is, some tenths of a second old, or how it ended."""
        return QueueProgress(*self._open().progress(self._inputs))

    @property
    def unimplemented(self) -> Dict[str, UnimplementedCall]:
        """As LinuxFleet.unimplemented, of all inputs so far."""
        return {name: UnimplementedCall(*call) for name, call in self._open().unimplemented().items()}

    def cancel(self) -> None:
        """Ends a run that another thread reads results of; the results so far still come."""
        self._open().cancel()

    def close(self) -> None:
        """Ends a run and frees the memory of the lanes."""
        core, self._core = self._core, None
        if core is not None:
            core.abandon()

    def __enter__(self) -> Queue:
        self._open()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._core is None:
            return "<Queue, closed>"
        return f"<Queue of {self.lanes} lanes on {self.device.id}>"


def len_of(inputs: Any) -> Optional[int]:
    """How many inputs there are, if they say so."""
    return len(inputs) if isinstance(inputs, Sized) else None


def _octets(data: Any, what: str) -> bytes:
    if isinstance(data, bytes):
        return data
    if not isinstance(data, (bytearray, memoryview)) and not hasattr(data, "dtype"):
        raise ArgumentError(f"{what} must be bytes or a mapping, not {kind(data)}")
    return octets(data, what).tobytes()
