# SPDX-License-Identifier: Apache-2.0
"""The results of runs, as plain values. Counts are exact and the same on every device."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any, Dict, NamedTuple, Optional, Tuple

import numpy as np

from . import _core
from .enums import FaultKind, Signal, StopReason

STOP_DTYPE = np.dtype(
    {
        "names": ["reason", "fault", "detail", "address"],
        "formats": ["u1", "u1", "u4", "u8"],
        "offsets": [0, 1, 4, 8],
        "itemsize": 16,
    }
)
"""An element of Fleet.stops: StopReason, FaultKind, detail, address; see Stop."""

SIGNAL_OF_REASON = np.array(_core.SIGNAL_OF_REASON, dtype=np.uint8)


class Stop(NamedTuple):
    """The stop of one lane."""

    reason: StopReason
    """why it stopped; StopReason.none if it has not"""
    fault: FaultKind
    """for StopReason.fault, what was wrong with the access"""
    detail: int
    """imm16 of SVC, BRK, HLT; of an exited lane its status, or 256 + the signal that ended it"""
    address: int
    """fault: the first inaccessible byte; undefined: the instruction word"""


def stop_of(reason: int, fault: int, detail: int, address: int) -> Stop:
    return Stop(StopReason(reason), FaultKind(fault), int(detail), int(address))


def stops_by_name(counts: Tuple[int, ...]) -> Dict[str, int]:
    """The number of lanes by the name of their stop's reason, without reasons that no lane has."""
    return {StopReason(reason).name: count for reason, count in enumerate(counts) if count}


@dataclass(frozen=True)
class RunResult:
    """The result of one run."""

    instructions: int
    """retired in this run, over all lanes"""
    batches: int
    """batches that were run, by whichever side they were started"""
    seconds: float
    """wall time"""
    stopped: int
    """lanes that have a stop now"""
    lanes_left: int
    """lanes that go on in the next run"""
    lanes_run: int
    """lanes that took part; 0: every lane had a stop, and nothing was done, see `note`"""
    timed_out: bool
    """whether the time-out ended it"""
    stops: Dict[str, int]
    """the number of lanes that stopped, by the name of the reason; served system calls do not count"""
    signal: Signal
    """the most urgent of these stops: fault, syscall, breakpoint, cancelled, halt; else checkpoint"""
    note: str = ""
    """if no lane took part, why, and what to do; else empty"""

    def __repr__(self) -> str:
        values = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))
        shown = ", ".join(value for value in values if value != "note=''")
        return f"{type(self).__name__}({shown})"

    @property
    def ips(self) -> float:
        """Instructions per second, over all lanes."""
        return self.instructions / self.seconds if self.seconds > 0 else 0.0

    @property
    def signal_name(self) -> str:
        """ "HALT", "SYSCALL", "CHECKPOINT", "FAULT", "BREAKPOINT" or "CANCELLED"."""
        return self.signal.name.upper()


@dataclass(frozen=True)
class BatchReport:
    """What happened in one batch of a continuous run."""

    batch: int
    """its number, from 0"""
    instructions: int
    """retired in it, over all lanes"""
    lanes_left: int
    """lanes that have budget for another batch"""
    stops: Dict[str, int]
    """the number of lanes that stopped in it, by the name of the reason"""
    signal: Signal
    """the most urgent of these stops; checkpoint if there was none"""


@dataclass(frozen=True)
class Poll:
    """How far a run in progress is, or how the last one ended."""

    running: bool
    instructions: int
    """retired so far in this run, over all lanes; while it runs, at least this many"""
    lanes_running: int
    """lanes without a stop"""
    seconds: float
    """from the start of the run until now, or until its end"""
    signal: Signal
    """RunResult.signal when the run has ended"""


class Refusal(NamedTuple):
    """Code that stays interpreted."""

    pc: int
    """address of the instruction at which a region would have begun"""
    why: str
    """part of a sentence"""


@dataclass(frozen=True)
class TranslationReport:
    """What the engine "translate" has done for a fleet since it was made."""

    copied: int
    """pieces of guest code of which machine code was copied together"""
    copied_instructions: int
    """guest instructions in them"""
    regions: int
    """pieces of guest code that were compiled"""
    cached: int
    """of them: whose machine code came from the cache on disk"""
    region_instructions: int
    """guest instructions in them"""
    seconds: float
    """of processor time that both took"""
    interpreted: int
    """instructions that lanes retired by interpretation, in runs with this engine"""
    translated: int
    """instructions that lanes retired in translated code"""
    translated_by_copying: int
    """of `translated`: in code that was copied together; the rest was compiled"""
    visits: int
    """on a GPU: how often teams have gone into compiled code"""
    lanes_in_visits: int
    """how many lanes of their teams went together, summed over the visits"""
    refused: int
    """regions that could not be translated"""
    refusals: Tuple[Refusal, ...]
    """the first 100 of them"""
    unavailable: str
    """why nothing is translated, as part of a sentence; empty if it is, or if no code was hot yet"""
    cache_warning: str
    """what of the cache on disk was ignored, and why, as one sentence; empty: nothing was"""

    @property
    def compiled(self) -> int:
        """Instructions that lanes retired in compiled code."""
        return self.translated - self.translated_by_copying

    @property
    def lanes_together(self) -> Optional[float]:
        """How many lanes of a team went into compiled code together, on average; None if no team has, or on
        the CPU, where a team is one lane."""
        return self.lanes_in_visits / self.visits if self.visits else None


