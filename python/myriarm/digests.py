# SPDX-License-Identifier: Apache-2.0
"""Digests: what became of millions of inputs in a few words each, as arrays."""

from __future__ import annotations

from typing import Any, Generator, Iterable, List, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _core
from .arguments import U8, U64, kind, octets
from .errors import ArgumentError
from .inputs import Octets

DIGEST = np.dtype(
    {
        "names": [
            "number",
            "instructions",
            "pc",
            "stdout_bytes",
            "stderr_bytes",
            "stdout_hash",
            "stderr_hash",
            "stop_address",
            "stop_detail",
            "stop",
            "fault",
        ],
        "formats": ["<u8"] * 8 + ["<u4", "u1", "u1"],
        "offsets": [0, 8, 16, 24, 32, 40, 48, 56, 64, 68, 69],
        "itemsize": 72,
    }
)
"""What became of one input, in 72 bytes: its number; the instructions that it retired; the pc at its end;
how many bytes it wrote to standard output and to standard error, and the output_hash() of each; and its stop
as in Stop: `stop` is its reason, a StopReason, and `fault` a FaultKind. Files of `myriarm run --results
FILE.npy` have it too."""

Digests = npt.NDArray[np.void]
"""A structured array of DIGEST."""

Batch = Union[U8, Tuple[U8, U64], Sequence[Octets], None]
"""Inputs with consecutive numbers, see Queue.digests()."""


def output_hash(data: Octets) -> int:
    """The hash that a digest has of what a process wrote: FNV-1a in 64 bits. data: bytes or a uint8 array."""
    return _core.output_hash(octets(data, "data").reshape(-1))


def arrays_of(batch: Any, number: int) -> Tuple[U8, U64]:
    """The bytes of a batch, and the offsets of its inputs in them: one more than there are inputs. number:
    that of its first input, for messages."""
    what = f"the batch of input {number}"
    if isinstance(batch, list):
        return _of_list(batch, what)
    if isinstance(batch, tuple):
        if len(batch) != 2:
            raise ArgumentError(f"{what} is a tuple of {len(batch)}; give bytes and offsets, or a list")
        data, offsets = octets(batch[0], f"the bytes of {what}"), batch[1]
        if data.ndim != 1:
            raise ArgumentError(f"the bytes of {what} must have one dimension, not shape {data.shape}")
        if not isinstance(offsets, np.ndarray) or offsets.dtype != np.uint64 or offsets.ndim != 1:
            raise ArgumentError(f"the offsets of {what} must be a uint64 array of one dimension")
        if offsets.size == 0:
            raise ArgumentError(f"the offsets of {what} are none; give one more than there are inputs")
        return data, np.ascontiguousarray(offsets)
    if not hasattr(batch, "dtype"):
        raise ArgumentError(
            f"{what} must be a uint8 array with a row for each input, a pair of bytes and offsets, or a list"
            f" of bytes, not {kind(batch)}"
        )
    rows = octets(batch, what)
    if rows.ndim != 2:
        raise ArgumentError(f"{what} must have two dimensions, a row for each input, not shape {rows.shape}")
    count, size = rows.shape
    return rows.reshape(-1), np.arange(count + 1, dtype=np.uint64) * np.uint64(size)


def _of_list(inputs: List[Any], what: str) -> Tuple[U8, U64]:
    offsets = np.zeros(len(inputs) + 1, np.uint64)
    try:
        data = np.frombuffer(b"".join(inputs), np.uint8)
        np.cumsum(np.fromiter(map(len, inputs), np.uint64, len(inputs)), out=offsets[1:])
    except (TypeError, BufferError):
        data = None
    if data is None or data.size != offsets[-1]:  # elements of more than a byte
        raise ArgumentError(f"{what} has an input that is not bytes; give bytes or uint8 arrays")
    return data, offsets


def work(
    core: _core.Queue, batches: Iterable[Batch], first_number: int, as_file: bool
) -> Generator[Optional[Digests], None, None]:
    """The digests of a run that was started; None some times a second while there are none."""
    source = iter(batches)
    number, more = first_number, True
    while True:
        wait = not more or not core.has_room()
        if not wait:
            try:
                batch = next(source)
            except StopIteration:
                core.no_more_inputs()
                more, batch = False, None
            wait = batch is None
            if batch is None:
                core.end_group()
            else:
                data, offsets = arrays_of(batch, number)
                if offsets.size > 1:
                    core.push_batch(number, data, offsets, as_file)
                    number += offsets.size - 1
        digests = core.pop_digests(wait=wait)
        if digests is False:
            return
        yield None if digests is None else digests.view(DIGEST)
