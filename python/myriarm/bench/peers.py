# SPDX-License-Identifier: Apache-2.0
"""Measures the same loops in other engines on the same machine, if they are installed: QEMU, Unicorn,
PyTorch.

QEMU and Unicorn translate the guest's code to the machine's and run one lane. QEMU cannot stop after a number
of instructions, so it runs the loops that count down. Unicorn can, but then calls a hook for every
instruction; it runs both kinds of loops. `what` of each entry says exactly what was run.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional

from .guests import (
    COUNTDOWN_LENGTH,
    COUNTDOWN_TEXT,
    LOOPS,
    STORE_ADDRESS,
    Loop,
    code,
    countdown_elf,
    countdown_loop,
)
from .machine import output_of

SECONDS = 1.0  # approximate time of one run
QUICK_SECONDS = 0.1  # the same with --quick


@dataclass
class Peer:
    """One engine and one loop. Instructions per second are those of the loop, without start-up."""

    name: str  # "qemu", "unicorn", "unicorn-count", "pytorch-instruction", "pytorch-512"
    version: str
    loop: str
    what: str
    device: str = "cpu"
    instructions: int = 0
    seconds: List[float] = field(default_factory=list)
    error: Optional[str] = None

    @property
    def ips(self) -> float:
        return self.instructions / statistics.median(self.seconds) if self.seconds else 0.0

    def as_json(self) -> Dict[str, Any]:
        entry: Dict[str, Any] = {
            "name": self.name,
            "version": self.version,
            "loop": self.loop,
            "what": self.what,
            "device": self.device,
            "instructions": self.instructions,
            "seconds": self.seconds,
        }
        if self.seconds:
            entry["ips"] = self.ips
        if self.error:
            entry["error"] = self.error
        return entry


class PeerError(Exception):
    """An engine that is installed failed or computed a wrong result."""


def _grow(run: Callable[[int], float], first: int, seconds: float) -> int:
    """The number of iterations that take about `seconds`, found by running more and more of them."""
    iterations = first
    while True:
        took = run(iterations)
        if took >= seconds / 4 or iterations >= 1 << 40:
            return max(1, int(iterations * min(16.0, seconds / max(took, 1e-9))))
        iterations = int(iterations * min(16.0, max(2.0, seconds / 2 / max(took, 1e-9))))


def _fill(
    peer: Peer, run: Callable[[int], float], scale: int, first: int, seconds: float, repeat: int
) -> Peer:
    """Measures run(iterations), which returns seconds; an iteration is `scale` instructions."""
    try:
        iterations = _grow(run, first, seconds)
        peer.instructions = iterations * scale
        for _ in range(repeat):
            peer.seconds.append(run(iterations))
    except Exception as error:  # whatever one engine raises, the others must still be measured
        peer.seconds, peer.error = [], (str(error) or type(error).__name__).splitlines()[0]
    return peer


class _Qemu:
    """Runs a loop that counts down as a process. Its time is that of the process minus that of one that runs
    0 iterations."""

    def __init__(self, program: str, folder: str, loop: Loop):
        self._program = program
        self._path = os.path.join(folder, "countdown-" + loop.key)
        self._loop = loop

    def run(self, iterations: int) -> float:
        empty = self._process(0)  # measured each time, so that both processes meet the same load
        return max(self._process(iterations) - empty, 1e-9)

    def _process(self, iterations: int) -> float:
        with open(self._path, "wb") as file:
            file.write(countdown_elf(self._loop.key, iterations))
        os.chmod(self._path, 0o700)  # QEMU runs only files that the system may execute
        command = [self._program, self._path]
        begin = time.perf_counter()
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
        took = time.perf_counter() - begin
        if done.returncode != 0:
            status = done.returncode
            raise PeerError(f"{self._program} ended with status {status} for {iterations} iterations")
        return took


def _qemu(seconds: float, repeat: int) -> Iterator[Peer]:
    program = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    if not program:
        return
    version = (output_of([program, "--version"]) or "QEMU of unknown version").splitlines()[0]
    for loop in LOOPS:
        what = (
            f"user mode, a static ELF that counts down ({COUNTDOWN_TEXT[loop.key]}) and exits; wall time of "
            "the process minus that of the same program with 0 iterations"
        )
        peer = Peer("qemu", version, loop.key, what)
        with tempfile.TemporaryDirectory(prefix="myriarm-bench-") as folder:
            run = _Qemu(program, folder, loop).run
            yield _fill(peer, run, COUNTDOWN_LENGTH[loop.key], 1_000_000, seconds, repeat)


class _Unicorn:
    """Runs a loop by one emu_start on a fresh engine. The time does not include the making of the engine."""

    def __init__(self, unicorn: Any, registers: Any, loop: Loop):
        self._unicorn = unicorn
        self._registers = registers
        self._loop = loop

    def count_down(self, iterations: int) -> float:
        words = countdown_loop(self._loop.key)
        uc = self._engine(words)
        uc.reg_write(self._registers.UC_ARM64_REG_X19, iterations)
        return self._timed(uc, iterations, 4 * len(words))

    def counted(self, instructions: int) -> float:
        uc = self._engine(self._loop.words)
        return self._timed(uc, self._loop.expected_x0(instructions), STORE_ADDRESS, count=instructions)

    def _engine(self, words: List[int]) -> Any:
        """An engine with the code on its own page, since a store to that page would discard the
        translation."""
        uc = self._unicorn.Uc(self._unicorn.UC_ARCH_ARM64, self._unicorn.UC_MODE_ARM)
        uc.mem_map(0, 2 * STORE_ADDRESS)
        uc.mem_write(0, code(words))
        uc.reg_write(self._registers.UC_ARM64_REG_X1, STORE_ADDRESS)
        return uc

    def _timed(self, uc: Any, expected_x0: int, until: int, count: int = 0) -> float:
        begin = time.perf_counter()
        uc.emu_start(0, until, count=count)
        took = time.perf_counter() - begin
        found = uc.reg_read(self._registers.UC_ARM64_REG_X0)
        if found != expected_x0:
            raise PeerError(f"wrong result: x0 is {found}, not {expected_x0}")
        return took


def _unicorn(seconds: float, repeat: int) -> Iterator[Peer]:
    try:
        import unicorn  # type: ignore[import-not-found, unused-ignore]
        from unicorn import arm64_const as registers
    except Exception:  # it is not installed, or its shared library is missing
        return
    version = f"Unicorn {getattr(unicorn, '__version__', '')}"
    for loop in LOOPS:
        engine = _Unicorn(unicorn, registers, loop)
        what = f"one emu_start of a loop that counts down ({COUNTDOWN_TEXT[loop.key]}), without hooks"
        peer = Peer("unicorn", version, loop.key, what)
        yield _fill(peer, engine.count_down, COUNTDOWN_LENGTH[loop.key], 100_000, seconds, repeat)
        what = f"one emu_start of the endless loop ({loop.name}) with a count of instructions"
        peer = Peer("unicorn-count", version, loop.key, what)
        yield _fill(peer, engine.counted, 1, 100_000, seconds, repeat)


def _pytorch(seconds: float, repeat: int, devices: List[str]) -> Iterator[Peer]:
    """Measures on each of the devices that PyTorch can use too."""
    if importlib.util.find_spec("torch") is None:
        return
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]

        from . import pytorch_baseline
    except Exception:  # a PyTorch that cannot be imported counts as not installed
        return
    for device in devices:
        if device.startswith("cuda") and not torch.cuda.is_available():
            continue
        for name, kind in (
            ("pytorch-instruction", pytorch_baseline.PerInstruction),
            ("pytorch-512", pytorch_baseline.Batched),
        ):
            for loop in LOOPS:
                peer = Peer(name, f"PyTorch {torch.__version__}", loop.key, kind.WHAT, device)
                try:
                    peer.instructions, peer.seconds = pytorch_baseline.measure(
                        kind, loop, device, seconds, repeat
                    )
                except Exception as error:  # PyTorch raises exceptions of many types
                    peer.error = str(error).splitlines()[0] if str(error) else type(error).__name__
                yield peer


def measure_all(
    devices: List[str], quick: bool, repeat: int, progress: Callable[[str], None]
) -> Iterator[Peer]:
    """A Peer for each loop in each engine that is installed."""
    seconds = QUICK_SECONDS if quick else SECONDS
    for text, peers in (
        ("QEMU", _qemu(seconds, repeat)),
        ("Unicorn", _unicorn(seconds, repeat)),
        ("PyTorch", _pytorch(seconds, repeat, devices)),
    ):
        progress(f"other engines: {text}")
        yield from peers