@dataclass(frozen=True)
class GuestThread:
    """A thread of a process in a lane, from Fleet.threads(). A lane runs one thread at a time: the lane's
    registers are those of that one, and its memory is that of its process."""

    id: int
    """as gettid() gives it; 0: the program is no process"""
    process: int
    """the id of its process, as getpid() gives it; 0: the program is no process"""
    is_running: bool
    """whether its registers are the lane's"""
    is_waiting: bool
    """whether it is in the system call with the number x[8], at whose SVC pc is"""
    x: Tuple[int, ...]
    """x0 to x30, 31 ints of 64 bits"""
    sp: int
    """stack pointer"""
    pc: int
    """program counter"""
    nzcv: int
    """condition flags: N in bit 3, Z 2, C 1, V 0"""
    tpidr: int
    """TPIDR_EL0"""
    fpcr: int
    """FPCR"""
    fpsr: int
    """FPSR"""
    v: Tuple[int, ...]
    """v0 to v31, 32 ints of 128 bits"""

    @property
    def state(self) -> str:
        """ "waiting" in a system call, "running", or "ready": it goes on when its turn comes."""
        return "waiting" if self.is_waiting else "running" if self.is_running else "ready"

    def __repr__(self) -> str:
        # Without 32 vectors.
        return f"<GuestThread {self.id} of process {self.process}, {self.state}, pc {self.pc:#x}>"


def guest_thread(values: Tuple[Any, ...]) -> GuestThread:
    number, process, is_running, is_waiting, x, sp, pc, nzcv, tpidr, fpcr, fpsr, v = values
    vectors = tuple(low | high << 64 for low, high in v)
    return GuestThread(
        number, process, is_running, is_waiting, tuple(x), sp, pc, nzcv, tpidr, fpcr, fpsr, vectors
    )


class CollectedFile(NamedTuple):
    """A file that a process has left in its file system."""

    path: str
    """in the guest, from the root, without links"""
    mode: int
    """type and permissions, as in os.stat_result.st_mode: a folder, a regular file, a link or a FIFO"""
    data: Optional[bytes]
    """the bytes of a regular file; of a link, the path in it; None: they are too many, or cannot be read"""
    mtime: float
    """seconds since 1970"""


def collected_file(path: bytes, mode: int, data: Optional[bytes], mtime: float) -> CollectedFile:
    return CollectedFile(os.fsdecode(path), mode, data, mtime)


class UnimplementedCall(NamedTuple):
    """A system call that returned ENOSYS because the library lacks it."""

    calls: int
    """how often it was called"""
    lane: int
    """the lane that called it first"""
    pc: int
    """the address of that SVC"""
    call: str
    """that call, as strace prints it"""


@dataclass(frozen=True)
class Outcome:
    """How the process in one lane ended. Unpacks as (stop, exit_status, signal)."""

    stop: Stop
    exit_status: int
    """0 to 255 if it exited, else -1"""
    signal: int
    """the number of the signal that ended it, after a fault or sent by a process of its lane; 0 for none"""

    def __iter__(self) -> Any:
        return iter((self.stop, self.exit_status, self.signal))


NO_LANE_RAN = "no lane took part, for every lane had a stop: resume() takes stops away"


def run_result(values: Tuple[Any, ...], no_lane_ran: str = NO_LANE_RAN) -> RunResult:
    instructions, batches, seconds, stopped, left, ran, timed_out, stops, signal = values
    note = "" if ran else no_lane_ran
    reasons = stops_by_name(stops)
    return RunResult(
        instructions, batches, seconds, stopped, left, ran, timed_out, reasons, Signal(signal), note
    )


def translation_report(values: Tuple[Any, ...]) -> TranslationReport:
    *numbers, refused, refusals, why, warning = values
    reasons = tuple(Refusal(pc, reason) for pc, reason in refusals)
    copied, copied_instructions, regions, cached, instructions, seconds, *counts = numbers
    interpreted, translated, by_copying, visits, lanes_in_visits = counts
    return TranslationReport(
        copied,
        copied_instructions,
        regions,
        cached,
        instructions,
        seconds,
        interpreted,
        translated,
        by_copying,
        visits,
        lanes_in_visits,
        refused,
        reasons,
        why,
        warning,
    )


def batch_report(
    batch: int, instructions: int, left: int, stops: Tuple[int, ...], signal: int
) -> BatchReport:
    return BatchReport(batch, instructions, left, stops_by_name(stops), Signal(signal))


def poll_of(values: Tuple[Any, ...]) -> Poll:
    running, instructions, lanes_running, seconds, signal = values
    return Poll(running, instructions, lanes_running, seconds, Signal(signal))
