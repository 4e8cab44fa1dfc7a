# SPDX-License-Identifier: Apache-2.0
"""Arrays of a fleet's lanes. A LaneArray is live, like a dataset of h5py: [...] copies from the device,
assignment writes to the device, and DLPack shares the state without a copy."""

from __future__ import annotations

from typing import Any, Iterator, List, Optional, Tuple

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from . import _core
from .arguments import U8, U64, integer, words
from .errors import ArgumentError, LaneIndexError, StateError

KDL_CPU = 1


def _field_numbers(names: List[str]) -> U8:
    return np.array([_core.FIELDS[name] for name in names], dtype=np.uint8)


# For each lane state the shape of one lane, and its fields in C order.
STATE = {
    "x": ((31,), _field_numbers([f"x{n}" for n in range(31)])),
    "v": ((32, 2), _field_numbers([f"v{n}_{half}" for n in range(32) for half in ("low", "high")])),
}
for _name in ("sp", "pc", "nzcv", "tpidr", "fpcr", "fpsr", "instructions", "limit"):
    STATE[_name] = ((), _field_numbers([_name]))


def _is_axis_key(key: Any) -> bool:
    """Whether a subscript selects along one axis: an integer, a slice, or a 1-D array."""
    if isinstance(key, (slice, int, np.integer)) and not isinstance(key, (bool, np.bool_)):
        return True
    return isinstance(key, (list, np.ndarray, range)) and np.ndim(key) == 1


