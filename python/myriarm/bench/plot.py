# SPDX-License-Identifier: Apache-2.0
"""Draws bench.json: the modes of one lane beside the published figures, the speed over the number of lanes,
and which tier of translation retires the instructions over time.

Only draw() imports matplotlib, so that the benchmark works without it.

    python -m myriarm.bench.plot bench.json [FOLDER]        draws a saved result again
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any, Dict, List, Tuple

from . import reference
from .runs import LANES, SINGLE

LOOPS = {"add": ("ADD, B", "o", "-"), "store": ("ADD, STR, B", "D", "--")}  # name, marker, line
# Colours that people with colour blindness can distinguish.
DEVICE_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
TIER_COLOURS = {"interpreted": "#d9d9d9", "copied": "#9ecae1", "compiled": "#3182bd"}
SPEED = "#D55E00"
EARLIER, INK = "#8a8a8a", "#222222"
PEERS = {  # name in the JSON: label, colour
    "qemu": ("QEMU", "#7b3294"),
    "unicorn": ("Unicorn", "#a6611a"),
    "unicorn-count": ("Unicorn, counted", "#a6611a"),
    "pytorch-instruction": ("PyTorch, one by one", "#b2182b"),
    "pytorch-512": ("PyTorch, by 512", "#b2182b"),
}


class NoPlot(Exception):
    """Nothing was drawn; the message says in one sentence why."""


def draw(results: Dict[str, Any], folder: Path) -> List[Path]:
    """Writes bench.svg and bench.png and returns their paths. Raises NoPlot if it cannot draw."""
    tiers = [one for one in results.get("tiers", []) if one["samples"]]
    if not tiers and not any(run["seconds"] for run in results["runs"]):
        raise NoPlot("no plot, because nothing was measured")
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise NoPlot("no plot, because matplotlib is not installed; run 'pip install matplotlib'") from None
    if getattr(matplotlib, "__version_info__", (0,))[:2] < (3, 6):
        raise NoPlot(
            f"no plot, because matplotlib {matplotlib.__version__} is older than 3.6; "
            "run 'pip install --upgrade matplotlib'"
        )

    figure = Figure(figsize=(14.5, 6.6 + 3.9 * bool(tiers)), layout="constrained")
    FigureCanvasAgg(figure)
    if tiers:
        parts: Any = figure.subfigures(2, 1, height_ratios=(6.6, 3.9), hspace=0.04)
        upper, lower = parts
        for axes, one in zip(lower.subplots(1, len(tiers), squeeze=False)[0], tiers):
            _draw_tiers(axes, one)
    else:
        upper = figure
    modes, lanes = upper.subplots(1, 2, width_ratios=(0.8, 1))
    ids = results["settings"]["devices"]
    colours = {id: DEVICE_COLOURS[n % len(DEVICE_COLOURS)] for n, id in enumerate(ids)}
    _draw_modes(modes, results, colours)
    _draw_lanes(lanes, results, colours)
    names = {device["id"]: device["name"] for device in results["machine"]["devices"]}
    figure.suptitle(
        "myriarm bench: " + ", ".join(f"{names.get(id, id)} ({id})" for id in ids), color=INK, fontsize=13
    )
    paths = [folder / "bench.svg", folder / "bench.png"]
    for path in paths:
        figure.savefig(path, dpi=130)
    return paths


def _style(axes: Any, title: str) -> None:
    axes.set_title(title, loc="left", color=INK, fontsize=11)
    axes.grid(True, which="major", color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#b0b0b0")
    axes.tick_params(which="both", color="#b0b0b0", labelcolor=INK)


def _ips_ticks(axis: Any) -> None:
    """Labels an axis with 1 K, 10 K, 100 K, 1 M, ..."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(numticks=20))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    axis.set_minor_formatter(NullFormatter())


def _short(value: float) -> str:
    for factor, unit in ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " K")):
        if value >= factor * 0.999:
            return f"{value / factor:.3g}{unit}"
    return f"{value:.3g}"


