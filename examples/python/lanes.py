# SPDX-License-Identifier: Apache-2.0
"""One program, 10,000 inputs: every lane walks the Collatz sequence from its own number.

python examples/python/lanes.py [DEVICE]
"""

import struct
import sys

import myriarm
import numpy as np

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "auto"
LANES = 10_000

CODE = struct.pack(
    "<11I",
    0xD2800001,  #        mov  x1, #0           steps
    0xF100041F,  # again: cmp  x0, #1
    0x54000100,  #        b.eq done
    0x36000080,  #        tbz  w0, #0, even
    0x8B000400,  #        add  x0, x0, x0, lsl #1
    0x91000400,  #        add  x0, x0, #1       odd: 3 x + 1
    0x14000002,  #        b    next
    0xD341FC00,  # even:  lsr  x0, x0, #1
    0x91000421,  # next:  add  x1, x1, #1
    0x17FFFFF8,  #        b    again
    0xD4400000,  # done:  hlt  #0
)


def main() -> None:
    program = myriarm.Program.raw(CODE, memory=4096)
    with myriarm.Fleet(program, lanes=LANES, device=DEVICE) as fleet:
        fleet.x[:, 0] = np.arange(1, LANES + 1)  # the input of each lane, in x0
        result = fleet.run()
        steps = fleet.x[:, 1]  # a NumPy array of uint64

        longest = int(steps.argmax())
        print(f"{result.stops['halt']} lanes halted")
        print(f"the longest walk starts at {longest + 1} and takes {steps[longest]} steps")
        print(f"the lanes retired {fleet.instructions.min()} to {fleet.instructions.max()} instructions each")
        print(f"{result.ips / 1e6:.0f} M instructions a second on {fleet.device.id}")


if __name__ == "__main__":
    main()
