# SPDX-License-Identifier: Apache-2.0
"""The results of the benchmark, as lines of a table and as JSON (docs/bench.md explains its keys)."""

from __future__ import annotations

import json
import math
import os
import statistics
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

import myriarm

from . import guests, reference
from .guests import LOOPS
from .peers import Peer
from .runs import LANES, Row
from .tiers import NAMES, Tiers

SCHEMA = 2
LOOP_NAMES = {loop.key: loop.name for loop in LOOPS}


def scaled(value: float, digits: int = 2) -> str:
    """1234567 as "1.23 M"; three significant figures or more, never an exponent."""
    for factor, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K")):
        if value >= factor:
            return f"{value / factor:.{digits}f} {unit}"
    return f"{value:.{digits}f} "


def ips_text(value: Optional[float]) -> str:
    return "-" if not value else scaled(value) + (" IPS" if value >= 1e3 else "IPS")


def count_text(value: int) -> str:
    """10000000 as "10 M" if that is exact, else as 1,234,567."""
    for factor, unit in ((10**9, "G"), (10**6, "M"), (10**3, "K")):
        if value >= factor and value % factor == 0:
            return f"{value // factor:,} {unit}"
    return f"{value:,}"


def seconds_text(value: float) -> str:
    """Four significant digits, in seconds; never an exponent."""
    digits = 3 - math.floor(math.log10(value)) if value > 0 else 3
    return f"{value:.{min(9, max(0, digits))}f}"


def ratio_text(value: float, to: Optional[float]) -> str:
    if not to:
        return "-"
    return f"{value / to:,.2f} x" if value < 1000 * to else f"{value / to:,.0f} x"


def _columns(widths: Sequence[int]) -> Callable[..., str]:
    """A function that makes a line of cells; a cell with a negative width is left-aligned, as in printf."""

    def line(*cells: str) -> str:
        text = "  ".join(c.ljust(-w) if w < 0 else c.rjust(w) for c, w in zip(cells, widths))
        return text.rstrip()

    return line


_single = _columns((-11, -15, 12, 11, 13, 13, 10, 10))
_lanes = _columns((-11, 13, 12, 11, 13, 13, 12))
_peers = _columns((-11, -20, -7, 12, 11, 13, 13, 10))
_tiers = _columns((9, 13, 11, 11, 11))
TIER_SPANS = 10  # lines of the table of tiers, at most


def single_lane_heading(device: myriarm.Device) -> List[str]:
    return [
        "",
        f"one lane on {device.id} ({device.name})",
        _single("loop", "mode", "instructions", "median s", "median", "published", "ratio", "to best"),
    ]


def lanes_heading(device: myriarm.Device) -> List[str]:
    return [
        "",
        f"many lanes on {device.id} ({device.name})",
        _lanes("loop", "lanes", "instr. each", "median s", "median", "of a lane", "to best"),
    ]


def peers_heading() -> List[str]:
    return [
        "",
        "the same loops in other engines on this machine, one lane",
        _peers("loop", "engine", "device", "instructions", "median s", "median", "published", "ratio"),
    ]


def tiers_lines(device: myriarm.Device, tiers: Tiers) -> List[str]:
    """The table of the tiers over time: a line for each span of time, about as long as all before it."""
    lanes = "one lane" if tiers.lanes == 1 else f"{tiers.lanes:,} lanes"
    lines = [
        "",
        f"{guests.MANY_LOOPS.name} on {device.id} ({device.name}), {lanes}: shares of the tiers",
    ]
    if tiers.error:
        return [*lines, f"no figure: {tiers.error}"]
    lines.append(_tiers("until s", "speed", *NAMES))
    before = 0.0
    for span in tiers.spans(TIER_SPANS):
        shares = (f"{100 * count / span.instructions:.1f} %" for count in span[1:])
        speed = ips_text(span.instructions / (span.seconds - before))
        lines.append(_tiers(seconds_text(span.seconds), speed, *shares))
        before = span.seconds
    translated = tiers.report
    assert translated is not None  # there is no error
    what = (
        f"copied {translated.copied:,} pieces of code and compiled {translated.regions:,}, in "
        f"{translated.seconds:.3f} s of processor time"
    )
    if translated.lanes_together is not None:
        together = f"{translated.lanes_together:.1f} lanes of {device.team_lanes}"
        what += f"; {together} went into compiled code together"
    if translated.unavailable:
        what += f"; nothing was compiled: {translated.unavailable}"
    return [*lines, what]


