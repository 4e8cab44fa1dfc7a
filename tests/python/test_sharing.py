# SPDX-License-Identifier: Apache-2.0
"""Arrays without a copy: NumPy, PyTorch and CuPy share lane state through DLPack, and host and guest share
the memory of the shared policies."""

import gc
import os

import a64
import myriarm
import numpy as np
import pytest
from myriarm import ArgumentError, StateError
from numbered import LANES, numbered_fleet, numbers

DEVICE = os.environ.get("MYRIARM_TEST_DEVICE", "cpu")
SHAPES = {"x": (LANES, 31), "v": (LANES, 32, 2), "pc": (LANES,), "instructions": (LANES,)}


@pytest.fixture
def fleet(make_fleet):
    return numbered_fleet(make_fleet)


def test_numpy_shares_the_state_on_the_cpu(fleet, on_cuda):
    if on_cuda:
        with pytest.raises((BufferError, RuntimeError)):
            np.from_dlpack(fleet.x)
        return
    for name in SHAPES:
        array = np.from_dlpack(getattr(fleet, name))
        assert (array.shape, array.dtype) == (SHAPES[name], np.uint64)
        np.testing.assert_array_equal(array, getattr(fleet, name))
    x = np.from_dlpack(fleet.x)
    before = fleet.x[:, 0]
    fleet.run(2)
    np.testing.assert_array_equal(x[:, 0], before + np.uint64(1))  # what the guest did is seen
    fleet.x[3, 4] = 11
    assert x[3, 4] == 11


def test_writes_of_numpy_are_seen_by_the_guest(fleet, on_cuda):
    if on_cuda:
        pytest.skip("the state is on the GPU")
    x = np.from_dlpack(fleet.x)
    if not x.flags.writeable:
        pytest.skip("this NumPy makes every array of DLPack read-only")
    x[:, 0] = np.arange(LANES) * 10
    fleet.run(2)
    assert fleet.x[:, 0].tolist() == [1, 11, 21, 31, 41, 51]


def test_shared_arrays_outlive_the_fleet(device, on_cuda):
    if on_cuda:
        pytest.skip("the state is on the GPU")
    fleet = myriarm.Fleet(a64.COUNT, lanes=LANES, device=device, memory=4096)
    fleet.x = numbers((LANES, 31))
    x, pc = np.from_dlpack(fleet.x), np.from_dlpack(fleet.pc)
    part = x[2:]
    fleet.close()
    with pytest.raises(StateError):
        fleet.x[0]
    np.testing.assert_array_equal(x, numbers((LANES, 31)))
    del fleet, x
    gc.collect()
    np.testing.assert_array_equal(part, numbers((LANES, 31))[2:])
    assert pc.tolist() == [0] * LANES
    forgotten = np.from_dlpack(myriarm.Fleet(a64.COUNT, lanes=3, device=device, memory=4096).limit)
    gc.collect()
    assert forgotten.tolist() == [2**64 - 1] * 3


def test_capsule_that_nobody_takes(fleet):
    for _ in range(3):
        fleet.x.__dlpack__()
    gc.collect()
    assert fleet.x.__dlpack_device__()[0] == (2 if DEVICE.startswith("cuda") else 1)


def test_dlpack_copies(fleet):
    """A copy to the host from any device, which shares nothing with the fleet."""
    try:
        copy = np.from_dlpack(fleet.x, device="cpu", copy=True)
    except TypeError:
        pytest.skip("this NumPy has no from_dlpack(copy=)")
    before = fleet.x[...]
    np.testing.assert_array_equal(copy, before)
    fleet.x[0, 0] += 1
    np.testing.assert_array_equal(copy, before)
    with pytest.raises(BufferError):
        fleet.x.__dlpack__(dl_device=(8, 0))


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def torch_device(on_cuda):
    return "cuda" if on_cuda else "cpu"


def test_torch_shares_the_state(fleet, torch, on_cuda):
    x, pc = torch.from_dlpack(fleet.x), torch.from_dlpack(fleet.pc)
    assert (tuple(x.shape), x.dtype, x.device.type) == ((LANES, 31), torch.uint64, torch_device(on_cuda))
    assert pc.device.type == torch_device(on_cuda)
    np.testing.assert_array_equal(x.cpu().numpy(), fleet.x)
    signed = x.view(torch.int64)
    signed[:, 0] = torch.arange(LANES, device=x.device) * 100
    signed[:, 5] += 1
    column = fleet.x[:, 5]
    if on_cuda:
        torch.cuda.synchronize()
    fleet.run(2)
    assert fleet.x[:, 0].tolist() == [1, 101, 201, 301, 401, 501]
    assert signed[:, 0].tolist() == [1, 101, 201, 301, 401, 501]
    np.testing.assert_array_equal(fleet.x[:, 5], column)
    np.testing.assert_array_equal(column, numbers((LANES, 31))[:, 5] + np.uint64(1))


def test_torch_tensors_outlive_the_fleet(device, torch):
    fleet = myriarm.Fleet(a64.COUNT, lanes=LANES, device=device, memory=4096)
    fleet.x = np.arange(31)
    x = torch.from_dlpack(fleet.x)
    fleet.close()
    del fleet
    gc.collect()
    assert x.view(torch.int64)[3].tolist() == list(range(31))


