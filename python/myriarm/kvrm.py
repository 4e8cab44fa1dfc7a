# SPDX-License-Identifier: Apache-2.0
"""The classes of the earlier systems that myriarm replaces, built on Machine: to run a script that was
written for them, change only its import.

Memory is flat, 4 MiB by default, from address 0. "Cycles" are retired instructions. HLT and a word of zeros
stop with HALT; SVC stops with SYSCALL, and the next call continues after it; after max_cycles instructions
execute() stops with MAX_CYCLES. Faults of the guest, which those systems did not detect, stop with FAULT.
Each class takes device= as Fleet does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from .arguments import integer
from .enums import Signal, StopReason
from .machine import Machine
from .program import Program

MEMORY_SIZE = 4 * 1024 * 1024
XZR = 31


@dataclass(frozen=True)
class ExecutionResult:
    """The result of execute()."""

    cycles: int
    elapsed: float
    """seconds"""
    stop_reason: int
    """1 HALT, 2 SYSCALL, 3 MAX_CYCLES; 4 FAULT, 5 BREAKPOINT, 6 CANCELLED"""
    stop_reason_name: str

    @property
    def ips(self) -> float:
        return self.cycles / self.elapsed if self.elapsed > 0 else 0.0


@dataclass(frozen=True)
class ContinuousResult:
    """The result of execute_continuous() and execute_mega()."""

    total_cycles: int
    batches: int
    elapsed: float
    """seconds"""
    signal: int
    """1 HALT, 2 SYSCALL, 3 CHECKPOINT; 4 FAULT, 5 BREAKPOINT, 6 CANCELLED"""
    signal_name: str

    @property
    def ips(self) -> float:
        return self.total_cycles / self.elapsed if self.elapsed > 0 else 0.0


@dataclass(frozen=True)
class PollResult:
    """How far a run is."""

    cycles_executed: int
    is_running: bool


@dataclass(frozen=True)
class AsyncResult:
    """The result of a run that start() began."""

    cycles_executed: int
    elapsed: float
    """seconds"""
    signal: int
    """as ContinuousResult.signal"""
    signal_name: str

    @property
    def ips(self) -> float:
        return self.cycles_executed / self.elapsed if self.elapsed > 0 else 0.0


class _Kvrm:
    """A Machine with flat memory, and the methods that all classes of this module have."""

    _memory_policy = "private"

    def __init__(self, memory_size: int = MEMORY_SIZE, *, device: str = "auto") -> None:
        self.memory_size = integer(memory_size, "memory_size", 1)
        # The size of guest memory must be a multiple of the page size.
        memory = -(-self.memory_size // 4096) * 4096
        program = Program.raw(bytes(4), memory=memory)
        self.machine = Machine(program, device=device, memory=memory, memory_policy=self._memory_policy)

    def load_program(self, program: Any, address: int = 0) -> None:
        """Writes machine code, bytes or a list of bytes, to an address; pc stays as it is."""
        self.machine.write(address, program)

    def set_pc(self, address: int) -> None:
        self.machine.pc = address

    def get_pc(self) -> int:
        return self.machine.pc

    @property
    def pc(self) -> int:
        return self.machine.pc

    @pc.setter
    def pc(self, address: int) -> None:
        self.machine.pc = address

    def get_register(self, index: int) -> int:
        """Register 0 to 30; 31 is XZR."""
        number = integer(index, "the register", 0, XZR)
        return 0 if number == XZR else int(self.machine.x[number])

    def set_register(self, index: int, value: int) -> None:
        """Negative values are stored in two's complement; a write to XZR has no effect."""
        number = integer(index, "the register", 0, XZR)
        word = integer(value, "the value", -(2**63)) % 2**64
        if number != XZR:
            self.machine.x[number] = word

    def read_memory(self, address: int, size: int) -> bytes:
        return self.machine.read(address, size)

    def read_memory_64(self, address: int) -> int:
        """The 64-bit little-endian number at an address."""
        return int.from_bytes(self.machine.read(address, 8), "little")

    def write_memory(self, address: int, data: Any) -> None:
        """data: a list of bytes, or bytes."""
        self.machine.write(address, data)

    def write_memory_64(self, address: int, value: int) -> None:
        word = integer(value, "the value", -(2**63)) % 2**64
        self.machine.write(address, word.to_bytes(8, "little"))

    def _go_on(self) -> None:
        """Clears the stop of the last call: the program continues after an SVC, and executes a HLT again."""
        self.machine.resume()

    def _signal(self) -> Signal:
        """The signal of the machine's stop; a word of zeros halts."""
        stop = self.machine.stop
        if stop.reason == StopReason.undefined and stop.address == 0:
            return Signal.halt
        return self.machine.signal

    def close(self) -> None:
        self.machine.close()


