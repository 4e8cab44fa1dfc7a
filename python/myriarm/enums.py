# SPDX-License-Identifier: Apache-2.0
"""The enumerations of the C++ API, with its names and numbers. NumPy arrays hold the numbers."""

from __future__ import annotations

from enum import IntEnum, IntFlag


class StopReason(IntEnum):
    """Why a lane stopped."""

    none = 0
    """has not stopped: it may run"""
    halt = 1
    """HLT; pc is that of the HLT, which has not retired"""
    syscall = 2
    """SVC; it has retired, pc is the next instruction's"""
    breakpoint = 3
    """BRK; pc is that of the BRK, which has not retired"""
    budget = 4
    """it has reached its instruction limit; after a higher limit it goes on"""
    fault = 5
    """a memory access was refused; pc is that of the instruction, which has not retired"""
    undefined = 6
    """no such instruction, or one not implemented; `address` holds the instruction word"""
    out_of_memory = 7
    """no memory is left in the pool; grow_pool() and resume()"""
    cancelled = 8
    """cancel() was called, or time ran out; the lane is between two instructions and can go on"""
    exited = 9
    """the program has ended"""


class FaultKind(IntEnum):
    """What was wrong with a memory access."""

    none = 0
    unmapped = 1
    """no page there"""
    read = 2
    """a page without read permission"""
    write = 3
    """a page without write permission"""
    execute = 4
    """a page without execute permission"""
    alignment = 5
    """an access that must be aligned is not, or pc is not a multiple of 4"""


class Signal(IntEnum):
    """The state of a lane or of a whole batch in one number."""

    running = 0
    """no stop"""
    halt = 1
    """halt, exited"""
    syscall = 2
    """syscall"""
    checkpoint = 3
    """budget: a batch ended normally"""
    fault = 4
    """fault, undefined, out_of_memory"""
    breakpoint = 5
    """breakpoint"""
    cancelled = 6
    """cancelled"""


class Mode(IntEnum):
    """Who starts the next batch of a run. Results and counts are the same in every mode."""

    run = 0
    """one dispatch, until every lane has a stop"""
    continuous = 1
    """batches, each started by the host"""
    mega = 2
    """one dispatch for a whole budget"""
    self_dispatch = 3
    """batches, each started by the one before it on the device; on the CPU as continuous"""


class SyscallAction(IntEnum):
    """What the run does with a lane after on_syscall has served its system call."""

    resume = 0
    """x0 becomes the result, and the lane goes on"""
    stop = 1
    """x0 becomes the result, and the lane keeps its stop"""
    exit = 2
    """the lane's stop becomes StopReason.exited with the result as its status"""
    serve = 3
    """of a process: the library serves the call as if there were no handler; results has no effect"""


class Permission(IntFlag):
    """What Fleet.permissions() says of a page, as a sum; 0: it is not mapped."""

    read = 1
    write = 2
    execute = 4
    mapped = 8
    """the page is mapped, even if without permissions"""