def test_torch_values_are_taken(fleet, torch):
    fleet.x[:, 1] = torch.arange(LANES)
    fleet.write(0x2000, torch.arange(LANES * 2, dtype=torch.uint8).reshape(LANES, 2))
    assert fleet.x[:, 1].tolist() == list(range(LANES))
    assert fleet.read(0x2000, 2).tolist() == [[2 * i, 2 * i + 1] for i in range(LANES)]
    with pytest.raises(ArgumentError, match="float32"):
        fleet.x[:, 1] = torch.zeros(LANES)


def test_tensors_of_a_gpu_must_be_copied_first(fleet, torch, on_cuda):
    if not on_cuda:
        pytest.skip("for a GPU")
    with pytest.raises(ArgumentError, match="host"):
        fleet.x[:, 1] = torch.arange(LANES, device="cuda")
    with pytest.raises(ArgumentError, match="host"):
        fleet.write(0x2000, torch.zeros(4, dtype=torch.uint8, device="cuda"))


def test_cupy_shares_the_state(fleet, on_cuda):
    if not on_cuda:
        pytest.skip("for a GPU")
    cupy = pytest.importorskip("cupy")
    x = cupy.from_dlpack(fleet.x)
    assert (x.shape, x.dtype) == ((LANES, 31), np.uint64)
    x[:, 0] = cupy.arange(LANES) * 100
    cupy.cuda.get_current_stream().synchronize()
    fleet.run(2)
    assert x[:, 0].get().tolist() == [1, 101, 201, 301, 401, 501]
    fleet.close()
    assert x[:, 0].get().tolist() == [1, 101, 201, 301, 401, 501]


# Memory that host and guest use. The guest adds x2 to the word at 0x2000 and stores the sum at 0x2008.
ADDER = a64.code(a64.ldr(0, 1), a64.add(0, 0, 2), a64.str_(0, 1, 8), a64.b(-12))


@pytest.fixture(params=("shared", "device-shared"))
def adder(request, make_fleet):
    fleet = make_fleet(ADDER, lanes=3, memory=16 << 10, memory_policy=request.param)
    fleet.x[:, 1] = 0x2000
    fleet.x[:, 2] = [1, 2, 3]
    return fleet


def test_shared_memory_works_both_ways(adder, on_cuda):
    if on_cuda and adder.memory_policy == "device-shared":
        with pytest.raises(StateError, match="torch.from_dlpack"):
            np.asarray(adder.memory)
        with pytest.raises(StateError, match="torch.from_dlpack"):
            adder.memory[0]
        return
    memory = np.asarray(adder.memory)
    assert (memory.shape, memory.dtype, len(adder.memory)) == ((3, 16 << 10), np.uint8, 3)
    words = memory.view(np.uint64)
    words[:, 0x2000 // 8] = [100, 200, 300]
    adder.run(4)
    assert words[:, 0x2008 // 8].tolist() == [101, 202, 303]
    adder.write(0x2000, b"\1")
    assert memory[:, 0x2000].tolist() == [1, 1, 1]
    adder.memory[1, 0x2000:0x2008] = 0
    adder.memory[2] = adder.memory[1]
    adder.run(4)
    assert adder.read(0x2008, 1).tolist() == [[2], [2], [3]]
    assert memory[:, : len(ADDER)].tobytes() == ADDER * 3
    assert np.shares_memory(memory, np.asarray(adder.memory))
    assert np.asarray(adder.memory, np.int16).dtype == np.int16
    adder.close()
    assert memory[:, 0x2008].tolist() == [2, 2, 3]


def test_instructions_written_through_shared_memory_are_executed(adder, on_cuda):
    if on_cuda and adder.memory_policy == "device-shared":
        pytest.skip("the host has no view")
    adder.run(4)
    adder.memory[1, 4:8] = np.frombuffer(a64.code(a64.movz(0, 55)), np.uint8)
    adder.run(4)
    assert adder.read(0x2008, 1).tolist() == [[1], [55], [3]]


def test_torch_shares_memory(adder, torch, on_cuda):
    memory = torch.from_dlpack(adder.memory)
    on_device = on_cuda and adder.memory_policy == "device-shared"
    if on_device:
        assert memory.device.type == "cuda"
    assert (tuple(memory.shape), memory.dtype) == ((3, 16 << 10), torch.uint8)
    memory[:, 0x2000] = torch.tensor([100, 150, 200], dtype=torch.uint8, device=memory.device)
    if on_cuda:
        torch.cuda.synchronize()
    adder.run(4)
    assert memory[:, 0x2008].tolist() == [101, 152, 203]
    assert adder.read(0x2008, 1).tolist() == [[101], [152], [203]]
    adder.close()
    assert memory[:, 0x2008].tolist() == [101, 152, 203]


def test_memory_of_a_machine(device):
    program = myriarm.Program.raw(ADDER, memory=16 << 10)
    with myriarm.Machine(program, device=device, memory_policy="shared") as machine:
        memory = np.asarray(machine.memory)
        assert memory.shape == (16 << 10,) and machine.memory.shape == memory.shape
        memory[0x2000] = 7
        machine.x[1:3] = [0x2000, 5]
        machine.run(4)
        assert memory[0x2008] == 12


@pytest.mark.parametrize("policy", ("private", "read-only", "transactional"))
def test_paged_memory_has_no_view(make_fleet, policy):
    fleet = make_fleet(a64.COUNT, memory_policy=policy)
    with pytest.raises(StateError, match=f'"{policy}".*"shared"'):
        fleet.memory  # noqa: B018
