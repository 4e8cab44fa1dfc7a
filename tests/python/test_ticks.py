# SPDX-License-Identifier: Apache-2.0
"""The values that a run gives to its progress bar."""

import os
import pathlib

import myriarm

SOURCE = pathlib.Path(os.environ.get("MYRIARM_SOURCE", pathlib.Path(__file__).parents[2]))
DEVICE = os.environ.get("MYRIARM_TEST_DEVICE", "cpu")


def test_a_process_counts_over_all_its_rounds_of_system_calls():
    processes = myriarm.LinuxFleet(SOURCE / "examples" / "prebuilt" / "life", lanes=4, device=DEVICE)
    for budget in (100_000, None):
        ticks = []
        if budget is not None:
            processes.fleet.limit = budget
        else:
            processes.fleet.limit.fill(2**64 - 1)
        result = processes._core.run_process(0, ticks.append)
        counts = [tick[1] for tick in ticks]
        assert counts == sorted(counts)
        assert counts[-1] == result[0]
    assert result[1] > 1  # batches: rounds of system calls
