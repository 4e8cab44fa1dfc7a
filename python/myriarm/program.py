# SPDX-License-Identifier: Apache-2.0
"""Program: the bytes that lanes begin with, their addresses and permissions, and where execution begins."""

from __future__ import annotations

import os
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _core
from .arguments import (
    integer,
    kind,
    name_of_file,
    octets,
    permission_bits,
    permission_text,
    printable,
    system_string,
)
from .assembly import assemble
from .errors import ArgumentError

RAW_MEMORY = 4 << 20
# As kFleetMemory and kLinuxMemory in myriarm/fleet.h.
DEFAULT_MEMORY = 64 << 20
PROCESS_MEMORY = 1 << 30

Segment = Tuple[int, bytes, int, str]


class Program:
    """A program image, shared by all lanes; a lane gets its own copy of a page when it first writes to it.

    segments: a list of (address, bytes, size, permissions); a segment is `size` bytes long and begins with
    `bytes`, the rest is zero; permissions are letters of "rwx". Segments may not overlap; if two share a
    page, it has the permissions of both. entry and stack_pointer: the pc and sp that lanes begin with. Use
    Program.raw() for flat machine code and Program.elf() for an ELF file. Raises ArgumentError."""

    def __init__(
        self,
        segments: Sequence[Segment],
        entry: int,
        stack_pointer: int = 0,
        *,
        name: str = "program",
    ) -> None:
        listed = []
        try:
            quads = [(address, data, size, permissions) for address, data, size, permissions in segments]
        except (TypeError, ValueError):
            raise ArgumentError("segments must be tuples of (address, bytes, size, permissions)") from None
        for i, (address, data, size, permissions) in enumerate(quads):
            what = f"segments[{i}]"
            content = octets(data, f"the bytes of {what}")
            if content.ndim != 1:
                raise ArgumentError(f"the bytes of {what} must have one dimension")
            listed.append(
                (
                    integer(address, f"the address of {what}"),
                    content.tobytes(),
                    integer(size, f"the size of {what}", content.size),
                    permission_bits(permissions),
                )
            )
        self._core = _core.program(
            _name(name), listed, integer(entry, "entry"), integer(stack_pointer, "stack_pointer")
        )
        self._memory: Optional[int] = None
        self._symbols: Dict[str, int] = {}

    @classmethod
    def _wrap(cls, core: _core.Program, memory: Optional[int]) -> Program:
        program = cls.__new__(cls)
        program._core = core
        program._memory = memory
        program._symbols = core.symbols
        return program

    @classmethod
    def raw(
        cls,
        data: Union[bytes, Any],
        address: int = 0,
        *,
        memory: int = RAW_MEMORY,
        entry: Optional[int] = None,
        name: str = "program",
    ) -> Program:
        """Machine code at an address in flat memory of `memory` bytes from 0, all of it readable, writable
        and executable, with sp at its end. data: bytes or a uint8 array; execution begins at `entry`, or at
        `address`."""
        content = octets(data, "data")
        if content.ndim != 1:
            raise ArgumentError("data must have one dimension")
        size = integer(memory, "memory", 1)
        start = None if entry is None else integer(entry, "entry")
        core = _core.raw_program(_name(name), content.tobytes(), integer(address, "address"), size, start)
        return cls._wrap(core, size)

    @classmethod
    def elf(cls, file: Union[str, os.PathLike[str], bytes]) -> Program:
        """The segments of a static AArch64 ELF file, from a path or its bytes, without a stack, arguments or
        system calls. LinuxFleet runs such a file as a process."""
        read = read_program(file)
        return cls._wrap(_core.elf_program(read.data, read.name), None)

    @classmethod
    def from_assembly(
        cls,
        text: str,
        address: int = 0,
        *,
        memory: int = RAW_MEMORY,
        entry: Union[None, int, str] = None,
        name: str = "assembly",
        assembler: str = "auto",
    ) -> Program:
        """The machine code of assembly text, in flat memory as of raw(). Its labels are `symbols`; entry may
        be one of them. assembler: "binutils" (GNU as for AArch64), "keystone" (the Python package
        keystone-engine), or "auto", the first of these that is there. ArgumentError with the line that is
        refused; DeviceError if there is no assembler."""
        if not isinstance(text, str):
            raise ArgumentError(f"text must be a str of assembly, not {kind(text)}")
        at = integer(address, "address")
        code, symbols = assemble(text, at, assembler)
        if not code:
            raise ArgumentError("the assembly has no instruction; give at least one")
        if isinstance(entry, str) and entry not in symbols:
            raise ArgumentError(f"the assembly has no label {entry!r}; it has {', '.join(symbols) or 'none'}")
        start = symbols[entry] if isinstance(entry, str) else entry
        program = cls.raw(code, at, memory=memory, entry=start, name=name)
        program._symbols = symbols
        return program

    @property
    def symbols(self) -> Dict[str, int]:
        """Addresses by name: the symbols of an ELF file, or the labels of assembly text."""
        return dict(self._symbols)

    @property
    def name(self) -> str:
        return self._core.name

    @property
    def segments(self) -> List[Segment]:
        """(address, bytes, size, permissions) of each segment."""
        return [(a, data, size, permission_text(bits)) for a, data, size, bits in self._core.segments]

    @property
    def entry(self) -> int:
        return self._core.entry

    @property
    def stack_pointer(self) -> int:
        return self._core.stack_pointer

    @property
    def memory(self) -> Optional[int]:
        """The `memory` of Program.raw(), in bytes; None for other programs."""
        return self._memory

    def __repr__(self) -> str:
        return f"<Program {self.name!r}, entry {self.entry:#x}, {len(self.segments)} segments>"


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise ArgumentError(f"name must be a str, not {kind(name)}")
    return printable(name)


