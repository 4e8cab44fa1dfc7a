# SPDX-License-Identifier: Apache-2.0
"""NumPy, PyTorch and CuPy use the registers and the memory of all lanes without a copy.

python examples/python/dlpack.py [DEVICE]
"""

import importlib
import struct
import sys

import myriarm
import numpy as np

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "auto"
LANES, DATA = 256, 0x1000

CODE = struct.pack(
    "<4I",
    0x39400022,  # ldrb w2, [x1]
    0x0B020000,  # add  w0, w0, w2
    0x39000020,  # strb w0, [x1]
    0xD4400000,  # hlt  #0
)


def on_the_host() -> None:
    """NumPy uses the guest's own memory: on the CPU always, on a GPU with memory policy shared."""
    program = myriarm.Program.raw(CODE, memory=0x2000)
    with myriarm.Fleet(program, lanes=LANES, device=DEVICE, memory_policy="shared") as fleet:
        memory = np.asarray(fleet.memory)  # (lanes, 8192) uint8: the guests' own memory
        memory[:, DATA] = np.arange(LANES)
        fleet.x[:, 0], fleet.x[:, 1] = 1, DATA
        fleet.run()
        print(f"NumPy: memory of shape {memory.shape}, lane 41 has {memory[41, DATA]}")
        if fleet.device.id == "cpu":
            registers = np.from_dlpack(fleet.x)  # (lanes, 31) uint64, the registers themselves
            registers[7, 0] = 1000
            print(f"NumPy: registers of shape {registers.shape}, the fleet says {fleet.x[7, 0]}")


def on_the_device(library: str) -> None:
    """On a GPU these arrays are CUDA arrays; no data is copied to the host."""
    try:
        arrays = importlib.import_module(library)
    except ImportError:
        print(f"{library} is not installed")
        return
    program = myriarm.Program.raw(CODE, memory=0x2000)
    with myriarm.Fleet(program, lanes=LANES, device=DEVICE, memory_policy="device-shared") as fleet:
        if library == "cupy" and fleet.device.id == "cpu":
            print("cupy: takes arrays of a GPU, and this fleet is on the CPU")
            return
        memory = arrays.from_dlpack(fleet.memory)
        registers = arrays.from_dlpack(fleet.x).view(arrays.int64)  # PyTorch has few operations on uint64
        memory[:, DATA] = 5
        registers[:, 0] = 1
        registers[:, 1] = DATA
        if library == "torch" and memory.is_cuda:
            arrays.cuda.synchronize()  # the library's stream must be done before the guest runs
        elif library == "cupy":
            arrays.cuda.get_current_stream().synchronize()
        fleet.run()
        print(f"{library}: the sums of lane 0 to {LANES - 1} add up to {int(registers[:, 0].sum())}")


def main() -> None:
    on_the_host()
    for library in ("torch", "cupy"):
        on_the_device(library)


if __name__ == "__main__":
    main()
