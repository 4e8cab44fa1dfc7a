# SPDX-License-Identifier: Apache-2.0
"""A tiny operating system in Python: one call of it serves the system calls of all lanes of a batch.

python examples/python/syscalls.py [DEVICE]
"""

import struct
import sys

import myriarm
import numpy as np
from myriarm import SyscallAction

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "auto"
LANES = 1000
ASK, TELL, WRITE, EXIT = 1, 2, 3, 4  # the numbers of its system calls, in x8

CODE = (
    struct.pack(
        "<12I",
        0xD2800028,  # mov x8, #1
        0xD4000001,  # svc #0         x0 = a number from the host
        0x9B007C00,  # mul x0, x0, x0
        0xD2800048,  # mov x8, #2
        0xD4000001,  # svc #0         tell it the square
        0x100000E0,  # adr x0, text
        0xD28000C1,  # mov x1, #6
        0xD2800068,  # mov x8, #3
        0xD4000001,  # svc #0         write the text
        0xD28000E0,  # mov x0, #7
        0xD2800088,  # mov x8, #4
        0xD4000001,  # svc #0         exit with status 7
    )
    + b"ready\n"  # text:
)


class System:
    def __init__(self) -> None:
        self.calls = 0
        self.told = np.zeros(LANES, np.uint64)
        self.output = [b""] * LANES

    def serve(self, batch: myriarm.SyscallBatch) -> None:
        """Element i of each array belongs to the same lane. By default a lane keeps x0 and goes on."""
        self.calls += 1
        ask, tell, write, leave = (batch.numbers == call for call in (ASK, TELL, WRITE, EXIT))
        batch.results[ask] = batch.lanes[ask] + 1
        self.told[batch.lanes[tell]] = batch.arguments[tell, 0]
        for i in np.flatnonzero(write):
            address, size = (int(word) for word in batch.arguments[i, :2])
            lane = int(batch.lanes[i])
            # If the guest's address is not mapped, read() raises, and the guest gets -14 (EFAULT).
            try:
                self.output[lane] += batch.fleet.read(address, size, lane)[0].tobytes()
                batch.results[i] = size
            except myriarm.ArgumentError:
                batch.results[i] = 2**64 - 14
        batch.actions[leave] = SyscallAction.exit  # with x0 as the status
        batch.actions[~(ask | tell | write | leave)] = SyscallAction.stop  # no such call


def main() -> None:
    system = System()
    with myriarm.Fleet(CODE, lanes=LANES, device=DEVICE) as fleet:
        result = fleet.run(on_syscall=system.serve)
        print(f"{LANES * 4} system calls in {system.calls} batches")
        print(f"the lanes told {system.told[0]}, {system.told[1]}, {system.told[2]}, ... {system.told[-1]}")
        print(f"lane 42 wrote {system.output[42]!r}")
        print(f"{result.stops['exited']} lanes exited with status {set(fleet.stops['detail'].tolist())}")


if __name__ == "__main__":
    main()
