# SPDX-License-Identifier: Apache-2.0
"""A small fuzzer: the program's set-up runs once, and every input starts from a snapshot taken after it.

The program reads a length, a check byte and that many bytes, and copies them into a buffer of 64 bytes at the
end of its memory. It never compares the length with 64.

python examples/python/snapshots.py [DEVICE]
"""

import struct
import sys

import myriarm
import numpy as np
from myriarm import StopReason

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "auto"
LANES, ROUNDS = 1024, 20
MEMORY, INPUT, BUFFER = 0x4000, 0x2000, 0x4000 - 64

CODE = struct.pack(
    "<16I",
    0xD289C401,  #        mov  x1, #20000
    0xF1000421,  # setup: subs x1, x1, #1       long, and the same for every input
    0x54FFFFE1,  #        b.ne setup
    0xD4200000,  #        brk  #0               ready
    0x38401403,  #        ldrb w3, [x0], #1     length
    0x38401404,  #        ldrb w4, [x0], #1     check
    0x521E0C65,  #        eor  w5, w3, #0x3c
    0x6B05009F,  #        cmp  w4, w5
    0x540000E1,  #        b.ne bad
    0x340000A3,  # copy:  cbz  w3, good
    0x38401405,  #        ldrb w5, [x0], #1
    0x38001445,  #        strb w5, [x2], #1     beyond the buffer if the length is above 64
    0x51000463,  #        sub  w3, w3, #1
    0x17FFFFFC,  #        b    copy
    0xD4400000,  # good:  hlt  #0
    0xD4400020,  # bad:   hlt  #1
)


def main() -> None:
    random = np.random.default_rng(1)
    with myriarm.Fleet(myriarm.Program.raw(CODE, memory=MEMORY), lanes=LANES, device=DEVICE) as fleet:
        fleet.x[:, 0], fleet.x[:, 2] = INPUT, BUFFER
        setup = fleet.run().instructions // LANES  # to BRK
        fleet.pc += 4
        fleet.resume()
        ready = fleet.snapshot()

        good = np.array([8, 8 ^ 0x3C], np.uint8)
        executed, accepted, crashes = 0, 0, {}
        for _ in range(ROUNDS):
            fleet.restore(ready)
            inputs = np.tile(good, (LANES, 1))
            mutated = random.integers(0, 256, inputs.shape, dtype=np.uint8)
            inputs = np.where(random.random(inputs.shape) < 0.7, mutated, inputs)
            fleet.write(INPUT, inputs)
            executed += fleet.run().instructions
            stops = fleet.stops
            accepted += np.count_nonzero((stops["reason"] == StopReason.halt) & (stops["detail"] == 0))
            for lane in np.flatnonzero(stops["reason"] == StopReason.fault):
                crashes[inputs[lane].tobytes()] = int(stops["address"][lane])

        print(
            f"{LANES * ROUNDS} inputs, {accepted} accepted, {len(crashes)} different ones crash the program"
        )
        for data, address in sorted(crashes.items())[:3]:
            print(f"  input {data.hex(' ')}: a store to {address:#x}, where nothing is mapped")
        print(f"an input cost {executed / LANES / ROUNDS:.0f} instructions; the set-up, {setup}, ran once")


if __name__ == "__main__":
    main()
