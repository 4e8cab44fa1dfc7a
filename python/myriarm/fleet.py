# SPDX-License-Identifier: Apache-2.0
"""Fleet: N isolated copies ("lanes") of a program on one device, or of several programs."""

from __future__ import annotations

import atexit
import os
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, NoReturn, Optional, Tuple, overload

import numpy as np
import numpy.typing as npt

from . import _core
from .arguments import U8, engine_number, integer, kind, lane_numbers, octets, permission_bits, words
from .arrays import LaneArray, MemoryArray
from .enums import StopReason
from .errors import ArgumentError, StateError
from .program import placements_of
from .registers import register_of
from .results import SIGNAL_OF_REASON, STOP_DTYPE, GuestThread, guest_thread
from .runs import Runner

DEVICE_KINDS: Tuple[str, ...] = _core.DEVICE_KINDS
MEMORY_POLICIES = ("private", "read-only", "transactional", "shared", "device-shared")
"""By the number in the C++ API. "read_only" and "device_shared", as there, are taken too."""

# Python closes these fleets when it exits, so that no thread of the library calls into a finished
# interpreter.
_open: weakref.WeakSet[Any] = weakref.WeakSet()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_core.ignore_leaks)


@atexit.register
def _close_all() -> None:
    for core in list(_open):
        core.close()


@dataclass(frozen=True)
class Device:
    """One device that programs can run on."""

    id: str
    """"cpu", "cuda:0", ..."""
    name: str
    """the product's name"""
    memory_bytes: int
    """bytes that a new fleet could use now"""
    units: int
    """CPU threads, or streaming multiprocessors"""
    kind: str
    """"cpu" or "cuda\""""
    ordinal: int
    """its number among the devices of its kind, from 0"""
    team_lanes: int
    """lanes that run in step: 1 on the CPU, 32 on a CUDA device"""


def devices() -> List[Device]:
    """The devices of this machine that can be used, the CPU first. A device whose driver does not work is
    left out, without an exception; why_unusable() says why."""
    return [Device(*values) for values in _core.devices()]


def find_device(device: str) -> Device:
    """The device that Fleet(..., device=device) gets. ArgumentError for a name that no device can have,
    DeviceError for a device that cannot be used."""
    return Device(*_core.find_device(_device_name(device)))


def why_unusable(device: str) -> str:
    """Why find_device() raises for this name, in one sentence; "" if the device can be used."""
    return _core.why_unusable(_device_name(device))


def _device_name(device: Any) -> str:
    if not isinstance(device, str):
        raise ArgumentError(f'device must be "auto", "cpu", "cuda" or "cuda:N", not {kind(device)}')
    return device


class Snapshot:
    """Registers, stops and memory of lanes at one moment, from Fleet.snapshot(). It shares pages with the
    fleet until a lane writes to them. It cannot be used after its fleet is closed."""

    def __init__(self, core: _core.Snapshot) -> None:
        self._core = core

    @property
    def lanes(self) -> npt.NDArray[np.uint32]:
        """The lanes whose state it holds, in rising order, (n,) uint32."""
        return np.array(self._core.lanes, dtype=np.uint32)

    def __repr__(self) -> str:
        return f"<Snapshot of {self.lanes.size} lanes>"


def fleet_options(
    lanes: int,
    device: Any,
    memory: int,
    pool: Any,
    threads: Any,
    memory_policy: Any,
    engine: Any,
    compile_threads: Any,
    translation_cache: Any,
) -> Dict[str, Any]:
    """The FleetOptions of the C++ API, as the dict that the C++ module takes."""
    policy = memory_policy.replace("_", "-") if isinstance(memory_policy, str) else memory_policy
    if policy not in MEMORY_POLICIES:
        raise ArgumentError(f"memory_policy is {memory_policy!r}; use one of {', '.join(MEMORY_POLICIES)}")
    if not isinstance(translation_cache, (bool, np.bool_)):
        raise ArgumentError(f"translation_cache must be True or False, not {kind(translation_cache)}")
    return {
        "device": _device_name(device),
        "lanes": lanes,
        "memory": memory,
        "pool": integer(pool, "pool"),
        "threads": integer(threads, "threads", 0, 2**31 - 1),
        "memory_policy": MEMORY_POLICIES.index(policy),
        "engine": engine_number(engine),
        "compile_threads": integer(compile_threads, "compile_threads", 0, 2**31 - 1),
        "translation_cache": bool(translation_cache),
    }


