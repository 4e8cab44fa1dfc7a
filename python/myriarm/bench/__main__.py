# SPDX-License-Identifier: Apache-2.0
"""The command line of `myriarm bench`: python -m myriarm.bench --help."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence, Tuple

import myriarm

from . import machine, plot, report, tiers
from .peers import measure_all
from .runs import ALL_MODES, LANES, QUICK_SIZES, TIERS, Bench, Row, Settings

USAGE_STATUS, FAILED_STATUS, INTERRUPTED_STATUS = 2, 1, 130

DESCRIPTION = """\
Runs two tight loops (ADD, B and ADD, STR, B) in every mode, for 1 M, 10 M and 100 M instructions, then on 1,
4, 16, ... lanes up to what the device holds, and in QEMU, Unicorn and PyTorch if they are installed; and a
program of many loops, to show which tier of translation retires the instructions over time. Prints a table
with the figures of the earlier systems beside the new ones, and writes bench.json, bench.svg and bench.png.
The earlier systems are those that myriarm replaces: interpreters of ARM64 in MLX and Metal kernels, which
published what one thread of an Apple M4 Pro's GPU reached."""


class UsageError(Exception):
    """A mistake of the user; the message says in one sentence what was wrong and what to do."""


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see myriarm bench --help")


def _positive(kind: Callable[[str], float], text: str) -> float:
    try:
        value = kind(text)
    except ValueError:
        value = 0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number above 0")
    return value


def _positive_int(text: str) -> int:
    return int(_positive(int, text))


def _positive_float(text: str) -> float:
    return _positive(float, text)


def _modes(text: str) -> Tuple[str, ...]:
    names = tuple(name for name in text.split(",") if name)
    for name in names:
        if name not in ALL_MODES:
            raise argparse.ArgumentTypeError(f"there is no mode '{name}'; use {', '.join(ALL_MODES)}")
    return names or ALL_MODES


def _parser() -> Parser:
    parser = Parser(
        prog="myriarm bench",
        description=DESCRIPTION,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "--device",
        default="auto",
        metavar="ID",
        help="cpu, cuda, cuda:N, all, or auto: the first GPU, else the CPU (default)",
    )
    add(
        "--quick",
        action="store_true",
        help="1 M instructions and few lanes: half a minute at most on most machines",
    )
    add(
        "--out",
        default="myriarm-bench",
        metavar="DIR",
        type=Path,
        help="where bench.json, bench.svg and bench.png go (default: ./myriarm-bench)",
    )
    add("--json", action="store_true", help="print the JSON and not the table")
    add(
        "--repeat",
        default=3,
        metavar="N",
        type=_positive_int,
        help="runs of each row, after a warm-up (default: 3)",
    )
    add(
        "--time-limit",
        metavar="SECONDS",
        type=_positive_float,
        help="the most that one row may take; slower rows are run fewer times, and those with more "
        "instructions or lanes are left out (default: 60, with --quick 10)",
    )
    add(
        "--modes",
        default=ALL_MODES,
        metavar="LIST",
        type=_modes,
        help="measure only these modes, separated by commas: " + ",".join(ALL_MODES),
    )
    add(
        "--max-lanes",
        metavar="N",
        type=_positive_int,
        help="the most lanes in one run (default: what the device holds)",
    )
    add("--no-peers", action="store_true", help="do not run QEMU, Unicorn and PyTorch")
    add("--no-plot", action="store_true", help="do not draw bench.svg and bench.png")
    add("--commit", metavar="TEXT", help="record this as the commit, if the package does not know it")
    return parser


def _settings(options: argparse.Namespace) -> Settings:
    settings = Settings(modes=options.modes, repeat=options.repeat, most_lanes=options.max_lanes)
    if options.quick:
        settings.sizes, settings.time_limit, settings.lane_seconds = QUICK_SIZES, 10.0, 0.05
        settings.most_lanes = options.max_lanes or 256
        settings.tier_seconds = 0.5
    if options.time_limit:
        settings.time_limit = options.time_limit
    return settings


def _find_devices(wanted: str) -> List[myriarm.Device]:
    """The devices to measure. UsageError if there is none of that name."""
    devices = list(myriarm.devices())
    gpus = [device for device in devices if device.kind != "cpu"]
    if wanted == "all":
        return devices
    if wanted == "auto":
        return gpus[:1] or devices[:1]
    if wanted == "cuda" and gpus:
        return gpus[:1]
    found = [device for device in devices if device.id == wanted]
    if not found:
        names = ", ".join(device.id for device in devices)
        why = f" ({myriarm.why_unusable(wanted)})" if wanted.startswith("cuda") else ""
        raise UsageError(f"there is no device '{wanted}' here{why}; use {names}, auto or all")
    return found


