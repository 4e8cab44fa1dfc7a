# SPDX-License-Identifier: Apache-2.0
"""LaneArray, and reads and writes of memory by lanes, against NumPy."""

import operator
import os

import a64
import myriarm
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_st
from myriarm import ArgumentError
from numbered import LANES, numbered_fleet, numbers

DEVICE = os.environ.get("MYRIARM_TEST_DEVICE", "cpu")
SCALARS = ("pc", "sp", "nzcv", "tpidr", "fpcr", "fpsr", "instructions", "limit")
SHAPES = {"x": (LANES, 31), "v": (LANES, 32, 2), **{name: (LANES,) for name in SCALARS}}


@pytest.fixture
def fleet(make_fleet):
    return numbered_fleet(make_fleet)


# Shape, type, copies.
@pytest.mark.parametrize("name", SHAPES)
def test_shape_and_dtype(fleet, name):
    array, shape = getattr(fleet, name), SHAPES[name]
    assert (array.shape, array.ndim, array.size) == (shape, len(shape), np.prod(shape))
    assert (array.dtype, array.nbytes, len(array)) == (np.uint64, 8 * np.prod(shape), LANES)
    values = np.asarray(array)
    assert (type(values), values.shape, values.dtype) == (np.ndarray, shape, np.uint64)
    assert values.flags.c_contiguous and values.flags.writeable


@pytest.mark.parametrize("name", ("x", "v", "pc", "sp", "tpidr", "instructions", "limit"))
def test_whole_array_is_written_and_read(fleet, name):
    values = numbers(SHAPES[name], 77) >> np.uint64(8)
    setattr(fleet, name, values)
    np.testing.assert_array_equal(getattr(fleet, name), values)
    np.testing.assert_array_equal(list(getattr(fleet, name)), values)
    assert getattr(fleet, name).tolist() == values.tolist()


def test_reading_copies(fleet):
    before = fleet.x[...]
    copies = [fleet.x[...], fleet.x[0], fleet.x[:, 0], np.asarray(fleet.x), fleet.x.copy(), np.array(fleet.x)]
    for copy in copies:
        copy[...] = 1
    np.testing.assert_array_equal(fleet.x, before)
    fleet.x[...] = 9
    assert (copies[0] == 1).all()
    with pytest.raises(ValueError, match="from_dlpack"):
        fleet.x.__array__(copy=False)


def test_it_is_live(fleet):
    x = fleet.x
    fleet.x[2, 3] = 12345
    assert x[2, 3] == 12345
    pc, before = fleet.pc, fleet.x[:, 0]
    fleet.run(2)
    np.testing.assert_array_equal(x[:, 0], before + np.uint64(1))
    fleet.run(1)
    assert pc.tolist() == [4] * LANES


def test_scalars_are_numpy_scalars(fleet):
    assert type(fleet.x[1, 2]) is np.uint64
    assert type(fleet.pc[0]) is np.uint64
    assert fleet.x[1][2] == fleet.x[1, 2] == fleet.x[-5, -29]
    assert int(fleet.pc[np.uint32(1)]) == 0


def test_nzcv_has_four_bits(fleet):
    fleet.nzcv = np.arange(LANES) + 8
    assert fleet.nzcv.tolist() == [8, 9, 10, 11, 12, 13]


# Subscripts, against NumPy itself.
def check_subscript(name, key, value):
    fleet = SUBSCRIPTED[name]
    array, model = getattr(fleet, name), MODELS[name]
    array[...] = model
    taken = array[key]
    expected = model[key]
    assert type(taken) is type(expected)
    np.testing.assert_array_equal(taken, expected)
    changed = model.copy()
    values = (numbers(expected.shape, value) if value % 2 else value) if expected.shape else value
    changed[key] = values
    array[key] = values
    np.testing.assert_array_equal(array, changed)
    changed[key] += np.uint64(3)
    array[key] += 3
    np.testing.assert_array_equal(array, changed)