class ProgramFile(NamedTuple):
    """A program file that has been read."""

    data: bytes
    name: str
    """in messages; of one in a root its path there"""
    begin: Tuple[bytes, ...]
    """what argv begins with: argv[0], or of a script its interpreter, that one's argument if it has one, and
    the script's path"""


def root_of(folder: Any, binds: Sequence[Sequence[Any]] = ()) -> Optional[_core.Root]:
    """The root of processes: a folder and those bound into it, or None."""
    if folder is None:
        if binds:
            raise ArgumentError("binds: the processes have no files; give them a root")
        return None
    bound = []
    for i, bind in enumerate(binds):
        if (
            not isinstance(bind, (tuple, list))
            or len(bind) not in (2, 3)
            or bind[2:] not in ((), ("rw",), ("ro",))
        ):
            raise ArgumentError(f'binds[{i}] must be (folder, place) or (folder, place, "rw"), not {bind!r}')
        place = system_string(bind[1], f"the place of binds[{i}]")
        bound.append((system_string(name_of_file(bind[0]), f"binds[{i}]"), place, bind[2:] == ("rw",)))
    return _core.Root(system_string(name_of_file(folder), "root"), bound)


def read_program(file: Any, root: Optional[_core.Root] = None) -> ProgramFile:
    """The program of a path, in a root or on this machine, or of the bytes of an ELF file. Of a script in a
    root it is the interpreter."""
    if isinstance(file, ProgramFile):
        return file
    if isinstance(file, (bytes, bytearray, memoryview)):
        return ProgramFile(bytes(file), "the ELF file", (b"program",))
    path = name_of_file(file)
    if root is None:
        data = _core.read_file(system_string(path, "the path"))
        return ProgramFile(data, printable(path), (system_string(path, "the path"),))
    data, inside, script = root.load(system_string(path, "the path"))
    name = os.fsdecode(inside) if inside else path
    return ProgramFile(data, printable(name), tuple(script) or (system_string(name, "the path"),))


class LinuxPlacement(NamedTuple):
    file: ProgramFile
    lanes: Optional[int]
    """how many lanes run it; None: all"""


def linux_placements_of(program: Any, root: Optional[_core.Root] = None) -> List[LinuxPlacement]:
    """The programs of a LinuxFleet: one, or a list of (program, lanes)."""
    if not isinstance(program, (list, tuple)) or isinstance(program, ProgramFile):
        return [LinuxPlacement(read_program(program, root), None)]
    placements = []
    for i, item in enumerate(program):
        if not isinstance(item, (tuple, list)) or isinstance(item, ProgramFile) or len(item) != 2:
            raise ArgumentError(f"program[{i}] must be a pair (program, lanes), not {kind(item)}")
        lanes = integer(item[1], f"the lanes of program[{i}]", 1)
        placements.append(LinuxPlacement(read_program(item[0], root), lanes))
    if not placements:
        raise ArgumentError("program is an empty list; give at least one (program, lanes)")
    return placements


def placements_of(program: Any, lanes: int, memory: Optional[int]) -> Tuple[List[Tuple[Program, int]], int]:
    """The (program, lanes) of a fleet and the bytes of its memory, from the arguments of Fleet."""
    if isinstance(program, (bytes, bytearray, memoryview)):
        program = Program.raw(program, memory=RAW_MEMORY if memory is None else memory)
    if isinstance(program, Program):
        placements = [(program, lanes)]
    elif isinstance(program, (list, tuple)):
        placements = []
        for i, item in enumerate(program):
            if not (isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[0], Program)):
                raise ArgumentError(f"program[{i}] must be a pair (Program, lanes), not {kind(item)}")
            placements.append((item[0], integer(item[1], f"the lanes of program[{i}]", 1)))
        total = sum(count for _, count in placements)
        if lanes not in (1, total):
            raise ArgumentError(f"lanes is {lanes}, but the programs have {total} lanes; leave `lanes` out")
    else:
        raise ArgumentError(
            f"program must be a Program, bytes, or a list of (Program, lanes), not {kind(program)}"
        )
    if memory is None:
        memory = max((p.memory or DEFAULT_MEMORY for p, _ in placements), default=DEFAULT_MEMORY)
    return placements, memory
