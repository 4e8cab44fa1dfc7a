# SPDX-License-Identifier: Apache-2.0
"""LinuxFleet: a static Linux program as a process in every lane; the library serves its system calls."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np

from . import _core
from .arguments import integer, kind, octets, printable, system_string
from .enums import StopReason
from .errors import ArgumentError, StateError
from .fleet import Device, Fleet, fleet_options
from .program import DEFAULT_MEMORY, read_program
from .progress import make_tick
from .results import Outcome, RunResult, run_result, stop_of


def _strings(values: Any, what: str) -> List[bytes]:
    if isinstance(values, (str, bytes)) or not isinstance(values, (list, tuple)):
        raise ArgumentError(f"{what} must be a list of str, not {kind(values)}")
    for i, value in enumerate(values):
        if not isinstance(value, str):
            raise ArgumentError(f"{what}[{i}] must be a str, not {kind(value)}")
        if "\0" in value:
            raise ArgumentError(f"{what}[{i}] holds a NUL character, which no process can get; remove it")
    return [system_string(value, f"{what}[{i}]") for i, value in enumerate(values)]


def _input(stdin: Any) -> bytes:
    takes = "stdin must be bytes or a (size,) uint8 array, which every lane reads from its beginning"
    if isinstance(stdin, (list, tuple)) and not all(isinstance(item, int) for item in stdin):
        raise ArgumentError(f"{takes}, not a {kind(stdin)} of {kind(stdin[0])}")
    content = octets(stdin, "stdin")
    if content.ndim != 1:
        raise ArgumentError(f"{takes}, not an array of shape {content.shape}")
    return content.tobytes()


_ALL_ENDED = "no lane took part, for every process had ended: make a new LinuxFleet, or restore() a snapshot"


class LinuxFleet:
    """A static AArch64 Linux executable as a process in each of N lanes.

    program: a path, or the bytes of the ELF file. arguments: what follows the program's name in argv.
    environment: "NAME=value" each, or a dict; MYRIARM_LANE=<lane> is added. stdin: bytes that every lane
    reads from descriptor 0. seed: the random bytes that a guest gets depend on it, on the lane and on the
    position, and on nothing else. The other arguments are those of Fleet. Raises ArgumentError, DeviceError,
    StateError."""

    __slots__ = ("_core", "_fleet", "__weakref__")

    def __init__(
        self,
        program: Union[str, os.PathLike[str], bytes],
        *,
        arguments: Sequence[str] = (),
        environment: Union[Sequence[str], Mapping[str, str]] = (),
        stdin: bytes = b"",
        seed: int = 0,
        lanes: int = 1,
        device: str = "auto",
        memory: int = DEFAULT_MEMORY,
        pool: int = 0,
        threads: int = 0,
        memory_policy: str = "private",
        engine: str = "interpreter",
    ) -> None:
        size = integer(memory, "memory", 1)
        options = fleet_options(
            integer(lanes, "lanes", 1), device, size, pool, threads, memory_policy, engine
        )
        if isinstance(environment, Mapping):
            environment = [f"{name}={value}" for name, value in environment.items()]
        variables = _strings(environment, "environment")
        for i, variable in enumerate(variables):
            if b"=" not in variable[1:]:
                raise ArgumentError(f"environment[{i}] is {environment[i]!r}; give it as NAME=value")
        words = _strings(arguments, "arguments")
        data, name = read_program(program)
        argv0 = (
            b"program"
            if isinstance(program, (bytes, bytearray, memoryview))
            else system_string(name, "the path")
        )
        core = _core.process(
            data,
            printable(name),
            options,
            [argv0, *words],
            variables,
            _input(stdin),
            integer(seed, "seed"),
        )
        self._core = core
        self._fleet = Fleet._of(core)

    @property
    def fleet(self) -> Fleet:
        """The fleet that the processes run in."""
        return self._fleet

    @property
    def lanes(self) -> int:
        return self._fleet.lanes

    def __len__(self) -> int:
        return self._fleet.lanes

    @property
    def device(self) -> Device:
        return self._fleet.device

    def run(self, instructions: Optional[int] = None, *, progress: bool = False) -> RunResult:
        """Runs, and serves system calls, until every lane has ended or is at its limit, or cancel() is
        called. instructions: the most that each lane retires in this call; None: no more than its `limit`
        says. Lanes that an earlier run left with budget, cancelled or out of memory go on. Ctrl-C cancels
        and raises KeyboardInterrupt."""
        if instructions is None:
            return self._run(None, progress)
        # The C++ LinuxFleet has no limit for one call; this lowers the lanes' own limits while it runs.
        budget = integer(instructions, "instructions")
        limits, retired = self._fleet.limit[...], self._fleet.instructions[...]
        room = (limits - np.minimum(retired, limits)).clip(max=budget)
        self._fleet.limit = retired + room
        try:
            result = self._run(budget, progress)
        finally:
            if not self.closed:
                self._fleet.limit = limits
        at_limit = self._fleet.stops["reason"] == StopReason.budget
        go_on = at_limit & (self._fleet.instructions[...] < limits)
        return replace(result, lanes_left=result.lanes_left + int(go_on.sum()))

    def _run(self, instructions: Optional[int], progress: bool) -> RunResult:
        with make_tick(progress, instructions, self.lanes) as tick:
            return run_result(self._core.run_process(tick), _ALL_ENDED)

    def cancel(self) -> None:
        """Ends a run() in another thread; if there is none, the next run() ends at once."""
        self._core.cancel()

    @property
    def outcomes(self) -> List[Outcome]:
        """How each lane ended: (stop, exit_status, signal)."""
        return [Outcome(stop_of(*stop), status, signal) for stop, status, signal in self._core.outcomes()]

    def stdout(self, lane: int = 0) -> bytes:
        """What a lane wrote to its standard output."""
        return self._core.output(integer(lane, "lane", 0, self.lanes - 1), False)

    def stderr(self, lane: int = 0) -> bytes:
        """What a lane wrote to its standard error."""
        return self._core.output(integer(lane, "lane", 0, self.lanes - 1), True)

    @property
    def unimplemented(self) -> Dict[str, int]:
        """The system calls that returned ENOSYS because the library lacks them, and how often each did."""
        return dict(self._core.unimplemented())

    def close(self) -> None:
        """Cancels a run in progress and frees the fleet's memory."""
        self._core.close()

    @property
    def closed(self) -> bool:
        return self._core.closed

    def __enter__(self) -> LinuxFleet:
        if self.closed:
            raise StateError("this fleet is closed; make a new one")
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<LinuxFleet, closed>"
        if self._core.inherited:
            return "<LinuxFleet, made by the parent process>"
        return f"<LinuxFleet of {self.lanes} lanes on {self.device.id}>"
