# SPDX-License-Identifier: Apache-2.0
"""The figures that the earlier systems published: instructions per second of one GPU thread of an Apple M4
Pro.

They ran the same two loops. If a range was published, this is its upper end, so that no ratio favours
myriarm.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional


class Published(NamedTuple):
    """A system and its figures in instructions per second; None if it published none."""

    system: str
    add: Optional[float]
    store: Optional[float]


SYSTEMS: Dict[str, Published] = {
    "v1": Published("V1, MLX kernel, memory read-only", 2.4e6, None),
    "v2": Published("V2, MLX double buffer", 2.4e6, 1.7e6),
    "standard": Published("standard, Metal zero-copy", 2.1e6, 1.9e6),
    "continuous": Published("continuous", 2.4e6, 2.1e6),
    "mega": Published("mega", 2.4e6, 2.1e6),
    "async": Published("async", 3.5e6, 3.0e6),
    "pytorch-instruction": Published("PyTorch, tensor ops per instruction", 5e3, None),
    "pytorch-512": Published("PyTorch, batches of 512", 120e3, None),
}
BEST = SYSTEMS["async"]

# The earlier system to which each of our modes corresponds. None had self-dispatch or several lanes.
OF_MODE = {
    "read-only": "v1",
    "transactional": "v2",
    "standard": "standard",
    "run": "v2",
    "continuous": "continuous",
    "mega": "mega",
    "async": "async",
    "kvrm-v1": "v1",
    "kvrm-v2": "v2",
    "kvrm-standard": "standard",
    "kvrm-continuous": "continuous",
    "kvrm-mega": "mega",
    "kvrm-async": "async",
}


def published(mode: str, loop: str) -> Optional[float]:
    """Instructions per second of the earlier system of this mode on this loop ("add", "store"), or None."""
    system = OF_MODE.get(mode)
    return getattr(SYSTEMS[system], loop) if system else None


def as_json() -> List[Dict[str, object]]:
    return [
        {"key": key, "system": s.system, "add_ips": s.add, "store_ips": s.store} for key, s in SYSTEMS.items()
    ]