def require_flat_memory(policy: str) -> None:
    if policy not in ("shared", "device-shared"):
        raise StateError(
            f'memory under the policy "{policy}" is paged and has no view; make the fleet with'
            ' memory_policy="shared" or "device-shared", or use read() and write()'
        )


class _State:
    """A LaneArray as an attribute: reading it gives the array, assigning to it writes all lanes."""

    def __init__(self, name: str, doc: str) -> None:
        self._name = name
        self.__doc__ = doc

    @overload
    def __get__(self, fleet: None, owner: Any = None) -> _State: ...
    @overload
    def __get__(self, fleet: Any, owner: Any = None) -> LaneArray: ...
    def __get__(self, fleet: Any, owner: Any = None) -> Any:
        if fleet is None:
            return self
        return LaneArray(fleet._core, self._name)

    def __set__(self, fleet: Any, value: Any) -> None:
        # `fleet.pc += 4` writes the result in place; then Python assigns the same array to the attribute.
        if isinstance(value, LaneArray) and value._core is fleet._core and value._name == self._name:
            return
        LaneArray(fleet._core, self._name)[...] = value


def _no_attribute(kind_of_fleet: str, name: str) -> str:
    place = register_of(name)
    if place is None:
        return f"{kind_of_fleet!r} object has no attribute {name!r}"
    array, number = place
    return f"a {kind_of_fleet} has no {name} of its own; {name} of its lanes is fleet.{array}[:, {number}]"


