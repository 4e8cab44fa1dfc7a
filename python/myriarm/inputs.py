# SPDX-License-Identifier: Apache-2.0
"""What the lanes of a LinuxFleet have of their own: byte strings, arguments and environments."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _core
from .arguments import U8, integer, kind, lane_numbers, octets, printable, system_string, words
from .errors import ArgumentError
from .handlers import guarded

Octets = Union[bytes, bytearray, memoryview, "np.ndarray[Any, Any]"]
ByLane = Union[Octets, Iterable[Octets]]
"""Bytes for all lanes, or for each; inputs_of() says how."""


class Inputs(NamedTuple):
    shared: bytes
    """What all lanes get; b"" if each has its own."""
    each: Optional[_core.ByteStrings]
    """What each lane gets; None: all get `shared`."""

    @property
    def lanes(self) -> Optional[int]:
        """How many lanes there are inputs for; None: any number."""
        return None if self.each is None else len(self.each)


NO_INPUT = Inputs(b"", None)


def _offsets_of(data: Any) -> bool:
    """Whether this is (bytes, offsets)."""
    if not isinstance(data, tuple) or len(data) != 2:
        return False
    offsets = data[1]
    return isinstance(offsets, np.ndarray) and offsets.dtype.kind in "iu" and offsets.dtype.itemsize > 1


def inputs_of(data: Any, what: str, lanes: Optional[int]) -> Inputs:
    """Bytes, or a (size,) uint8 array: for all lanes. For each lane: a list or an iterator of these, a
    (lanes, size) uint8 array, or (bytes, offsets): lane i gets bytes[offsets[i]:offsets[i + 1]], and there
    are lanes + 1 offsets. From an iterator `lanes` are taken, or all."""
    if _offsets_of(data):
        flat: U8 = octets(data[0], f"{what}[0]").reshape(-1)
        offsets = words(data[1], f"the offsets of {what}")
        good = offsets.ndim == 1 and len(offsets) > 0 and offsets[-1] <= len(flat)
        if not good or (offsets[1:] < offsets[:-1]).any():
            raise ArgumentError(
                f"the offsets of {what} must rise from one to the next and end within its {len(flat)} bytes"
            )
        each = _core.ByteStrings()
        each.add_slices(flat, offsets)
        return Inputs(b"", each)
    is_array = hasattr(data, "dtype") or isinstance(data, (bytes, bytearray, memoryview, str))
    is_list = isinstance(data, (list, tuple))
    numbers = is_list and all(isinstance(item, (int, np.integer)) for item in data)
    if is_array or numbers or not isinstance(data, Iterable):
        content = octets(data, what)
        if content.ndim == 1:
            return Inputs(content.tobytes(), None)
        each = _core.ByteStrings()
        rows, size = content.shape[0], content.size // max(content.shape[0], 1)
        each.add_slices(content.reshape(-1), np.arange(rows + 1, dtype=np.uint64) * np.uint64(size))
        return Inputs(b"", each)
    each = _core.ByteStrings()
    for i, item in enumerate(data if lanes is None or is_list else itertools.islice(data, lanes)):
        each.add(item if isinstance(item, bytes) else octets(item, f"{what}[{i}]").tobytes())
    return Inputs(b"", each)


def same_for(inputs: Inputs, lanes: int) -> _core.ByteStrings:
    """The inputs of each lane, which share their bytes if all lanes have the same."""
    if inputs.each is not None:
        return inputs.each
    each = _core.ByteStrings()
    for _ in range(lanes):
        each.add(inputs.shared)
    return each


def _strings(values: Any, what: str) -> List[bytes]:
    if isinstance(values, (str, bytes)) or not isinstance(values, (list, tuple)):
        raise ArgumentError(f"{what} must be a list of str, not {kind(values)}")
    for i, value in enumerate(values):
        if not isinstance(value, str):
            raise ArgumentError(f"{what}[{i}] must be a str, not {kind(value)}")
        if "\0" in value:
            raise ArgumentError(f"{what}[{i}] holds a NUL character, which no process can get; remove it")
    return [system_string(value, f"{what}[{i}]") for i, value in enumerate(values)]


def _variables(values: Any, what: str) -> List[bytes]:
    if isinstance(values, Mapping):
        values = [f"{name}={value}" for name, value in values.items()]
    variables = _strings(values, what)
    for i, variable in enumerate(variables):
        if b"=" not in variable[1:]:
            raise ArgumentError(f"{what}[{i}] is {values[i]!r}; give it as NAME=value")
    return variables


class Words(NamedTuple):
    shared: List[bytes]
    each: List[List[bytes]]
    """Of each lane; empty: all have `shared`."""

    @property
    def lanes(self) -> Optional[int]:
        return len(self.each) or None


def _by_lane(values: Any) -> bool:
    """Whether this is a list of lists or mappings, and not a list of str."""
    if not isinstance(values, (list, tuple)) or not values:
        return False
    return isinstance(values[0], (list, tuple, Mapping))


def arguments_of(values: Any) -> Words:
    """A list of str for all lanes, or one for each."""
    if not _by_lane(values):
        return Words(_strings(values, "arguments"), [])
    return Words([], [_strings(item, f"arguments[{i}]") for i, item in enumerate(values)])


def environment_of(values: Any) -> Words:
    """A list of "NAME=value" or a mapping for all lanes, or one for each."""
    if not _by_lane(values):
        return Words(_variables(values, "environment"), [])
    return Words([], [_variables(item, f"environment[{i}]") for i, item in enumerate(values)])


OnCall = Callable[[int, str], Any]


class Trace(NamedTuple):
    on_call: Optional[OnCall]
    lanes: List[int]
    """The lanes whose calls it gets; empty: all."""


NO_TRACE = Trace(None, [])


def trace_of(on_call: Any, traced_lanes: Any, lanes: int) -> Trace:
    """on_call: a function that gets (lane, text), or None. traced_lanes: numbers or a mask; None: all."""
    if on_call is None:
        if traced_lanes is not None:
            raise ArgumentError("traced_lanes has no effect without on_call; give both, or neither")
        return NO_TRACE
    if not callable(on_call):
        raise ArgumentError(f"on_call must be a function, not {kind(on_call)}")
    chosen = lane_numbers(traced_lanes, lanes, distinct=True)
    if chosen is None:
        return Trace(guarded(on_call), [])
    return Trace(guarded(on_call), chosen.tolist()) if chosen.size else NO_TRACE


FILE_BYTES = 64 << 20
"""The most that the files a lane has written may take, by default."""


def _point(value: Any) -> str:
    """A point of LinuxFleet's fork_after as the C++ module takes it."""
    return printable(value) if isinstance(value, str) else hex(integer(value, "fork_after"))


