# SPDX-License-Identifier: Apache-2.0
"""What the results of a queue depend on. It is kept in a small file beside the results, so that a run that
goes on with them is of the same job; `myriarm run` writes and reads such files too (docs/cli.md)."""

from __future__ import annotations

import contextlib
import json
import os
import warnings
from typing import Any, Collection, Dict, Iterable, Mapping, Optional, Sequence

import numpy as np

from . import _core
from .arguments import integer
from .errors import ArgumentError
from .inputs import arguments_of, environment_of
from .program import PROCESS_MEMORY, ProgramFile

HASHED_BYTES = 1 << 20
"""of a list of inputs"""


def job_of(file: ProgramFile, options: Mapping[str, Any]) -> Dict[str, str]:
    """What results depend on, of a program and options of Queue: texts by name, as the command line has
    them. Raises ArgumentError."""
    arguments = arguments_of(options.get("arguments", ())).shared
    environment = environment_of(options.get("environment", ())).shared
    point = options.get("fork_after", "start")
    return {
        "program": f"{len(file.data)} bytes, {_hash(file.data)}",
        "arguments": _of_texts([*file.begin, *arguments]),
        "--env": _of_texts(environment),
        "--seed": str(integer(options.get("seed", 0), "seed")),
        "--memory": str(integer(options.get("memory", PROCESS_MEMORY), "memory")),
        "--fork-after": point if isinstance(point, str) else hex(integer(point, "fork_after")),
    }


def job_of_run(inputs: Iterable[Any], instructions: Optional[int]) -> Dict[str, str]:
    """The same of the arguments of one run. Of an iterator nothing is known."""
    job = {"--max-instructions": "none" if instructions is None else str(instructions)}
    if isinstance(inputs, Collection) and hasattr(inputs, "__getitem__"):
        data = bytearray()
        for item in inputs:
            data += b"\0" + _bytes_of(item)
            if len(data) >= HASHED_BYTES:
                break
        job["inputs"] = f"{len(inputs)}, {_hash(bytes(data[:HASHED_BYTES]))} of the first MiB"
    return job


def _hash(data: bytes) -> str:
    return f"hash {_core.output_hash(np.frombuffer(data, np.uint8)):016x}"


def _of_texts(texts: Sequence[bytes]) -> str:
    return f"{len(texts)}, {_hash(b''.join(text + bytes(1) for text in texts))}"


def _bytes_of(item: Any) -> bytes:
    """Bytes that differ where the inputs do. What is no input is refused where it is used."""
    if isinstance(item, Mapping):
        return b"".join(b"\1" + repr(key).encode() + _bytes_of(item[key]) for key in sorted(item, key=repr))
    if isinstance(item, (list, tuple)):
        return b"".join(b"\2" + _bytes_of(word) for word in item)
    if isinstance(item, str):
        return item.encode("utf-8", "surrogatepass")
    with contextlib.suppress(TypeError, ValueError):
        return memoryview(item).tobytes()
    return repr(item).encode()


class JobFile:
    """The file beside a file of results. path: of the results."""

    def __init__(self, path: str) -> None:
        self._results = path
        self._path = os.path.realpath(path) + ".job"

    def check(self, job: Mapping[str, str]) -> Dict[str, str]:
        """Raises ArgumentError if the results are of another job. Returns what is kept of theirs, which may
        say more; warns if that is nothing."""
        try:
            with open(self._path, "rb") as file:
                kept = json.load(file)
        except OSError:
            warnings.warn(
                f"there is no {self._results}.job that says which job these results are of, so it is not"
                " checked",
                RuntimeWarning,
                stacklevel=4,
            )
            return {}
        except ValueError:
            kept = None
        if not isinstance(kept, dict):
            raise ArgumentError(
                f"{self._path} does not say which job the results are of; remove it if they are of this one"
            )
        others = [
            f"another {name.lstrip('-')} ({kept[name]}, and now {value})"
            for name, value in job.items()
            if kept.get(name, value) != value
        ]
        if others:
            raise ArgumentError(
                f"the results in {self._results} are of {', '.join(others)}; give the same, or begin anew"
                " without resume"
            )
        return kept

    def keep(self, job: Mapping[str, str]) -> None:
        """Keeps a job beside the results, if they are in a regular file. Warns if that is impossible."""
        if not os.path.isfile(self._results):
            return
        unfinished = f"{self._path}.new"  # at no moment is there half of it
        try:
            with open(unfinished, "w", encoding="utf-8") as file:
                file.write(json.dumps(job, ensure_ascii=False, indent=2) + "\n")
            os.replace(unfinished, self._path)
        except OSError as error:
            warnings.warn(
                f"{self._path} cannot be written ({error.strerror}), so resume will not check that the job is"
                " the same",
                RuntimeWarning,
                stacklevel=4,
            )
