# SPDX-License-Identifier: Apache-2.0
"""Checks arguments and converts them to the types that the C++ module takes. For each mistake it raises
ArgumentError with one sentence."""

from __future__ import annotations

import math
import operator
import os
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from . import _core
from .errors import ArgumentError

U64 = npt.NDArray[np.uint64]
U32 = npt.NDArray[np.uint32]
U8 = npt.NDArray[np.uint8]

ENDLESS: int = _core.ENDLESS
MAX_U64: int = 2**64 - 1


ENGINES = ("interpreter", "stepper", "translate", "auto")
"""What executes the instructions, by the number in the C++ API."""


def engine_number(engine: Any) -> int:
    """The number of an engine in the C++ API."""
    if engine not in ENGINES:
        raise ArgumentError(f"engine is {engine!r}; use one of {', '.join(ENGINES)}")
    return ENGINES.index(engine)


def kind(value: Any) -> str:
    """The type of a value, as a message names it."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return type(value).__name__


def integer(value: Any, what: str, low: int = 0, high: int = MAX_U64) -> int:
    """A Python or NumPy integer from low to high, both included, as an int."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{what} must be an integer, not {kind(value)}") from None
    if number < low:
        raise ArgumentError(f"{what} is {number}; it must be at least {low}")
    if number > high:
        raise ArgumentError(f"{what} is {number}; it must be at most {high}")
    return number


def count(value: Any, what: str) -> int:
    """A count of instructions or batches; None: no limit."""
    return ENDLESS if value is None else integer(value, what)


def seconds(value: Any, what: str) -> float:
    """A time limit above 0. None and infinity give 0, which the C++ API takes as no limit."""
    if value is None:
        return 0.0
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what} must be a number of seconds or None, not {kind(value)}") from None
    if isinstance(value, (str, bytes)) or not number > 0:
        raise ArgumentError(f"{what} is {value!r}; give seconds above 0, or None for no limit")
    return 0.0 if math.isinf(number) else number


def wait_seconds(value: Any) -> float:
    """The time-out of wait() in the C++ API: -1 for None, which waits for the end; 0 returns at once."""
    if value is None:
        return -1.0
    if isinstance(value, (int, float)) and value == 0:
        return 0.0
    return seconds(value, "timeout") or -1.0


def words(value: Any, what: str) -> U64:
    """Unsigned 64-bit values of any shape. ArgumentError for floats, and for numbers that do not fit."""
    try:
        array = np.asarray(value)
        if array.dtype.kind in "fO" and not hasattr(value, "dtype"):
            # NumPy converts a list of small and very large integers to floats; objects keep them exact.
            array = np.asarray(value, dtype=object)
    except (TypeError, ValueError, RuntimeError):
        raise ArgumentError(
            f"{what} must be integers in an array that the host can read, not {kind(value)}"
        ) from None
    if array.size == 0 and not hasattr(value, "dtype"):
        return array.astype(np.uint64)
    if array.dtype.kind == "O":
        for item in array.flat:
            integer(item, f"a value of {what}")
    elif array.dtype.kind not in "uib":
        raise ArgumentError(f"{what} must be integers, not {array.dtype}")
    elif array.dtype.kind == "i" and array.size and array.min() < 0:
        raise ArgumentError(
            f"{what} holds {array.min()}; it must not be negative, so view it as uint64 or add 2**64"
        )
    return array.astype(np.uint64, copy=False)