def _draw_modes(axes: Any, results: Dict[str, Any], colours: Dict[str, str]) -> None:
    """A row for each mode: the figure of its longest run, and the published figure."""
    longest: Dict[Tuple[str, str, str], Dict[str, Any]] = {}
    for run in results["runs"]:
        key = (run["device"], run["mode"], run["loop"])
        if (
            run["mode"] != LANES
            and run["seconds"]
            and (key not in longest or run["instructions"] > longest[key]["instructions"])
        ):
            longest[key] = run
    modes = [mode for mode in SINGLE if any(key[1] == mode for key in longest)]
    place = {mode: len(modes) - 1 - n for n, mode in enumerate(modes)}
    shift = {"add": 0.14, "store": -0.14}
    for mode in modes:
        for loop, (_, marker, _) in LOOPS.items():
            there = reference.published(mode, loop)
            ours = [run["ips"] for key, run in longest.items() if key[1:] == (mode, loop)]
            y = place[mode] + shift[loop]
            if there and ours:
                axes.plot([there, max(ours)], [y, y], color="#d0d0d0", linewidth=1.2, zorder=1)
            if there:
                axes.plot(
                    there, y, marker, markerfacecolor="white", markeredgecolor=EARLIER, markersize=7, zorder=2
                )
    for (device, mode, loop), run in longest.items():
        axes.plot(
            run["ips"],
            place[mode] + shift[loop],
            LOOPS[loop][1],
            color=colours[device],
            markersize=7,
            zorder=3,
        )
    axes.set_xscale("log")
    _ips_ticks(axes.xaxis)
    values = [run["ips"] for run in longest.values()] + [1e6, 4e6]
    axes.set_xlim(min(values) / 1.6, max(values) * 1.6)
    axes.set_ylim(-0.6, len(modes) - 0.4)
    axes.set_yticks([place[mode] for mode in modes], modes)
    axes.set_xlabel("instructions per second (IPS)", color=INK)
    _style(axes, "One lane, by mode")
    _mode_legend(axes, colours)


def _mode_legend(axes: Any, colours: Dict[str, str]) -> None:
    from matplotlib.lines import Line2D

    def mark(marker: str, label: str, colour: str, face: str) -> Line2D:
        return Line2D(
            [], [], linestyle="", marker=marker, markerfacecolor=face, markeredgecolor=colour, label=label
        )

    entries = [mark("s", device, colour, colour) for device, colour in colours.items()]
    entries += [mark(marker, name, INK, INK) for name, marker, _ in LOOPS.values()]
    entries.append(mark("o", "published, earlier systems", EARLIER, "white"))
    axes.legend(
        handles=entries,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.12),
        ncols=len(entries),
        frameon=False,
        fontsize=9,
        handletextpad=0.2,
        columnspacing=1.2,
        labelcolor=INK,
    )


def _draw_lanes(axes: Any, results: Dict[str, Any], colours: Dict[str, str]) -> None:
    """The speed of both loops over the number of lanes, both axes logarithmic, and a horizontal line for each
    engine that has one lane."""
    lines: Dict[Tuple[str, str], List[Dict[str, Any]]] = {}
    for run in results["runs"]:
        if run["mode"] == LANES and run["seconds"]:
            lines.setdefault((run["device"], run["loop"]), []).append(run)
    most, top = 4, 1e7
    for (device, loop), runs in lines.items():
        name, marker, style = LOOPS[loop]
        runs = sorted(runs, key=lambda run: run["lanes"])
        axes.plot(
            [run["lanes"] for run in runs],
            [run["ips"] for run in runs],
            style,
            marker=marker,
            markersize=5,
            color=colours[device],
            linewidth=1.8,
            label=f"{device}: {name}",
            zorder=3,
        )
        most = max(most, runs[-1]["lanes"])
        top = max(top, *(run["ips"] for run in runs))

    bands = [
        ("earlier systems, least to best", EARLIER, 1.7e6, 3.5e6),
        ("PyTorch of the earlier systems", EARLIER, 5e3, 120e3),
    ]
    labels = []  # (instructions per second, text, colour)
    for text, colour, low, high in bands:
        axes.axhspan(low, high, color=colour, alpha=0.16, linewidth=0, zorder=0)
        labels.append((math.sqrt(low * high), f"{text}\n{_short(low)} to {_short(high)}", colour))
    for peer in results["peers"]:
        if peer["loop"] == "add" and peer["seconds"]:
            text, colour = PEERS[peer["name"]]
            where = f" on {peer['device']}" if peer["name"].startswith("pytorch") else ""
            axes.axhline(peer["ips"], color=colour, linewidth=1.2, linestyle=":", zorder=1)
            labels.append((peer["ips"], f"{text}{where}: {_short(peer['ips'])}", colour))
            top = max(top, peer["ips"])
    axes.set_xscale("log", base=4)
    axes.set_yscale("log")
    axes.set_xlim(0.8, most * 1.25)
    axes.set_ylim(2e3, top * 3)
    _ips_ticks(axes.yaxis)
    _lane_ticks(axes.xaxis, most)
    _label_lines(axes, labels)
    axes.set_xlabel("lanes", color=INK)
    axes.set_ylabel("instructions per second over all lanes (IPS)", color=INK)
    _style(axes, "All lanes together; one lane of other engines: grey, and dotted (ADD, B)")
    if lines:
        axes.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, -0.12),
            ncols=min(4, len(lines)),
            frameon=False,
            fontsize=9,
            labelcolor=INK,
        )


