# SPDX-License-Identifier: Apache-2.0
"""Describes the machine that the figures belong to: processor, GPUs, system, versions.

Nothing here may raise an exception: an unknown value is None.
"""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Optional

import myriarm

from ..fleet import DEVICE_KINDS


def output_of(command: List[str], folder: Optional[Path] = None) -> Optional[str]:
    """The stripped standard output of a command; None if it is missing, fails, or takes more than 10 s."""
    try:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError, UnicodeError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def cpu_model() -> Optional[str]:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                key, _, value = line.partition(":")
                if key.strip() in ("model name", "Model", "cpu model"):
                    return value.strip()
    except OSError:
        pass
    if platform.system() == "Darwin":
        return output_of(["sysctl", "-n", "machdep.cpu.brand_string"])
    return platform.processor() or platform.machine() or None


def usable_threads() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system has it
        return os.cpu_count() or 1


def git_commit() -> Optional[str]:
    """The commit of the git checkout that contains this package; None if there is none."""
    folder = Path(__file__).resolve().parent
    top = output_of(["git", "rev-parse", "--show-toplevel"], folder)
    if not top or not (Path(top) / "include" / "myriarm" / "fleet.h").is_file():
        return None  # not in a checkout, or in that of another project
    commit = output_of(["git", "rev-parse", "--short=12", "HEAD"], folder)
    changed = output_of(["git", "status", "--porcelain", "--untracked-files=no"], folder)
    return commit + " with local changes" if commit and changed else commit


def describe(commit: Optional[str]) -> Dict[str, Any]:
    """`machine` of the JSON. commit: what the user gave with --commit, or None."""
    driver = output_of(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"])
    reasons = {kind: myriarm.why_unusable(kind) for kind in DEVICE_KINDS}
    return {
        "cpu": cpu_model(),
        "cpu_threads": usable_threads(),
        "os": platform.platform(),
        "python": platform.python_version(),
        "myriarm": myriarm.__version__,
        "commit": commit or getattr(myriarm, "__commit__", None) or git_commit(),
        "nvidia_driver": driver.splitlines()[0] if driver else None,
        "devices": [
            {"id": d.id, "name": d.name, "memory_bytes": d.memory_bytes, "units": d.units}
            for d in myriarm.devices()
        ],
        "unusable_devices": [{"kind": kind, "reason": reason} for kind, reason in reasons.items() if reason],
    }
