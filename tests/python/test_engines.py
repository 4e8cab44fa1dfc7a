# SPDX-License-Identifier: Apache-2.0
"""The engine of a fleet and of its runs: the caller chooses it, and the choice changes no result."""

import myriarm
import numpy as np
import pytest
from a64 import code

SUM = code(0xD2800001, 0x8B000021, 0xF1000400, 0x54FFFFC1, 0xD4400000)  # x1 = 1 + ... + x0


def sums(fleet, pieces):
    """Runs each (engine, instructions) of pieces, then to the end; returns the whole state of the lanes."""
    fleet.x[:, 0] = np.arange(1, len(fleet) + 1)
    for engine, instructions in pieces:
        fleet.engine = engine
        assert fleet.engine == engine
        fleet.run(instructions)
    fleet.run()
    return [array[:].tolist() for array in (fleet.x, fleet.pc, fleet.nzcv, fleet.instructions)]


def test_lanes_pass_from_engine_to_engine(device):
    with myriarm.Fleet(SUM, lanes=40, device=device) as whole:
        assert whole.engine == "interpreter"
        expected = sums(whole, [])
        assert whole.x[:, 1].tolist() == [n * (n + 1) // 2 for n in range(1, 41)]
    for pieces in ([("stepper", 1)], [("stepper", 10), ("interpreter", 13), ("stepper", 7)]):
        with myriarm.Fleet(SUM, lanes=40, device=device) as fleet:
            assert sums(fleet, pieces) == expected


def test_a_fleet_a_machine_and_processes_are_made_with_an_engine(device):
    with myriarm.Fleet(SUM, device=device, engine="stepper") as fleet:
        assert fleet.engine == "stepper"
    with myriarm.Machine(SUM, device=device, engine="stepper") as machine:
        machine.x[0] = 10
        assert machine.engine == "stepper"
        machine.run()
        assert machine.x[1] == 55
        machine.engine = "interpreter"
        assert machine.engine == "interpreter"


@pytest.mark.parametrize("wrong", ["jit", 1, None, ["stepper"]])
def test_other_engines_are_refused(device, wrong):
    with pytest.raises(myriarm.ArgumentError, match="use one of interpreter, stepper"):
        myriarm.Fleet(SUM, device=device, engine=wrong)
    with myriarm.Fleet(SUM, device=device) as fleet:
        with pytest.raises(myriarm.ArgumentError, match="use one of interpreter, stepper"):
            fleet.engine = wrong
        assert fleet.engine == "interpreter"
