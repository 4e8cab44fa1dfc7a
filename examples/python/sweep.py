# SPDX-License-Identifier: Apache-2.0
"""A parameter sweep by arguments: one program, 7 x 64 lanes, each with its own seed and number of darts.

python examples/python/sweep.py [DEVICE]
"""

import math
import pathlib
import sys

import myriarm
import numpy as np

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "auto"
PROGRAM = pathlib.Path(__file__).parents[1] / "prebuilt" / "pi"
DARTS = [4**n for n in range(2, 9)]
SEEDS = 64


def main():
    arguments = [[str(seed), str(darts)] for darts in DARTS for seed in range(SEEDS)]
    with myriarm.LinuxFleet(PROGRAM, arguments=arguments, device=DEVICE) as fleet:
        result = fleet.run()
        # "lane 3: 780 of 1000 darts, pi is about 3.120000"
        pi = np.array([float(fleet.stdout(lane).split()[-1]) for lane in range(fleet.lanes)])
        cost = fleet.fleet.instructions[...].reshape(len(DARTS), SEEDS).mean(axis=1)
        device = fleet.device.id

    error = np.abs(pi - math.pi).reshape(len(DARTS), SEEDS).mean(axis=1)
    print(f"{'darts':>8}{'mean error':>13}{'error x sqrt(darts)':>22}{'instructions':>15}")
    for darts, off, instructions in zip(DARTS, error, cost):
        print(f"{darts:8,}{off:13.5f}{off * math.sqrt(darts):22.2f}{instructions:15,.0f}")
    print(f"\n{len(arguments)} processes retired {result.instructions:,} instructions on {device}")


if __name__ == "__main__":
    main()
