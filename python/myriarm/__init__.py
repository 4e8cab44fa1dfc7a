# SPDX-License-Identifier: Apache-2.0
"""Runs unmodified ARM64 (A64) programs on a GPU or CPU, one or hundreds of thousands of isolated copies at
once.

Machine is one program on one processor, Fleet is N of them, LinuxFleet runs static Linux programs;
myriarm.kvrm has the classes of the earlier systems that myriarm replaces. What a guest does is reported as
data (StopReason, Stop) and never raises an exception."""

from __future__ import annotations

from . import _core
from .arguments import integer as _integer
from .arrays import LaneArray, MemoryArray
from .digests import DIGEST, output_hash
from .enums import FaultKind, Mode, Permission, Signal, StopReason, SyscallAction
from .errors import ArgumentError, DeviceError, Error, LaneIndexError, StateError
from .fleet import Device, Fleet, Snapshot, devices, find_device, why_unusable
from .linux import LinuxFleet
from .machine import Machine
from .multi_device import MultiDeviceQueue
from .program import Program
from .queue import Queue, QueueProgress, QueueResult
from .results import (
    STOP_DTYPE,
    BatchReport,
    CollectedFile,
    GuestThread,
    Outcome,
    Poll,
    Refusal,
    RunResult,
    Stop,
    TranslationReport,
    UnimplementedCall,
)
from .runs import SyscallBatch
from .slices import SliceResults, work_off

__version__: str = _core.__version__


# Tracebacks show these classes by the name that users import: myriarm.ArgumentError.
for _error in (Error, ArgumentError, LaneIndexError, DeviceError, StateError):
    _error.__module__ = __name__


def disassemble(word: int, pc: int = 0) -> str:
    """One instruction as text, as `objdump -M no-aliases` prints it; ".inst 0x..." for a word that is not an
    instruction. pc: the address of the word, from which the targets of branches are computed."""
    return _core.disassemble(_integer(word, "word", 0, 2**32 - 1), _integer(pc, "pc"))


__all__ = [
    "DIGEST",
    "STOP_DTYPE",
    "ArgumentError",
    "BatchReport",
    "CollectedFile",
    "Device",
    "DeviceError",
    "Error",
    "FaultKind",
    "Fleet",
    "GuestThread",
    "LaneArray",
    "LaneIndexError",
    "LinuxFleet",
    "Machine",
    "MemoryArray",
    "Mode",
    "MultiDeviceQueue",
    "Outcome",
    "Permission",
    "Poll",
    "Program",
    "Queue",
    "QueueProgress",
    "QueueResult",
    "Refusal",
    "RunResult",
    "Signal",
    "SliceResults",
    "Snapshot",
    "StateError",
    "Stop",
    "StopReason",
    "SyscallAction",
    "SyscallBatch",
    "TranslationReport",
    "UnimplementedCall",
    "__version__",
    "devices",
    "disassemble",
    "find_device",
    "output_hash",
    "why_unusable",
    "work_off",
]