class LaneArray(NDArrayOperatorsMixin):
    """A piece of the state of all lanes, uint64; the first axis is the lane.

    Reading with a subscript copies from the device and gives a NumPy array or a NumPy scalar; assigning to a
    subscript writes, as NumPy would (negative subscripts count from the end, a lane given twice takes the
    last value). np.asarray(array) copies all. Arithmetic works on a copy; `array += 1` writes back. A
    subscript that is out of range is a LaneIndexError (an ArgumentError and an IndexError); values that are
    not unsigned 64-bit integers are an ArgumentError; while the fleet runs and after it is closed everything
    is a StateError.

    np.from_dlpack, torch.from_dlpack and cupy.from_dlpack share the state without a copy. The shared array
    stays valid after the fleet is closed; it must not be touched while the fleet runs, and values that a
    register cannot hold have no defined effect. On a GPU finish the work of your own streams before the next
    run."""

    __array_priority__ = 10.0

    def __init__(self, core: _core.Fleet, name: str, lane: Optional[int] = None) -> None:
        self._core = core
        self._name = name
        self._lane = lane
        inner, self._fields = STATE[name]
        self._whole = (core.lanes, *inner)

    # Attributes and methods that NumPy arrays have.
    @property
    def shape(self) -> Tuple[int, ...]:
        return self._whole if self._lane is None else self._whole[1:]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def dtype(self) -> np.dtype[np.uint64]:
        return np.dtype(np.uint64)

    @property
    def nbytes(self) -> int:
        return self.size * 8

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self[...])

    def __repr__(self) -> str:
        try:
            return f"LaneArray {self._name} {self[...]!r}"
        except StateError as error:
            return f"<LaneArray {self._name} of shape {self.shape}: {error}>"

    def __array__(
        self, dtype: Optional[npt.DTypeLike] = None, copy: Optional[bool] = None
    ) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError(
                "a LaneArray is always copied into a NumPy array; np.from_dlpack shares it on the CPU"
            )
        values = self.copy()
        return values if dtype is None else values.astype(dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        outputs = keywords.pop("out", ())
        arrays = [item[...] if isinstance(item, LaneArray) else item for item in inputs]
        if not outputs:
            return getattr(ufunc, method)(*arrays, **keywords)
        if not any(isinstance(item, LaneArray) for item in outputs):
            return getattr(ufunc, method)(*arrays, out=outputs, **keywords)
        if len(outputs) != 1:
            return NotImplemented
        outputs[0][...] = getattr(ufunc, method)(*arrays, **keywords)
        return outputs[0]

    def copy(self) -> U64:
        """A NumPy array with all values."""
        values: U64 = self[...]
        return values

    def astype(self, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        return self.copy().astype(dtype)

    def tolist(self) -> Any:
        return self.copy().tolist()

    def sum(self, *args: Any, **keywords: Any) -> Any:
        return self.copy().sum(*args, **keywords)

    def min(self, *args: Any, **keywords: Any) -> Any:
        return self.copy().min(*args, **keywords)

    def max(self, *args: Any, **keywords: Any) -> Any:
        return self.copy().max(*args, **keywords)

    def mean(self, *args: Any, **keywords: Any) -> Any:
        return self.copy().mean(*args, **keywords)

    def any(self, *args: Any, **keywords: Any) -> Any:
        return self.copy().any(*args, **keywords)

    def all(self, *args: Any, **keywords: Any) -> Any:
        return self.copy().all(*args, **keywords)

    def fill(self, value: Any) -> None:
        """Sets all elements to one value, on the device."""
        number = integer(value, self._name)
        if self._lane is None:
            self._core.fill_fields(self._fields, number)
        else:
            self[...] = number

    # Subscripts.
    def _split(self, key: Any) -> Optional[List[Any]]:
        """One subscript for each axis of the whole array. None for masks and combinations of arrays, for
        which _select() looks up lane and field of every element."""
        keys = list(key) if isinstance(key, tuple) else [key]
        dots = [i for i, part in enumerate(keys) if part is Ellipsis]
        if len(dots) > 1:
            return None
        missing = self.ndim - (len(keys) - len(dots))
        if missing < 0:
            return None
        at = dots[0] if dots else len(keys)
        keys[at : at + len(dots)] = [slice(None)] * missing
        if self._lane is not None:
            keys.insert(0, self._lane)
        if not all(_is_axis_key(part) for part in keys):
            return None
        arrays = [part for part in keys if not isinstance(part, (slice, int, np.integer))]
        # NumPy pairs the elements of two arrays, and reorders the axes where arrays and numbers mix.
        if len(arrays) > 1 or (arrays and any(isinstance(part, (int, np.integer)) for part in keys)):
            return None
        return keys

    def _select(self, key: Any) -> Tuple[Optional[npt.NDArray[np.uint32]], U8, Tuple[int, ...], Any]:
        """(lanes, fields, shape, pick) of a subscript: the lanes (None: all) and fields of a (fields, lanes)
        table, and the shape of the result, which is the transposed table, or table[pick] if pick is not
        None."""
        try:
            selected: Tuple[Any, U8, Tuple[int, ...], Any] = self._select_unchecked(key)
            return selected
        except (IndexError, TypeError, ValueError) as error:
            raise LaneIndexError(f"{self._name} of shape {self.shape} has no {key!r}: {error}") from None

    def _select_unchecked(self, key: Any) -> Any:
        lanes, inner = self._whole[0], self._whole[1:]
        numbers = np.arange(self._fields.size).reshape(inner)
        keys = self._split(key)
        if keys is not None:
            lane_key, rest = keys[0], tuple(keys[1:])
            fields = np.asarray(numbers[rest])
            if isinstance(lane_key, slice) and lane_key == slice(None):
                return None, self._fields[fields.ravel()], (lanes, *fields.shape), None
            chosen = np.asarray(np.arange(lanes, dtype=np.uint32)[lane_key])
            return chosen.ravel(), self._fields[fields.ravel()], (*chosen.shape, *fields.shape), None
        # All other subscripts of NumPy: masks of several dimensions, paired arrays, new axes.
        which_lane = np.broadcast_to(np.arange(lanes).reshape((lanes,) + (1,) * len(inner)), self._whole)
        which_field = np.broadcast_to(numbers, self._whole)
        if self._lane is not None:
            which_lane, which_field = which_lane[self._lane], which_field[self._lane]
        which_lane, which_field = np.asarray(which_lane[key]), np.asarray(which_field[key])
        used_lanes, lane_at = np.unique(which_lane.ravel(), return_inverse=True)
        used_fields, field_at = np.unique(which_field.ravel(), return_inverse=True)
        pick = (field_at.ravel(), lane_at.ravel())
        return used_lanes.astype(np.uint32), self._fields[used_fields], which_lane.shape, pick

    def _get(self, lanes: Optional[npt.NDArray[np.uint32]], fields: U8) -> U64:
        table = np.empty((fields.size, self._whole[0] if lanes is None else lanes.size), np.uint64)
        self._core.get_fields(fields, lanes, table)
        return table

    def __getitem__(self, key: Any) -> Any:
        lanes, fields, shape, pick = self._select(key)
        table = self._get(lanes, fields)
        if pick is not None:
            return table[pick].reshape(shape)[()]
        return np.ascontiguousarray(table.T).reshape(shape)[()]

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, LaneArray):
            value = value[...]
        values = words(value, self._name)
        lanes, fields, shape, pick = self._select(key)
        if values.ndim > len(shape) and values.shape[: values.ndim - len(shape)] == (1,) * (
            values.ndim - len(shape)
        ):
            values = values.reshape(values.shape[values.ndim - len(shape) :])
        try:
            full = np.broadcast_to(values, shape)
        except ValueError:
            raise ArgumentError(
                f"values of shape {values.shape} do not fit {self._name}[...] of shape {shape}"
            ) from None
        if full.size == 0:
            return
        if values.size == 1 and lanes is None:
            self._core.fill_fields(fields, int(values.reshape(-1)[0]))
            return
        if pick is not None:
            table = self._get(lanes, fields)
            table[pick] = full.ravel()
        else:
            table = np.ascontiguousarray(full.reshape(-1, fields.size).T)
            if lanes is not None and lanes.size > 1:
                distinct, last = np.unique(lanes[::-1], return_index=True)
                if distinct.size != lanes.size:
                    table = np.ascontiguousarray(table[:, lanes.size - 1 - last])
                    lanes = distinct
            if fields.size > 1 and np.unique(fields).size != fields.size:
                fields, last = np.unique(fields[::-1], return_index=True)
                table = np.ascontiguousarray(table[table.shape[0] - 1 - last])
        self._core.set_fields(fields, lanes, table)

    # Sharing.
    def _shared(self) -> Any:
        return self._core.export_state(self._name)

    def __dlpack_device__(self) -> Tuple[int, int]:
        device: Tuple[int, int] = self._shared().__dlpack_device__()
        return device

    def __dlpack__(
        self,
        *,
        stream: Optional[Any] = None,
        max_version: Optional[Tuple[int, int]] = None,
        dl_device: Optional[Tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> Any:
        """The lane state as a DLPack capsule, without a copy; with dl_device=(1, 0) a GPU's state is copied
        to the host. The library has no work pending on it, so any stream may use it at once."""
        shared = self._shared()
        if self._lane is not None:
            if shared.__dlpack_device__()[0] != KDL_CPU:
                raise BufferError("one lane of a GPU's state cannot be shared; share the fleet's array")
            shared = np.asarray(shared)[self._lane]
        return share(shared, self.__array__, stream, max_version, dl_device, copy)


def share(shared: Any, copied: Any, stream: Any, max_version: Any, dl_device: Any, copy: Any) -> Any:
    """Calls shared.__dlpack__(), with the keywords that the array API standard requires; copied() makes a
    copy on the host."""
    here = tuple(shared.__dlpack_device__())
    wanted = here if dl_device is None else tuple(int(part) for part in dl_device)
    if wanted == here and not copy:
        try:
            return shared.__dlpack__(max_version=max_version)
        except TypeError:  # a NumPy array before NumPy 2.1
            return shared.__dlpack__()
    if wanted[0] != KDL_CPU:
        raise BufferError(
            f"lane state on device {here} cannot be copied to {wanted}; share it where it is, then copy it"
        )
    if copy is False:
        raise BufferError(f"lane state on device {here} cannot be shared with device {wanted} without a copy")
    return copied().__dlpack__()


class MemoryArray:
    """The memory of all lanes without a copy: uint8, shape (lanes, memory_end - memory_begin); byte 0 of a
    lane is at address memory_begin. If the host can access it, subscripts and np.asarray(array) give NumPy
    arrays without a copy, and host and guest see each other's writes. With "device-shared" on a GPU the host
    cannot access it; use DLPack. Instructions written here take effect from the next run on."""

    def __init__(self, core: _core.Fleet, lane: Optional[int] = None) -> None:
        self._shared = core.export_memory()
        self._lane = lane
        lanes, size = core.lanes, core.memory_end - core.memory_begin
        self.shape: Tuple[int, ...] = (lanes, size) if lane is None else (size,)
        self.dtype = np.dtype(np.uint8)
        self.ndim = len(self.shape)

    def _host(self) -> U8:
        if self._shared.__dlpack_device__()[0] != KDL_CPU:
            raise StateError(
                "this memory is on the GPU; share it with torch.from_dlpack(fleet.memory), or copy it with"
                " fleet.read()"
            )
        array: U8 = np.asarray(self._shared)
        return array if self._lane is None else array[self._lane]

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<MemoryArray of shape {self.shape} on DLPack device {self._shared.__dlpack_device__()}>"

    def __getitem__(self, key: Any) -> Any:
        return self._host()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._host()[key] = value

    def __array__(
        self, dtype: Optional[npt.DTypeLike] = None, copy: Optional[bool] = None
    ) -> npt.NDArray[Any]:
        array = self._host()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError("guest memory is uint8; another dtype needs a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack_device__(self) -> Tuple[int, int]:
        device: Tuple[int, int] = self._shared.__dlpack_device__()
        return device

    def __dlpack__(
        self,
        *,
        stream: Optional[Any] = None,
        max_version: Optional[Tuple[int, int]] = None,
        dl_device: Optional[Tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> Any:
        """The memory as a DLPack capsule, without a copy."""
        shared = self._shared if self._lane is None else self._host()
        return share(shared, lambda: self.__array__(copy=True), stream, max_version, dl_device, copy)
