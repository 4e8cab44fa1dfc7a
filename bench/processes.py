# SPDX-License-Identifier: Apache-2.0
"""Linux processes in lanes, beside qemu-aarch64 on all cores of the same machine.

    python3 bench/processes.py --myriarm build/bin/myriarm --busybox PATH [OPTION...] [PART[:SECONDS]...]

sha256sum  --files different files of 4 to 64 KiB, hashed by busybox (PATH: a static one for AArch64, whose
           file has this name): in lanes, by a qemu-aarch64 for each file, and by one for up to 1,000 files.
           Each digest must be hashlib's
parser     bench/guests/parse.c: a queue that gets records of 256 bytes for --queue-seconds, and a qemu-
           aarch64 for each of some records, for --sample-seconds. The results of these records must be the
           same
calls      bench/guests/calls.c and memory_calls.c in each number of --call-lanes, with calls close together
           and apart, and under qemu-aarch64 on each core
core       calls 1000000 in one lane and under qemu-aarch64, on the same core
ranges     memory_calls with 4,096 ranges in --range-lanes lanes, which change the same pages or each its own,
           and under a qemu-aarch64 for each lane
first      the first result of a queue of --inputs records
fork       bench/guests/parse_glibc.c: a queue of --inputs records with --fork-after, and a qemu-aarch64 for
           each of some records, for --sample-seconds
fleets     10 times 1,000 lanes of bench/guests/calls.c against 10,000 lanes

All parts are run if none is named. The runs of a part share its SECONDS (default: 600); one that takes longer
than its share is ended, and what it did until then counts. What is compared takes turns, --repeats times; a
rate is the median. Queues give their results as they are ready. Rates are by elapsed time, or with --clock
processor by processor time, which other work on the machine changes little. Without it those of calls in
lanes are by the time of the run alone. Prints a table in Markdown; --out FOLDER saves it, and a line of JSON
for each row. A failure or a wrong result is a row too, and the exit status is then 1."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import hashlib
import json
import multiprocessing
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
import typing

from side_by_side import (
    Failure,
    Job,
    Measured,
    Table,
    Took,
    Words,
    cores,
    first_line,
    run_command,
    run_on_all_cores,
    take_turns,
)

ROOT = pathlib.Path(__file__).resolve().parents[1]
RECORD = 256
PARTS = ("sha256sum", "parser", "calls", "core", "ranges", "first", "fork", "fleets")
# Each byte becomes one of these.
ALPHABET = bytes(b"abcdefghij    01234\n"[value * 20 // 256] for value in range(256))


def first_output_line(*words: object) -> str:
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60)
    except OSError as error:
        return str(error)
    return (done.stdout.strip().splitlines() or ["unknown"])[0]


def machine(device: str) -> str:
    model = next((line for line in open("/proc/cpuinfo") if line.startswith("model name")), ": unknown")
    text = f"{model.split(':')[1].strip()}, {cores()} threads"
    if device.startswith("cuda"):
        text += "; " + first_output_line(
            "nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"
        )
    return text


def make_file(path: pathlib.Path, seed: int) -> str:
    """Writes a file that depends on its name and the seed, and returns its digest."""
    generator = random.Random(f"{seed} {path.name}")
    contents = generator.randbytes(generator.randrange(4 << 10, (64 << 10) + 1))
    path.write_bytes(contents)
    return hashlib.sha256(contents).hexdigest()


class Records:
    """Records of 256 bytes of text. A block is written again and again, each time from one byte later on,
    so that it makes 256 times as many different records as it has."""

    def __init__(self, count: int, seed: int) -> None:
        self.size = count * RECORD
        self.block = random.Random(seed).randbytes(self.size).translate(ALPHABET)

    def write(self, descriptor: int, seconds: float) -> None:
        """Writes whole records until the time has passed."""
        step = min(self.size, 1 << 20)
        around = memoryview(self.block + self.block[:step])
        deadline, passes = time.perf_counter() + seconds, 0
        while True:
            for place in range(0, self.size, step):
                begin = (place + passes) % self.size
                chunk = around[begin : begin + min(step, self.size - place)]
                while chunk:
                    chunk = chunk[os.write(descriptor, chunk) :]
                if time.perf_counter() >= deadline:
                    return
            passes += 1


@dataclasses.dataclass
class QueueEnd:
    """What the command says about a queue at its end."""

    inputs: int = 0
    failed: int = 0
    instructions: int = 0
    seconds: float = 0


class Benchmark:
    def __init__(self, options: argparse.Namespace, folder: pathlib.Path, table: Table) -> None:
        self.options, self.folder, self.table = options, folder, table
        self.built: dict[str, pathlib.Path] = {}
        self.outputs: dict[int, bytes] = {}
        self.deadline = 0.0

    def guest(self, name: str) -> pathlib.Path:
        if self.options.guests:
            return pathlib.Path(self.options.guests) / name
        if name not in self.built:
            tool = "build_glibc_guest.sh" if name.endswith("_glibc") else "build_guest.sh"
            source, path = ROOT / "bench" / "guests" / f"{name}.c", self.folder / name
            done = subprocess.run(
                [ROOT / "tools" / tool, path, "-O2", source], capture_output=True, text=True
            )
            if done.returncode:
                raise Failure(f"{tool} cannot build {name}: {done.stderr.strip()}")
            self.built[name] = path
        return self.built[name]

    def myriarm(self, *words: object) -> list[object]:
        options = self.options
        engine = ["--engine", options.engine] if options.engine else []
        return [options.myriarm, "run", "--device", options.device, *engine, *words]

    def queue(
        self, limit: float, *words: object, feed: typing.Callable[[int], None] | None = None
    ) -> tuple[Took, QueueEnd]:
        """Runs a queue whose inputs may end with status 1."""
        said = self.folder / "queue.json"
        said.unlink(missing_ok=True)
        command = self.myriarm("--quiet", "--json", said, "--unordered", *words)
        ended = run_command(command, limit, (0, 1), feed)
        end = QueueEnd()
        if said.exists() and said.stat().st_size:
            summary = json.loads(said.read_text())
            end = QueueEnd(summary["inputs"], summary["failed"], summary["instructions"], summary["seconds"])
        return ended.took(end.inputs, end.seconds, end.instructions), end

    def results(self, path: pathlib.Path) -> list[typing.Any]:
        """The results of a queue that may have been cut, or never begun."""
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_bytes().splitlines(True) if line.endswith(b"\n")]

    def compare(self, part: str, measured: typing.Sequence[Measured], peers: int, wording: str) -> None:
        """Measures and prints all, the last `peers` of which are QEMU's, and the ratio of the best of the
        others to each of these."""
        take_turns(measured, self.options.repeats, self.deadline)
        rates = [self.table.row(part, one) for one in measured]
        for number in range(len(measured) - peers, len(measured)):
            self.table.ratio(
                part, f"{wording} to {measured[number].name}", max(rates[:-peers]), rates[number]
            )

    def sha256sum(self) -> None:
        options, busybox = self.options, self.options.busybox
        files = self.folder / "files"
        files.mkdir()
        paths = [files / f"{number:08}" for number in range(options.files)]
        with multiprocessing.get_context("fork").Pool(cores()) as pool:
            digests = pool.starmap(make_file, [(path, options.seed) for path in paths], chunksize=64)
        results = self.folder / "digests"

        def check(number: int, output: str) -> None:
            if output.split()[:1] != [digests[number]]:
                raise Failure(f"the digest of file {number} is not hashlib's: {output[:80]!r}")

        def in_lanes(lanes: int, limit: float) -> Took:
            words = ("--inputs", files, "--lanes", lanes, "--results", results, busybox, "sha256sum", "@@")
            results.unlink(missing_ok=True)
            took, end = self.queue(limit, *words)
            entries = self.results(results)
            for entry in entries:
                # Only an input that the limit has ended may have no digest.
                if not took.cut or entry["stop"] != "cancelled":
                    check(entry["number"], entry["stdout"])
            took.done = sum(entry["stop"] == "exited" for entry in entries)
            if not took.cut and took.done != len(paths):
                raise Failure(f"{took.done:,.0f} of {len(paths):,} files have a result")
            return took

        def by_qemu(share: int, limit: float) -> Took:
            groups = [paths[first : first + share] for first in range(0, len(paths), share)]
            jobs = [Job((options.qemu, "-0", "busybox", busybox, "sha256sum", *group)) for group in groups]
            took, outputs = run_on_all_cores(jobs, limit, self.folder)
            took.done = 0
            for number, output in outputs.items():
                lines = output.decode().splitlines()
                if len(lines) != len(groups[number]):
                    raise Failure(f"{options.qemu} gave {len(lines)} digests of {len(groups[number])} files")
                for place, line in enumerate(lines):
                    check(number * share + place, line)
                took.done += len(lines)
            return took

        share = min(1000, (len(paths) + cores() - 1) // cores())
        measured = [
            Measured(f"sha256sum, {lanes:,} lanes", "files", functools.partial(in_lanes, lanes))
            for lanes in options.lanes
        ]
        measured += [
            # Most of this is the start of processes, which takes longer than all else.
            Measured("qemu-aarch64, a process for each file", "files", functools.partial(by_qemu, 1), 4),
            Measured(
                f"qemu-aarch64, a process for {share:,} files", "files", functools.partial(by_qemu, share)
            ),
        ]
        self.compare("sha256sum", measured, 2, "sha256sum in lanes")

    def sample(self, records: Records, guest: pathlib.Path, limit: float) -> Took:
        """QEMU for each of --alone records, as far as it comes; `outputs` is then what it gave, by record."""
        folder = self.folder / "records"
        folder.mkdir(exist_ok=True)
        jobs = []
        for number in range(min(self.options.alone, records.size // RECORD)):
            path = folder / str(number)
            path.write_bytes(records.block[number * RECORD : (number + 1) * RECORD])
            jobs.append(Job((self.options.qemu, guest), path))
        seconds = min(limit, self.options.sample_seconds)
        took, self.outputs = run_on_all_cores(jobs, seconds, self.folder)
        return took

    def compare_results(self, part: str, name: str, results: pathlib.Path) -> None:
        """Adds a row that says how many results of a queue are QEMU's of the same records."""

        def compared(limit: float) -> Took:
            begin = time.perf_counter()
            ours = {entry["number"]: entry["stdout"].encode() for entry in self.results(results)}
            for number, output in self.outputs.items():
                if ours.get(number) != output:
                    raise Failure(f"record {number}: {ours.get(number)!r}, and qemu-aarch64 gives {output!r}")
            if not self.outputs:
                raise Failure("there are no results of qemu-aarch64 to compare with")
            return Took(len(self.outputs), time.perf_counter() - begin, 0)

        same = Measured(f"{name}: results that are qemu-aarch64's", "", compared)
        take_turns([same], 1, self.deadline)
        self.table.row(part, same)

    def parser(self) -> None:
        options, guest = self.options, self.guest("parse")
        records = Records(options.records, options.seed)
        record_size = ("--record-size", RECORD)

        def in_lanes(lanes: int, limit: float) -> Took:
            seconds = min(options.queue_seconds, 0.8 * limit)
            words = ("--inputs", "-", *record_size, "--lanes", lanes, "--results", os.devnull, guest)
            took, end = self.queue(limit, *words, feed=lambda pipe: records.write(pipe, seconds))
            if end.failed and not took.cut:
                raise Failure(f"{end.failed:,} of {end.inputs:,} records ended with another status than 0")
            return took

        measured = [
            Measured(
                f"parser, {lanes:,} lanes",
                "inputs",
                functools.partial(in_lanes, lanes),
                options.queue_seconds + 15,
            )
            for lanes in options.lanes
        ]
        peer = "qemu-aarch64, a process for each input"
        by_qemu = functools.partial(self.sample, records, guest)
        measured.append(Measured(peer, "inputs", by_qemu, options.sample_seconds + 5))
        self.compare("parser", measured, 1, "parser in lanes")
        few, results = self.folder / "few", self.folder / "parsed"
        few.write_bytes(records.block[: options.alone * RECORD])
        self.queue(
            max(1.0, self.deadline - time.perf_counter()),
            *("--inputs", few, *record_size, "--lanes", options.lanes[0], "--results", results, guest),
        )
        self.compare_results("parser", "parser", results)

    def in_fleet(self, guest: str, arguments: Words, calls: float, lanes: int, limit: float) -> Took:
        words = self.myriarm("--lanes", lanes, self.guest(guest), *arguments)
        return self.in_lanes(words, calls * lanes, limit)

    def in_lanes(self, words: Words, calls: float, limit: float) -> Took:
        ended = run_command(words, limit)
        said = dict(re.findall(r"^(seconds|instructions) +([\d.,]+)", ended.stderr, re.MULTILINE))
        if len(said) != 2:
            return ended.took(0)
        seconds, instructions = (said[word].replace(",", "") for word in ("seconds", "instructions"))
        return ended.took(0 if ended.cut else calls, float(seconds), int(instructions))

    def on_each_core(self, guest: str, arguments: Words, calls: float, limit: float) -> Took:
        jobs = [Job((self.options.qemu, self.guest(guest), *arguments))] * cores()
        took, _ = run_on_all_cores(jobs, limit, self.folder)
        took.done *= calls
        return took

    def calls(self) -> None:
        # Name, guest, its arguments in a lane and the calls that it then makes, the same under QEMU. The
        # guest `calls` makes a write in every tenth round.
        loops = [
            ("calls close together", "calls", (1000, 0), 1100.0, (1_000_000, 0), 1_100_000.0),
            ("calls apart", "calls", (1000, 1000), 1100.0, (100_000, 1000), 110_000.0),
            ("the same, calls left out", "calls", (1000, 1000, 0), 0.0, (100_000, 1000, 0), 0.0),
        ]
        many = (400, 100_000), 100_201.0
        fleets, apart = [], []
        for lanes in self.options.call_lanes:
            # Where lanes differ, each page that one of them maps takes a frame for all 32 of its team.
            ranges = max(4, min(400, 4_000_000 // lanes))
            differ = f"memory calls, each lane other pages of {ranges}"
            for what, guest, words, count, _, _ in [
                *loops,
                ("memory calls, lanes alike", "memory_calls", (400, 1000), 1201.0, *many),
                (differ, "memory_calls", (ranges, 100, 1), 101.0 + ranges // 2, *many),
            ]:
                run = functools.partial(self.in_fleet, guest, words, count, lanes)
                fleets.append(Measured(f"{what}, {lanes:,} lanes", "calls" if count else "", run))
            apart.append(fleets[-4:-2])
        peers = []
        for what, guest, _, _, words, count in [*loops, ("memory calls", "memory_calls", (), 0.0, *many)]:
            run = functools.partial(self.on_each_core, guest, words, count)
            peers.append(Measured(f"{what}, qemu-aarch64 on each core", "calls" if count else "", run))
        take_turns(fleets + peers, self.options.repeats, self.deadline)
        clock = "processor" if self.options.clock == "processor" else "engine"
        for one in fleets:
            self.table.row("calls", one, clock, f"{one.speed(clock) / 1e9:.3g} G IPS" if one.runs else "")
        for one in peers:
            self.table.row("calls", one)
        for with_calls, without in apart:
            self.table.ratio(
                "calls",
                f"IPS of {with_calls.name}, to those without calls",
                with_calls.speed(clock),
                without.speed(clock),
            )

    def core(self) -> None:
        guest, words, count = self.guest("calls"), (1_000_000, 0), 1_100_000.0
        one_core = ("taskset", "--cpu-list", min(os.sched_getaffinity(0)))
        ours = [*one_core, *self.myriarm("--lanes", 1, guest, *words)]
        jobs = [Job((*one_core, self.options.qemu, guest, *words))]

        def by_qemu(limit: float) -> Took:
            took, _ = run_on_all_cores(jobs, limit, self.folder)
            took.done *= count
            return took

        in_lane = functools.partial(self.in_lanes, ours, count)
        measured = [
            Measured("calls 1000000, one lane on one core", "calls", in_lane),
            Measured("calls 1000000, qemu-aarch64 on that core", "calls", by_qemu),
        ]
        self.compare("core", measured, 1, "one lane")

    def ranges(self) -> None:
        # With those of the program itself as many as a process may have: 4,096.
        guest, ranges = self.guest("memory_calls"), 4090

        def by_qemu(lanes: int, words: Words, count: float, limit: float) -> Took:
            command = (self.options.qemu, "-E")
            jobs = [Job((*command, f"MYRIARM_LANE={lane}", guest, *words)) for lane in range(lanes)]
            took, _ = run_on_all_cores(jobs, limit, self.folder)
            took.done *= count
            return took

        for lanes in self.options.range_lanes:
            rounds = min(100_000, 1_000_000 // lanes)
            # mmap, an mprotect for every second page, and one call in each round.
            count = 1.0 + ranges // 2 + rounds
            for pages, shift in [("the same pages", 0), ("each its own pages", 1)][: min(lanes, 2)]:
                words, what = (ranges, rounds, shift), f"4,096 ranges, lanes: {lanes}, {pages}"
                by_lanes = functools.partial(self.in_fleet, "memory_calls", words, count, lanes)
                by_peer = functools.partial(by_qemu, lanes, words, count)
                measured = [
                    Measured(f"memory calls, {what}", "calls", by_lanes),
                    Measured(f"memory calls, {what}: qemu-aarch64 for each", "calls", by_peer),
                ]
                self.compare("ranges", measured, 1, "lanes")

    def first(self) -> None:
        options, guest = self.options, self.guest("parse")
        inputs = self.folder / "inputs"
        inputs.write_bytes(Records(options.inputs, options.seed).block)
        measured = []
        for lanes in options.lanes:
            for order in ([], ["--unordered"]):
                words = self.myriarm("--quiet", "--inputs", inputs, "--record-size", RECORD, "--lanes", lanes)
                run = functools.partial(first_line, [*words, "--results", "-", *order, guest])
                name = f"first result of {options.inputs:,}, {lanes:,} lanes"
                measured.append(Measured(" ".join([name, *order]), "", run))
        take_turns(measured, options.repeats, self.deadline)
        for one in measured:
            self.table.row("first", one)

    def fork(self) -> None:
        options, guest = self.options, self.guest("parse_glibc")
        records = Records(options.inputs, options.seed)
        inputs = self.folder / "inputs"
        inputs.write_bytes(records.block)
        results = {point: self.folder / f"parsed-{point}" for point in ("start", "main", "read")}

        def queue(point: str, limit: float) -> Took:
            records_of = ("--inputs", inputs, "--record-size", RECORD, "--lanes", options.lanes[0])
            words = ("--fork-after", point, *records_of, "--results", results[point], guest)
            return self.queue(limit, *words)[0]

        measured = [
            Measured(
                f"parser with the C library, --fork-after {point}", "inputs", functools.partial(queue, point)
            )
            for point in results
        ]
        by_qemu = functools.partial(self.sample, records, guest)
        measured.append(Measured("qemu-aarch64, a process for each input", "inputs", by_qemu))
        self.compare("fork", measured, 1, "the best queue")
        for point, path in results.items():
            self.compare_results("fork", f"--fork-after {point}", path)

    def fleets(self) -> None:
        def fleet(lanes: int, limit: float) -> Took:
            return self.in_fleet("calls", (1000, 0), 1100.0, lanes, limit)

        def ten(limit: float) -> Took:
            return sum((fleet(1000, limit / 10) for _ in range(10)), Took(0, 0, 0))

        few = Measured("calls, 10 times 1,000 lanes", "calls", ten)
        many = Measured("calls, 10,000 lanes", "calls", functools.partial(fleet, 10_000))
        take_turns([few, many], self.options.repeats, self.deadline)
        rates = [self.table.row("fleets", one) for one in (few, many)]
        self.table.ratio("fleets", "what 10,000 lanes cost, to 10 times 1,000", *rates)

    def run_part(self, name: str, seconds: float) -> None:
        # What a part makes before its runs counts, too.
        self.deadline, self.outputs = time.perf_counter() + seconds, {}
        try:
            getattr(self, name)()
        except (Failure, OSError, ValueError) as failure:
            missing = Measured(name, "", lambda limit: Took(0, 0, 0))
            missing.failure = str(failure)
            self.table.row(name, missing)


def numbers(text: str) -> list[int]:
    values = [int(word) for word in text.split(",")]
    if min(values) < 1:
        raise ValueError
    return values


def part(text: str) -> tuple[str, float]:
    name, _, seconds = text.partition(":")
    if name not in PARTS:
        raise argparse.ArgumentTypeError(f"there is no part {name!r}; the parts are {', '.join(PARTS)}")
    return name, float(seconds or 600)


def parse(arguments: typing.Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", metavar="PART[:SECONDS]", nargs="*", type=part)
    parser.add_argument("--myriarm", required=True, help="path of the command")
    parser.add_argument("--qemu", default="qemu-aarch64")
    parser.add_argument("--busybox", default="busybox", help="path of a static busybox for AArch64")
    parser.add_argument("--guests", help="folder with the compiled guests; default: they are built")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    parser.add_argument("--engine", default="", help="default: that of the command")
    parser.add_argument("--lanes", type=numbers, help="of the queues, also several: N,N")
    parser.add_argument("--call-lanes", type=numbers, default=[10_000, 200_000], help="N,N")
    parser.add_argument("--range-lanes", type=numbers, default=[1, 100], help="N,N")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument(
        "--records", type=int, default=1 << 18, help="in the block that the queue's are made of"
    )
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--alone", type=int, default=20_000, help="most records for QEMU")
    parser.add_argument("--queue-seconds", type=float, default=60)
    parser.add_argument("--sample-seconds", type=float, default=10)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clock", choices=("elapsed", "processor"), default="elapsed")
    parser.add_argument("--scratch", help="folder for files of up to 4 GB (default: that of the system)")
    parser.add_argument("--out", type=pathlib.Path, help="folder for processes.md and processes.jsonl")
    options = parser.parse_args(arguments)
    options.parts = options.parts or [(name, 600.0) for name in PARTS]
    # On an H200, 101,376 lanes run at a time; the default of a queue on a GPU is 16,384.
    options.lanes = options.lanes or ([256] if options.device == "cpu" else [16_384, 101_376])
    return options


def main(arguments: typing.Sequence[str] | None = None) -> int:
    options = parse(arguments)
    table = Table(options.out, options.clock)
    facts = {
        "machine": machine(options.device),
        "myriarm": first_output_line(options.myriarm, "--version"),
        "qemu": first_output_line(options.qemu, "--version"),
        "command": " ".join(map(str, sys.argv if arguments is None else arguments)),
    }
    table.begin("Machine: {machine}. {myriarm}; {qemu}. `{command}`".format(**facts), **facts)
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        benchmark = Benchmark(options, pathlib.Path(folder), table)
        for name, seconds in options.parts:
            benchmark.run_part(name, seconds)
    return 1 if table.failures else 0


if __name__ == "__main__":
    sys.exit(main())
