# SPDX-License-Identifier: Apache-2.0
"""Reinforcement learning step by step: a guest is the environment, Python is the agent. The lanes stop at an
SVC, the agent looks at all of them and acts, they go on, and lanes whose episode has ended are restored.

    python rl_corridor.py [DEVICE]

First the loop by hand, with the calls of Fleet alone; then myriarm.gymnasium.VectorEnv, which is that loop,
if the package gymnasium is installed. docs/reinforcement-learning.md explains it."""

import struct
import sys

import myriarm
import numpy as np

LANES, STEPS = 1000, 200

# A corridor of cells 0 to 10. An episode begins in cell 1 to 8. It ends in cell 0 without a reward, or in
# cell 10 with the reward 1.
CORRIDOR = struct.pack(
    "<19I",
    0xD4000021,  #      svc  #1                 x0: a seed
    0x92400814,  #      and  x20, x0, #7        the cell
    0x91000694,  #      add  x20, x20, #1
    0xD2900015,  #      mov  x21, #0x8000       where the observation is
    0x9E6703E0,  #      fmov d0, xzr
    0xD2800001,  #      mov  x1, #0
    0xB90002B4,  # ask: str  w20, [x21]
    0xAA1503E0,  #      mov  x0, x21
    0xD4000001,  #      svc  #0                 x0: 0 for left, 1 for right
    0x8B000694,  #      add  x20, x20, x0, lsl #1
    0xD1000694,  #      sub  x20, x20, #1
    0x9E6703E0,  #      fmov d0, xzr
    0xD2800001,  #      mov  x1, #0
    0xB4000094,  #      cbz  x20, end
    0xF1002A9F,  #      cmp  x20, #10
    0x54FFFEE1,  #      b.ne ask
    0x1E6E1000,  #      fmov d0, #1.0           the reward
    0xD2800021,  # end: mov  x1, #1             the episode has ended
    0x17FFFFF4,  #      b    ask
)

try:
    from gymnasium.spaces import Box, Discrete

    SPACES = {"observation_space": Box(0, 10, (1,), np.int32), "action_space": Discrete(2)}
except ImportError:
    SPACES = {}


def choose(cells, random):
    """The agent: more likely to the right the farther right it is."""
    return (random.random(cells.shape) < 0.3 + 0.05 * cells).astype(np.uint64)


def by_hand(device, lanes, steps):
    """Episodes that have ended, and the sum of their rewards."""
    random = np.random.default_rng(1)
    ended, rewards = 0, 0.0
    with myriarm.Fleet(CORRIDOR, lanes=lanes, device=device, memory=1 << 16) as fleet:
        fleet.run()  # to SVC #1, where episodes begin
        start = fleet.snapshot()
        fleet.x[:, 0] = random.integers(2**63, size=lanes)
        for _ in range(steps):
            fleet.resume()
            fleet.run()  # to SVC #0 in every lane
            cells = fleet.read(0x8000, 4).view("<i4")[:, 0]
            actions = choose(cells, random)
            done = fleet.x[:, 1] == 1
            if done.any():
                ended += int(done.sum())
                rewards += float(fleet.v[done, 0, 0].view(np.float64).sum())
                which = np.flatnonzero(done)
                fleet.restore(start, which)
                actions[which] = random.integers(2**63, size=which.size)  # they are at SVC #1: a seed
            fleet.x[:, 0] = actions
    return ended, rewards


def with_gymnasium(device, lanes, steps):
    from myriarm.gymnasium import VectorEnv

    random = np.random.default_rng(1)
    ended, rewards = 0, 0.0
    env = VectorEnv(CORRIDOR, lanes, device=device, memory=1 << 16, **SPACES)
    cells, _ = env.reset(seed=1)
    for _ in range(steps):
        cells, reward, terminated, _, _ = env.step(choose(cells[:, 0], random).astype(np.int64))
        ended += int(terminated.sum())
        rewards += float(reward.sum())
    env.close()
    return ended, rewards


def main():
    device = sys.argv[1] if len(sys.argv) > 1 else "auto"
    for name, way in (("by hand", by_hand), ("VectorEnv", with_gymnasium)):
        if way is with_gymnasium and not SPACES:
            print("gymnasium is not installed")
            continue
        ended, rewards = way(device, LANES, STEPS)
        print(f"{name}: {ended} episodes, {100 * rewards / ended:.0f} % with the reward")


if __name__ == "__main__":
    main()
