# SPDX-License-Identifier: Apache-2.0
"""A small fleet whose registers hold numbers that are all different, for tests of arrays."""

import a64
import numpy as np

LANES = 6


def numbers(shape, start=0):
    return (
        np.arange(np.prod(shape), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(start)
    ).reshape(shape)


def numbered_fleet(make_fleet):
    fleet = make_fleet(a64.COUNT, lanes=LANES)
    fleet.x = numbers((LANES, 31))
    fleet.v = numbers((LANES, 32, 2), 5)
    return fleet
