# SPDX-License-Identifier: Apache-2.0
"""Other ways to run the same loops on the same machine, where they are installed: QEMU, Unicorn, PyTorch.

QEMU and Unicorn translate the guest's code to the machine's, one lane at a time; QEMU has no budget of
instructions, so it runs a loop that counts down, and so does Unicorn, which a budget slows: with one it
counts every instruction by a hook. What exactly was run is in each entry as `what`.
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
    COUNTDOWN_TEXT,
    COUNTDOWN_TURN,
    LOOPS,
    STORE_ADDRESS,
    Loop,
    code,
    countdown_elf,
    countdown_loop,
)
from .machine import output_of

SECONDS = 1.0  # that one run is to take
QUICK_SECONDS = 0.1


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
    """It is there and does not do what it should."""


def _grow(run: Callable[[int], float], first: int, seconds: float) -> int:
    """A number of turns that takes about so long, found by running ever more of them."""
    turns = first
    while True:
        took = run(turns)
        if took >= seconds / 4 or turns >= 1 << 40:
            return max(1, int(turns * min(16.0, seconds / max(took, 1e-9))))
        turns = int(turns * min(16.0, max(2.0, seconds / 2 / max(took, 1e-9))))


def _fill(
    peer: Peer, run: Callable[[int], float], scale: int, first: int, seconds: float, repeat: int
) -> Peer:
    """Measures run(turns), which gives seconds, where a turn is `scale` instructions."""
    try:
        turns = _grow(run, first, seconds)
        peer.instructions = turns * scale
        for _ in range(repeat):
            peer.seconds.append(run(turns))
    except Exception as error:  # whatever another engine throws, the others are still to be measured
        peer.seconds, peer.error = [], (str(error) or type(error).__name__).splitlines()[0]
    return peer


class _Qemu:
    """Runs the count-down of one loop as a process; the time is less that of a program of 0 turns."""

    def __init__(self, program: str, folder: str, loop: Loop):
        self._program = program
        self._path = os.path.join(folder, "countdown-" + loop.key)
        self._loop = loop

    def run(self, turns: int) -> float:
        empty = self._process(0)  # each time, so that both see the same machine
        return max(self._process(turns) - empty, 1e-9)

    def _process(self, turns: int) -> float:
        with open(self._path, "wb") as file:
            file.write(countdown_elf(self._loop.key, turns))
        os.chmod(self._path, 0o700)  # QEMU runs nothing that the system would not
        command = [self._program, self._path]
        begin = time.perf_counter()
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
        took = time.perf_counter() - begin
        if done.returncode != 0:
            raise PeerError(f"{self._program} ended with status {done.returncode} for {turns} turns")
        return took


def _qemu(seconds: float, repeat: int) -> Iterator[Peer]:
    program = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    if not program:
        return
    version = (output_of([program, "--version"]) or "QEMU of unknown version").splitlines()[0]
    for loop in LOOPS:
        what = (
            f"user mode, a static ELF that counts down ({COUNTDOWN_TEXT[loop.key]}) and exits; wall time of "
            "the process less that of the same program with 0 turns"
        )
        peer = Peer("qemu", version, loop.key, what)
        with tempfile.TemporaryDirectory(prefix="myriarm-bench-") as folder:
            run = _Qemu(program, folder, loop).run
            yield _fill(peer, run, COUNTDOWN_TURN[loop.key], 1_000_000, seconds, repeat)


class _Unicorn:
    """Runs a loop by one emu_start on a fresh engine. Making the engine is outside of the time."""

    def __init__(self, unicorn: Any, registers: Any, loop: Loop):
        self._unicorn = unicorn
        self._registers = registers
        self._loop = loop

    def count_down(self, turns: int) -> float:
        words = countdown_loop(self._loop.key)
        uc = self._engine(words)
        uc.reg_write(self._registers.UC_ARM64_REG_X19, turns)
        return self._timed(uc, turns, 4 * len(words))

    def counted(self, instructions: int) -> float:
        uc = self._engine(self._loop.words)
        return self._timed(uc, self._loop.expected_x0(instructions), STORE_ADDRESS, count=instructions)

    def _engine(self, words: List[int]) -> Any:
        """The code is on a page of its own, so that stores do not throw its translation away."""
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
            raise PeerError(f"Unicorn left {found} in x0, not {expected_x0}")
        return took


def _unicorn(seconds: float, repeat: int) -> Iterator[Peer]:
    try:
        import unicorn  # type: ignore[import-not-found, unused-ignore]
        from unicorn import arm64_const as registers
    except Exception:  # not installed, or installed and without its library
        return
    version = f"Unicorn {getattr(unicorn, '__version__', '')}"
    for loop in LOOPS:
        engine = _Unicorn(unicorn, registers, loop)
        what = f"one emu_start of a loop that counts down ({COUNTDOWN_TEXT[loop.key]}), without hooks"
        peer = Peer("unicorn", version, loop.key, what)
        yield _fill(peer, engine.count_down, COUNTDOWN_TURN[loop.key], 100_000, seconds, repeat)
        what = f"one emu_start of the endless loop ({loop.name}) with a count of instructions"
        peer = Peer("unicorn-count", version, loop.key, what)
        yield _fill(peer, engine.counted, 1, 100_000, seconds, repeat)


def _pytorch(seconds: float, repeat: int, devices: List[str]) -> Iterator[Peer]:
    """On each of our devices that PyTorch can use as well."""
    if importlib.util.find_spec("torch") is None:
        return
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]

        from . import pytorch_baseline
    except Exception:  # a PyTorch that cannot be loaded is as good as none
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
                except Exception as error:  # of any kind that PyTorch has
                    peer.error = str(error).splitlines()[0] if str(error) else type(error).__name__
                yield peer


def measure_all(
    devices: List[str], quick: bool, repeat: int, progress: Callable[[str], None]
) -> Iterator[Peer]:
    """Each engine that is installed with each loop; an engine that is not there gives nothing."""
    seconds = QUICK_SECONDS if quick else SECONDS
    for text, peers in (
        ("QEMU", _qemu(seconds, repeat)),
        ("Unicorn", _unicorn(seconds, repeat)),
        ("PyTorch", _pytorch(seconds, repeat, devices)),
    ):
        progress(f"beside it: {text}")
        yield from peers
