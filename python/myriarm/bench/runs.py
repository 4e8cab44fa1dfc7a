# SPDX-License-Identifier: Apache-2.0
"""Measures the loops of guests.py in every mode and over many lanes.

A figure counts only if the result is right: after every run, measure() compares the count of instructions, x0
of every lane and the stored values with those that the loop must give. Times are the wall time of the call
alone, without making the fleet, setting registers and checking.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

import numpy as np

import myriarm
from myriarm import kvrm

from . import reference
from .guests import LOOPS, STORE_ADDRESS, Loop

BATCHES = 10  # in a run in mode continuous or self-dispatch: 10 batches of 10 M instructions for 100 M
SIZES = (1_000_000, 10_000_000, 100_000_000)
QUICK_SIZES = (1_000_000,)
WARM_UP = 1_000_000  # instructions, at most
POLL_INTERVAL = 100e-6  # seconds between two polls: much shorter than a run, and much longer than a poll
MEMORY = 4 << 20  # guest memory of a single lane, as in the earlier systems
LANE_MEMORY = 128 << 10  # guest memory of each of many lanes: it includes STORE_ADDRESS
LANE_BYTES = 5 << 10  # device memory of a lane with a store, rounded up: a page, registers, page table
LEAST_INSTRUCTIONS, MOST_INSTRUCTIONS = 1_200, 100_000_000  # of each lane in a run of many


class WrongResult(Exception):
    """A run ended with a wrong count of instructions, or wrong registers or memory."""


@dataclass
class Row:
    """One line of the table: several runs of a loop in one mode, for a number of instructions."""

    device: str
    mode: str
    loop: str  # "add" or "store"
    instructions: int  # of each lane, in each run
    lanes: int = 1
    memory_policy: str = "private"
    seconds: List[float] = field(default_factory=list)  # wall time around the call, in order
    engine_seconds: List[float] = field(default_factory=list)  # RunResult.seconds of the same runs
    start_seconds: List[float] = field(default_factory=list)  # async: time that start() took
    polls: List[int] = field(default_factory=list)  # async: number of calls of poll()
    batches: int = 0  # RunResult.batches of the last run
    create_seconds: float = 0.0  # making the fleet
    error: Optional[str] = None  # why there is no figure, or not as many as asked

    @property
    def total(self) -> int:
        return self.instructions * self.lanes

    @property
    def ips(self) -> float:
        """Instructions per second over all lanes, of the median run; 0 if none was measured."""
        return self.total / statistics.median(self.seconds) if self.seconds else 0.0

    @property
    def published(self) -> Optional[float]:
        return reference.published(self.mode, self.loop)

    def as_json(self) -> Dict[str, Any]:
        row: Dict[str, Any] = {
            "device": self.device,
            "mode": self.mode,
            "loop": self.loop,
            "lanes": self.lanes,
            "memory_policy": self.memory_policy,
            "instructions_per_lane": self.instructions,
            "instructions": self.total,
            "batches": self.batches,
            "create_seconds": self.create_seconds,
            "seconds": self.seconds,
            "engine_seconds": self.engine_seconds,
        }
        if self.seconds:
            row["seconds_min"], row["seconds_median"], row["seconds_max"] = (
                min(self.seconds),
                statistics.median(self.seconds),
                max(self.seconds),
            )
            row["ips"] = self.ips
            row["ips_min"], row["ips_max"] = self.total / max(self.seconds), self.total / min(self.seconds)
        if self.start_seconds:
            row["start_seconds"], row["polls"] = self.start_seconds, self.polls
        if self.published:
            row["published_ips"] = self.published
        if self.error:
            row["error"] = self.error
        return row


class Ran(NamedTuple):
    """What a row keeps of a run."""

    instructions: int
    seconds: float
    batches: int


class Sample(NamedTuple):
    """One timed call."""

    seconds: float
    result: Union[myriarm.RunResult, Ran]
    start_seconds: Optional[float] = None
    polls: int = 0


Run = Callable[[myriarm.Fleet, int], Sample]


def _timed(call: Callable[[], Union[myriarm.RunResult, Ran]]) -> Sample:
    begin = time.perf_counter()
    result = call()
    return Sample(time.perf_counter() - begin, result)


def _run(fleet: myriarm.Fleet, instructions: int) -> Sample:
    return _timed(lambda: fleet.run(instructions))


def _transactional(fleet: myriarm.Fleet, instructions: int) -> Sample:
    """A run and a commit(), which every call of the earlier system V2 included."""

    def call() -> myriarm.RunResult:
        result = fleet.run(instructions)
        fleet.commit()
        return result

    return _timed(call)


def _per_batch(instructions: int) -> int:
    return max(1, instructions // BATCHES)


def _continuous(fleet: myriarm.Fleet, instructions: int) -> Sample:
    batch = _per_batch(instructions)
    return _timed(lambda: fleet.run_continuous(instructions, instructions_per_batch=batch))


def _self_dispatch(fleet: myriarm.Fleet, instructions: int) -> Sample:
    batch = _per_batch(instructions)
    return _timed(lambda: fleet.run_self_dispatch(instructions, instructions_per_batch=batch))


def _mega(fleet: myriarm.Fleet, instructions: int) -> Sample:
    return _timed(lambda: fleet.run_mega(instructions))


def _polled(start: Callable[[], None], running: Callable[[], bool], wait: Callable[[], Any]) -> Sample:
    """Starts a run, polls until it has ended, and waits for it. The time is that of all three."""
    polls = 1
    begin = time.perf_counter()
    start()
    started = time.perf_counter()
    while running():
        polls += 1
        time.sleep(POLL_INTERVAL)
    result = wait()
    seconds = time.perf_counter() - begin
    assert result is not None  # wait() has no time-out here
    return Sample(seconds, result, started - begin, polls)


def _async(fleet: myriarm.Fleet, instructions: int) -> Sample:
    return _polled(lambda: fleet.start(instructions), lambda: fleet.poll().running, fleet.wait)


class Mode(NamedTuple):
    """The call that runs a lane, and the memory policy of its fleet."""

    memory_policy: str
    run: Run
    stores: bool = True  # whether the guest may store


MODES: Dict[str, Mode] = {
    "read-only": Mode("read-only", _run, stores=False),
    "transactional": Mode("transactional", _transactional),
    "standard": Mode("shared", _run),
    "run": Mode("private", _run),
    "continuous": Mode("private", _continuous),
    "mega": Mode("private", _mega),
    "async": Mode("private", _async),
    "self-dispatch": Mode("private", _self_dispatch),
}


def _ran(done: Any) -> Ran:
    """The result of a call of myriarm.kvrm, whose classes have different names for the count."""
    names = ("cycles", "total_cycles", "cycles_executed")
    count = next(getattr(done, name) for name in names if hasattr(done, name))
    return Ran(count, done.elapsed, getattr(done, "batches", 1))


def _execute(cpu: Any, instructions: int) -> Sample:
    return _timed(lambda: _ran(cpu.execute(instructions)))


def _execute_continuous(cpu: Any, instructions: int) -> Sample:
    cpu.cycles_per_batch = _per_batch(instructions)
    return _timed(lambda: _ran(cpu.execute_continuous(max_batches=BATCHES)))


def _execute_mega(cpu: Any, instructions: int) -> Sample:
    return _timed(lambda: _ran(cpu.execute_mega(instructions)))


def _execute_async(cpu: Any, instructions: int) -> Sample:
    return _polled(lambda: cpu.start(instructions), lambda: cpu.poll().is_running, lambda: _ran(cpu.wait()))


class KvrmClass(NamedTuple):
    """A class of myriarm.kvrm, and the call that runs it. load_program() writes the loop into its memory."""

    make: Callable[..., Any]
    memory_policy: str
    run: Callable[[Any, int], Sample]
    stores: bool = True


KVRM: Dict[str, KvrmClass] = {
    "kvrm-v1": KvrmClass(kvrm.MLXKernelCPU, "read-only", _execute, stores=False),
    "kvrm-v2": KvrmClass(kvrm.MLXKernelCPUv2, "transactional", _execute),
    "kvrm-standard": KvrmClass(kvrm.MetalCPU, "shared", _execute),
    "kvrm-continuous": KvrmClass(kvrm.ContinuousMetalCPU, "shared", _execute_continuous),
    "kvrm-mega": KvrmClass(kvrm.ContinuousMetalCPU, "shared", _execute_mega),
    "kvrm-async": KvrmClass(kvrm.AsyncMetalCPU, "shared", _execute_async),
}
SINGLE: Dict[str, Union[Mode, KvrmClass]] = {**MODES, **KVRM}
LANES = "lanes"  # run(), with many lanes
TIERS = "tiers"  # tiers.py
ALL_MODES = (*SINGLE, LANES, TIERS)


def measure(fleet: myriarm.Fleet, loop: Loop, run: Run, instructions: int) -> Sample:
    """Runs the loop from its start and checks the result. Raises WrongResult."""
    fleet.pc[...] = 0
    fleet.x[:, 0] = 0
    sample = run(fleet, instructions)
    _check("instructions", sample.result.instructions, instructions * fleet.lanes)
    x0 = fleet.x[:, 0]
    _check("x0", (int(x0.min()), int(x0.max())), (loop.expected_x0(instructions),) * 2)
    if loop.stores:
        stored = fleet.read(STORE_ADDRESS, 8)
        expected = loop.expected_store(instructions).to_bytes(8, "little")
        wrong = np.flatnonzero((stored != np.frombuffer(expected, np.uint8)).any(axis=1))
        if len(wrong):
            lane = int(wrong[0])
            _check(f"memory of lane {lane}", bytes(stored[lane]).hex(), expected.hex())
    return sample


def _check(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise WrongResult(f"wrong result: {what} is {found}, not {expected}")


@dataclass
class Settings:
    """What to measure, and how often."""

    sizes: Tuple[int, ...] = SIZES
    modes: Tuple[str, ...] = ALL_MODES
    repeat: int = 3
    time_limit: float = 60.0  # seconds that one row may take
    lane_seconds: float = 1.0  # approximate time of one run of many lanes
    tier_seconds: float = 6.0  # of the run whose tiers are sampled, if it were interpreted
    most_lanes: Optional[int] = None


class Bench:
    """Measures one device. rows() yields complete rows; `notes` says what was left out, and why."""

    def __init__(
        self, device: myriarm.Device, settings: Settings, progress: Callable[[str], None] = lambda text: None
    ):
        self._device = device
        self._settings = settings
        self._progress = progress
        self.notes: List[str] = []

    def rows(self) -> Iterator[Row]:
        single = [name for name in SINGLE if name in self._settings.modes]
        for loop in LOOPS:
            for name in single:
                if SINGLE[name].stores or not loop.stores:
                    yield from self._single_lane(loop, name)
        if LANES in self._settings.modes:
            for loop in LOOPS:
                yield from self._many_lanes(loop)

    def _fleet(self, loop: Loop, lanes: int, memory: int, policy: str) -> Tuple[myriarm.Fleet, float]:
        """A fleet of the loop, and the seconds that making it took."""
        program = myriarm.Program.raw(loop.code, memory=memory, name=f"loop {loop.name}")
        begin = time.perf_counter()
        fleet = myriarm.Fleet(
            program, lanes=lanes, device=self._device.id, memory=memory, memory_policy=policy
        )
        return fleet, time.perf_counter() - begin

    def _loaded(self, loop: Loop, name: str) -> Tuple[myriarm.Fleet, Run, float]:
        """One lane with the loop, the call that runs it, and the seconds that making it took."""
        if name in MODES:
            fleet, seconds = self._fleet(loop, 1, MEMORY, MODES[name].memory_policy)
            return fleet, MODES[name].run, seconds
        chosen = KVRM[name]
        begin = time.perf_counter()
        cpu = chosen.make(MEMORY, device=self._device.id)
        cpu.load_program(loop.code)
        seconds = time.perf_counter() - begin
        return cpu.machine._fleet, lambda _, instructions: chosen.run(cpu, instructions), seconds

    def _single_lane(self, loop: Loop, name: str) -> Iterator[Row]:
        mode, sizes = SINGLE[name], self._settings.sizes
        row = Row(self._device.id, name, loop.key, sizes[0], memory_policy=mode.memory_policy)
        try:
            fleet, run, row.create_seconds = self._loaded(loop, name)
        except myriarm.Error as error:
            row.error = str(error)
            yield row
            return
        with fleet:
            ips = 0.0
            for instructions in sizes:
                row = Row(
                    self._device.id,
                    name,
                    loop.key,
                    instructions,
                    memory_policy=mode.memory_policy,
                    create_seconds=row.create_seconds,
                )
                if ips and instructions / ips > self._settings.time_limit:
                    self.notes.append(
                        f"{self._device.id}, {loop.name}, {name}: {instructions:,} instructions would take "
                        f"about {instructions / ips:.0f} s, more than the {self._settings.time_limit:g} s of "
                        "--time-limit."
                    )
                    return
                self._progress(
                    f"{self._device.id}: {loop.name}, {name}, {instructions / 1e6:g} M instructions"
                )
                self._fill(row, fleet, loop, run, min(instructions, WARM_UP))
                yield row
                if row.error:
                    return
                ips = row.ips

    def _fill(self, row: Row, fleet: myriarm.Fleet, loop: Loop, run: Run, warm_up: int) -> None:
        """Warms up, then measures Settings.repeat times; fewer after time_limit, but at least once."""
        try:
            begin = time.perf_counter()
            if warm_up:
                measure(fleet, loop, run, warm_up)
            for _ in range(self._settings.repeat):
                sample = measure(fleet, loop, run, row.instructions)
                row.seconds.append(sample.seconds)
                row.engine_seconds.append(sample.result.seconds)
                row.batches = sample.result.batches
                if sample.start_seconds is not None:
                    row.start_seconds.append(sample.start_seconds)
                    row.polls.append(sample.polls)
                if time.perf_counter() - begin + sample.seconds > self._settings.time_limit:
                    break
        except WrongResult as error:  # then no figure of the row counts
            row.seconds, row.engine_seconds, row.start_seconds, row.polls = [], [], [], []
            row.error = str(error)
        except myriarm.Error as error:
            row.error = str(error)

    def lane_counts(self) -> List[int]:
        """Powers of four, and on a GPU the number of threads that it holds at a time (2,048 a unit)."""
        most = self._settings.most_lanes or max(1, self._device.memory_bytes // 2 // LANE_BYTES)
        counts = {4**n for n in range(16) if 4**n <= most}
        if self._device.id.startswith("cuda") and self._device.units * 2048 <= most:
            counts.add(self._device.units * 2048)
        return sorted(counts)

    def _many_lanes(self, loop: Loop) -> Iterator[Row]:
        settings = self._settings
        ips_of_lane = 0.0  # of one lane, with the previous number of lanes
        for lanes in self.lane_counts():
            self._progress(f"{self._device.id}: {loop.name}, lanes: {lanes:,}")
            begin = time.perf_counter()
            row = Row(self._device.id, LANES, loop.key, LEAST_INSTRUCTIONS, lanes)
            try:
                fleet, row.create_seconds = self._fleet(loop, lanes, LANE_MEMORY, "private")
            except myriarm.Error as error:  # the device cannot hold as many
                self.notes.append(f"{self._device.id}, {loop.name}: no fleet of {lanes:,} lanes: {error}")
                return
            with fleet:
                try:
                    # The pilot run finds the speed, and warms up. On a full device, with four times the lanes
                    # each runs at a quarter of its former speed: a quarter of the instructions of the
                    # previous step takes lane_seconds there, and less on a device that is not full.
                    guess = ips_of_lane * settings.lane_seconds / 4
                    least = WARM_UP if lanes == 1 else LEAST_INSTRUCTIONS
                    pilot = measure(fleet, loop, _run, _rounded(max(guess, least)))
                except (WrongResult, myriarm.Error) as error:
                    row.error = str(error)
                    yield row
                    return
                ips = pilot.result.instructions / pilot.seconds
                row.instructions = _rounded(ips / lanes * settings.lane_seconds)
                self._fill(row, fleet, loop, _run, 0)
                yield row
                if row.error:
                    return
                ips_of_lane = row.ips / lanes
            took = time.perf_counter() - begin
            # Four times the lanes take four times as long to make and check. The time of a run grows too when
            # the lanes already retire as few as LEAST_INSTRUCTIONS.
            running = sum(row.seconds) if row.instructions > LEAST_INSTRUCTIONS else 0.0
            if running + 4 * (took - running) > settings.time_limit:
                self.notes.append(
                    f"{self._device.id}, {loop.name}: {lanes:,} lanes took {took:.0f} s; more would "
                    f"take longer than the {settings.time_limit:g} s of --time-limit."
                )
                return


def _rounded(instructions: float) -> int:
    """From LEAST_INSTRUCTIONS to MOST_INSTRUCTIONS, rounded down to two significant digits."""
    whole = int(min(MOST_INSTRUCTIONS, max(LEAST_INSTRUCTIONS, instructions)))
    unit = int(10 ** (len(str(whole)) - 2))
    return whole // unit * unit
