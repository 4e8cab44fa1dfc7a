# SPDX-License-Identifier: Apache-2.0
"""Real programs from a queue, all inputs different, beside qemu-aarch64 on all cores of the same machine.

    python3 bench/real_programs.py --prepare FOLDER
    python3 FOLDER/real_programs.py --run FOLDER --myriarm build/bin/myriarm [OPTION...] [PROGRAM...]

--prepare puts all that --run needs into a FOLDER of some 8 MB: the guests and a static qemu-aarch64, made by
tools/build_debian_guests.sh, and these scripts. So it can be carried to a machine that has only python3.

sha256sum  busybox sha256sum of 4 to 32 KiB          some 0.9 million instructions an input
gzip       busybox gzip -c of 4 to 16 KiB of text     1.5
lua        lua with three of eight pieces of script   3.7
sqlite     the shell of sqlite3: tables of 40 to 100 and 120 to 300 rows, an index, joins, groups   4

With --root, a folder of Debian's arm64 packages as tools/debian-root makes it, these are there too; both are
dynamic:

debian-sqlite  sqlite3, with the inputs of sqlite
debian-python  python3 -S -, with three of eight pieces of script

Each is a queue of digests for each of --engines, ended after --seconds, or those behind its name, as in
`interpreter:6`. The engines are `interpreter`, `translate` with an empty cache of translated code, and
`cached`, which is `translate` with the cache that the one before left. Before them QEMU works off some inputs
on all cores, for --qemu-seconds: in a process for each, and in one for --share inputs, whose start then
hardly counts. What is compared, and must be the same: length and hash of the output, and exit status, with
QEMU's, for the inputs that both have done; and all of a digest, with its count of instructions, pc and the
output, between the engines.

Rates are by elapsed time. `whole` is of processes that have ended, from the start of the command to its
last digest. `warm` is of all that lanes retire, also for processes that are cut, in the second half of the
time from the first instructions until fewer inputs are left than there are lanes, as --json of the command
has it. Prints a table in Markdown; --out
FILE adds a line of JSON for each row. A failure or a wrong result is a row too, and the exit status is then
1. docs/bench.md says more."""

from __future__ import annotations

import argparse
import ast
import bisect
import contextlib
import dataclasses
import functools
import gzip
import itertools
import json
import multiprocessing
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import typing

from processes import machine
from real_inputs import MAKERS, make, make_range
from side_by_side import Failure, Job, cores, last_line, run_command, run_on_all_cores

HERE = pathlib.Path(__file__).resolve().parent
CARRIED = ("real_programs.py", "real_inputs.py", "processes.py", "side_by_side.py")
GUESTS = ("busybox", "lua", "sqlite3")
ENGINES = ("interpreter", "translate", "cached")
# The shell of sqlite3 asks for a home. Lanes of python3 with different seeds would part (docs/roots.md).
ENVIRONMENT = ("HOME=/", "PYTHONHASHSEED=0")
PROGRAMS = {
    "sha256sum": ("busybox", "sha256sum"),
    "gzip": ("busybox", "gzip", "-c"),
    "lua": ("lua", "-"),
    "sqlite": ("sqlite3",),
    "debian-sqlite": ("/usr/bin/sqlite3",),
    "debian-python": ("/usr/bin/python3", "-S", "-"),
}
ROOTED = ("debian-sqlite", "debian-python")
CANCELLED, EXITED = 8, 9  # of StopReason in include/myriarm/stop.h
CHUNK = 500  # inputs that are made at a time
INPUTS_ON_THE_CPU = 20_000
# 5.5, 6.2, 0.9 and 1.2 GB
INPUTS_ON_A_GPU = {"sha256sum": 300_000, "gzip": 600_000, "lua": 1_000_000, "sqlite": 1_000_000}
INPUTS_ON_A_GPU |= dict.fromkeys(ROOTED, 10_000)
POINTS = 60  # at most so many of the progress of a queue are recorded


