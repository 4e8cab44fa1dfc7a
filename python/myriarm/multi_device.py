# SPDX-License-Identifier: Apache-2.0
"""MultiDeviceQueue: one queue of inputs for several devices of this host, each with a process of its own."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import weakref
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, Collection, Dict, List, Optional, Sequence, Tuple, Union

from .arguments import kind
from .dispatch import Pool, SharedQueue, Worker, file_of, options_of_queue
from .errors import ArgumentError
from .fleet import devices as devices_of_host
from .fleet import find_device
from .job import job_of
from .program import ProgramFile
from .slices import Answer, Failed, Program, RunOptions, Slice, SliceWorker

# The modules of the parent can be imported in the child too.
_CHILD = """import json, sys
sys.path[:] = json.loads(sys.argv[1])
from myriarm.worker_process import main
main(int(sys.argv[2]))"""
_STOP_SECONDS = 10


class _Process(Worker):
    """A worker in a process."""

    def __init__(self, name: str, place: int, what: Tuple[Any, ...]) -> None:
        self.name, self.place = name, place
        self.connection: Connection[Any, Any]
        self.connection, child = Pipe()
        with child:
            number = child.fileno()
            self.process = subprocess.Popen(
                [sys.executable, "-c", _CHILD, json.dumps(sys.path), str(number)],
                stdin=subprocess.DEVNULL,
                pass_fds=(number,),
                start_new_session=True,  # so that Ctrl-C is for this process alone
            )
        self._send(what)

    def _send(self, message: Any) -> None:
        # If the process has died, the connection is at its end, which answer() reports.
        with contextlib.suppress(OSError):
            self.connection.send(message)

    def ask(self, new: Optional[Slice], run: RunOptions) -> None:
        self._send((new, run))

    def answer(self) -> Answer:
        try:
            answer: Answer = self.connection.recv()
            return answer
        except (EOFError, OSError):
            pass
        try:
            status = self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            return Failed("its process has closed the connection")
        how = f"killed by signal {-status}" if status < 0 else f"ended with status {status}"
        return Failed(f"its process was {how}" if status < 0 else f"its process {how}")

    def stop(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.wait()


class _Processes(Pool):
    """A process for each of some devices."""

    def __init__(self, devices: Sequence[str], what: List[Tuple[Any, ...]]) -> None:
        self._devices, self._what = devices, what
        self.running: Dict[int, _Process] = {}

    def start(self, running: Collection[Worker], retry: bool) -> List[Worker]:
        if not retry:
            return []
        self.running = {worker.place: worker for worker in running if isinstance(worker, _Process)}
        new: List[Worker] = []
        for place, device in enumerate(self._devices):
            if place not in self.running:
                self.running[place] = _Process(device, place, self._what[place])
                new.append(self.running[place])
        return new

    def answers(self, asked: Collection[Worker], seconds: float) -> List[Tuple[Worker, Answer]]:
        by_connection = {worker.connection: worker for worker in asked if isinstance(worker, _Process)}
        ready = wait(list(by_connection), seconds)
        return [(worker, worker.answer()) for c, worker in by_connection.items() if c in ready]

    def end(self) -> None:
        for worker in self.running.values():
            worker.stop()


class MultiDeviceQueue(SharedQueue):
    """A queue of inputs that several devices of this host share. Its results are those of a Queue on one
    device, in the same order, and a device that fails loses none.

    program: as for Queue. devices: "all", or a list of "cpu", "cuda:0", ...; each gets a process of its own.
    slice_inputs: how many inputs a device gets at a time, by default 4 for each of its lanes; at the end of a
    slice it waits for the slowest of them. options: those of Queue, for each device, without collect. Raises
    ArgumentError, and DeviceError if a device of the list cannot be used.

        with myriarm.MultiDeviceQueue("examples/prebuilt/sha256", devices=["cuda:0", "cpu"]) as queue:
            for result in queue.run([b"one", b"two"]):
                print(result.number, result.stdout)
    """

    _worker_class = SliceWorker

    def __init__(
        self,
        program: Program,
        *,
        devices: Union[str, Sequence[str]] = "all",
        slice_inputs: Optional[int] = None,
        **options: Any,
    ) -> None:
        given = options_of_queue(options, "MultiDeviceQueue")
        file: ProgramFile = file_of(program, given)
        names = _names_of(devices)
        what = [(self._worker_class, file, {**given, "device": name}) for name in names]
        pool = _Processes(names, what)
        super().__init__(pool, slice_inputs, job_of(file, given))
        weakref.finalize(self, pool.end)

    @property
    def processes(self) -> List[int]:
        """The ids of the processes that have the devices now."""
        return [worker.process.pid for worker in self._workers if isinstance(worker, _Process)]


def _names_of(devices: Any) -> List[str]:
    if isinstance(devices, str) and devices == "all":
        return [device.id for device in devices_of_host()]
    if isinstance(devices, str) or not isinstance(devices, Sequence) or not devices:
        what = repr(devices) if isinstance(devices, (str, Sequence)) else kind(devices)
        raise ArgumentError(f'devices is {what}; give "all", or a list of "cpu", "cuda:0", ...')
    return [find_device(device).id for device in devices]
