# SPDX-License-Identifier: Apache-2.0
"""A GPU that fails while a fleet uses it. Other code in the same process and CUDA context executes a trap,
after which CUDA refuses every call in that context. Only on a GPU."""

import subprocess
import sys

import pytest

# Uses only the driver. A kernel of PyTorch or CuPy that fails would have the same effect on the context.
SCRIPT = """
import ctypes, os, sys
import myriarm

driver = ctypes.CDLL("libcuda.so.1")

def call(name, *arguments):
    code = getattr(driver, name)(*arguments)
    assert code == 0, (name, code)

device, when = sys.argv[1:]
fleet = myriarm.Fleet(bytes.fromhex("00040091ffffff17"), lanes=40, device=device, memory=65536)
number = int(fleet.device.id.partition(":")[2])
assert fleet.run(10).instructions == 400

# The context that every library in the process uses through the CUDA runtime, and a kernel in it.
context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
ordinal = ctypes.c_int()
call("cuInit", 0)
call("cuDeviceGet", ctypes.byref(ordinal), number)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ordinal)
call("cuCtxSetCurrent", context)
ptx = b".version 6.0\\n.target sm_70\\n.address_size 64\\n.visible .entry fail() { trap; }\\n"
call("cuModuleLoadData", ctypes.byref(module), ptx)
call("cuModuleGetFunction", ctypes.byref(kernel), module, b"fail")
stream = ctypes.c_void_p()
call("cuStreamCreate", ctypes.byref(stream), 1)

def poison():
    call("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, stream, None, None)
    code = driver.cuStreamSynchronize(stream)
    assert code != 0, "the trap did nothing"

def caught(call):
    try:
        call()
    except myriarm.DeviceError as error:
        assert isinstance(error, RuntimeError)
        text = str(error)
        assert text and "\\n" not in text, text
        return text
    raise AssertionError("no DeviceError")

if when == "between":
    poison()
    first = caught(lambda: fleet.run(1000))
else:
    mode = when
    fleet.start(10**18, mode=mode, instructions_per_batch=10_000_000)
    while fleet.poll().instructions == 0:
        os.sched_yield()
    poison()
    first = caught(fleet.wait)
    assert not fleet.is_running()
print("first:", first)

for call_again in (
    lambda: fleet.run(1),
    lambda: fleet.run_self_dispatch(10),
    lambda: fleet.start(1),
    lambda: fleet.x[0, 0],
    lambda: setattr(fleet, "x", 1),
    lambda: fleet.read(0, 8),
    lambda: fleet.write(0, b"12345678"),
    lambda: fleet.snapshot(),
    lambda: fleet.fork(0, [1]),
):
    again = caught(call_again)
    assert "make a new fleet" in again, again
assert "make a new fleet" in caught(lambda: fleet.poll())
fleet.cancel()
assert not fleet.is_running()

# This process cannot use the context any more, but it can use the CPU.
caught(lambda: myriarm.Fleet(bytes(4), device=device))
with myriarm.Fleet(bytes.fromhex("00040091ffffff17"), lanes=3, device="cpu", memory=65536) as other:
    assert other.run(1000).instructions == 3000
    assert other.x[:, 0].tolist() == [500] * 3
fleet.close()
assert fleet.closed
left = myriarm.devices()[0].id
print("cpu goes on:", left)
"""


@pytest.mark.parametrize("when", ("between", "run", "continuous", "mega", "self_dispatch"))
def test_gpu_that_fails(device, on_cuda, when):
    if not on_cuda:
        pytest.skip("for a GPU")
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, device, when], capture_output=True, text=True, timeout=600
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    lines = ran.stdout.splitlines()
    assert len(lines) == 2 and lines[0].startswith("first: ") and lines[1] == "cpu goes on: cpu"
    # The first error says what the fleet was doing, and CUDA's own message.
    assert "failed" in lines[0] and "make a new fleet" not in lines[0]
    assert ran.stderr == ""


def test_failed_fleet_that_nobody_closes_lets_the_process_end(device, on_cuda):
    if not on_cuda:
        pytest.skip("for a GPU")
    program = SCRIPT.split("for call_again in")[0]
    ran = subprocess.run(
        [sys.executable, "-c", program, device, "run"], capture_output=True, text=True, timeout=600
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("first: ")
