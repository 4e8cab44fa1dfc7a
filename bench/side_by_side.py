# SPDX-License-Identifier: Apache-2.0
"""What bench/processes.py and bench/real_programs.py measure with: commands that end at a limit, programs on
all cores at once, repeats that take turns, and a table that is saved row by row. It knows nothing of what is
measured."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import pathlib
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import typing

Words = typing.Sequence[object]
# A command that was sent SIGINT has this long to write the results that it has.
SECONDS_TO_END = 20.0


class Failure(Exception):
    """A sentence for the table: what was measured failed, or gave a wrong result."""


@dataclasses.dataclass
class Took:
    """What one run did, and the seconds that it took."""

    done: float
    elapsed: float
    processor: float  # user and system seconds, with all processes that it started
    engine: float = 0  # seconds that the command itself names
    instructions: int = 0
    cut: bool = False  # it was ended at its limit

    def __add__(self, other: Took) -> Took:
        return Took(
            self.done + other.done,
            self.elapsed + other.elapsed,
            self.processor + other.processor,
            self.engine + other.engine,
            self.instructions + other.instructions,
            self.cut or other.cut,
        )


def cores() -> int:
    return len(os.sched_getaffinity(0))


def children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclasses.dataclass
class Ended:
    """How a command ended."""

    stderr: str
    elapsed: float
    processor: float
    cut: bool

    def took(self, done: float, engine: float = 0, instructions: int = 0) -> Took:
        return Took(done, self.elapsed, self.processor, engine, instructions, self.cut)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process, or leaves it to the system if it does not end."""
    for number in (signal.SIGINT, signal.SIGKILL):
        process.send_signal(number)
        try:
            process.wait(SECONDS_TO_END)
            return
        except subprocess.TimeoutExpired:
            pass


def name_of(words: Words) -> str:
    return pathlib.Path(str(words[0])).name


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]


def run_command(
    words: Words,
    limit: float,
    statuses: typing.Container[int] = (0,),
    feed: typing.Callable[[int], None] | None = None,
) -> Ended:
    """Runs a command and drops its output. After `limit` seconds it gets SIGINT, and `cut` is set. `feed`
    writes its standard input to a file descriptor, in a thread; it need not catch BrokenPipeError."""

    def write_all(pipe: typing.IO[bytes]) -> None:
        try:
            with pipe:
                if feed:
                    feed(pipe.fileno())
        except BrokenPipeError:
            pass  # the command has ended

    before, begin, cut = children_seconds(), time.perf_counter(), False
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [str(word) for word in words],
            stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        feeder = threading.Thread(target=write_all, args=(process.stdin,)) if feed else None
        if feeder:
            feeder.start()
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            cut = True
            end(process)
        elapsed = time.perf_counter() - begin
        processor = children_seconds() - before
        if feeder:
            feeder.join()
        errors.seek(0)
        stderr = errors.read().decode(errors="replace")
    if not cut and process.returncode not in statuses:
        raise Failure(f"{name_of(words)} ended with {process.returncode}: {last_line(stderr)}")
    return Ended(stderr, elapsed, processor, cut)


def first_line(words: Words, limit: float) -> Took:
    """The time from the start of a command to the first line of its standard output. Then it is killed."""
    before, begin = children_seconds(), time.perf_counter()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [str(word) for word in words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        assert process.stdout is not None
        limiter = threading.Timer(limit, process.kill)
        limiter.start()
        line = process.stdout.readline()
        elapsed = time.perf_counter() - begin
        limiter.cancel()
        process.kill()
        process.wait()
        process.stdout.close()
        errors.seek(0)
        stderr = errors.read().decode(errors="replace")
    if not line:
        raise Failure(f"{name_of(words)} gave no line in {elapsed:.1f} s: {last_line(stderr)}")
    return Took(1, elapsed, children_seconds() - before)


# What a guest may end with. An emulator that fails has another status, or a signal.
STATUSES = (0, 1)


@dataclasses.dataclass
class Job:
    """A process of its own: a program with arguments, a file as its standard input, and the exit statuses
    that are no failure."""

    words: Words
    stdin: pathlib.Path | None = None
    statuses: typing.Container[int] = STATUSES


def run_in_turn(
    jobs: typing.Sequence[Job], limit: float, output: pathlib.Path
) -> tuple[float, float, list[int]]:
    """Runs one job after the other, with their standard output in one file. Returns when the first began,
    when the last ended, and where in the file the output of each job ends that had ended before the
    limit."""
    # To wait for this signal is to wait for the child with a limit.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    descriptor = os.open(output, flags, 0o600)
    ends: list[int] = []
    begin = last = time.perf_counter()
    for job in jobs:
        words = [str(word) for word in job.words]
        child = os.posix_spawnp(
            words[0],
            words,
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, str(job.stdin or os.devnull), os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, descriptor, 1),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
            setsigmask=[],
        )
        ended, status = os.waitpid(child, os.WNOHANG)
        while not ended:
            left = begin + limit - time.perf_counter()
            if left <= 0 or signal.sigtimedwait({signal.SIGCHLD}, left) is None:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return begin, time.perf_counter(), ends
            ended, status = os.waitpid(child, os.WNOHANG)
        if os.waitstatus_to_exitcode(status) not in job.statuses:
            raise Failure(f"{name_of(words)} ended with {os.waitstatus_to_exitcode(status)}")
        ends.append(os.fstat(descriptor).st_size)
        last = time.perf_counter()
    return begin, last, ends