def row_line(row: Row) -> str:
    """The line of a row, with the columns of single_lane_heading() or, in mode LANES, of lanes_heading()."""
    name, best = LOOP_NAMES[row.loop], getattr(reference.BEST, row.loop)
    if not row.seconds:
        what = f"{row.lanes:,} lanes" if row.mode == LANES else row.mode
        return f"{name:<11}  {what:<15}  no figure: {row.error}"
    median = seconds_text(statistics.median(row.seconds))
    if row.mode == LANES:
        line = _lanes(
            name,
            f"{row.lanes:,}",
            count_text(row.instructions),
            median,
            ips_text(row.ips),
            ips_text(row.ips / row.lanes),
            ratio_text(row.ips, best),
        )
    else:
        line = _single(
            name,
            row.mode,
            count_text(row.instructions),
            median,
            ips_text(row.ips),
            ips_text(row.published),
            ratio_text(row.ips, row.published) if row.published else "-",
            ratio_text(row.ips, best),
        )
    return line + (f"  then: {row.error}" if row.error else "")


def peer_line(peer: Peer) -> str:
    name = LOOP_NAMES[peer.loop]
    if not peer.seconds:
        return f"{name:<11}  {peer.name:<20}  {peer.device:<7}  no figure: {peer.error}"
    system = reference.SYSTEMS.get(peer.name)
    there = getattr(system, peer.loop) if system else None
    return _peers(
        name,
        peer.name,
        peer.device,
        scaled(peer.instructions),
        seconds_text(statistics.median(peer.seconds)),
        ips_text(peer.ips),
        ips_text(there),
        ratio_text(peer.ips, there),
    )


def async_line(rows: Sequence[Row]) -> Optional[str]:
    """A line that says how long start() took; None if no row measured it."""
    starts = [seconds for row in rows for seconds in row.start_seconds]
    if not starts:
        return None
    return (
        f"async: start() returned after {1e3 * statistics.median(starts):.3f} ms in the median and "
        f"{1e3 * max(starts):.3f} ms at most, of {len(starts)} runs"
    )


LEGEND = (
    "published: the earlier system of that mode, one GPU thread of an Apple M4 Pro; "
    "to best: to the fastest of them, async (3.50 M and 3.00 M IPS)"
)


class Report:
    """All results so far. save() may be called at any time and leaves a complete file."""

    def __init__(self, machine: Dict[str, Any], settings: Dict[str, Any]):
        self.machine = machine
        self.settings = settings
        self.rows: List[Row] = []
        self.peers: List[Peer] = []
        self.tiers: List[Tiers] = []
        self.notes: List[str] = []
        self.state = "running"  # then "finished" or "interrupted"
        self.date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    @property
    def failed(self) -> bool:
        return any(row.error for row in self.rows) or any(one.error for one in self.tiers)

    def as_json(self) -> Dict[str, Any]:
        return {
            "schema": SCHEMA,
            "program": "myriarm bench",
            "date": self.date,
            "state": self.state,
            "machine": self.machine,
            "settings": self.settings,
            "runs": [row.as_json() for row in self.rows],
            "peers": [peer.as_json() for peer in self.peers],
            "tiers": [tiers.as_json() for tiers in self.tiers],
            "reference": reference.as_json(),
            "notes": self.notes,
        }

    def text(self) -> str:
        return json.dumps(self.as_json(), indent=1, allow_nan=False) + "\n"

    def save(self, folder: Path) -> Path:
        """Replaces bench.json by a complete new file, and returns its path. Raises OSError."""
        path, new = folder / "bench.json", folder / "bench.json.new"
        new.write_text(self.text(), encoding="utf-8")
        os.replace(new, path)
        return path