class Fleet(Runner):
    """N isolated copies ("lanes") of one program, or of several, on one device.

    program: a Program, bytes (machine code at address 0), or a list of (Program, lanes), where every number
    of lanes except the last is a multiple of the device's team_lanes; multiples of 32 suit every device.
    device: "auto" (a GPU if there is one), "cpu", "cuda", "cuda:N". memory: bytes of guest address space from
    the lowest page of the programs up; by default the memory of a raw program, else 64 MiB. pool: bytes for
    pages that lanes write, over all lanes; 0: see pool_size. threads: threads of the CPU; 0: all.
    memory_policy: "private" (lanes copy a page when they first write to it), "read-only" (every store of a
    guest is a fault), "transactional" (commit() and rollback()), "shared" (flat memory that guest and host
    both use, see `memory`), or "device-shared" (the same in the device's own memory, for PyTorch or CuPy).
    engine: see `engine`. compile_threads: the most threads that translate for the engine "translate"; 0: half
    of the CPU's, at most 4; for a GPU all. translation_cache: whether translated code is kept on disk for
    later runs, and taken from there (docs/modes.md).

    Of a lane with several threads the registers are those of the one that runs; threads() has them all.

    A fleet is used from one thread; poll(), poll_lanes(), is_running() and cancel() may be called from any.
    Everything that runs or copies lets other Python threads go on. Arguments `lanes` are None (all), a
    number, a slice, numbers, or a mask with one bool for each lane; negative numbers are refused. Raises
    ArgumentError, DeviceError, StateError."""

    __slots__ = ("_lanes", "__weakref__")

    x = _State("x", "x0 to x30, a LaneArray (lanes, 31) of uint64")
    v = _State(
        "v", "v0 to v31, a LaneArray (lanes, 32, 2) of uint64: [..., 0] is bits 63 to 0, [..., 1] the rest"
    )
    pc = _State("pc", "program counters, a LaneArray (lanes,) of uint64")
    sp = _State("sp", "stack pointers, a LaneArray (lanes,) of uint64")
    nzcv = _State("nzcv", "condition flags, a LaneArray (lanes,) of uint64: N in bit 3, Z 2, C 1, V 0")
    tpidr = _State("tpidr", "TPIDR_EL0, a LaneArray (lanes,) of uint64")
    fpcr = _State("fpcr", "FPCR, a LaneArray (lanes,) of uint64")
    fpsr = _State("fpsr", "FPSR, a LaneArray (lanes,) of uint64")
    instructions = _State("instructions", "instructions retired so far, a LaneArray (lanes,) of uint64")
    limit = _State(
        "limit",
        "a lane stops with StopReason.budget when `instructions` reaches this; a LaneArray (lanes,) of"
        " uint64",
    )

    def __init__(
        self,
        program: Any,
        *,
        lanes: int = 1,
        device: str = "auto",
        memory: Optional[int] = None,
        pool: int = 0,
        threads: int = 0,
        memory_policy: str = "private",
        engine: str = "interpreter",
        compile_threads: int = 0,
        translation_cache: bool = True,
    ) -> None:
        number = integer(lanes, "lanes", 1)
        wanted = None if memory is None else integer(memory, "memory", 1)
        placements, size = placements_of(program, number, wanted)
        options = fleet_options(
            number,
            device,
            size,
            pool,
            threads,
            memory_policy,
            engine,
            compile_threads,
            translation_cache,
        )
        self._adopt(_core.fleet([(p._core, n) for p, n in placements], options))

    def _adopt(self, core: _core.Fleet) -> None:
        self._core = core
        self._engine: Optional[int] = None
        self._lanes: int = core.lanes
        _open.add(core)

    if not TYPE_CHECKING:  # where any name would be an attribute then

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(_no_attribute(type(self).__name__, name))

        def __setattr__(self, name: str, value: Any) -> None:
            if register_of(name) is not None:
                raise AttributeError(_no_attribute(type(self).__name__, name))
            super().__setattr__(name, value)

    @classmethod
    def _of(cls, core: _core.Fleet) -> Fleet:
        fleet = cls.__new__(cls)
        fleet._adopt(core)
        return fleet

    # Properties that do not change.
    @property
    def lanes(self) -> int:
        """Number of lanes."""
        return self._lanes

    def __len__(self) -> int:
        return self._lanes

    @property
    def device(self) -> Device:
        """The device that it runs on."""
        return Device(*self._core.device)

    @property
    def team_lanes(self) -> int:
        """Lanes that run in step on its device: team i is the lanes from i * team_lanes on."""
        return self._core.team_lanes

    @property
    def memory_begin(self) -> int:
        """First address of the guest's window."""
        return self._core.memory_begin

    @property
    def memory_end(self) -> int:
        """One past the last address of the guest's window."""
        return self._core.memory_end

    @property
    def memory_policy(self) -> str:
        """The policy that it was made with."""
        return MEMORY_POLICIES[self._core.memory_policy]

    @property
    def pool_used(self) -> int:
        """Bytes of the pool that pages of lanes occupy."""
        return self._core.pool_used()

    @property
    def pool_size(self) -> int:
        """Bytes that pages of lanes may occupy. With pool=0, on the CPU three quarters of the host's memory,
        at most 100 GiB; on a GPU a small pool at first, which grows as lanes need it, up to the device's free
        memory. 0 with the shared policies on a GPU, where nothing is allocated later."""
        return self._core.pool_size()

    def grow_pool(self, size: int) -> None:
        """Makes the pool at least this many bytes, for lanes that stopped with StopReason.out_of_memory; then
        resume()."""
        self._core.grow_pool(integer(size, "size"))

    def __repr__(self) -> str:
        if self.closed:
            return "<Fleet, closed>"
        if self._core.inherited:
            return "<Fleet, made by the parent process>"
        return f"<Fleet of {self._lanes} lanes on {self.device.id}>"

    # Stops.
    @property
    def stops(self) -> npt.NDArray[np.void]:
        """Why each lane stopped: (lanes,) with the fields reason, fault, detail and address of Stop."""
        stops = np.zeros(self._lanes, STOP_DTYPE)
        self._core.copy_stops(stops.view(np.uint8))
        return stops

    @property
    def signals(self) -> npt.NDArray[np.uint8]:
        """The Signal of each lane, (lanes,) uint8."""
        signals: npt.NDArray[np.uint8] = SIGNAL_OF_REASON[self.stops["reason"]]
        return signals

    def resume(self, lanes: Any = None) -> None:
        """Clears the stop of these lanes, so that the next run continues them."""
        self._core.resume(lane_numbers(lanes, self._lanes))

    def set_stops(self, lanes: Any, reason: Any, detail: Any = 0) -> None:
        """Sets the stop of these lanes. reason: a StopReason for all, or (n,) of them; detail: a number below
        2**32 for all, or (n,) of them (its meaning: Stop.detail)."""
        chosen = self._chosen(lanes, distinct=True)
        reasons = words(reason, "reason")
        details = words(detail, "detail")
        if reasons.size and reasons.max() > max(StopReason):
            raise ArgumentError(f"reason is {reasons.max()}; give a StopReason, at most {max(StopReason):d}")
        if details.size and details.max() >= 2**32:
            raise ArgumentError(f"detail is {details.max()}; it must be at most {2**32 - 1}")
        self._core.set_stops(
            chosen,
            self._for_lanes(reasons, chosen, "reason").astype(np.uint8),
            self._for_lanes(details, chosen, "detail").astype(np.uint32),
        )

    def fill(self, name: str, value: int) -> None:
        """Sets one register to a value in all lanes: "x0" to "x30", "sp", "pc", "v0_low", "v0_high", ..."""
        if name not in _core.FIELDS:
            raise ArgumentError(
                f"there is no register {name!r}; use x0 to x30, v0_low to v31_high, sp, pc, nzcv, tpidr,"
                " fpcr, fpsr, instructions or limit"
            )
        self._core.fill_fields(np.array([_core.FIELDS[name]], np.uint8), integer(value, name))

    # Threads.
    def threads(self, lane: int = 0) -> List[GuestThread]:
        """The threads of all processes of a lane that have not left, by rising id, each with the registers
        that it goes on with. At most one runs, whose registers x, v, pc and so on show; none does if the one
        that did has just left. One thread with the id 0 if the program is no process. ArgumentError if there
        is no such lane, StateError if it has ended and given its memory back."""
        number = integer(lane, "lane", 0, self._lanes - 1)
        return [guest_thread(values) for values in self._core.threads(number)]

    # Memory.
    def read(self, address: Any, size: int, lanes: Any = None) -> U8:
        """Guest memory, whatever its permissions: (n, size) uint8, a row for each of the lanes. address: one
        for all lanes, or (n,) of them, without a tag in the top byte. ArgumentError if not all of it is
        mapped."""
        chosen = lane_numbers(lanes, self._lanes)
        n = self._lanes if chosen is None else chosen.size
        addresses = self._addresses(address, n)
        length = integer(size, "size")
        if length > self._core.memory_end - self._core.memory_begin:
            raise ArgumentError(f"size is {length}; the fleet's window has {self._window()}")
        try:
            data = np.empty((n, length), np.uint8)
        except (MemoryError, ValueError):
            raise ArgumentError(
                f"{n} rows of {length} bytes do not fit into memory; read fewer lanes at once"
            ) from None
        if data.size:
            self._require_inside(addresses, chosen, length, "read")
            done = self._core.read(addresses, chosen, data)
            self._require_complete(done, addresses, chosen, length, "read")
        return data

    def write(self, address: Any, data: Any, lanes: Any = None) -> None:
        """Writes guest memory, whatever its permissions. data: bytes or a (size,) uint8 array for all the
        lanes, or (n, size) uint8 with a row for each; address: as for read(). ArgumentError if an address is
        outside the window (then nothing was written), or not all of it is mapped (then the mapped part was
        written). DeviceError if no memory is left in the pool."""
        chosen = lane_numbers(lanes, self._lanes, distinct=True)
        n = self._lanes if chosen is None else chosen.size
        addresses = self._addresses(address, n)
        rows = octets(data, "data")
        if rows.ndim == 1:
            rows = rows.reshape(1, -1)
        elif rows.shape[0] != n:
            raise ArgumentError(
                f"data has {rows.shape[0]} rows for {n} lanes; give one row for each lane, or one dimension"
            )
        if rows.shape[1] > self._core.memory_end - self._core.memory_begin:
            raise ArgumentError(
                f"data has {rows.shape[1]} bytes for a lane; the fleet's window has {self._window()}"
            )
        if rows.size and n:
            self._require_inside(addresses, chosen, rows.shape[1], "write")
            done = self._core.write(addresses, chosen, rows)
            self._require_complete(done, addresses, chosen, rows.shape[1], "write")

    def map(self, address: int, size: int, permissions: str = "rw", lanes: Any = None) -> None:
        """Maps pages of zeros in these lanes, in place of mapped ones; with permissions "" the guest cannot
        access them. address and size are multiples of 4096 inside the window."""
        self._core.map(*self._pages(address, size, lanes), permission_bits(permissions))

    def unmap(self, address: int, size: int, lanes: Any = None) -> None:
        """Unmaps pages of these lanes."""
        self._core.unmap(*self._pages(address, size, lanes))

    def protect(self, address: int, size: int, permissions: str, lanes: Any = None) -> None:
        """Changes the permissions of mapped pages; their content stays."""
        self._core.protect(*self._pages(address, size, lanes), permission_bits(permissions))

    def permissions(self, address: int, size: int, lanes: Any = None) -> U8:
        """The permissions of pages of these lanes: (n, size // 4096) uint8, a row for each of the lanes and
        in it a Permission for each page; 0 is a page that is not mapped."""
        chosen, first, length = self._pages(address, size, lanes)
        n = self._lanes if chosen is None else chosen.size
        pages = np.empty((n, length // 4096), np.uint8)
        if n:
            self._core.permissions(chosen, first, length, pages)
        return pages

    @property
    def memory(self) -> MemoryArray:
        """With "shared" and "device-shared" the memory of all lanes without a copy, see MemoryArray;
        StateError with another policy."""
        require_flat_memory(self.memory_policy)
        return MemoryArray(self._core)

    # Snapshots.
    def snapshot(self, lanes: Any = None) -> Snapshot:
        """Saves registers, stops and memory of all lanes, or of some, as they are now."""
        return Snapshot(self._core.snapshot(lane_numbers(lanes, self._lanes, distinct=True)))

    def restore(self, snapshot: Snapshot, lanes: Any = None) -> None:
        """Sets the lanes of a snapshot of this fleet, or some of them, back to the state that it holds."""
        if not isinstance(snapshot, Snapshot):
            raise ArgumentError(f"snapshot must be a Snapshot, not {kind(snapshot)}")
        self._core.restore(snapshot._core, lane_numbers(lanes, self._lanes, distinct=True))

    def fork(self, lane: int, targets: Any) -> None:
        """Copies the present state of `lane` to the targets: registers, counts, stop and memory."""
        source = integer(lane, "lane", 0, self._lanes - 1)
        self._core.fork(source, self._chosen(targets, distinct=True))

    def commit(self) -> None:
        """With "transactional": keeps what the runs since the last commit() or rollback() did."""
        self._core.commit()

    def rollback(self) -> None:
        """With "transactional": undoes what the runs since the last commit() or rollback() did to registers,
        counts, stops and memory. Changes that the host made before the first of these runs stay."""
        self._core.rollback()

    # Arguments.
    def _chosen(self, lanes: Any, distinct: bool = False) -> npt.NDArray[np.uint32]:
        chosen = lane_numbers(lanes, self._lanes, distinct)
        return np.arange(self._lanes, dtype=np.uint32) if chosen is None else chosen

    def _for_lanes(self, values: npt.NDArray[Any], lanes: npt.NDArray[Any], what: str) -> npt.NDArray[Any]:
        try:
            return np.ascontiguousarray(np.broadcast_to(values, (lanes.size,)))
        except ValueError:
            raise ArgumentError(
                f"{what} has shape {values.shape} for {lanes.size} lanes; give one, or one for each lane"
            ) from None

    def _addresses(self, address: Any, n: int) -> npt.NDArray[np.uint64]:
        addresses = words(address, "address")
        if addresses.ndim == 0:
            return addresses.reshape(1)
        if addresses.shape != (n,):
            raise ArgumentError(
                f"address has shape {addresses.shape} for {n} lanes; give one, or one for each lane"
            )
        return np.ascontiguousarray(addresses)

    def _window(self) -> str:
        begin, end = self._core.memory_begin, self._core.memory_end
        return f"{end - begin} bytes, from {begin:#x} to {end:#x}"

    def _require_inside(self, addresses: Any, lanes: Any, size: int, verb: str) -> None:
        # For a guest the processor ignores the top byte of an address; from the host such an address is a
        # mistake.
        outside = np.flatnonzero((addresses < self._core.memory_begin) | (addresses >= self._core.memory_end))
        if outside.size:
            self._require_complete((int(outside[0]), 0), addresses, lanes, size, verb)

    def _require_complete(self, incomplete: Any, addresses: Any, lanes: Any, size: int, verb: str) -> None:
        """incomplete: (index of the lane, bytes done) of the first incomplete transfer, or None."""
        if incomplete is None:
            return
        index, done = incomplete
        address = int(addresses[0 if addresses.size == 1 else index])
        lane = index if lanes is None else int(lanes[index])
        begin, end = self._core.memory_begin, self._core.memory_end
        where = (address + done) % 2**64
        inside = begin <= where < end
        why = "is not mapped; map() it first" if inside else f"is outside the window of {self._window()}"
        raise ArgumentError(f"cannot {verb} {size} bytes at {address:#x} of lane {lane}: {where:#x} {why}")

    def _pages(self, address: int, size: int, lanes: Any) -> Tuple[Any, int, int]:
        chosen = lane_numbers(lanes, self._lanes)
        first, length = integer(address, "address"), integer(size, "size")
        if first % 4096 or length % 4096 or not length:
            raise ArgumentError(
                f"{length} bytes at {first:#x} are not whole pages; address and size must be multiples of"
                " 4096, and size above 0"
            )
        if first < self._core.memory_begin or first + length > self._core.memory_end:
            raise ArgumentError(
                f"{length} bytes at {first:#x} do not lie within the window of {self._window()}; give pages"
                " inside it"
            )
        return chosen, first, length
