# SPDX-License-Identifier: Apache-2.0
"""Steps per second of the loop of reinforcement learning, on the corridor of examples/python/rl_corridor.py:
by hand, and with myriarm.gymnasium.VectorEnv. A step is one action of one lane.

    python bench/rl_steps.py [--device DEVICE] [--lanes N ...] [--steps N] [--repeats N]

Prints the best and the worst of the repeats. Random actions are made before the clock starts."""

import argparse
import pathlib
import sys
import time

import myriarm
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "examples" / "python"))

from rl_corridor import CORRIDOR, SPACES  # noqa: E402


def by_hand(device, lanes, actions):
    """Seconds of the loop without episodes' ends: look at the observations, act, run."""
    with myriarm.Fleet(CORRIDOR, lanes=lanes, device=device, memory=1 << 16) as fleet:
        fleet.run()
        start = fleet.snapshot()
        fleet.x[:, 0] = np.arange(lanes)
        begin = time.perf_counter()
        for chosen in actions:
            fleet.resume()
            fleet.run()
            fleet.read(0x8000, 4)
            done = fleet.x[:, 1] == 1
            fleet.x[:, 0] = chosen.view(np.uint64)
            if done.any():
                fleet.restore(start, np.flatnonzero(done))
        return time.perf_counter() - begin


def vector_env(device, lanes, actions):
    from myriarm.gymnasium import VectorEnv

    env = VectorEnv(CORRIDOR, lanes, device=device, memory=1 << 16, **SPACES)
    env.reset(seed=1)
    begin = time.perf_counter()
    for chosen in actions:
        env.step(chosen)
    seconds = time.perf_counter() - begin
    env.close()
    return seconds


def main():
    parser = argparse.ArgumentParser(description="Steps per second of environments in lanes.")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--lanes", type=int, nargs="+", default=[1, 100, 10_000, 100_000])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    device = myriarm.find_device(options.device)
    print(
        f"{device.id}: {device.name}, {device.units} units; {options.steps} steps, {options.repeats} repeats"
    )
    random = np.random.default_rng(1)
    for lanes in options.lanes:
        actions = [random.integers(2, size=lanes) for _ in range(options.steps)]
        for name, way in (("by hand", by_hand), ("VectorEnv", vector_env)):
            if way is vector_env and not SPACES:
                continue
            way(device.id, lanes, actions[:5])
            rates = [lanes * options.steps / way(device.id, lanes, actions) for _ in range(options.repeats)]
            print(f"{lanes:>9,} lanes  {name:<10} {max(rates):>13,.0f} steps/s  (worst {min(rates):,.0f})")


if __name__ == "__main__":
    main()
