# SPDX-License-Identifier: Apache-2.0
"""The mode `tiers` of `myriarm bench`: what it samples adds up, and table and drawing are whole. No figure is
compared with anything."""

from __future__ import annotations

import json
import os
import re

import myriarm
import pytest
from myriarm.bench import guests, plot, runs, tiers
from myriarm.bench.__main__ import main

DEVICE = os.environ.get("MYRIARM_TEST_DEVICE", "cpu")
QUICK = ["--quick", "--device", DEVICE, "--max-lanes", "16", "--no-peers", "--modes", "tiers"]


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The JSON of one quick run without a plot."""
    folder = tmp_path_factory.mktemp("quick")
    assert main([*QUICK, "--out", str(folder), "--no-plot", "--json"]) == 0
    return json.loads((folder / "bench.json").read_text(encoding="utf-8"))


def test_samples_add_up(quick):
    (measured,) = quick["tiers"]
    assert "error" not in measured
    assert measured["device"] == quick["settings"]["devices"][0]
    assert measured["instructions"] == measured["lanes"] * measured["instructions_per_lane"]
    samples = measured["samples"]
    for earlier, later in zip(samples, samples[1:]):
        assert all(earlier[key] <= later[key] for key in later)
        assert earlier["seconds"] < later["seconds"]
    assert sum(samples[-1][name] for name in tiers.NAMES) == measured["instructions"]


def test_a_run_is_sampled_while_it_goes_on():
    program = myriarm.Program.raw(guests.MANY_LOOPS.code)
    with myriarm.Fleet(program, device=DEVICE, engine="translate", translation_cache=False) as fleet:
        fleet.start()
        while fleet.translation.interpreted + fleet.translation.translated < 1_000_000:
            assert fleet.poll().running
        fleet.cancel()
        result = fleet.wait()
        done = fleet.translation
        assert done.interpreted + done.translated == result.instructions
        assert done.compiled + done.translated_by_copying == done.translated
        assert (done.lanes_together is None) == (done.visits == 0)


def test_wrong_counts_and_results_give_no_figure(monkeypatch):
    settings = runs.Settings(most_lanes=4, tier_seconds=0.01)
    device = next(each for each in myriarm.devices() if each.id.startswith(DEVICE.split(":")[0]))
    assert tiers.measure(device, settings).error is None
    monkeypatch.setattr(guests.ManyLoops, "expected_x0", lambda self, instructions: 17)
    measured = tiers.measure(device, settings)
    assert measured.samples == []
    assert "wrong result: x0 is " in measured.error


def test_spans_are_what_was_retired_in_them():
    counts = [(0.001 * 1.5**n, 10 * n, 20 * n * n, n**3) for n in range(1, 20)]
    measured = tiers.Tiers("cpu", 1, samples=[tiers.Sample(*each) for each in counts])
    spans = measured.spans(6)
    assert 3 <= len(spans) <= 6
    for place in range(1, 4):
        assert sum(span[place] for span in spans) == counts[-1][place]
    assert spans[-1].seconds == counts[-1][0]


def test_the_table(tmp_path, capsys):
    assert main([*QUICK, "--out", str(tmp_path), "--no-plot"]) == 0
    lines = capsys.readouterr().out.splitlines()
    heading = next(n for n, line in enumerate(lines) if line.split()[:2] == ["until", "s"])
    last = next(n for n, line in enumerate(lines) if line.startswith("copied "))
    assert heading + 1 < last <= heading + 11
    for line in lines[heading + 1 : last]:
        assert len(line) == len(lines[heading])
        shares = [float(share) for share in re.findall(r"([\d.]+) %", line)]
        assert sum(shares) == pytest.approx(100, abs=0.2)


def test_the_drawing(tmp_path, quick):
    pytest.importorskip("matplotlib")
    two = {**quick, "tiers": [quick["tiers"][0], {**quick["tiers"][0], "lanes": 99, "lanes_together": 7.5}]}
    for results in (quick, two):
        drawn = plot.draw(results, tmp_path)
        assert [path.name for path in drawn] == ["bench.svg", "bench.png"]
    with pytest.raises(plot.NoPlot):
        plot.draw({**quick, "tiers": [{**quick["tiers"][0], "samples": []}]}, tmp_path)


def test_expected_results():
    program = myriarm.Program.raw(guests.MANY_LOOPS.code)
    with myriarm.Fleet(program, device=DEVICE, lanes=3) as fleet:
        for budget in (1, 5, 700, 30_000, 31_261):
            fleet.run(budget)
            count = int(fleet.instructions[0])
            assert int(fleet.x[0, 0]) == guests.MANY_LOOPS.expected_x0(count)
