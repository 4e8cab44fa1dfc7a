# SPDX-License-Identifier: Apache-2.0
"""LinuxFleet: a static Linux program as a process in every lane; the library serves its system calls."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np

from . import _core
from .arguments import integer, printable
from .enums import StopReason
from .errors import StateError
from .fleet import Device, Fleet, fleet_options
from .inputs import ByLane, arguments_of, environment_of, inputs_of, lanes_of, process_options, same_for
from .program import DEFAULT_MEMORY, argv0_of, read_program
from .progress import make_tick
from .results import Outcome, RunResult, UnimplementedCall, run_result, stop_of

Environment = Union[Sequence[str], Mapping[str, str]]

_ALL_ENDED = "no lane took part, for every process had ended: make a new LinuxFleet, or restore() a snapshot"


class LinuxFleet:
    """A static AArch64 Linux executable as a process in each of N lanes.

    program: a path, or the bytes of the ELF file. arguments: what follows the program's name in argv: a list
    of str, or a list of such lists, one for each lane. environment: "NAME=value" each, or a dict, or a list
    of these, one for each lane; MYRIARM_LANE=<lane> is added. stdin: what lanes read from descriptor 0. For
    all of them: bytes or a (size,) uint8 array. For each: a list or an iterator of bytes, a (lanes, size)
    uint8 array, or (bytes, offsets), where lane i gets bytes[offsets[i]:offsets[i + 1]]. file: the same as a
    read-only file, whose path replaces "@@" in arguments. lanes: by default as many as there are inputs,
    arguments or environments, else 1; of an iterator it takes so many. Equal inputs are kept once. seed: the
    random bytes that a guest gets depend on it, on the lane and on the position, and on nothing else.
    keep_memory: lanes that have exited keep their memory; else they give it back at once, and to read it is
    a StateError. The other arguments are those of Fleet. Raises ArgumentError, DeviceError, StateError."""

    __slots__ = ("_core", "_fleet", "__weakref__")

    def __init__(
        self,
        program: Union[str, os.PathLike[str], bytes],
        *,
        arguments: Union[Sequence[str], Sequence[Sequence[str]]] = (),
        environment: Union[Environment, Sequence[Environment]] = (),
        stdin: ByLane = b"",
        file: Optional[ByLane] = None,
        seed: int = 0,
        lanes: Optional[int] = None,
        device: str = "auto",
        memory: int = DEFAULT_MEMORY,
        pool: int = 0,
        threads: int = 0,
        memory_policy: str = "private",
        engine: str = "interpreter",
        keep_memory: bool = False,
    ) -> None:
        size = integer(memory, "memory", 1)
        words, variables = arguments_of(arguments), environment_of(environment)
        most = None if lanes is None else integer(lanes, "lanes", 1)
        inputs = inputs_of(stdin, "stdin", most)
        files = None if file is None else inputs_of(file, "file", most)
        total = lanes_of(
            most,
            (
                ("stdin", inputs.lanes),
                ("file", files and files.lanes),
                ("arguments", words.lanes),
                ("environment", variables.lanes),
            ),
        )
        options = fleet_options(total, device, size, pool, threads, memory_policy, engine)
        data, name = read_program(program)
        argv0 = argv0_of(program, name)
        core = _core.process(
            data,
            printable(name),
            options,
            process_options(
                argv0,
                words,
                variables,
                seed,
                inputs=inputs,
                files=files and same_for(files, total),
                keep_memory=keep_memory,
            ),
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
    def unimplemented(self) -> Dict[str, UnimplementedCall]:
        """The system calls that returned ENOSYS because the library lacks them, by name: (calls, lane, pc,
        call), where the last three are of the first such call."""
        return {name: UnimplementedCall(*call) for name, call in self._core.unimplemented().items()}

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
