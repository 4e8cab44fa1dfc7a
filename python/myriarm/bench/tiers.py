# SPDX-License-Identifier: Apache-2.0
"""Which tier of translation retires the instructions, over time.

A program with many loops, of which few are hot, begins interpreted and without the cache on disk, and the
counts of the tiers are sampled while it runs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, NamedTuple, Optional

import myriarm

from . import guests
from .runs import LANE_MEMORY, Settings, WrongResult

NAMES = ("interpreted", "copied", "compiled")
FIRST_INTERVAL, GROWTH = 1e-3, 0.04  # of the samples: seconds, and the share of the time so far
PILOT = 2_000_000  # instructions of each lane, interpreted, that say how long the run will be
GPU_LANES_PER_UNIT = 512


class Sample(NamedTuple):
    """What a fleet had retired, by tier, so many seconds after its run began."""

    seconds: float
    interpreted: int
    copied: int
    compiled: int

    @property
    def instructions(self) -> int:
        return self.interpreted + self.copied + self.compiled


@dataclass
class Tiers:
    """The tiers of one run."""

    device: str
    lanes: int
    instructions: int = 0  # of each lane
    samples: List[Sample] = field(default_factory=list)
    report: Optional[myriarm.TranslationReport] = None
    error: Optional[str] = None

    def as_json(self) -> Dict[str, Any]:
        row: Dict[str, Any] = {
            "device": self.device,
            "program": guests.MANY_LOOPS.name,
            "lanes": self.lanes,
            "instructions_per_lane": self.instructions,
            "instructions": self.instructions * self.lanes,
            "samples": [sample._asdict() for sample in self.samples],
        }
        if self.report is not None:
            row["copied_regions"], row["compiled_regions"] = self.report.copied, self.report.regions
            row["translate_seconds"] = self.report.seconds
            row["lanes_together"] = self.report.lanes_together
            row["unavailable"] = self.report.unavailable
        if self.error:
            row["error"] = self.error
        return row

    def spans(self, most: int) -> List[Sample]:
        """What was retired in `most` spans of time at most, each about as long as all before it: a Sample for
        each, whose seconds are those at its end."""
        spans: List[Sample] = []
        before = Sample(0.0, 0, 0, 0)
        last = self.samples[-1].seconds if self.samples else 0.0
        ends = [last / 2**n for n in range(most - 1, -1, -1)]
        for end in ends:
            reached = [sample for sample in self.samples if before.seconds < sample.seconds <= end * 1.000001]
            if not reached or reached[-1].instructions == before.instructions:
                continue
            now = reached[-1]
            spans.append(between(before, now))
            before = now
        return spans


def between(before: Sample, now: Sample) -> Sample:
    """What was retired between two samples; the seconds are those of the later one."""
    return Sample(now.seconds, *(later - earlier for earlier, later in zip(before[1:], now[1:])))


def _sample(fleet: myriarm.Fleet, begin: float) -> Sample:
    report = fleet.translation
    return Sample(
        time.perf_counter() - begin, report.interpreted, report.translated_by_copying, report.compiled
    )


def measure(
    device: myriarm.Device, settings: Settings, progress: Callable[[str], None] = lambda text: None
) -> Tiers:
    """Runs the program on one device and samples its tiers."""
    on_gpu = device.id.startswith("cuda")
    lanes = min(device.units * GPU_LANES_PER_UNIT, settings.most_lanes or 1 << 30) if on_gpu else 1
    tiers = Tiers(device.id, lanes)
    progress(f"{device.id}: the tiers of translation over time")
    try:
        _run(tiers, settings)
    except (WrongResult, myriarm.Error) as error:
        tiers.samples, tiers.error = [], str(error)
    return tiers


def _fleet(tiers: Tiers, engine: str) -> myriarm.Fleet:
    loops = guests.MANY_LOOPS
    program = myriarm.Program.raw(loops.code, memory=LANE_MEMORY, name=loops.name)
    return myriarm.Fleet(
        program,
        lanes=tiers.lanes,
        device=tiers.device,
        memory=LANE_MEMORY,
        engine=engine,
        translation_cache=False,
    )


def _check(fleet: myriarm.Fleet, instructions: int) -> None:
    x0, expected = fleet.x[:, 0], guests.MANY_LOOPS.expected_x0(instructions)
    found = (int(x0.min()), int(x0.max()))
    if found != (expected, expected):
        raise WrongResult(f"wrong result: x0 is {found}, not {expected}")


def _run(tiers: Tiers, settings: Settings) -> None:
    with _fleet(tiers, "interpreter") as fleet:
        begin = time.perf_counter()
        fleet.run(PILOT)
        seconds = max(time.perf_counter() - begin, 1e-6)
        _check(fleet, PILOT)
    tiers.instructions = max(PILOT, int(PILOT / seconds * settings.tier_seconds))
    with _fleet(tiers, "translate") as fleet:
        begin = time.perf_counter()
        fleet.start(tiers.instructions)
        while fleet.poll().running:
            now = _sample(fleet, begin)
            if now.instructions > (tiers.samples[-1].instructions if tiers.samples else 0):
                tiers.samples.append(now)
            time.sleep(max(FIRST_INTERVAL, now.seconds * GROWTH))
        result = fleet.wait()
        assert result is not None  # wait() has no time-out here
        tiers.report = fleet.translation
        report = tiers.report
        end = Sample(result.seconds, report.interpreted, report.translated_by_copying, report.compiled)
        tiers.samples = [sample for sample in tiers.samples if sample.seconds < end.seconds] + [end]
        if end.instructions != tiers.instructions * tiers.lanes:
            raise WrongResult(
                f"wrong result: the tiers have {end.instructions} instructions, not "
                f"{tiers.instructions * tiers.lanes}"
            )
        _check(fleet, tiers.instructions)
