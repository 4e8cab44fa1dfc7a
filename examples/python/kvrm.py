# SPDX-License-Identifier: Apache-2.0
"""The classes of the earlier systems that myriarm replaces: to run one of their scripts, change its import.

python examples/python/kvrm.py [DEVICE]
"""

import struct
import sys
import time

from myriarm.kvrm import AsyncMetalCPU, ContinuousMetalCPU, MetalCPU, MLXKernelCPU, MLXKernelCPUv2

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "auto"

LOOP = struct.pack(
    "<3I",
    0x91000400,  # again: add x0, x0, #1
    0xF9000020,  #        str x0, [x1]
    0x17FFFFFE,  #        b   again
)
STORE_AT = 0x10000


def prepared(cpu):
    cpu.load_program(LOOP, 0)
    cpu.set_pc(0)
    cpu.set_register(1, STORE_AT)
    return cpu


def main() -> None:
    for kind in (MetalCPU, MLXKernelCPUv2, MLXKernelCPU):
        cpu = prepared(kind(device=DEVICE))
        result = cpu.execute(max_cycles=300_000)
        memory = cpu.read_memory_64(STORE_AT)
        print(f"{kind.__name__}: {result.stop_reason_name}, {result.cycles} cycles, {memory} in memory")

    cpu = prepared(ContinuousMetalCPU(cycles_per_batch=100_000, device=DEVICE))
    result = cpu.execute_continuous(max_batches=10, timeout_seconds=60)
    print(f"continuous: {result.signal_name}, {result.total_cycles} cycles in {result.batches} batches")
    result = cpu.execute_mega(1_000_000)
    print(f"mega: {result.signal_name}, {result.total_cycles} cycles; x0 is {cpu.get_register(0)}")

    cpu = prepared(AsyncMetalCPU(device=DEVICE))
    cpu.start(3_000_000)
    while cpu.is_running():
        time.sleep(0.001)  # other work
    print(f"async: {cpu.poll().cycles_executed} cycles seen, {cpu.wait().cycles_executed} done")


if __name__ == "__main__":
    main()
