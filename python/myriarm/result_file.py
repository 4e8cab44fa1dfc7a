# SPDX-License-Identifier: Apache-2.0
"""The file of results of a queue: a line of JSON for each input, as `myriarm run --results` writes it
(docs/cli.md). A run that was ended or killed goes on with such a file, whichever of the two began it."""

from __future__ import annotations

import base64
import json
import os
from typing import Any, Dict, Mapping, Set, Union

from .arguments import name_of_file
from .enums import StopReason
from .errors import ArgumentError, Error
from .job import JobFile
from .queue import QueueResult


def line_of(result: QueueResult) -> bytes:
    """A result as the file has it, with its newline."""
    stop = result.stop
    exited = stop.reason == StopReason.exited and not result.signal
    fault = {"kind": stop.fault.name, "address": hex(stop.address)}
    entry: Dict[str, Any] = {
        "number": result.number,
        "stop": stop.reason.name,
        "exit_status": result.exit_status if exited else None,
        "signal": result.signal or None,
        "instructions": result.instructions,
        "pc": hex(result.pc),
        "fault": fault if stop.reason == StopReason.fault else None,
    }
    for name, data in (("stdout", result.stdout), ("stderr", result.stderr)):
        entry[name] = data.decode("utf-8", "replace")
        if entry[name].encode() != data:
            entry[f"{name}_base64"] = base64.b64encode(data).decode()
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class ResultFile:
    """Takes results one by one. path: of a file; it is made anew, or with `resume` continued behind its last
    complete line, if there is such a file. job: what the results depend on, which is kept beside them. Raises
    ArgumentError if that is impossible, or if the results in the file are of another job."""

    def __init__(self, path: Union[str, os.PathLike[str]], resume: bool, job: Mapping[str, str]) -> None:
        self._path = name_of_file(path)
        self.finished: Set[int] = set()
        """the numbers of the inputs whose results are in the file"""
        try:
            size = self._read_finished() if resume and os.path.exists(self._path) else 0
            kept = JobFile(self._path).check(job) if size else {}
            self._file = open(self._path, "r+b" if size else "wb")
            self._file.truncate(size)
            self._file.seek(size)
        except OSError as error:
            raise ArgumentError(
                f"{self._path} cannot be written ({error.strerror}); give a path in a writable folder"
            ) from None
        JobFile(self._path).keep({**kept, **job})

    def _read_finished(self) -> int:
        """The bytes of the complete lines."""
        size = 0
        with open(self._path, "rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break  # it was cut off
                try:
                    number = json.loads(line)["number"]
                except (ValueError, TypeError, KeyError):
                    number = None
                if type(number) is not int:
                    raise ArgumentError(
                        f"{self._path} has a line that is no result of a queue; give the file of an earlier"
                        " run"
                    )
                self.finished.add(number)
                size += len(line)
        return size

    def write(self, result: QueueResult) -> None:
        try:
            self._file.write(line_of(result))
        except OSError as error:
            raise self._full(error) from None

    def flush(self) -> None:
        """Hands everything to the system, so that it stays if this process is killed. Raises Error."""
        try:
            self._file.flush()
        except OSError as error:
            raise self._full(error) from None

    def close(self) -> None:
        try:
            self._file.close()
        except OSError as error:
            raise self._full(error) from None

    def _full(self, error: OSError) -> Error:
        return Error(f"{self._path} could not be written ({error.strerror}); free some space there")