def _draw_tiers(axes: Any, one: Dict[str, Any]) -> None:
    """Over the time, which is logarithmic: the shares of the tiers in what was retired since the sample
    before, and the speed, whose axis is at the right."""
    from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter

    before = {"seconds": 0.0, **{name: 0 for name in TIER_COLOURS}}
    edges: List[float] = []
    shares: Dict[str, List[float]] = {name: [] for name in TIER_COLOURS}
    speeds: List[float] = []
    for sample in one["samples"]:
        counts = {name: sample[name] - before[name] for name in TIER_COLOURS}
        total = sum(counts.values())
        if total <= 0 or sample["seconds"] <= before["seconds"]:
            continue
        # What a span's first edge is on a logarithmic axis: the first begins at its half.
        edges.append(before["seconds"] or sample["seconds"] / 2)
        for name, count in counts.items():
            shares[name].append(100 * count / total)
        speeds.append(total / (sample["seconds"] - before["seconds"]))
        before = sample
    edges.append(before["seconds"])
    floor = [0.0] * len(speeds)
    for name, colour in TIER_COLOURS.items():
        top = [low + share for low, share in zip(floor, shares[name])]
        axes.stairs(top, edges, baseline=floor, fill=True, color=colour, linewidth=0, label=name, zorder=2)
        floor = top
    axes.set_xscale("log")
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(0, 100)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(PercentFormatter(decimals=0))
    axes.set_xlabel("seconds since the run began", color=INK)
    axes.set_ylabel("share of the instructions", color=INK)
    lanes = "one lane" if one["lanes"] == 1 else f"{one['lanes']:,} lanes"
    _style(axes, f"Tiers over time: {one['program']} on {one['device']}, {lanes}")
    if one.get("lanes_together"):
        axes.annotate(
            f"{one['lanes_together']:.1f} lanes of a team go into compiled code together, on average",
            xy=(0.015, 0.04),
            xycoords="axes fraction",
            fontsize=9,
            color=INK,
            bbox={"facecolor": "white", "alpha": 0.75, "edgecolor": "none"},
        )
    right = axes.twinx()
    right.stairs(speeds, edges, baseline=None, color=SPEED, linewidth=1.6, label="speed", zorder=3)
    right.set_ylim(0, max(speeds) * 1.15)
    right.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value) if value else "0"))
    right.set_ylabel("instructions per second (IPS)", color=SPEED)
    right.tick_params(color="#b0b0b0", labelcolor=SPEED)
    for side in ("top", "left"):
        right.spines[side].set_visible(False)
    for side in ("right", "bottom"):
        right.spines[side].set_color("#b0b0b0")
    handles = [*axes.get_legend_handles_labels()[0], *right.get_legend_handles_labels()[0]]
    axes.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.19),
        ncols=len(handles),
        frameon=False,
        fontsize=9,
        labelcolor=INK,
    )


def _lane_ticks(axis: Any, most: int) -> None:
    """Marks the powers of four, or every second one if there are many."""
    from matplotlib.ticker import NullLocator

    powers = range(0, int(math.log(most, 4) + 1.01))
    step = 2 if len(powers) > 7 else 1
    ticks = [4**n for n in powers if n % step == 0]
    axis.set_ticks(ticks, [f"{tick:,}" for tick in ticks])
    axis.set_minor_locator(NullLocator())


def _label_lines(axes: Any, labels: List[Tuple[float, str, str]]) -> None:
    """Writes texts to the right of the axes, each at its height, or above the one before if they would
    overlap."""
    low, high = (math.log10(y) for y in axes.get_ylim())
    gap = (high - low) * 0.034  # the height of one line of text
    next_free = -math.inf
    for y, text, colour in sorted(labels):
        half = gap * (1 + text.count("\n")) / 2
        at = max(math.log10(y), next_free + half)
        next_free = at + half
        axes.annotate(
            text,
            xy=(1, (math.log10(y) - low) / (high - low)),
            xycoords="axes fraction",
            xytext=(1.03, (at - low) / (high - low)),
            textcoords="axes fraction",
            color=colour,
            fontsize=9,
            va="center",
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.7, "relpos": (0, 0.5)},
        )


if __name__ == "__main__":
    saved = Path(sys.argv[1])
    for drawn in draw(
        json.loads(saved.read_text(encoding="utf-8")), Path(sys.argv[2]) if sys.argv[2:] else saved.parent
    ):
        print(drawn)
