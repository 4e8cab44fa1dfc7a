# SPDX-License-Identifier: Apache-2.0
"""LinuxFleet: a Linux program as a process in every lane; the library serves its system calls."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _core
from .arguments import U64, integer, system_string
from .enums import Mode
from .errors import StateError
from .fleet import Device, Fleet, fleet_options
from .inputs import (
    FILE_BYTES,
    ByLane,
    OnCall,
    arguments_of,
    environment_of,
    inputs_of,
    lanes_of,
    process_options,
    same_for,
    trace_of,
)
from .program import PROCESS_MEMORY, linux_placements_of, root_of
from .progress import make_tick
from .results import (
    CollectedFile,
    Outcome,
    Poll,
    RunResult,
    UnimplementedCall,
    collected_file,
    run_result,
    stop_of,
)
from .runs import BATCH, OnBatch, OnSyscall, mode_of

LinuxProgram = Union[str, "os.PathLike[str]", bytes]
Environment = Union[Sequence[str], Mapping[str, str]]

_ALL_ENDED = "no lane took part, for every process had ended: make a new LinuxFleet, or restore() a snapshot"


class LinuxFleet:
    """An AArch64 Linux executable as a process in each of N lanes, or several.

    program: a path, or the bytes of the ELF file; or a list of (program, lanes), where every number of
    lanes except the last is a multiple of the device's team_lanes; multiples of 32 suit every device. The
    lanes of a program are numbered after those of the program before it. arguments: what follows the
    program's name in argv: a list of str, or a list of such lists, one for each lane. environment:
    "NAME=value" each, or a dict, or a list of these, one for each lane; MYRIARM_LANE=<lane> is added.
    stdin: what lanes read from descriptor 0. For all of them: bytes or a (size,) uint8 array. For each: a
    list or an iterator of bytes, a (lanes, size) uint8 array, or (bytes, offsets), where lane i gets
    bytes[offsets[i]:offsets[i + 1]]. file: the same as a read-only file, whose path replaces "@@" in
    arguments. root: the folder that is / of every lane, for dynamic programs and files (see docs/roots.md);
    the program is then a path there, also that of a script with an interpreter line, or of this machine if
    there is none. Without it a program must be static. The folder never changes: a lane keeps the files
    that it writes in its memory, of which they take file_bytes at most, and collect() gives them; with 0
    the root is read-only. binds: further folders in it, (folder, place) or (folder, place, "rw"): what "rw"
    allows is again kept with the lane. cwd: the folder of the root in which programs begin; by default "/".
    keep_files: collect() can be called for lanes that have exited. lanes: by default as many as there are
    inputs, arguments or environments, else 1; of an iterator it takes so many. Equal inputs are kept once.
    seed: the random bytes that a guest gets depend on it, on the lane and on the position, and on nothing
    else. keep_memory: lanes that have exited keep their memory; else they give it back at once, and to read
    it is a StateError. fork_after: one lane runs the program up to this point when the fleet is made, and
    all lanes begin there: "main" or another symbol, an address, or "read", the first call that depends on a
    lane's input; docs/fork-after.md says what that changes. on_call(lane, text): gets each system call of
    traced_lanes (numbers or a mask; None: all) when it has been served, as strace prints it; see run().
    memory_policy: "private" or "transactional". The other arguments are those of Fleet. Raises
    ArgumentError, DeviceError, StateError."""

    __slots__ = ("_core", "_fleet", "__weakref__")

    def __init__(
        self,
        program: Union[LinuxProgram, Sequence[Tuple[LinuxProgram, int]]],
        *,
        arguments: Union[Sequence[str], Sequence[Sequence[str]]] = (),
        environment: Union[Environment, Sequence[Environment]] = (),
        stdin: ByLane = b"",
        file: Optional[ByLane] = None,
        root: Union[None, str, "os.PathLike[str]"] = None,
        binds: Sequence[Sequence[Any]] = (),
        cwd: str = "",
        file_bytes: int = FILE_BYTES,
        keep_files: bool = False,
        seed: int = 0,
        lanes: Optional[int] = None,
        device: str = "auto",
        memory: int = PROCESS_MEMORY,
        pool: int = 0,
        threads: int = 0,
        memory_policy: str = "private",
        engine: str = "interpreter",
        compile_threads: int = 0,
        translation_cache: bool = True,
        keep_memory: bool = False,
        on_call: Optional[OnCall] = None,
        traced_lanes: Any = None,
        fork_after: Union[str, int] = "start",
    ) -> None:
        size = integer(memory, "memory", 1)
        words, variables = arguments_of(arguments), environment_of(environment)
        tree = root_of(root, binds)
        placed = linux_placements_of(program, tree)
        counts = [placement.lanes for placement in placed]
        of_programs = None if counts[0] is None else sum(map(int, filter(None, counts)))
        most = of_programs if lanes is None else integer(lanes, "lanes", 1)
        inputs = inputs_of(stdin, "stdin", most)
        files = None if file is None else inputs_of(file, "file", most)
        total = lanes_of(
            lanes,
            (
                ("program", of_programs),
                ("stdin", inputs.lanes),
                ("file", files and files.lanes),
                ("arguments", words.lanes),
                ("environment", variables.lanes),
            ),
        )
        options = fleet_options(
            total,
            device,
            size,
            pool,
            threads,
            memory_policy,
            engine,
            compile_threads,
            translation_cache,
        )
        process = process_options(
            placed[0].file.begin,
            words,
            variables,
            seed,
            inputs=inputs,
            files=files and same_for(files, total),
            keep_memory=keep_memory,
            trace=trace_of(on_call, traced_lanes, total),
            fork_after=fork_after,
            root=tree,
            file_bytes=file_bytes,
            cwd=cwd,
            keep_files=keep_files,
        )
        if words.each:
            begins = [p.file.begin for p in placed for _ in range(p.lanes or total)]
            process["lane_arguments"] = [[*begin, *each] for begin, each in zip(begins, words.each)]
        process["arguments"] = []
        core = _core.process(
            [
                (file.data, file.name, lanes or total, [] if words.each else [*file.begin, *words.shared])
                for file, lanes in placed
            ],
            options,
            process,
        )
        self._core = core
        self._fleet = Fleet._of(core)

    @property
    def fleet(self) -> Fleet:
        """The fleet that the processes run in: their registers, memory, stops and snapshots. A snapshot keeps
        what the process is too: descriptors, positions in its input and output, clocks."""
        return self._fleet

    @property
    def lanes(self) -> int:
        return self._fleet.lanes

    def __len__(self) -> int:
        return self._fleet.lanes

    @property
    def device(self) -> Device:
        return self._fleet.device

    def run(
        self,
        instructions: Optional[int] = None,
        *,
        mode: Union[str, Mode] = "run",
        engine: Optional[str] = None,
        instructions_per_batch: int = BATCH,
        max_batches: Optional[int] = None,
        timeout: Optional[float] = None,
        go_on: bool = True,
        on_batch: Optional[OnBatch] = None,
        on_syscall: Optional[OnSyscall] = None,
        progress: bool = False,
    ) -> RunResult:
        """Runs the processes, and serves their system calls, until each has ended or is at its limit, or
        cancel() is called. Lanes that an earlier run left with budget or cancelled go on. Ctrl-C cancels and
        raises KeyboardInterrupt.

        mode: "run", "continuous", "mega" or "self_dispatch". engine: that of this run; None: that of `fleet`.
        instructions, instructions_per_batch, max_batches, timeout, go_on, on_batch, progress: as for Fleet.
        on_syscall(SyscallBatch): sees the calls of all lanes before the library serves them, and may answer
        some itself, with SyscallBatch.answer(); the library serves the others. It may change registers and
        memory of their lanes before. If it returns a result, or (n,) results, it has answered all.

        On the CPU, processes begin as there is memory for them, and those that an earlier run left without
        go on; with mode, instructions, timeout, go_on=False, on_batch or on_syscall all begin at once, and
        one that finds the pool spent stops with out_of_memory.

        What a handler or on_call raises ends the run and is raised here. Raises ArgumentError, StateError and
        DeviceError, never because of what a guest does."""
        chosen = self._fleet._engine_of(engine)
        plain = (instructions, mode, max_batches, timeout, on_batch, on_syscall)
        if plain == (None, "run", None, None, None, None) and go_on is True:
            with make_tick(progress, None, self.lanes) as tick:
                return run_result(self._core.run_process(chosen, tick), _ALL_ENDED)
        options = self._fleet._options(
            mode_of(mode, instructions),
            instructions,
            instructions_per_batch,
            max_batches,
            timeout,
            go_on,
            on_batch,
            on_syscall,
        )
        options["engine"] = chosen
        result = self._fleet._run(options, progress)
        return replace(result, note=_ALL_ENDED) if result.note else result

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
        """Begins a run of all processes and returns at once; wait() gives its result. The arguments are those
        of run(). Until then only poll(), poll_lanes(), is_running(), cancel() and wait() may be called;
        anything else is a StateError."""
        self._fleet.start(
            instructions,
            mode=mode,
            instructions_per_batch=instructions_per_batch,
            max_batches=max_batches,
            timeout=timeout,
            go_on=go_on,
            on_batch=on_batch,
            on_syscall=on_syscall,
        )

    def is_running(self) -> bool:
        """Whether a run is in progress. May be called from any thread."""
        return self._fleet.is_running()

    def poll(self) -> Poll:
        """How far the run is, at most some 50 ms old. May be called from any thread."""
        return self._fleet.poll()

    def poll_lanes(self) -> Tuple[U64, npt.NDArray[np.uint8]]:
        """For each lane the instructions that it has retired since it was made, (lanes,) uint64, and its
        Signal, (lanes,) uint8. May be called from any thread."""
        return self._fleet.poll_lanes()

    def wait(self, timeout: Optional[float] = None) -> Optional[RunResult]:
        """Waits for the run that start() began and returns its result; None if it has not ended after
        `timeout` seconds. Raises what the run raised, and StateError if no run was started."""
        return self._fleet.wait(timeout)

    def cancel(self) -> None:
        """Ends the run in progress; if there is none, the next one ends at once. Lanes that had not ended
        stop with StopReason.cancelled, and go on in the next run. May be called from any thread."""
        self._core.cancel()

    @property
    def outcomes(self) -> List[Outcome]:
        """How each lane ended: (stop, exit_status, signal)."""
        return [Outcome(stop_of(*stop), status, signal) for stop, status, signal in self._core.outcomes()]

    def collect(self, lane: int, path: str, most_bytes: int = 1 << 30) -> List[CollectedFile]:
        """What a lane has at a path of its root, as it has left it: a file, or a folder and all that is in
        it, each folder before what is in it; an empty list if nothing is there. A file for which there is no
        room in most_bytes for all comes without its bytes. Of a lane that has exited it needs keep_files.
        Raises StateError without a root."""
        lane = integer(lane, "lane", 0, self.lanes - 1)
        most = integer(most_bytes, "most_bytes")
        return [collected_file(*file) for file in self._core.collect(lane, system_string(path, "path"), most)]

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
