#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs each example program in some thousand lanes, shows what it printed, and ends with a table.

    tools/run_examples.py build/bin/myriarm [--device auto|cpu|cuda[:N]] [--lanes N] [PROGRAM ...]

Each lane gets its own number in MYRIARM_LANE, from which the programs make their input; a lane of json gets a
document of its own. Exit status 1 if a lane of any program did not end with exit status 0.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

PREBUILT = pathlib.Path(__file__).resolve().parent.parent / "examples" / "prebuilt"
# In the order in which they run. sha256, lock and fault are for single lanes (examples/README.md).
PROGRAMS = ["hello", "mandelbrot", "life", "queens", "collatz", "pi", "proof_of_work", "json"]
LINES_SHOWN = 3  # of a program that prints one line in each lane


def documents(lanes):
    """A line for each lane, with a JSON document."""
    for lane in range(lanes):
        yield json.dumps({"lane": lane, "numbers": list(range(lane % 50)), "deep": [[lane / 3]]}) + "\n"


def run(myriarm, program, options):
    """Runs a program and returns the JSON of the run. Progress and summary go to the terminal directly."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report, tempfile.NamedTemporaryFile("w") as inputs:
        lanes = ["--lanes", str(options.lanes)]
        if program == "json":
            inputs.writelines(documents(options.lanes))
            inputs.flush()
            lanes = ["--inputs", inputs.name]
        command = [
            myriarm,
            "run",
            "--device",
            options.device,
            *lanes,
            "--json",
            report.name,
            str(PREBUILT / program),
        ]
        status = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
        text = pathlib.Path(report.name).read_text(encoding="utf-8")
    if not text:
        sys.exit(f"run_examples: {program}: \"{' '.join(command)}\" ended with status {status} and no report")
    return json.loads(text)


def show(result):
    """Prints a picture once, or the first lanes' lines, and how many different texts the lanes printed."""
    lanes = result["lane_results"]
    outputs = [lane["stdout"] for lane in lanes]
    shown = 1 if outputs[0].count("\n") > 1 else min(LINES_SHOWN, len(lanes))
    for text in outputs[:shown]:
        print(text, end="" if text.endswith("\n") else "\n")
    print(f"  ({len(lanes):,} lanes printed {len(set(outputs)):,} different texts)")


def failures(result):
    """Counts the lanes that did not exit with status 0, by how they ended."""
    kinds = collections.Counter()
    for lane in result["lane_results"]:
        if lane["stop"] != "exited" or lane["exit_status"] != 0:
            kinds[f"{lane['stop']}, exit status {lane['exit_status']}, signal {lane['signal']}"] += 1
    return kinds


def scaled(ips):
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if ips >= size:
            return f"{ips / size:.2f} {unit}"
    return f"{ips:.0f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("myriarm", help="the command line to run")
    parser.add_argument(
        "programs", nargs="*", default=PROGRAMS, help="names in examples/prebuilt (default: all)"
    )
    parser.add_argument("--device", default="auto")
    parser.add_argument("--lanes", type=int, default=8192)
    options = parser.parse_args()

    rows, wrong = [], 0
    for program in options.programs:
        print(f"\n== {program}", flush=True)
        result = run(options.myriarm, program, options)
        print()
        show(result)
        for kind, lanes in failures(result).items():
            print(f"  {lanes:,} lanes ended otherwise: {kind}")
            wrong += lanes
        rows.append((program, f"{len(result['lane_results']):,}", f"{result['instructions']:,}",
                     f"{result['seconds']:.3f}", scaled(result["ips"])))

    header = ("program", "lanes", "instructions", "seconds", "IPS")
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    print(
        f"\ndevice {result['device']}, {result['engine']}; IPS is guest instructions per second over all"
        " lanes"
    )
    for row in [header, *rows]:
        print(
            "  ".join(
                cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))
            )
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
