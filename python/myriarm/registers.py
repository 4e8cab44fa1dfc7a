# SPDX-License-Identifier: Apache-2.0
"""Names of numbered registers, x0, w0 and v0, and where they are in the arrays of a fleet."""

from __future__ import annotations

import re
from typing import Optional, Tuple

# Prefix, name of the array, registers, bits.
NUMBERED = (("x", "x", 31, 64), ("w", "x", 31, 32), ("v", "v", 32, 128))
_SHAPE = re.compile("([xwv])(0|[1-9][0-9]?)")


def register_of(name: str) -> Optional[Tuple[str, int]]:
    """The array that holds a register of this name, and its number there; None for other names."""
    match = _SHAPE.fullmatch(name)
    if match is None:
        return None
    for prefix, array, count, _ in NUMBERED:
        if prefix == match[1] and int(match[2]) < count:
            return array, int(match[2])
    return None
