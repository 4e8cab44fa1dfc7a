# SPDX-License-Identifier: Apache-2.0
"""Runner, with the calls that run a Fleet or Machine, and what their handlers get."""

from __future__ import annotations

import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple, TypeVar, Union

import numpy as np
import numpy.typing as npt

from . import _core
from .arguments import (
    ENGINES,
    U8,
    U32,
    U64,
    count,
    engine_number,
    integer,
    kind,
    seconds,
    wait_seconds,
    words,
)
from .enums import Mode, Signal, SyscallAction
from .errors import ArgumentError, StateError
from .handlers import guarded
from .progress import make_tick
from .results import (
    BatchReport,
    Poll,
    RunResult,
    TranslationReport,
    batch_report,
    poll_of,
    run_result,
    translation_report,
)

BATCH = 10_000_000

_R = TypeVar("_R", bound="Runner")


class SyscallBatch:
    """The lanes that stopped at an SVC; one call of on_syscall gets all of them. Element i of every array
    belongs to lane lanes[i]."""

    def __init__(
        self, fleet: Any, lanes: U32, numbers: U64, immediates: U32, arguments: U64, results: U64, actions: U8
    ) -> None:
        self.fleet = fleet
        """the Fleet or Machine; the handler may read and write its registers and memory, but not run it"""
        self.lanes = lanes
        """(n,) uint32, the numbers of the lanes"""
        self.numbers = numbers
        """(n,) uint64, x8, which holds the number of a Linux system call"""
        self.immediates = immediates
        """(n,) uint32, imm16 of the SVC"""
        self.arguments = arguments
        """(n, 6) uint64, x0 to x5"""
        self._results = results
        self._actions = actions

    def __len__(self) -> int:
        return int(self.lanes.size)

    @property
    def results(self) -> U64:
        """(n,) uint64, the value that x0 gets; before the handler writes it, the present x0. Integers
        assigned to it may be negative."""
        return self._results

    @results.setter
    def results(self, values: Any) -> None:
        self._results[:] = _result_words(values, self._results.shape)

    @property
    def actions(self) -> U8:
        """(n,) uint8, a SyscallAction for each lane; before the handler writes it, SyscallAction.serve in a
        fleet of processes, else SyscallAction.resume."""
        return self._actions

    @actions.setter
    def actions(self, values: Any) -> None:
        array = words(values, "actions")
        if array.size and array.max() > 255:
            raise ArgumentError(f"actions holds {array.max()}; use a SyscallAction")
        try:
            self._actions[:] = array.astype(np.uint8)
        except ValueError:
            raise ArgumentError(
                f"actions have shape {array.shape} for {len(self)} lanes; give one for each lane"
            ) from None

    def answer(self, where: Any, result: Any) -> None:
        """Gives calls a result, and their lanes go on: the library does not serve these calls. where: a mask
        or indices of calls of this batch, `batch.numbers == 172` for example. result: an integer, or (n,) of
        them, one for each call of the batch; negative ones are errors in Linux, as -13 (EACCES)."""
        try:
            chosen = np.atleast_1d(np.arange(len(self))[where])
        except (IndexError, TypeError):
            raise ArgumentError(
                f"answer: where must be a mask or indices of the {len(self)} calls of the batch"
            ) from None
        self._results[chosen] = _result_words(result, self._results.shape)[chosen]
        self._actions[chosen] = SyscallAction.resume


OnBatch = Callable[[BatchReport], Any]
OnSyscall = Callable[[SyscallBatch], Any]