def run_on_all_cores(
    jobs: typing.Sequence[Job], limit: float, folder: pathlib.Path
) -> tuple[Took, dict[int, bytes]]:
    """Runs jobs on all cores, one at a time on each, until `limit`. `done` of what it took is the number of
    jobs that ended in it; the standard output of each of these is returned by the job's place in `jobs`."""
    count = min(cores(), len(jobs))
    context = multiprocessing.get_context("fork")
    results: typing.Any = context.SimpleQueue()

    def work(first: int) -> None:
        try:
            results.put((first, run_in_turn(jobs[first::count], limit, folder / f"output-{first}")))
        except (Failure, OSError) as failure:
            results.put((first, str(failure)))

    before = children_seconds()
    workers = [context.Process(target=work, args=(first,)) for first in range(count)]
    for worker in workers:
        worker.start()
    parts = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    outputs, begins, lasts = {}, [], []
    for first, part in parts:
        if isinstance(part, str):
            raise Failure(part)
        begin, last, ends = part
        begins.append(begin)
        lasts.append(last)
        contents = (folder / f"output-{first}").read_bytes()
        for place, (start, stop) in enumerate(zip([0, *ends], ends)):
            outputs[first + place * count] = contents[start:stop]
    elapsed = max(lasts) - min(begins)
    took = Took(len(outputs), elapsed, children_seconds() - before, cut=len(outputs) != len(jobs))
    return took, outputs


class Measured:
    """One thing that is measured: what a run of it took, for all repeats."""

    def __init__(self, name: str, unit: str, work: typing.Callable[[float], Took], weight: float = 1) -> None:
        """`weight`: of its share in the time of its part."""
        self.name, self.unit, self.work, self.weight = name, unit, work, weight
        self.runs: list[Took] = []
        self.failure = ""

    def measure(self, limit: float) -> None:
        try:
            self.runs.append(self.work(limit))
        except Failure as failure:
            self.failure = str(failure)
        # The rows come when all have had their turns.
        took = f"{self.runs[-1].elapsed:.2f} s" if self.runs else ""
        print(f"{self.name}: {self.failure or took}", file=sys.stderr, flush=True)

    def rate(self, clock: str) -> float:
        """What was done in a second of `elapsed`, `processor` or `engine` time, the median of the repeats;
        0 if none has ended."""
        rates = [run.done / (getattr(run, clock) or run.elapsed) for run in self.runs]
        return statistics.median(rates) if rates else 0

    def speed(self, clock: str) -> float:
        """Guest instructions a second of `engine` or `processor` time; 0 if no run said how many."""
        speeds = [run.instructions / getattr(run, clock) for run in self.runs if run.engine]
        return statistics.median(speeds) if speeds else 0


def take_turns(measured: typing.Sequence[Measured], repeats: int, deadline: float) -> None:
    """Each in turn, `repeats` times. The runs that are left share the time until the deadline by weight."""
    turns = list(measured) * repeats
    for number, one in enumerate(turns):
        left = max(0.0, deadline - time.perf_counter())
        one.measure(left * one.weight / sum(other.weight for other in turns[number:]))


def in_seconds(value: float) -> str:
    return f"{value:.3f}" if value < 1 else f"{value:.2f}"


class Table:
    """The rows: printed as Markdown and, with a folder, saved there at once, as Markdown and as a line of
    JSON."""

    def __init__(self, folder: pathlib.Path | None, clock: str) -> None:
        self.folder, self.clock = folder, clock
        self.failures = 0
        if folder:
            folder.mkdir(parents=True, exist_ok=True)

    def text(self, line: str) -> None:
        print(line, flush=True)
        self.save("processes.md", line)

    def save(self, name: str, line: str) -> None:
        if self.folder:
            with open(self.folder / name, "a") as file:
                file.write(line + "\n")

    def record(self, **values: object) -> None:
        self.save("processes.jsonl", json.dumps(values))

    def begin(self, heading: str, **facts: object) -> None:
        self.record(**facts)
        self.text(f"{heading}\n\n| | done | seconds | processor seconds | |\n|---|---|---|---|---|")

    def row(self, part: str, one: Measured, clock: str = "", note: str = "") -> float:
        """Adds a row and returns the rate by `clock`, or by that of the table. A failure has a row too."""
        rate = one.rate(clock or self.clock)
        runs = one.runs
        done = ", ".join(sorted({f"{run.done:,.0f}" for run in runs}))
        seconds = ", ".join(in_seconds(run.elapsed) for run in runs)
        processor = ", ".join(in_seconds(run.processor) for run in runs)
        # Nothing is known of the rate of a run that was ended before anything was done.
        said = [f"{rate:,.{0 if rate > 100 else 2}f} {one.unit}/s"] if rate and one.unit else []
        if any(run.engine for run in runs):
            said.append("engine " + ", ".join(in_seconds(run.engine) for run in runs) + " s")
        said += [note] * bool(note) + ["ended at its limit"] * any(run.cut for run in runs)
        said += [f"FAILED: {one.failure}"] * bool(one.failure)
        self.failures += bool(one.failure)
        self.text(f"| {one.name} | {done} | {seconds} | {processor} | {'; '.join(said)} |")
        self.record(
            part=part,
            what=one.name,
            unit=one.unit,
            rate=rate,
            clock=clock or self.clock,
            failure=one.failure or None,
            note=note or None,
            runs=[dataclasses.asdict(run) for run in runs],
        )
        return rate

    def ratio(self, part: str, what: str, value: float, other: float) -> None:
        """A row that compares two rates, if there are both."""
        if value and other:
            self.text(f"| {what}: {value / other:,.2f} | | | | |")
            self.record(part=part, what=what, ratio=value / other)