class MetalCPU(_Kvrm):
    """The standard kernel: memory that host and device share."""

    _memory_policy = "shared"

    def execute(self, max_cycles: int = 1_000_000) -> ExecutionResult:
        """Runs at most max_cycles instructions."""
        self._go_on()
        result = self.machine.run(integer(max_cycles, "max_cycles"))
        self._after_run()
        signal = self._signal()
        name = "MAX_CYCLES" if signal == Signal.checkpoint else signal.name.upper()
        return ExecutionResult(result.instructions, result.seconds, int(signal), name)

    def _after_run(self) -> None:
        pass


class MLXKernelCPU(MetalCPU):
    """The first kernel: memory is read-only for the guest, and its stores are faults."""

    _memory_policy = "read-only"


class MLXKernelCPUv2(MetalCPU):
    """The kernel with a double buffer: a run writes to copies of pages, which are kept when it has ended."""

    _memory_policy = "transactional"

    def _after_run(self) -> None:
        self.machine.commit()


class ContinuousMetalCPU(MetalCPU):
    """Batches in a native loop, and a whole budget in one dispatch."""

    def __init__(
        self, memory_size: int = MEMORY_SIZE, cycles_per_batch: int = 10_000_000, *, device: str = "auto"
    ) -> None:
        self.cycles_per_batch = integer(cycles_per_batch, "cycles_per_batch", 1)
        super().__init__(memory_size, device=device)

    def execute_continuous(
        self, max_batches: Optional[int] = None, timeout_seconds: Optional[float] = None
    ) -> ContinuousResult:
        """Runs batches of cycles_per_batch until the program stops, max_batches are done, or time is over."""
        self._go_on()
        result = self.machine.run_continuous(
            instructions_per_batch=self.cycles_per_batch, max_batches=max_batches, timeout=timeout_seconds
        )
        return self._continuous(result)

    def execute_mega(self, total_cycles: int) -> ContinuousResult:
        """Runs total_cycles instructions in one dispatch."""
        self._go_on()
        return self._continuous(self.machine.run_mega(integer(total_cycles, "total_cycles")))

    def _continuous(self, result: Any) -> ContinuousResult:
        # A time-out ends a run at a checkpoint.
        signal = Signal.checkpoint if result.timed_out else self._signal()
        return ContinuousResult(
            result.instructions, result.batches, result.seconds, int(signal), signal.name.upper()
        )


class AsyncMetalCPU(MetalCPU):
    """start() returns at once; poll(), is_running() and wait() observe the run."""

    def start(self, max_cycles: int) -> None:
        self._go_on()
        self.machine.start(integer(max_cycles, "max_cycles"))

    def is_running(self) -> bool:
        return self.machine.is_running()

    def poll(self) -> PollResult:
        poll = self.machine.poll()
        return PollResult(poll.instructions, poll.running)

    def wait(self, timeout_seconds: Optional[float] = None) -> Optional[AsyncResult]:
        """The result when the run has ended; None if it goes on after timeout_seconds."""
        result = self.machine.wait(timeout_seconds)
        if result is None:
            return None
        signal = self._signal()
        return AsyncResult(result.instructions, result.seconds, int(signal), signal.name.upper())

    def cancel(self) -> None:
        self.machine.cancel()


__all__ = [
    "AsyncMetalCPU",
    "AsyncResult",
    "ContinuousMetalCPU",
    "ContinuousResult",
    "ExecutionResult",
    "MLXKernelCPU",
    "MLXKernelCPUv2",
    "MetalCPU",
    "PollResult",
]
