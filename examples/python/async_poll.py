# SPDX-License-Identifier: Apache-2.0
"""Watches a run in progress and cancels it. start() returns at once, so Python can do other work meanwhile.

python examples/python/async_poll.py [DEVICE]
"""

import struct
import sys
import time

import myriarm

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "auto"

CODE = struct.pack(
    "<2I",
    0x91000400,  # again: add x0, x0, #1
    0x17FFFFFF,  #        b   again         forever
)


def main() -> None:
    with myriarm.Fleet(CODE, lanes=64, device=DEVICE) as fleet:
        fleet.start()
        seen = []
        while len(seen) < 5:
            time.sleep(0.05)
            poll = fleet.poll()
            if not seen or poll.instructions > seen[-1]:
                seen.append(poll.instructions)
                print(f"{poll.seconds:5.2f} s {poll.instructions:>15,} instructions")
        fleet.cancel()
        result = fleet.wait()

        # Every lane stopped between two instructions. x0 counts iterations of two instructions.
        exact = (fleet.x[:, 0] == (fleet.instructions + 1) // 2).all()
        print(f"{result.signal_name}: {result.lanes_left} lanes can go on, counts exact: {exact}")

        before = fleet.instructions.copy()
        fleet.run(1000)  # the cancelled lanes go on where they stopped
        more = sorted(set((fleet.instructions - before).tolist()))
        print(f"each lane went on for {', '.join(map(str, more))} instructions")


if __name__ == "__main__":
    main()
