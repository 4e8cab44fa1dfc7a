# SPDX-License-Identifier: Apache-2.0
"""Machine: a Fleet of one lane, with registers as numbers and memory as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Set, Tuple, Union, overload

import numpy as np

from .arguments import U8, integer, octets
from .arrays import LaneArray, MemoryArray
from .enums import Mode, Signal, StopReason
from .errors import ArgumentError, StateError
from .fleet import Device, Fleet, Snapshot, require_flat_memory
from .listing import Symbols, dump, dump_html, listing
from .program import Program
from .registers import NUMBERED
from .results import RunResult, Stop, run_result, stop_of
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

    __slots__ = ("_breakpoints", "_fleet", "_reached", "_shown", "_symbols", "__weakref__")

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
        compile_threads: int = 0,
        translation_cache: bool = True,
    ) -> None:
        self._fleet = Fleet(
            program,
            device=device,
            memory=memory,
            pool=pool,
            memory_policy=memory_policy,
            engine=engine,
            compile_threads=compile_threads,
            translation_cache=translation_cache,
        )
        self._core = self._fleet._core
        self._engine = None
        if self._fleet.lanes != 1:
            self._fleet.close()
            raise ArgumentError("a Machine has one lane; use Fleet for programs with more")
        self._symbols = Symbols(program.symbols if isinstance(program, Program) else {})
        self._breakpoints: Set[int] = set()
        # pc and count where a breakpoint was reached; the next run goes on from there.
        self._reached: Optional[Tuple[int, int]] = None
        self._shown: Optional[Dict[str, int]] = None  # registers when they were last shown

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

    # Exploring.
    @property
    def registers(self) -> Dict[str, int]:
        """All registers as ints by name: x0 to x30, sp, pc, nzcv, v0 to v31 (128 bits), tpidr, fpcr, fpsr."""
        values = {f"x{n}": value for n, value in enumerate(self.x.tolist())}
        for name in ("sp", "pc", "nzcv"):
            values[name] = getattr(self, name)
        values.update((f"v{n}", low | high << 64) for n, (low, high) in enumerate(self.v.tolist()))
        for name in ("tpidr", "fpcr", "fpsr"):
            values[name] = getattr(self, name)
        return values

    @property
    def symbols(self) -> Dict[str, int]:
        """Addresses by name, of the ELF file or the assembly that the program was made of; assign a dict to
        replace them."""
        return dict(self._symbols.by_name)

    @symbols.setter
    def symbols(self, by_name: Mapping[str, int]) -> None:
        self._symbols = Symbols({str(name): integer(at, f"symbol {name!r}") for name, at in by_name.items()})

    def step(self, n: int = 1) -> RunResult:
        """Executes n instructions, or fewer if it stops: run(n). Any engine can step."""
        return self.run(integer(n, "n", 1))

    def add_breakpoint(self, where: Union[int, str]) -> int:
        """run() and step() stop with StopReason.breakpoint before the instruction at this address, or symbol,
        unless it is the first that they execute: so the next run goes on. Guest memory stays as it is. With
        breakpoints instructions are run one by one, which is slow. Returns the address."""
        address = self._address_of(where)
        if address % 4:
            raise ArgumentError(f"{address:#x} is not the address of an instruction; give a multiple of 4")
        self._breakpoints.add(address)
        return address

    def remove_breakpoint(self, where: Union[None, int, str] = None) -> None:
        """Takes away a breakpoint; None: all of them."""
        if where is None:
            self._breakpoints.clear()
            return
        address = self._address_of(where)
        if address not in self._breakpoints:
            raise ArgumentError(
                f"there is no breakpoint at {address:#x}; `breakpoints` has those that are set"
            )
        self._breakpoints.discard(address)

    @property
    def breakpoints(self) -> List[int]:
        """The addresses of breakpoints, in rising order."""
        return sorted(self._breakpoints)

    def disassemble(
        self, where: Union[None, int, str] = None, *, before: Optional[int] = None, after: int = 8
    ) -> str:
        """Instructions around an address or symbol, or pc, with symbols, a line each: `before` of them (4 for
        pc, else 0), the one there, and `after`. "=>" is at pc, "*" at breakpoints. What is not mapped is
        left out."""
        pc = self.pc
        middle = (pc if where is None else self._address_of(where)) & ~3
        first = integer(4 if before is None and where is None else before or 0, "before", 0, 2**20)
        words = self._words(middle - 4 * first, first + 1 + integer(after, "after", 0, 2**20))
        return "\n".join(listing(words, pc, self._breakpoints, self._symbols))

    def _words(self, address: int, count: int) -> List[Tuple[int, int]]:
        begin = max(address, self.memory_begin)
        end = min(address + 4 * count, self.memory_end)
        if begin >= end:
            return []
        try:
            octets = self.read(begin, end - begin)
        except ArgumentError:  # there is a hole in it
            if count == 1:
                return []
            return self._words(address, count // 2) + self._words(
                address + count // 2 * 4, count - count // 2
            )
        return [
            (begin + at, int.from_bytes(octets[at : at + 4], "little")) for at in range(0, len(octets), 4)
        ]

    def _address_of(self, where: Union[int, str]) -> int:
        if not isinstance(where, str):
            return integer(where, "the address")
        if where not in self._symbols.by_name:
            raise ArgumentError(f"the program has no symbol {where!r}; `symbols` has those that it has")
        return self._symbols.by_name[where]

    def _title(self) -> str:
        stop = self.stop
        near = self._symbols.near(self.pc)
        where = f"{self.pc:#x}" + (f" <{near}>" if near else "")
        why = "" if stop.reason == StopReason.none else f", stopped: {stop.reason.name}"
        if stop.reason == StopReason.fault:
            why += f" ({stop.fault.name}) at {stop.address:#x}"
        return f"pc {where}, {self.instructions} instructions{why}"

    def dump(self) -> str:
        """Registers in hexadecimal, with a "*" at those that have changed since they were last shown, by
        this, print() or a notebook; and the instructions around pc."""
        registers, before = self.registers, self._shown
        self._shown = registers
        return "\n".join([self._title(), *dump(registers, before), self.disassemble()])

    def __str__(self) -> str:
        return repr(self) if self.closed or self._core.inherited else self.dump()

    def _repr_html_(self) -> Optional[str]:
        if self.closed or self._core.inherited:
            return None
        registers, before = self.registers, self._shown
        self._shown = registers
        return dump_html(registers, before, self._title(), self.disassemble().splitlines())

    def _refuse_breakpoints(self, call: str) -> None:
        if self._breakpoints:
            raise StateError(
                f"{call} would pass breakpoints, which are for run() and step(); call remove_breakpoint()"
            )

    def _run(self, options: Dict[str, Any], progress: Any) -> RunResult:
        if self._reached is not None:
            if self._reached == (self.pc, self.instructions) and self.stop.reason == StopReason.breakpoint:
                self.resume()
            self._reached = None
        # One instruction is run in this thread: to start another takes longer.
        if not self._breakpoints and options["instructions"] != 1:
            return super()._run(options, progress)
        if options["mode"] not in (Mode.run, Mode.mega):
            self._refuse_breakpoints("a run in batches")
            return super()._run(options, progress)
        result = run_result(self._core.run_to(options, self.breakpoints))
        # A BRK that is the first instruction is the guest's own.
        if result.signal == Signal.breakpoint and result.instructions and self.pc in self._breakpoints:
            self._reached = (self.pc, self.instructions)
        return result

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