class Progress:
    """A line on standard error that says what is being run; only on a terminal."""

    def __init__(self) -> None:
        self._on = sys.stderr.isatty()

    def show(self, text: str) -> None:
        if self._on:
            width = shutil.get_terminal_size().columns - 1
            print("\r\x1b[K" + text[:width], end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        self.show("")


class Session:
    """One call of the command: measures, and prints and saves each row when it is complete."""

    def __init__(self, options: argparse.Namespace, devices: List[myriarm.Device], machine: Dict[str, Any]):
        self._options = options
        self._devices = devices
        self._settings = _settings(options)
        self._progress = Progress()
        self.report = report.Report(
            machine,
            {
                "devices": [device.id for device in devices],
                "quick": options.quick,
                "instructions": list(self._settings.sizes),
                "modes": list(self._settings.modes),
                "repeat": self._settings.repeat,
                "time_limit": self._settings.time_limit,
                "max_lanes": self._settings.most_lanes,
            },
        )

    def _print(self, *lines: str) -> None:
        if not self._options.json:
            self._progress.clear()
            for line in lines:
                print(line, flush=True)

    def measure(self) -> None:
        self._print(report.LEGEND)
        for device in self._devices:
            self._measure_device(device)
            if TIERS in self._settings.modes:
                self._measure_tiers(device)
        if not self._options.no_peers:
            self._measure_peers()

    def _measure_device(self, device: myriarm.Device) -> None:
        bench = Bench(device, self._settings, self._progress.show)
        rows: List[Row] = []
        heading = None
        try:
            for row in bench.rows():
                needed = report.lanes_heading if row.mode == LANES else report.single_lane_heading
                if heading is not needed:
                    heading = needed
                    self._print(*heading(device))
                rows.append(row)
                self.report.rows.append(row)
                self._print(report.row_line(row))
                self.report.save(self._options.out)
        finally:
            self.report.notes += bench.notes
            starts = report.async_line(rows)
            self._print(*([""] if starts or bench.notes else []), *([starts] if starts else []), *bench.notes)

    def _measure_tiers(self, device: myriarm.Device) -> None:
        measured = tiers.measure(device, self._settings, self._progress.show)
        self.report.tiers.append(measured)
        self._print(*report.tiers_lines(device, measured))
        self.report.save(self._options.out)

    def _measure_peers(self) -> None:
        heading = report.peers_heading()
        ids = [device.id for device in self._devices]
        for peer in measure_all(ids, self._options.quick, self._settings.repeat, self._progress.show):
            self._print(*heading, report.peer_line(peer))
            heading = []
            self.report.peers.append(peer)
            self.report.save(self._options.out)

    def finish(self, state: str) -> None:
        """Saves and draws the rows that were measured."""
        self._progress.clear()
        self.report.state = state
        written = [self.report.save(self._options.out)]
        if not self._options.no_plot:
            try:
                written += plot.draw(self.report.as_json(), self._options.out)
            except plot.NoPlot as reason:
                print(f"myriarm: {reason}", file=sys.stderr)
        if self._options.json:
            print(self.report.text(), end="", flush=True)
        else:
            self._print("", "wrote " + ", ".join(str(path) for path in written))


def _run(argv: Optional[Sequence[str]]) -> int:
    options = _parser().parse_args(argv)
    devices = _find_devices(options.device)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        session = Session(options, devices, machine.describe(options.commit))
        session.report.save(options.out)
    except OSError as error:
        raise UsageError(
            f"cannot write to {options.out}: {error.strerror}; give another folder with --out"
        ) from None
    try:
        session.measure()
    except KeyboardInterrupt:
        session.finish("interrupted")
        print("myriarm: interrupted; the rows that were measured are saved", file=sys.stderr)
        return INTERRUPTED_STATUS
    session.finish("finished")
    return FAILED_STATUS if session.report.failed else 0


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Runs the benchmark with these arguments (None: those of sys.argv) and returns the exit status.

    0; 1 if a row has no figure or a wrong result; 2 for a mistake in the arguments; 130 after Ctrl-C.
    """
    try:
        return _run(argv)
    except UsageError as error:
        print(f"myriarm: {error}", file=sys.stderr)
        return USAGE_STATUS
    except KeyboardInterrupt:  # before the first row was measured
        return INTERRUPTED_STATUS
    except BrokenPipeError:  # the reader has closed the pipe; with /dev/null Python can flush when it exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED_STATUS
    except OSError as error:
        print(f"myriarm: {error.strerror or error}", file=sys.stderr)
        return FAILED_STATUS


if __name__ == "__main__":
    sys.exit(main())
