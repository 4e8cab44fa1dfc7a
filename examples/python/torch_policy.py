# SPDX-License-Identifier: Apache-2.0
"""ARM64 programs as environments of a PyTorch model: a system call observes, and its result is the action.

Each lane is at place x0 of a line and has to reach x1. It asks with a system call, and moves by the answer
minus one. All lanes that ask at once are one batch of the model. Without PyTorch a rule replaces the model.

python examples/python/torch_policy.py [DEVICE]
"""

import struct
import sys

import myriarm
import numpy as np

try:
    import torch
except ImportError:
    torch = None

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "auto"
LANES, REACH = 500, 20
CODE = struct.pack(
    "<14I",
    0xAA0003F3,  #       mov  x19, x0         where it is
    0xAA0103F4,  #       mov  x20, x1         where it wants to be
    0xD2800015,  #       mov  x21, #0         steps
    0xEB14027F,  # step: cmp  x19, x20
    0x54000120,  #       b.eq done
    0xAA1303E0,  #       mov  x0, x19
    0xAA1403E1,  #       mov  x1, x20
    0xD2800028,  #       mov  x8, #1
    0xD4000001,  #       svc  #0              asks for the next move
    0x8B000273,  #       add  x19, x19, x0
    0xD1000673,  #       sub  x19, x19, #1
    0x910006B5,  #       add  x21, x21, #1
    0x17FFFFF7,  #       b    step
    0xD4400000,  # done: hlt  #0
)


def rule(seen: np.ndarray) -> np.ndarray:
    return 1 + np.sign(seen[:, 1] - seen[:, 0]).astype(np.int64)


def trained_model():  # maps (place, goal) to 0, 1 or 2; trained on examples
    torch.manual_seed(1)
    model = torch.nn.Linear(2, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(300):
        places = torch.randint(-REACH, REACH + 1, (256, 2)).float()
        places = places[places[:, 0] != places[:, 1]]  # a lane that has arrived does not ask
        wanted = torch.from_numpy(rule(places.numpy()))
        loss = torch.nn.functional.cross_entropy(model(places / REACH), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return lambda seen: model(torch.from_numpy(seen / REACH)).argmax(dim=1).numpy()


def main() -> None:
    print("PyTorch is not installed; a rule decides" if torch is None else "a PyTorch model decides")
    policy = rule if torch is None else trained_model()
    batches = []

    def serve(batch: myriarm.SyscallBatch) -> np.ndarray:
        batches.append(len(batch))
        return policy(batch.arguments[:, :2].view(np.int64).astype(np.float32))  # x0 and x1

    with myriarm.Fleet(CODE, lanes=LANES, device=DEVICE) as fleet:
        start, goal = np.random.default_rng(1).integers(-REACH, REACH + 1, (2, LANES))
        fleet.x[:, 0], fleet.x[:, 1] = start.view(np.uint64), goal.view(np.uint64)
        fleet.run(100 * REACH, on_syscall=serve)
        arrived = fleet.stops["reason"] == myriarm.StopReason.halt
        print(f"it was asked {len(batches)} times, for {batches[0]} lanes at first and {batches[-1]} at last")
        print(f"{arrived.sum()} of {LANES} lanes arrived, after {fleet.x[:, 21].max()} steps at most")


if __name__ == "__main__":
    main()
