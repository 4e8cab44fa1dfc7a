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
    for pieces in ([("stepper", 1)], [("stepper", 10), ("interpreter", 13), ("stepper", 7)], [("auto", 9)]):
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


COUNT_DOWN = code(0xD2A00001 | 16000 << 5, 0xD1000421, 0xB5FFFFE1, 0xD4400000)  # x1 = 16000 << 16, to 0


def test_the_report_counts_what_ran_in_which_tier():
    with myriarm.Fleet(COUNT_DOWN, device="cpu", engine="translate", compile_threads=1) as fleet:
        nothing = myriarm.TranslationReport(0, 0, 0, 0, 0, 0.0, 0, 0, 0, 0, 0, 0, (), "", "")
        assert fleet.translation == nothing
        retired = fleet.run().instructions
        report = fleet.translation
        assert report.interpreted + report.translated == retired == 1 + 2 * (16000 << 16)
        assert report.interpreted > 0
        assert (report.regions == 0) == (report.region_instructions == 0)
        assert report.cache_warning == ""
        assert (report.copied == 0) == (report.copied_instructions == 0)
        if report.unavailable:
            assert report.regions == 0
            assert (report.copied == 0) == (report.translated == 0)


def test_the_cache_gives_later_fleets_what_earlier_ones_translated(tmp_path, monkeypatch):
    monkeypatch.setenv("MYRIARM_CACHE_DIR", str(tmp_path / "cache"))

    def run(**options):
        with myriarm.Machine(COUNT_DOWN, device="cpu", engine="translate", **options) as machine:
            machine.run()
            return machine.translation

    report = run(translation_cache=False)
    assert not (tmp_path / "cache").exists()
    if report.unavailable:
        pytest.skip(report.unavailable)
    # A slow host may end a run before the thread that translates has done anything.
    while (report := run()).cached == 0:
        assert report.cache_warning == ""
    assert report.cached == report.regions
    for file in (tmp_path / "cache").iterdir():
        file.write_bytes(file.read_bytes()[:-1])
    while (report := run()).cache_warning == "":
        pass
    assert "it is cut off" in report.cache_warning
    assert report.cached == 0


def test_auto_is_an_engine_that_the_device_has(device, on_cuda):
    with myriarm.Fleet(SUM, lanes=3, device=device, engine="auto") as fleet:
        assert fleet.engine == "interpreter" if on_cuda else fleet.engine in ("interpreter", "translate")
    with myriarm.Machine(SUM, device=device) as machine:
        machine.engine = "auto"
        machine.x[0] = 10
        machine.run()
        assert machine.x[1] == 55


@pytest.mark.parametrize(
    "options", [{"compile_threads": -1}, {"compile_threads": 1.5}, {"translation_cache": "no"}]
)
def test_options_of_translation_are_checked(device, options):
    with pytest.raises(myriarm.ArgumentError, match=next(iter(options))):
        myriarm.Fleet(SUM, device=device, **options)
