# SPDX-License-Identifier: Apache-2.0
"""Other ways to run the same loops, on the same machine, where they are installed: QEMU user mode, Unicorn, PyTorch.

QEMU and Unicorn translate the guest's code to the machine's, one lane at a time; QEMU has no budget of instructions, so
it runs a loop that counts down, and so does Unicorn, which a budget slows: with one it counts every instruction by a
hook. What exactly was run is in each entry as `what`.
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
from typing import Callable, Iterator, List, Optional

from .guests import (COUNTDOWN_TEXT, COUNTDOWN_TURN, LOOPS, STORE_ADDRESS, Loop, code, countdown_elf, countdown_loop)
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

    def as_json(self) -> dict:
        entry = {
            "name": self.name, "version": self.version, "loop": self.loop, "what": self.what, "device": self.device,
            "instructions": self.instructions, "seconds": self.seconds,
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


def _qemu(seconds: float, repeat: int) -> Iterator[Peer]:
    program = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    if not program:
        return
    version = (output_of([program, "--version"]) or "of unknown version").splitlines()[0]
    for loop in LOOPS:
        peer = Peer("qemu", version, loop.key, (
            f"user mode, a static ELF that counts down ({COUNTDOWN_TEXT[loop.key]}) and exits; wall time of the process "
            "less that of the same program with 0 turns"))
        with tempfile.TemporaryDirectory(prefix="myriarm-bench-") as folder:
            path = os.path.join(folder, "countdown")

            def run(turns: int, loop: Loop = loop, path: str = path) -> float:
                if os.path.exists(path):
                    os.remove(path)
                with open(path, "wb") as file:
                    file.write(countdown_elf(loop.key, turns))
                os.chmod(path, 0o700)
                begin = time.perf_counter()
                done = subprocess.run([program, path], stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
                took = time.perf_counter() - begin
                if done.returncode != 0:
                    raise PeerError(f"{program} ended with status {done.returncode} for {turns} turns")
                return took

            try:
                turns = _grow(run, 1_000_000, seconds)
                peer.instructions = turns * COUNTDOWN_TURN[loop.key]
                for _ in range(repeat):  # in turns, so that both see the same machine
                    empty = run(0)
                    peer.seconds.append(max(run(turns) - empty, 1e-9))
            except (PeerError, OSError, subprocess.SubprocessError) as error:
                peer.seconds, peer.error = [], str(error)
        yield peer


def _unicorn(seconds: float, repeat: int) -> Iterator[Peer]:
    try:
        import unicorn
        from unicorn import arm64_const as registers
    except Exception:  # not installed, or installed and without its library
        return
    version = f"Unicorn {unicorn.__version__}"

    def machine(words: List[int]):
        """Code on a page of its own, so that stores do not throw its translation away."""
        uc = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
        uc.mem_map(0, 2 * STORE_ADDRESS)
        uc.mem_write(0, code(words))
        uc.reg_write(registers.UC_ARM64_REG_X1, STORE_ADDRESS)
        return uc

    def check_x0(uc, expected: int) -> None:
        found = uc.reg_read(registers.UC_ARM64_REG_X0)
        if found != expected:
            raise PeerError(f"Unicorn left {found} in x0, not {expected}")

    for loop in LOOPS:
        words = countdown_loop(loop.key)

        def count_down(turns: int) -> float:
            uc = machine(words)
            uc.reg_write(registers.UC_ARM64_REG_X19, turns)
            begin = time.perf_counter()
            uc.emu_start(0, 4 * len(words))
            took = time.perf_counter() - begin
            check_x0(uc, turns)
            return took

        def budget(instructions: int) -> float:
            uc = machine(loop.words)
            begin = time.perf_counter()
            uc.emu_start(0, 0x1000, count=instructions)
            took = time.perf_counter() - begin
            check_x0(uc, loop.expected_x0(instructions))
            return took

        for peer, run, scale in (
            (Peer("unicorn", version, loop.key, (
                f"one emu_start of a loop that counts down ({COUNTDOWN_TEXT[loop.key]}), without hooks")),
             count_down, COUNTDOWN_TURN[loop.key]),
            (Peer("unicorn-count", version, loop.key, (
                f"one emu_start of the endless loop ({loop.name}) with a count of instructions")), budget, 1),
        ):
            try:
                turns = _grow(run, 100_000, seconds)
                peer.instructions = turns * scale
                peer.seconds.extend(run(turns) for _ in range(repeat))
            except (PeerError, unicorn.UcError) as error:
                peer.seconds, peer.error = [], str(error)
            yield peer


def _pytorch(seconds: float, repeat: int, devices: List[str]) -> Iterator[Peer]:
    """On each of our devices that PyTorch can use as well."""
    if importlib.util.find_spec("torch") is None:
        return
    try:
        import torch

        from . import pytorch_baseline
    except Exception:  # a PyTorch that cannot be loaded is as good as none
        return
    for device in devices:
        if device.startswith("cuda") and not torch.cuda.is_available():
            continue
        for name, kind in (("pytorch-instruction", pytorch_baseline.PerInstruction),
                           ("pytorch-512", pytorch_baseline.Batched)):
            for loop in LOOPS:
                peer = Peer(name, f"PyTorch {torch.__version__}", loop.key, kind.WHAT, device)
                try:
                    peer.instructions, peer.seconds = pytorch_baseline.measure(kind, loop, device, seconds, repeat)
                except Exception as error:  # of any kind that PyTorch has
                    peer.error = str(error).splitlines()[0] if str(error) else type(error).__name__
                yield peer


def measure_all(devices: List[str], quick: bool, repeat: int, progress: Callable[[str], None]) -> Iterator[Peer]:
    """Each engine that is installed with each loop; an engine that is not there gives nothing."""
    seconds = QUICK_SECONDS if quick else SECONDS
    for text, peers in (("QEMU", _qemu(seconds, repeat)), ("Unicorn", _unicorn(seconds, repeat)),
                        ("PyTorch", _pytorch(seconds, repeat, devices))):
        progress(f"beside it: {text}")
        yield from peers