def process_options(
    begin: Sequence[bytes],
    words: Words,
    variables: Words,
    seed: Any,
    *,
    inputs: Inputs = NO_INPUT,
    files: Optional[_core.ByteStrings] = None,
    keep_memory: bool = False,
    trace: Trace = NO_TRACE,
    fork_after: Union[str, int] = "start",
    root: Optional[_core.Root] = None,
    file_bytes: int = FILE_BYTES,
    cwd: Any = "",
    keep_files: bool = False,
    collect: Sequence[Any] = (),
) -> Dict[str, Any]:
    """The options of a process as the C++ module takes them. begin: what argv begins with."""
    return {
        "arguments": [] if words.each else [*begin, *words.shared],
        "lane_arguments": [[*begin, *each] for each in words.each],
        "environment": variables.shared,
        "lane_environments": variables.each,
        "standard_input": inputs.shared,
        "standard_inputs": inputs.each,
        "files": files,
        "root": root,
        "file_bytes": integer(file_bytes, "file_bytes"),
        "cwd": system_string(cwd, "cwd"),
        "keep_files": bool(keep_files),
        "collect": [system_string(path, "collect") for path in collect],
        "seed": integer(seed, "seed"),
        "keep_memory": bool(keep_memory),
        "on_call": trace.on_call,
        "traced_lanes": trace.lanes,
        "fork_after": _point(fork_after),
    }


def lanes_of(lanes: Optional[int], given: Sequence[Tuple[str, Optional[int]]]) -> int:
    """How many lanes there are: what `lanes` or the things that each lane has of its own say, which must
    agree; 1 if nothing does. given: names and counts."""
    source = "lanes"
    total = None if lanes is None else integer(lanes, "lanes", 1)
    for name, count in given:
        if count is None:
            continue
        if count == 0:
            raise ArgumentError(f"{name} holds nothing for any lane; give one for each")
        if total is not None and count != total:
            raise ArgumentError(
                f"{name} is for {count} lanes and {source} for {total}; give as many, or leave lanes out"
            )
        if total is None:
            source, total = name, count
    return 1 if total is None else total