def lane_numbers(lanes: Any, total: int, distinct: bool = False) -> Optional[U32]:
    """Numbers of lanes from None (all lanes), a number, a slice, a sequence or array of numbers, or a mask
    with a bool for each lane. `distinct`: no lane twice."""
    if lanes is None:
        return None
    if isinstance(lanes, slice):
        try:
            return np.arange(*lanes.indices(total), dtype=np.uint32)
        except (TypeError, ValueError):
            raise ArgumentError(f"lanes is {lanes!r}; the parts of a slice must be integers") from None
    if isinstance(lanes, (str, bytes, bytearray)):
        raise ArgumentError(f"lanes must be integers or a mask, not {kind(lanes)}")
    try:
        array = np.asarray(lanes)
    except (TypeError, ValueError, RuntimeError):
        raise ArgumentError(f"lanes must be integers or a mask in host memory, not {kind(lanes)}") from None
    if array.ndim == 0:
        array = array.reshape(1)
        if array.dtype.kind == "b":
            raise ArgumentError("lanes must be integers or a mask with one bool for each lane, not one bool")
    if array.ndim != 1:
        raise ArgumentError(f"lanes must have one dimension, not shape {array.shape}")
    if array.dtype.kind == "b":
        if array.size != total:
            raise ArgumentError(f"the mask of lanes has {array.size} elements; the fleet has {total} lanes")
        return np.flatnonzero(array).astype(np.uint32)
    if array.size == 0:
        return np.empty(0, np.uint32)
    if array.dtype.kind not in "ui":
        raise ArgumentError(f"lanes must be integers or a mask, not {array.dtype}")
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= total:
        wrong = low if low < 0 else high
        raise ArgumentError(f"there is no lane {wrong}; the fleet has lanes 0 to {total - 1}")
    if distinct and np.unique(array).size != array.size:
        values, counts = np.unique(array, return_counts=True)
        raise ArgumentError(f"lane {values[counts > 1][0]} is given twice; give each lane once")
    return np.ascontiguousarray(array, dtype=np.uint32)


def octets(data: Any, what: str) -> U8:
    """Bytes in one or two dimensions: bytes-like, uint8 arrays, or integers from 0 to 255."""
    if isinstance(data, (bytes, bytearray)):
        return np.frombuffer(data, dtype=np.uint8)
    if isinstance(data, str):
        raise ArgumentError(f"{what} must be bytes or uint8, not str; encode it")
    try:
        array = np.asarray(data)
    except (TypeError, ValueError, RuntimeError):
        raise ArgumentError(
            f"{what} must be bytes or a uint8 array in host memory, not {kind(data)}"
        ) from None
    if isinstance(data, (list, tuple)) and array.dtype.kind in "iu" and array.size:
        if array.min() < 0 or array.max() > 255:
            raise ArgumentError(f"{what} holds a number that is not a byte; give integers from 0 to 255")
        array = array.astype(np.uint8)
    elif isinstance(data, (list, tuple)) and array.size == 0:
        array = array.astype(np.uint8)
    if array.dtype != np.uint8:
        raise ArgumentError(f"{what} must be bytes or uint8, not {array.dtype}; view it with .view('u1')")
    if array.ndim not in (1, 2):
        raise ArgumentError(f"{what} must have one or two dimensions, not shape {array.shape}")
    return np.ascontiguousarray(array)


def permission_bits(text: Any) -> int:
    """ "rwx" or some of its letters, "" or "-" for none."""
    if not isinstance(text, str) or set(text) - set("rwx-") or any(text.count(c) > 1 for c in "rwx"):
        raise ArgumentError(f'permissions are {text!r}; give letters of "rwx", or "" for none')
    return sum(bit for bit, letter in ((1, "r"), (2, "w"), (4, "x")) if letter in text)


def permission_text(bits: int) -> str:
    return "".join(letter for bit, letter in ((1, "r"), (2, "w"), (4, "x")) if bits & bit)


def name_of_file(path: Any) -> str:
    try:
        return os.fsdecode(path)
    except TypeError:
        raise ArgumentError(f"a path must be a str or a Path, not {kind(path)}") from None


def printable(text: str) -> str:
    """A name with an escape for each character that a message cannot hold."""
    return text.encode("utf-8", "backslashreplace").decode()


def system_string(text: str, what: str) -> bytes:
    """A str as the system has it: UTF-8, and the bytes that os.fsdecode() put into it for what is none."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ArgumentError(f"{what} is {text!r}, which has no bytes: it holds a lone surrogate") from None
