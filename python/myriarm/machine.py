# SPDX-License-Identifier: Apache-2.0
"""Machine: a Fleet of one lane, with registers as numbers and memory as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, overload

import numpy as np

from .arguments import U8, integer, octets
from .arrays import LaneArray, MemoryArray
from .enums import Signal
from .errors import ArgumentError
from .fleet import Device, Fleet, Snapshot, require_flat_memory
from .registers import NUMBERED
from .results import Stop, stop_of
from .runs import Runner


class _Register:
    """A register of the one lane as an attribute that is an int."""

    def __init__(self, name: str, doc: str) -> None:
        self._name = name
        self.__doc__ = doc

    @overload
    def __get__(self, machine: None, owner: Any = None) -> _Register: ...
    @overload
    def __get__(self, machine: Any, owner: Any = None) -> int: ...
    def __get__(self, machine: Any, owner: Any = None) -> Any:
        if machine is None:
            return self
        return int(LaneArray(machine._core, self._name)[0])

    def __set__(self, machine: Any, value: Any) -> None:
        LaneArray(machine._core, self._name)[0] = integer(value, self._name)


class _Registers:
    """Registers of the one lane as an attribute that is a LaneArray."""

    def __init__(self, name: str, doc: str) -> None:
        self._name = name
        self.__doc__ = doc

    @overload
    def __get__(self, machine: None, owner: Any = None) -> _Registers: ...
    @overload
    def __get__(self, machine: Any, owner: Any = None) -> LaneArray: ...
    def __get__(self, machine: Any, owner: Any = None) -> Any:
        if machine is None:
            return self
        return LaneArray(machine._core, self._name, 0)

    def __set__(self, machine: Any, value: Any) -> None:
        if not (isinstance(value, LaneArray) and value._core is machine._core and value._name == self._name):
            LaneArray(machine._core, self._name, 0)[...] = value


class _Numbered:
    """One numbered register of the one lane as an int: x0, w0, v0."""

    def __init__(self, array: str, number: int, bits: int) -> None:
        self._array, self._number, self._bits = array, number, bits

    def __set_name__(self, owner: Any, name: str) -> None:
        self._name = name

    def __get__(self, machine: Any, owner: Any = None) -> Any:
        if machine is None:
            return self
        words = np.atleast_1d(LaneArray(machine._core, self._array, 0)[self._number]).tolist()
        value: int = sum(word << 64 * i for i, word in enumerate(words))
        return value % 2**self._bits

    def __set__(self, machine: Any, value: Any) -> None:
        number = integer(value, self._name, 0, 2**self._bits - 1)
        array = LaneArray(machine._core, self._array, 0)
        array[self._number] = [number % 2**64, number >> 64] if self._array == "v" else number


class Machine(Runner):
    """One program on one processor. The arguments are those of Fleet, without lanes and threads.

    Registers are ints: x0 to x30, w0 to w30 (the low halves; writing one clears the high half), v0 to v31
    (128 bits), pc, sp, nzcv and so on. x is a live array of shape (31,) of them, v of shape (32, 2) (low
    half, high half). The calls that run it are those of Fleet: run(), run_continuous(), run_mega(),
    run_self_dispatch(), start(), poll(), wait(), cancel(). Raises ArgumentError, DeviceError, StateError."""

    __slots__ = ("_fleet", "__weakref__")

    x = _Registers("x", "x0 to x30, a live array (31,) of uint64")
    v = _Registers("v", "v0 to v31, a live array (32, 2) of uint64: low half, high half")
    pc = _Register("pc", "program counter")
    sp = _Register("sp", "stack pointer")
    nzcv = _Register("nzcv", "condition flags: N in bit 3, Z 2, C 1, V 0")
    tpidr = _Register("tpidr", "TPIDR_EL0")
    fpcr = _Register("fpcr", "FPCR")
    fpsr = _Register("fpsr", "FPSR")
    instructions = _Register("instructions", "instructions retired so far")
    limit = _Register("limit", "it stops with StopReason.budget when `instructions` reaches this")

    if TYPE_CHECKING:  # x0, w0, v0, ...

        def __getattr__(self, name: str) -> int: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    def __init__(
        self,
        program: Any,
        *,
        device: str = "auto",
        memory: Optional[int] = None,
        pool: int = 0,
        memory_policy: str = "private",
        engine: str = "interpreter",
    ) -> None:
        self._fleet = Fleet(
            program, device=device, memory=memory, pool=pool, memory_policy=memory_policy, engine=engine
        )
        self._core = self._fleet._core
        self._engine = None
        if self._fleet.lanes != 1:
            self._fleet.close()
            raise ArgumentError("a Machine has one lane; use Fleet for programs with more")

    @property
    def fleet(self) -> Fleet:
        """The fleet whose only lane this is."""
        return self._fleet

    @property
    def device(self) -> Device:
        return self._fleet.device

    @property
    def memory_begin(self) -> int:
        return self._fleet.memory_begin

    @property
    def memory_end(self) -> int:
        return self._fleet.memory_end

    @property
    def memory_policy(self) -> str:
        return self._fleet.memory_policy

    @property
    def stop(self) -> Stop:
        """Why it stopped: Stop(reason, fault, detail, address)."""
        return stop_of(*self._fleet.stops[0].tolist())

    @property
    def signal(self) -> Signal:
        return Signal(int(self._fleet.signals[0]))

    def resume(self) -> None:
        """Clears the stop, so that the next run goes on."""
        self._fleet.resume()

    def read(self, address: int, size: int) -> bytes:
        """Guest memory, whatever its permissions; ArgumentError if not all of it is mapped."""
        return self._fleet.read(integer(address, "address"), size).tobytes()

    def write(self, address: int, data: Any) -> None:
        """Writes bytes, or a (size,) uint8 array, to guest memory, whatever its permissions."""
        content = octets(data, "data")
        if content.ndim != 1:
            raise ArgumentError(f"data must have one dimension, not shape {content.shape}")
        self._fleet.write(integer(address, "address"), content)

    def map(self, address: int, size: int, permissions: str = "rw") -> None:
        """As Fleet.map()."""
        self._fleet.map(address, size, permissions)

    def unmap(self, address: int, size: int) -> None:
        """As Fleet.unmap()."""
        self._fleet.unmap(address, size)

    def permissions(self, address: int, size: int) -> U8:
        """The permissions of pages: (size // 4096,) uint8, a Permission for each; 0 is a page that is not
        mapped."""
        pages: U8 = self._fleet.permissions(address, size)[0]
        return pages

    def protect(self, address: int, size: int, permissions: str) -> None:
        """As Fleet.protect()."""
        self._fleet.protect(address, size, permissions)

    @property
    def memory(self) -> MemoryArray:
        """With "shared" and "device-shared" all of its memory without a copy, (memory_end - memory_begin,)
        uint8; StateError with another policy."""
        require_flat_memory(self.memory_policy)
        return MemoryArray(self._core, 0)

    def snapshot(self) -> Snapshot:
        """Saves registers, stop and memory as they are now."""
        return self._fleet.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Goes back to a snapshot of this machine."""
        self._fleet.restore(snapshot)

    def commit(self) -> None:
        """As Fleet.commit()."""
        self._fleet.commit()

    def rollback(self) -> None:
        """As Fleet.rollback()."""
        self._fleet.rollback()

    def __repr__(self) -> str:
        if self.closed:
            return "<Machine, closed>"
        if self._core.inherited:
            return "<Machine, made by the parent process>"
        return f"<Machine on {self.device.id}>"


for _prefix, _array, _count, _bits in NUMBERED:
    for _number in range(_count):
        _register = _Numbered(_array, _number, _bits)
        _register.__set_name__(Machine, f"{_prefix}{_number}")
        setattr(Machine, f"{_prefix}{_number}", _register)