SUBSCRIPTED = {}
MODELS = {name: numbers(SHAPES[name], 3) >> np.uint64(16) for name in ("x", "v", "tpidr")}


@pytest.fixture(scope="module")
def subscripted():
    fleet = myriarm.Fleet(a64.COUNT, lanes=LANES, device=DEVICE, memory=4096)
    SUBSCRIPTED.update({name: fleet for name in MODELS})
    yield
    fleet.close()


KEYS = {
    "lane": 2,
    "lane from the end": -1,
    "element": (3, 4),
    "all": ...,
    "slice": slice(1, 4),
    "step": slice(None, None, 2),
    "backwards": slice(None, None, -1),
    "nothing": slice(4, 2),
    "column": (slice(None), 7),
    "columns": (slice(None), slice(3, 12, 4)),
    "dots": (..., 5),
    "numbers": [0, 3, 5],
    "in any order": [5, 0, 3],
    "from the end": [-1, -6],
    "mask": np.array([True, False, True, False, False, True]),
    "empty mask": np.zeros(LANES, bool),
    "fancy columns": (slice(None), [1, 30, 2]),
    "in step": ([0, 1, 5], [4, 4, 30]),
    "crosswise": np.ix_([0, 3], [1, 2, 3]),
    "mask and column": (np.array([True, False, True, False, False, True]), 3),
    "number and list": (2, [3, 1]),
    "array of two dimensions": np.array([[0, 1], [2, 3]]),
    "new axis": (slice(None), None, 3),
    "mask of elements": numbers((LANES, 31)) % np.uint64(3) == 0,
    "range": range(1, 4),
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("value", (8, 9))
def test_subscripts_of_x(subscripted, key, value):
    check_subscript("x", key, value)


@given(st.data())
def test_any_subscript(subscripted, data):
    name = data.draw(st.sampled_from(sorted(MODELS)))
    shape = SHAPES[name]
    key = data.draw(
        st.one_of(
            numpy_st.basic_indices(shape, allow_newaxis=True),
            # Distinct elements, because NumPy does not define += of an element that is selected twice.
            numpy_st.integer_array_indices(shape, result_shape=st.just((1,))),
            numpy_st.arrays(bool, shape),
            numpy_st.arrays(bool, shape[:1]),
        )
    )
    check_subscript(name, key, data.draw(st.integers(0, 1000)))


def test_lane_given_twice_takes_the_last_value(fleet):
    fleet.x[[1, 1, 1], 5] = [1, 2, 3]
    fleet.x[[2, 2]] = [np.full(31, 1), np.full(31, 2)]
    assert (fleet.x[1, 5], fleet.x[2, 0]) == (3, 2)


@pytest.mark.parametrize("key", (LANES, -LANES - 1, (0, 31), [0, LANES], (0, 0, 0), "x0", 1.5, [0.5], int))
def test_wrong_subscripts(fleet, key):
    for act in (lambda: fleet.x[key], lambda: operator.setitem(fleet.x, key, 1)):
        with pytest.raises(ArgumentError) as caught:
            act()
        assert isinstance(caught.value, IndexError)
        assert "(6, 31)" in str(caught.value) and "\n" not in str(caught.value)


# Values.
@pytest.mark.parametrize(
    "value",
    (
        7,
        np.uint8(7),
        np.int64(7),
        True,
        2**64 - 1,
        [1, 2, 3, 4, 5, 6],
        (1, 2, 3, 4, 5, 2**64 - 1),
        np.arange(6, dtype=np.int16),
        np.arange(6, dtype=">u4"),
        np.arange(12)[::2],
        [[1, 2, 3, 4, 5, 6]],
    ),
    ids=repr,
)
def test_values_that_fit(fleet, value):
    fleet.x[:, 3] = value
    fleet.tpidr = value
    expected = np.broadcast_to(np.array(value, dtype=np.uint64).reshape(np.shape(value)[-1:]), LANES)
    np.testing.assert_array_equal(fleet.x[:, 3], expected)
    np.testing.assert_array_equal(fleet.tpidr, expected)


@pytest.mark.parametrize(
    ("value", "message"),
    (
        (1.0, "not float"),
        (np.float32(1), "float32"),
        ([1.5] * 6, "float"),
        (-1, "-1"),
        ([1, 2, 3, 4, 5, -6], "-6"),
        (2**64, "18446744073709551616"),
        ("1", "<U1"),
        (b"12", "S2"),
        (None, "NoneType"),
        (1j, "complex"),
        ([1, 2], r"\(2,\)"),
        (np.zeros((2, 6), int), r"\(2, 6\)"),
        (np.zeros(0, int), r"\(0,\)"),
        (object(), "object"),
        ([[1], [2, 3]], "list"),
        (np.array("2020", "M8[D]"), "datetime"),
    ),
    ids=str,
)
def test_values_that_do_not(fleet, value, message):
    before = fleet.x[...]
    for act in (
        lambda: operator.setitem(fleet.x, (slice(None), 3), value),
        lambda: setattr(fleet, "tpidr", value),
    ):
        with pytest.raises(ArgumentError, match=message) as caught:
            act()
        assert "\n" not in str(caught.value)
    np.testing.assert_array_equal(fleet.x, before)
    assert not fleet.tpidr.any()


def test_broadcasting(fleet):
    fleet.x = np.arange(31)
    np.testing.assert_array_equal(fleet.x, np.tile(np.arange(31), (LANES, 1)))
    fleet.x = np.arange(LANES)[:, None]
    np.testing.assert_array_equal(fleet.x, np.repeat(np.arange(LANES), 31).reshape(LANES, 31))
    fleet.x[1:3, ::10] = [[1], [2]]
    assert fleet.x[1:3, ::10].tolist() == [[1] * 4, [2] * 4]
    fleet.x.fill(6)
    assert (fleet.x[...] == 6).all()
    fleet.x = fleet.v[:, :31, 0]
    np.testing.assert_array_equal(fleet.x, fleet.v[:, :31, 0])


# Arithmetic.
@pytest.mark.parametrize(
    "act",
    (
        lambda x: x + 1,
        lambda x: 1 + x,
        lambda x: x * x,
        lambda x: x >> 3,
        lambda x: ~x,
        lambda x: x % 10 == 3,
        lambda x: x > 5,
        lambda x: np.bitwise_and(x, 0xFF),
        lambda x: np.minimum(x, 100),
        lambda x: np.add.reduce(x, axis=0),
        lambda x: x.sum(axis=1),
        lambda x: (x.min(), x.max(), x.mean(), x.any(), x.all()),
        lambda x: np.concatenate([x, x]),
        lambda x: np.sort(np.asarray(x), axis=0),
        lambda x: x.astype(np.float32),
    ),
)
def test_arithmetic_is_that_of_numpy(fleet, act):
    copy = fleet.x[...]
    result, expected = act(fleet.x), act(copy)
    assert type(result) is type(expected)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(fleet.x, copy)  # works on a copy


def test_in_place(fleet):
    model = fleet.x[...]
    x = fleet.x
    x += 1
    x[:, 0] += 5
    x[2] ^= 0xFF
    fleet.x *= 3
    fleet.x[[1, 3], 4] <<= 2
    np.subtract(x, 1, out=x)
    model += np.uint64(1)
    model[:, 0] += np.uint64(5)
    model[2] ^= np.uint64(0xFF)
    model *= np.uint64(3)
    model[[1, 3], 4] <<= np.uint64(2)
    model -= np.uint64(1)
    np.testing.assert_array_equal(fleet.x, model)
    fleet.pc += 4
    assert fleet.pc.tolist() == [4] * LANES
    out = np.zeros((LANES, 31), np.uint64)
    assert np.add(fleet.x, 1, out=out) is out
    np.testing.assert_array_equal(out, model + np.uint64(1))
    with pytest.raises(ArgumentError, match="float64"):
        fleet.x /= 2
    np.testing.assert_array_equal(fleet.x, model)


def test_one_lane_of_a_machine(device):
    with myriarm.Machine(a64.COUNT, device=device, memory=4096) as machine:
        machine.x = np.arange(31)
        machine.x[::2] += 100
        machine.x[[1, 3]] = 7
        expected = np.arange(31)
        expected[::2] += 100
        expected[[1, 3]] = 7
        np.testing.assert_array_equal(machine.x, expected)
        assert machine.x.shape == (31,) and machine.v.shape == (32, 2)
        machine.v[3] = [1, 2]
        assert machine.v[3, 1] == 2
        machine.sp, machine.pc, machine.nzcv = 0x800, 4, 0b0110
        assert (machine.sp, machine.pc, machine.nzcv) == (0x800, 4, 6)
        assert all(type(value) is int for value in (machine.sp, machine.pc, machine.limit))
        with pytest.raises(ArgumentError, match="pc"):
            machine.pc = "4"


def test_stops_and_signals(fleet):
    fleet.run(1)
    fleet.set_stops([1], myriarm.StopReason.exited, 3)
    stops = fleet.stops
    assert stops.dtype.names == ("reason", "fault", "detail", "address")
    assert [stops.dtype[name] for name in stops.dtype.names] == [np.uint8, np.uint8, np.uint32, np.uint64]
    assert stops.shape == (LANES,) and stops["reason"].tolist() == [4, 9, 4, 4, 4, 4]
    assert stops["detail"].tolist() == [0, 3, 0, 0, 0, 0]
    assert (fleet.signals.dtype, fleet.signals.tolist()) == (np.uint8, [3, 1, 3, 3, 3, 3])
    stops["reason"] = 0  # a copy
    assert fleet.stops["reason"][0] == 4


# Memory by lanes.
def test_read_and_write_shapes(fleet):
    rows = np.arange(LANES * 5, dtype=np.uint8).reshape(LANES, 5)
    fleet.write(0x2000, rows)
    np.testing.assert_array_equal(fleet.read(0x2000, 5), rows)
    fleet.write(0x2001, b"ab", [4, 0])
    fleet.write(0x2004, bytearray([9]), 5)
    fleet.write(0x2003, rows[:2, :1], slice(1, 3))
    fleet.write(np.arange(LANES) + 0x3000, rows[:, ::-1])
    expected = rows.copy()
    expected[[0, 4], 1:3] = (97, 98)
    expected[5, 4] = 9
    expected[1:3, 3] = rows[:2, 0]
    np.testing.assert_array_equal(fleet.read(0x2000, 5), expected)
    np.testing.assert_array_equal(fleet.read(np.arange(LANES) + 0x3000, 5), rows[:, ::-1])
    assert fleet.read(0x2000, 5, [4, 1]).tolist() == expected[[4, 1]].tolist()
    assert fleet.read([0x2000, 0x2001], 1, [4, 4]).tolist() == [[expected[4, 0]], [97]]
    mask = np.arange(LANES) < 2
    assert fleet.read(0x2000, 5, mask).shape == (2, 5)
    assert fleet.read(0x2000, 0).shape == (LANES, 0)
    assert fleet.read(0x2000, 4, []).shape == (0, 4)
    fleet.write(0x2000, b"", None)
    assert fleet.read(0, fleet.memory_end).dtype == np.uint8


def test_writes_to_instructions_are_executed(fleet):
    before = fleet.x[:, 0]
    fleet.run(2)
    fleet.write(0, a64.code(a64.add_imm(0, 0, 5)), [2])
    fleet.run(2)
    np.testing.assert_array_equal(fleet.x[:, 0], before + np.array([2, 2, 6, 2, 2, 2], np.uint64))