def prepare(folder: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as made:
        script = HERE.parent / "tools" / "build_debian_guests.sh"
        if not script.exists():
            raise Failure(f"--prepare is for a checkout of myriarm: there is no {script}")
        if status := subprocess.run([script, made]).returncode:
            raise Failure(f"{script.name} ended with {status}; {folder} was not filled")
        folder.mkdir(parents=True, exist_ok=True)
        for name in GUESTS:
            shutil.copy(pathlib.Path(made) / name, folder)
        packed = gzip.compress((pathlib.Path(made) / "qemu-aarch64").read_bytes())
    (folder / "qemu-aarch64.gz").write_bytes(packed)
    for name in CARRIED:
        shutil.copy(HERE / name, folder)
    size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    print(f"{folder}: {size / 1e6:.1f} MB")


def output_hash(output: bytes) -> int:
    """FNV-1a in 64 bits, as in a digest."""
    value = 0xCBF29CE484222325
    for byte in output:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


# What a file of digests raises that is being begun.
NO_HEAD = (struct.error, SyntaxError, ValueError)


class Digests:
    """The file of digests of a queue, which may be growing."""

    def __init__(self, path: pathlib.Path) -> None:
        with open(path, "rb") as file:
            head = file.read(10)
            (length,) = struct.unpack("<H", head[8:])
            fields = ast.literal_eval(file.read(length).decode())["descr"]
            self.begin = file.tell()
        self.path = path
        self.names = [name for name, _ in fields if name]
        letters = {"<u8": "Q", "<u4": "I", "|u1": "B", "|V2": "2x"}
        self.format = struct.Struct("<" + "".join(letters[kind] for _, kind in fields))

    def count(self) -> tuple[int, float]:
        """How many there are, and when the last one was written."""
        status = self.path.stat()
        return (status.st_size - self.begin) // self.format.size, status.st_mtime

    def read(self) -> list[dict[str, int]]:
        data = self.path.read_bytes()[self.begin :]
        whole = len(data) // self.format.size * self.format.size
        return [dict(zip(self.names, values)) for values in self.format.iter_unpack(data[:whole])]


@dataclasses.dataclass
class Arrivals:
    """When there were how many digests, by looking at the file every few milliseconds and at its end, and at
    the time at which it was written. Seconds begin with `begin`, a time of the system's clock as that is."""

    begin: float = 0
    seconds: list[float] = dataclasses.field(default_factory=list)
    counts: list[int] = dataclasses.field(default_factory=list)

    def watch(self, path: pathlib.Path, ended: threading.Event) -> None:
        digests = None
        is_last = False
        while not is_last:
            is_last = ended.wait(0.02)
            try:
                digests = digests or Digests(path)
                count, written = digests.count()
            except (OSError, *NO_HEAD):
                continue  # it is not there yet, or not its head
            if count > (self.counts[-1] if self.counts else 0):
                self.seconds.append(written - self.begin)
                self.counts.append(count)


@dataclasses.dataclass
class Rate:
    inputs: int = 0
    instructions: int = 0
    seconds: float = 0

    def text(self) -> str:
        if not self.seconds:
            return "too few"
        speed = self.instructions / self.seconds
        shown = f"{speed / 1e9:.3g} G" if speed >= 1e9 else f"{speed / 1e6:.3g} M"
        return f"{shown} IPS, {self.inputs / self.seconds:,.1f} inputs/s in {self.seconds:.1f} s"

    def a_second(self) -> float:
        return self.inputs / self.seconds if self.seconds else 0


class Benchmark:
    def __init__(self, options: argparse.Namespace, folder: pathlib.Path) -> None:
        self.options, self.folder = options, folder
        self.failures = 0
        self.qemu = options.qemu
        if not self.qemu:
            self.qemu = str(folder / "qemu-aarch64")
            packed = (options.run / "qemu-aarch64.gz").read_bytes()
            pathlib.Path(self.qemu).write_bytes(gzip.decompress(packed))
            os.chmod(self.qemu, 0o755)
        for name in GUESTS:  # which may have been carried without their modes
            shutil.copy(options.run / name, folder)
            os.chmod(folder / name, 0o755)

    def row(self, program: str, what: str, cells: typing.Sequence[str], **values: object) -> None:
        print(f"| {program} | {what} | {' | '.join(cells)} |", flush=True)
        self.record(program=program, what=what, **values)

    def record(self, **values: object) -> None:
        if self.options.out:
            with open(self.options.out, "a") as file:
                file.write(json.dumps(values) + "\n")

    def failed(self, program: str, what: str, sentence: str) -> None:
        self.failures += 1
        self.row(program, what, ["", "", "", f"FAILED: {sentence}"], failure=sentence)

    def inputs(self, program: str) -> int:
        on_cpu = self.options.device == "cpu"
        return self.options.inputs or (INPUTS_ON_THE_CPU if on_cpu else INPUTS_ON_A_GPU[program])

    def words(self, program: str) -> list[str]:
        """What myriarm runs."""
        guest, *arguments = PROGRAMS[program]
        if program in ROOTED:
            return ["--root", str(self.options.root), guest, *arguments]
        return [str(self.folder / guest), *arguments]

    def words_for_qemu(self, program: str) -> list[str]:
        command = [self.qemu, *(word for pair in ENVIRONMENT for word in ("-E", pair))]
        if program not in ROOTED:
            return [*command, *self.words(program)]
        guest, *arguments = PROGRAMS[program]
        root = str(self.options.root)
        return [*command, "-L", root, "-0", guest, root + guest, *arguments]

    def make_inputs(self, program: str, path: pathlib.Path) -> None:
        """They are made twice, for their sizes first, so that all cores can write them at their places."""
        count = self.inputs(program)
        firsts = range(0, count, CHUNK)
        part = functools.partial(make_part, program, self.options.seed, count)
        path.touch()
        with multiprocessing.get_context("fork").Pool(cores()) as pool:
            sizes = pool.map(functools.partial(size_of_part, part), firsts)
            offsets = itertools.accumulate(sizes, initial=0)
            pool.starmap(functools.partial(write_part, path, part), zip(firsts, offsets))

    def by_qemu(self, program: str, share: int) -> tuple[Rate, dict[int, tuple[int, bytes]]]:
        """The rate, and for each process that has ended: how many inputs it had, and what it wrote."""
        inputs = self.folder / "for-qemu"
        shutil.rmtree(inputs, ignore_errors=True)
        inputs.mkdir()
        options, jobs, firsts = self.options, [], []
        count = self.inputs(program)
        for first in range(0, min(options.sample * (8 if share > 1 else 1), count), share):
            numbers = range(first, min(first + share, count))
            words = self.words_for_qemu(program)
            lines = [make(program, options.seed, number) for number in numbers]
            if share > 1 and program in ("sha256sum", "gzip"):  # a file for each; scripts can be put together
                paths = [inputs / str(number) for number in numbers]
                for path, line in zip(paths, lines):
                    path.write_bytes(line)
                jobs.append(Job((*words, *paths), None, (0,)))
            else:
                path = inputs / f"{first}-"
                path.write_bytes(b"".join(lines))
                jobs.append(Job(words, path, (0,)))
            firsts.append(len(numbers))
        took, outputs = run_on_all_cores(jobs, options.qemu_seconds, self.folder)
        done = {place: (firsts[place], output) for place, output in outputs.items()}
        return Rate(sum(count for count, _ in done.values()), 0, took.elapsed), done

    def queue(
        self, program: str, engine: str, inputs: pathlib.Path, cache: pathlib.Path
    ) -> tuple[Arrivals, list[dict[str, int]], float, list[dict[str, float]], str]:
        """When digests came, the digests, the seconds that the command took, how far the queue was at which
        seconds, and a remark."""
        options = self.options
        path, said = self.folder / "digests.npy", self.folder / "queue.json"
        for old in (path, said, pathlib.Path(f"{path}.job")):
            old.unlink(missing_ok=True)
        kind = "translate" if engine == "cached" else engine
        lanes = ("--lanes", options.lanes)
        words = [options.myriarm, "run", "--device", options.device, "--engine", kind, *lanes]
        words += ["--quiet", "--ignore-unimplemented", "--unordered", "--seed", options.seed]
        words += [*(word for pair in ENVIRONMENT for word in ("--env", pair)), *options.option]
        words += ["--json", said, "--results", path, "--inputs", inputs, *self.words(program)]
        os.environ["MYRIARM_CACHE_DIR"] = str(cache)
        arrivals, ended = Arrivals(time.time()), threading.Event()
        watcher = threading.Thread(target=arrivals.watch, args=(path, ended))
        watcher.start()
        try:
            run = run_command(words, options.engines[engine])
        finally:
            ended.set()
            watcher.join()
        if not path.exists():
            raise Failure("there is no digest at the end of the time; give more --seconds")
        try:
            digests, count = Digests(path).read(), self.inputs(program)
        except NO_HEAD:
            raise Failure("the command has not begun its file of digests; give more --seconds") from None
        if not run.cut and len(digests) != count:
            raise Failure(f"{len(digests):,} of {count:,} inputs have a digest")
        remark = "ended at its limit" if run.cut else "all inputs done"
        late = run.elapsed - options.engines[engine]
        if late > 1:
            remark += f", {late:.0f} s after it"
        history = []
        if said.exists() and said.stat().st_size:
            summary = json.loads(said.read_text())
            history = summary["history"]
            remark += f"; lanes idle {summary['idle_share']:.0%}" if "idle_share" in summary else ""
        return arrivals, digests, run.elapsed, history, remark

    def program(self, name: str) -> None:
        options = self.options
        alone: dict[int, tuple[int, bytes]] = {}
        qemu_rates = {}
        for share in (1, options.share):
            what = "qemu-aarch64, a process for each" if share == 1 else f"qemu-aarch64, one for {share}"
            try:
                rate, outputs = self.by_qemu(name, share)
                self.check_together(name, share, outputs, alone)
            except (Failure, OSError) as failure:
                self.failed(name, what, str(failure))
                continue
            alone = outputs if share == 1 else alone
            qemu_rates[share] = rate
            cells = [f"{rate.inputs:,}", f"{rate.a_second():,.1f} inputs/s", "", f"{cores()} cores"]
            self.row(name, what, cells, inputs=rate.inputs, seconds=rate.seconds)
        inputs = self.folder / f"{name}.inputs"
        try:
            self.make_inputs(name, inputs)
            self.by_engines(name, inputs, alone, qemu_rates)
        finally:
            inputs.unlink(missing_ok=True)

    def by_engines(
        self,
        name: str,
        inputs: pathlib.Path,
        alone: dict[int, tuple[int, bytes]],
        qemu_rates: dict[int, Rate],
    ) -> None:
        options = self.options
        cache = self.folder / f"cache-{name}"
        cache.mkdir(mode=0o700)
        first: dict[int, dict[str, int]] = {}
        first_name, first_warm = "", Rate()
        for engine in options.engines:
            try:
                arrivals, digests, elapsed, history, remark = self.queue(name, engine, inputs, cache)
                remark += "; " + self.check(digests, first, first_name, alone)
            except (Failure, OSError, ValueError) as failure:
                self.failed(name, engine, str(failure))
                continue
            whole = rate_of(digests, arrivals.seconds[-1] if arrivals.seconds else elapsed)
            warm = warm_rate(history, self.inputs(name) - options.lanes)
            if not first:
                first, first_name, first_warm = ended_by_number(digests), engine, warm
            elif first_warm.instructions and warm.instructions:
                times = warm.instructions / warm.seconds * first_warm.seconds / first_warm.instructions
                remark += f"; warm **{times:.2f}** times {first_name}"
            for share, rate in qemu_rates.items():
                if rate.inputs and warm.inputs:
                    of = "each" if share == 1 else f"one for {share}"
                    remark += f"; {warm.a_second() / rate.a_second():.2f} times QEMU ({of})"
            self.row(
                *(name, engine, [f"{whole.inputs:,}", whole.text(), warm.text(), remark]),
                whole=dataclasses.asdict(whole),
                warm=dataclasses.asdict(warm),
                progress=progress(arrivals, digests),
                remark=remark,
            )

    def check_together(
        self,
        program: str,
        share: int,
        together: dict[int, tuple[int, bytes]],
        alone: dict[int, tuple[int, bytes]],
    ) -> None:
        """Raises Failure if a process for several inputs has not written what those for each of them have."""
        for place, (count, output) in together.items():
            numbers = range(place * share, place * share + count)
            if share == 1 or not alone.keys() >= set(numbers):
                continue
            expected = b"".join(alone[number][1] for number in numbers)
            if program == "sha256sum":  # which names the files
                output, expected = (b" ".join(text.split()[::2]) for text in (output, expected))
            if output != expected:
                raise Failure(f"inputs {numbers[0]} to {numbers[-1]} in one process give something else")

    def check(
        self,
        digests: list[dict[str, int]],
        first: dict[int, dict[str, int]],
        first_name: str,
        alone: dict[int, tuple[int, bytes]],
    ) -> str:
        """Says how many were compared. Raises Failure if one is not QEMU's, or not the first engine's."""
        ours = ended_by_number(digests)
        for number, digest in ours.items():
            if digest["stop_detail"]:
                raise Failure(f"input {number} ended with status {digest['stop_detail']}")
        both = ours.keys() & first.keys()
        for number in both:
            if ours[number] != first[number]:
                raise Failure(f"input {number}: {ours[number]}, and the first engine gives {first[number]}")
        sample = ours.keys() & alone.keys()
        for number in sample:
            output = alone[number][1]
            digest = ours[number]
            if (digest["stdout_bytes"], digest["stdout_hash"]) != (len(output), output_hash(output)):
                raise Failure(f"input {number} has another output than under {self.qemu}: {output[:80]!r}")
        if not sample:
            raise Failure("no input was done by QEMU too; give more --seconds, --qemu-seconds or --sample")
        if first and not both:
            raise Failure("no input was done by the first engine too; give more --seconds")
        return f"{len(sample):,} as QEMU's" + (f", {len(both):,} as {first_name}'s" if first else "")


def make_part(program: str, seed: int, inputs: int, first: int) -> bytes:
    return make_range(program, seed, first, min(CHUNK, inputs - first))


def size_of_part(part: typing.Callable[[int], bytes], first: int) -> int:
    return len(part(first))


def write_part(path: pathlib.Path, part: typing.Callable[[int], bytes], first: int, offset: int) -> None:
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(part(first))


def ended_by_number(digests: list[dict[str, int]]) -> dict[int, dict[str, int]]:
    """The digests of processes that came to their end. The others must have been cancelled."""
    strange = [digest for digest in digests if digest["stop"] not in (EXITED, CANCELLED)]
    if strange:
        raise Failure(f"input {strange[0]['number']} has neither exited nor been cancelled: {strange[0]}")
    return {digest["number"]: digest for digest in digests if digest["stop"] == EXITED}


def rate_of(digests: list[dict[str, int]], seconds: float) -> Rate:
    done = [digest["instructions"] for digest in digests if digest["stop"] == EXITED]
    return Rate(len(done), sum(done), seconds)


def warm_rate(history: list[dict[str, float]], most: int) -> Rate:
    """That of the second half. As long as no more than `most` inputs are done no lane is idle."""
    points = [point for point in history if point["instructions"] and point["inputs"] <= most]
    if len(points) < 3:
        return Rate()
    times = [point["seconds"] for point in points]
    middle = min(bisect.bisect_left(times, (times[0] + times[-1]) / 2), len(times) - 2)
    done = {name: points[-1][name] - points[middle][name] for name in ("inputs", "instructions", "seconds")}
    return Rate(int(done["inputs"]), int(done["instructions"]), done["seconds"])


def progress(arrivals: Arrivals, digests: list[dict[str, int]]) -> list[tuple[float, int, int]]:
    """Seconds, processes that had ended by then, and their instructions: at the end, and at points before it
    that lie apart."""
    points: list[tuple[float, int, int]] = []
    apart = (arrivals.seconds[-1] if arrivals.seconds else 0) / POINTS
    done = Rate()
    counted = 0
    for seconds, count in zip(arrivals.seconds, arrivals.counts):
        more = rate_of(digests[counted:count], 0)
        done = Rate(done.inputs + more.inputs, done.instructions + more.instructions)
        counted = count
        if not points or seconds - points[-1][0] >= apart or count == arrivals.counts[-1]:
            points.append((round(seconds, 3), done.inputs, done.instructions))
    return points


def engines_of(text: str) -> dict[str, float | None]:
    """Engines, with the seconds of those that have some."""
    chosen: dict[str, float | None] = {}
    for word in text.split(","):
        name, has_seconds, seconds = word.partition(":")
        if name not in ENGINES:
            raise argparse.ArgumentTypeError(f"there is no {name!r}; there are {', '.join(ENGINES)}")
        if name in chosen:
            raise argparse.ArgumentTypeError(f"{name} is there twice")
        if name == "cached" and "translate" not in chosen:
            raise argparse.ArgumentTypeError("cached needs translate before it, which fills the cache")
        chosen[name] = positive(seconds) if has_seconds else None
    return chosen


def positive(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < (value := float(text)) < float("inf"):
            return value
    raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")


def positive_whole(text: str) -> int:
    with contextlib.suppress(ValueError):
        if (value := int(text)) > 0:
            return value
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")


def version(command: str) -> str:
    """The first line that `command --version` prints. Raises Failure if it does not run."""
    try:
        done = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(f"{command} does not run: {error}") from None
    if done.returncode or not done.stdout.strip():
        raise Failure(f"{command} --version ended with {done.returncode}: {last_line(done.stderr)}")
    return done.stdout.strip().splitlines()[0]


def parse(arguments: typing.Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", metavar="PROGRAM", nargs="*", help=", ".join(PROGRAMS))
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--prepare", type=pathlib.Path, metavar="FOLDER")
    what.add_argument("--run", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--myriarm", help="path of the command")
    parser.add_argument("--qemu", default="", help="default: that of the folder")
    parser.add_argument("--root", type=pathlib.Path, metavar="FOLDER", help="for programs of Debian")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    parser.add_argument(
        "--engines",
        type=engines_of,
        metavar="NAME[:SECONDS],...",
        help="default: interpreter,translate; on a GPU cached too, and the interpreter for half of --seconds",
    )
    parser.add_argument("--lanes", type=positive_whole, help="default: 64 on the CPU, 16,384 on a GPU")
    parser.add_argument(
        "--inputs",
        type=positive_whole,
        help=f"in a queue; default: {INPUTS_ON_THE_CPU:,} on the CPU, 300,000 to 1,000,000 on a GPU",
    )
    parser.add_argument("--seconds", type=positive, default=12.0, help="after which a queue is ended")
    parser.add_argument("--qemu-seconds", type=positive, default=2.0)
    parser.add_argument("--sample", type=positive_whole, default=2000, help="most inputs for QEMU alone")
    parser.add_argument("--share", type=positive_whole, default=64, help="inputs of one QEMU")
    parser.add_argument("--option", action="append", default=[], help="a further word for myriarm run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scratch", help="folder for files of up to 7 GB (default: that of the system)")
    parser.add_argument("--out", type=pathlib.Path, help="file that gets a line of JSON for each row")
    options = parser.parse_args(arguments)
    usual = [name for name in PROGRAMS if name not in ROOTED]
    options.programs = list(dict.fromkeys(options.programs or usual))
    if strange := set(options.programs) - set(PROGRAMS):
        parser.error(f"there is no program {', '.join(strange)}; there are {', '.join(PROGRAMS)}")
    if rooted := [name for name in options.programs if name in ROOTED and not options.root]:
        parser.error(f"{', '.join(rooted)} needs --root")
    if options.root:
        options.root = options.root.resolve()
    on_cpu = options.device == "cpu"
    options.lanes = options.lanes or (64 if on_cpu else 16_384)
    engines = options.engines or engines_of("interpreter,translate" if on_cpu else ",".join(ENGINES))
    if not options.engines and not on_cpu:
        # It is as fast from its beginning. What is translated is not, and a fast queue may end before it is.
        engines["interpreter"] = options.seconds / 2
    options.engines = {name: seconds or options.seconds for name, seconds in engines.items()}
    if options.run:
        if not options.myriarm:
            parser.error("--run needs --myriarm")
        needed = [*GUESTS] + ["qemu-aarch64.gz"] * (not options.qemu)
        if missing := [name for name in needed if not (options.run / name).is_file()]:
            parser.error(f"{options.run} has no {', '.join(missing)}; make it with --prepare {options.run}")
    return options


def measure(options: argparse.Namespace, folder: pathlib.Path) -> int:
    begin = time.perf_counter()
    benchmark = Benchmark(options, folder)
    own, peer = version(options.myriarm), version(benchmark.qemu)
    facts = f"{machine(options.device)}. {own}; {peer}."
    print(f"Machine: {facts}")
    print(f"`{' '.join(sys.argv)}`, {options.lanes:,} lanes\n")
    benchmark.record(machine=facts, command=sys.argv, lanes=options.lanes)
    print("| program | engine | inputs done | whole | warm | |\n|---|---|---|---|---|---|")
    for name in options.programs:
        try:
            benchmark.program(name)
        except OSError as error:  # no room for the inputs, for example
            benchmark.failed(name, "all engines", str(error))
    print(f"\n{time.perf_counter() - begin:.0f} s in all", flush=True)
    return 1 if benchmark.failures else 0


def main(arguments: typing.Sequence[str] | None = None) -> int:
    assert MAKERS.keys() == PROGRAMS.keys() == INPUTS_ON_A_GPU.keys()
    options = parse(arguments)
    try:
        if options.prepare:
            prepare(options.prepare)
            return 0
        with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
            return measure(options, pathlib.Path(folder))
    except (Failure, OSError) as failure:
        print(f"real_programs.py: {failure}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