def _result_words(values: Any, shape: Tuple[int, ...]) -> U64:
    """Results as a register holds them: negative ones, which are errors in Linux, in two's complement."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError):
        raise ArgumentError(f"on_syscall returned {kind(values)}; return integers, or None") from None
    if array.dtype.kind == "i":
        array = array.astype(np.int64).reshape(array.shape).view(np.uint64)
    elif array.dtype.kind != "u":
        raise ArgumentError(f"on_syscall returned {kind(values)}; return integers, or None")
    try:
        return np.broadcast_to(np.asarray(array, dtype=np.uint64), shape)
    except ValueError:
        raise ArgumentError(
            f"on_syscall returned shape {np.shape(values)} for {shape[0]} lanes; return one result for each"
        ) from None


def mode_of(mode: Union[str, Mode], instructions: Optional[int]) -> Mode:
    """The Mode of this name, or the Mode itself, for a run of so many instructions."""
    if isinstance(mode, str):
        if mode not in Mode.__members__:
            raise ArgumentError(f"mode is {mode!r}; use one of {', '.join(Mode.__members__)}")
        mode = Mode[mode]
    elif not isinstance(mode, Mode):
        raise ArgumentError(f"mode must be a str or a Mode, not {kind(mode)}")
    if mode == Mode.mega and instructions is None:
        raise ArgumentError('mode "mega" needs a number of instructions; pass instructions=')
    return mode


class Runner:
    """The calls that run lanes, in every mode. A thread of the library calls the handlers of a run."""

    __slots__ = ("_core", "_engine")
    _core: _core.Fleet
    _engine: Optional[int]

    @property
    def engine(self) -> str:
        """What executes the instructions of runs that begin from now on: "interpreter", "translate" (the
        interpreter, and hot code becomes machine code of the device, where the package can translate), "auto"
        (translate on the CPU where that is possible, else interpreter), or "stepper" (one instruction at a
        time, the reference for other engines, and for debugging). Registers, memory, counts
        and stops are the same to the bit. Assign to it to choose; ArgumentError for another name."""
        return ENGINES[self._engine_of(None)]

    @engine.setter
    def engine(self, engine: str) -> None:
        self._engine = engine_number(engine)

    @property
    def translation(self) -> TranslationReport:
        """What the engine "translate" has done so far. While a run is in progress any thread may ask; then
        the counts are some milliseconds old."""
        return translation_report(self._core.translation())

    def _engine_of(self, engine: Optional[str]) -> int:
        """The number of the engine with this name; None: of that which runs have that name none."""
        if engine is not None:
            return engine_number(engine)
        return self._core.engine if self._engine is None else self._engine

    def _options(
        self,
        mode: Mode,
        instructions: Any,
        instructions_per_batch: Any,
        max_batches: Any,
        timeout: Any,
        go_on: Any,
        on_batch: Optional[OnBatch],
        on_syscall: Optional[OnSyscall],
    ) -> Dict[str, Any]:
        for name, handler in (("on_batch", on_batch), ("on_syscall", on_syscall)):
            if handler is not None and not callable(handler):
                raise ArgumentError(f"{name} must be a function, not {kind(handler)}")
        if not isinstance(go_on, (bool, np.bool_)):
            raise ArgumentError(f"go_on must be True or False, not {kind(go_on)}")
        return {
            "mode": int(mode),
            "engine": self._engine_of(None),
            "instructions": count(instructions, "instructions"),
            "instructions_per_batch": integer(instructions_per_batch, "instructions_per_batch", 1),
            "max_batches": count(max_batches, "max_batches"),
            "timeout": seconds(timeout, "timeout"),
            "go_on": bool(go_on),
            "on_batch": None if on_batch is None else _batch_handler(on_batch),
            "on_syscall": None if on_syscall is None else self._syscall_handler(on_syscall),
        }

    def _syscall_handler(self, user: OnSyscall) -> Callable[..., None]:
        # The run keeps this function alive; a strong reference in it would keep the fleet alive too.
        reference = weakref.ref(self)
        call = guarded(user)

        def serve(
            lanes: U32, numbers: U64, immediates: U32, arguments: U64, results: U64, actions: U8
        ) -> None:
            batch = SyscallBatch(reference(), lanes, numbers, immediates, arguments, results, actions)
            answer = call(batch)
            if answer is not None:
                batch.results = answer
                actions[actions == SyscallAction.serve] = SyscallAction.resume

        return serve

    def _refuse_breakpoints(self, call: str) -> None:
        """Raises where breakpoints are set that the call would pass."""

    def _run(self, options: Dict[str, Any], progress: Any) -> RunResult:
        total = options["instructions"]
        with make_tick(progress, None if total == _core.ENDLESS else total, self._core.lanes) as tick:
            return run_result(self._core.run(options, tick))

    def run(
        self,
        instructions: Optional[int] = None,
        *,
        timeout: Optional[float] = None,
        go_on: bool = True,
        on_syscall: Optional[OnSyscall] = None,
        progress: bool = False,
    ) -> RunResult:
        """Runs until every lane has a stop, in one dispatch.

        instructions: the most that each lane retires in this call; a lane that has retired as many stops with
        StopReason.budget. None: no limit except the lanes' own (`limit`). timeout: seconds; lanes that still
        run after them stop with StopReason.cancelled. go_on: whether lanes that an earlier run left with the
        stop budget or cancelled run too. on_syscall(SyscallBatch) serves the lanes that stop at an SVC, and
        they go on; it may return a result or an array of (n,) results. progress: draws a bar on a terminal or
        in a notebook, if tqdm is installed. Ctrl-C cancels the run and raises KeyboardInterrupt; an exception
        of a handler ends the run and is raised here; after both the next run continues the lanes. Raises
        ArgumentError, StateError or DeviceError, never because of what a guest does."""
        return self._run(
            self._options(Mode.run, instructions, BATCH, None, timeout, go_on, None, on_syscall), progress
        )

    def run_continuous(
        self,
        instructions: Optional[int] = None,
        *,
        instructions_per_batch: int = BATCH,
        max_batches: Optional[int] = None,
        timeout: Optional[float] = None,
        go_on: bool = True,
        on_batch: Optional[OnBatch] = None,
        on_syscall: Optional[OnSyscall] = None,
        progress: bool = False,
    ) -> RunResult:
        """Runs at most max_batches batches, each started by the host; in a batch each lane retires at most
        instructions_per_batch. After each batch it calls on_batch(BatchReport), and ends if that returns
        False. Everything else is as in run()."""
        return self._run(
            self._options(
                Mode.continuous,
                instructions,
                instructions_per_batch,
                max_batches,
                timeout,
                go_on,
                on_batch,
                on_syscall,
            ),
            progress,
        )

    def run_mega(
        self,
        instructions: int,
        *,
        timeout: Optional[float] = None,
        go_on: bool = True,
        on_syscall: Optional[OnSyscall] = None,
        progress: bool = False,
    ) -> RunResult:
        """Runs a whole budget in one dispatch: run(), with `instructions` required."""
        if instructions is None:
            raise ArgumentError(
                "run_mega needs a number of instructions; use run() for a run without a limit"
            )
        return self._run(
            self._options(Mode.mega, instructions, BATCH, None, timeout, go_on, None, on_syscall), progress
        )

    def run_self_dispatch(
        self,
        instructions: Optional[int] = None,
        *,
        instructions_per_batch: int = BATCH,
        max_batches: Optional[int] = None,
        timeout: Optional[float] = None,
        go_on: bool = True,
        on_syscall: Optional[OnSyscall] = None,
        progress: bool = False,
    ) -> RunResult:
        """Runs in batches; each starts the next one on the device, without the host. On the CPU it does what
        run_continuous() does. Everything else is as in run()."""
        return self._run(
            self._options(
                Mode.self_dispatch,
                instructions,
                instructions_per_batch,
                max_batches,
                timeout,
                go_on,
                None,
                on_syscall,
            ),
            progress,
        )

    def start(
        self,
        instructions: Optional[int] = None,
        *,
        mode: Union[str, Mode] = "run",
        instructions_per_batch: int = BATCH,
        max_batches: Optional[int] = None,
        timeout: Optional[float] = None,
        go_on: bool = True,
        on_batch: Optional[OnBatch] = None,
        on_syscall: Optional[OnSyscall] = None,
    ) -> None:
        """Begins a run and returns at once. mode: "run", "continuous", "mega" or "self_dispatch", with the
        options of that mode. Until wait() has given its result only poll(), poll_lanes(), is_running(),
        cancel() and wait() may be called; anything else is a StateError."""
        self._refuse_breakpoints("start()")
        self._core.start(
            self._options(
                mode_of(mode, instructions),
                instructions,
                instructions_per_batch,
                max_batches,
                timeout,
                go_on,
                on_batch,
                on_syscall,
            )
        )

    def is_running(self) -> bool:
        """Whether a run is in progress. May be called from any thread."""
        return self._core.is_running()

    def poll(self) -> Poll:
        """How far the run is, without waiting for the device. May be called from any thread."""
        return poll_of(self._core.poll())

    def poll_lanes(self) -> Tuple[U64, npt.NDArray[np.uint8]]:
        """For each lane the instructions that it has retired since it was made, (lanes,) uint64, and its
        Signal, (lanes,) uint8. May be called from any thread."""
        instructions = np.zeros(self._core.lanes, np.uint64)
        signals = np.zeros(self._core.lanes, np.uint8)
        self._core.poll_lanes(instructions, signals)
        return instructions, signals

    def wait(self, timeout: Optional[float] = None) -> Optional[RunResult]:
        """Waits for the run that start() began and returns its result; None if it has not ended after
        `timeout` seconds. Raises what the run raised (a handler's exception, a DeviceError), and StateError
        if no run was started. Ctrl-C ends the wait but not the run."""
        result = self._core.wait(wait_seconds(timeout))
        return None if result is None else run_result(result)

    def cancel(self) -> None:
        """Ends the run: its lanes stop with StopReason.cancelled at an instruction boundary, within 100 ms,
        and go on in the next run. If none is in progress, the next one ends at once. May be called from any
        thread."""
        self._core.cancel()

    def close(self) -> None:
        """Cancels a run in progress and frees the fleet's memory. Arrays that other libraries share stay
        valid."""
        self._core.close()

    @property
    def closed(self) -> bool:
        return self._core.closed

    def __enter__(self: _R) -> _R:
        if self.closed:
            raise StateError("this fleet is closed; make a new one")
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


def _batch_handler(user: OnBatch) -> Callable[..., bool]:
    call = guarded(user)

    def report(batch: int, instructions: int, left: int, stops: Tuple[int, ...], signal: int) -> bool:
        answer = call(batch_report(batch, instructions, left, stops, signal))
        return not (isinstance(answer, (bool, np.bool_)) and not answer)

    return report


__all__: List[str] = ["Runner", "SyscallBatch", "OnBatch", "OnSyscall", "Signal"]
