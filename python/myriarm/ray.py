# SPDX-License-Identifier: Apache-2.0
"""ClusterQueue: one queue of inputs for every GPU and CPU of a Ray cluster (`pip install myriarm[ray]`).

Each GPU has an actor, and the CPUs of each node together have one. An actor that is lost, with its node or
alone, is not restarted: the others get the inputs that it had no result for."""

from __future__ import annotations

import time
from typing import Any, Collection, Dict, List, Optional, Set, Tuple

from .dispatch import Pool, SharedQueue, Worker, file_of, options_of_queue
from .errors import ArgumentError
from .job import job_of
from .slices import Answer, Failed, Program, RunOptions, Slice, SliceWorker, WorkerHost

try:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ImportError as error:
    raise ImportError(f"myriarm.ray needs Ray ({error}); install it with: pip install myriarm[ray]") from None

KINDS = ("cuda", "cpu")
NODES_SECONDS = 5.0
"""Between two looks at the nodes of the cluster."""


class _Actor(Worker):
    """A worker that is an actor of the cluster."""

    def __init__(self, name: str, place: Tuple[str, str, int], actor: Any) -> None:
        self.name, self.place = name, place
        self._actor = actor
        self.answer_ref: Any = actor.start.remote()

    def ask(self, new: Optional[Slice], run: RunOptions) -> None:
        self.answer_ref = self._actor.work.remote(new, run)

    def answer(self) -> Answer:
        try:
            answer: Answer = ray.get(self.answer_ref)
            return answer
        except ray.exceptions.RayError as error:
            lines = str(error).strip().splitlines()
            return Failed(lines[0] if lines else type(error).__name__)

    def stop(self) -> None:
        if ray.is_initialized():
            ray.kill(self._actor)


class _Actors(Pool):
    """Actors on all nodes, also on those that join the cluster while a run is at work."""

    def __init__(self, kinds: Collection[str], what: Tuple[Any, ...]) -> None:
        self._kinds = kinds
        self._worker_class, self._file, self._options = what
        self._tried: Set[Tuple[str, str, int]] = set()
        self._next_look = 0.0
        self._remote = ray.remote(WorkerHost)

    def start(self, running: Collection[Worker], retry: bool) -> List[Worker]:
        if retry:
            self._tried = {worker.place for worker in running if isinstance(worker, _Actor)}
        elif time.monotonic() < self._next_look:
            return []
        self._next_look = time.monotonic() + NODES_SECONDS
        new: List[Worker] = []
        for node in ray.nodes():
            if node["Alive"]:
                new += self._start_on(node)
        return new

    def _start_on(self, node: Dict[str, Any]) -> List[Worker]:
        cpus, gpus = (int(node["Resources"].get(kind, 0)) for kind in ("CPU", "GPU"))
        new: List[Worker] = []
        for kind, number in (("cuda", gpus), ("cpu", min(cpus, 1))):
            for i in range(number if kind in self._kinds else 0):
                place = (node["NodeID"], kind, i)
                if place not in self._tried:
                    self._tried.add(place)
                    new.append(self._start_actor(node, place, cpus))
        return new

    def _start_actor(self, node: Dict[str, Any], place: Tuple[str, str, int], cpus: int) -> Worker:
        _, kind, i = place
        # Ray shows an actor the GPU that it got, and no other.
        options = {**self._options, "device": "cuda:0" if kind == "cuda" else "cpu"}
        if kind == "cpu":
            options.setdefault("threads", cpus)
        actor = self._remote.options(
            num_cpus=cpus if kind == "cpu" else 0,
            num_gpus=1 if kind == "cuda" else 0,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
        ).remote(self._worker_class, self._file, options)
        device = f"GPU {i}" if kind == "cuda" else "the CPU"
        return _Actor(f"{device} of node {node['NodeManagerAddress']}", place, actor)

    def answers(self, asked: Collection[Worker], seconds: float) -> List[Tuple[Worker, Answer]]:
        by_ref = {worker.answer_ref: worker for worker in asked if isinstance(worker, _Actor)}
        ready, _ = ray.wait(list(by_ref), num_returns=1, timeout=seconds)
        return [(by_ref[ref], by_ref[ref].answer()) for ref in ready]


class ClusterQueue(SharedQueue):
    """A queue of inputs that the devices of a Ray cluster share. Its results are those of a Queue on one
    device, in the same order, and a node that is lost loses none; nodes that join during a run take part.

    It uses the cluster that this process is connected to; if there is none, ray.init() connects it. myriarm
    must be installed on every node, in the same version. program: as for Queue; it is read here. kinds: the
    kinds of devices to use: "cuda", an actor with num_gpus=1 for each GPU, and "cpu", an actor with all CPUs
    of a node. slice_inputs: how many inputs a device gets at a time, by default 4 for each of its lanes; at
    the end of a slice it waits for the slowest of them. options: those of Queue, for each device,
    without collect. Raises ArgumentError.

        with myriarm.ray.ClusterQueue("examples/prebuilt/sha256") as queue:
            for result in queue.run([b"one", b"two"], results="results.jsonl", resume=True):
                print(result.number, result.stdout)
    """

    def __init__(
        self,
        program: Program,
        *,
        kinds: Collection[str] = KINDS,
        slice_inputs: Optional[int] = None,
        **options: Any,
    ) -> None:
        if isinstance(kinds, str) or not kinds or set(kinds) - set(KINDS):
            raise ArgumentError(f'kinds is {kinds!r}; give some of "cuda" and "cpu", in a list')
        given = options_of_queue(options, "ClusterQueue")
        file = file_of(program, given)
        if not ray.is_initialized():
            ray.init()
        super().__init__(_Actors(kinds, (SliceWorker, file, given)), slice_inputs, job_of(file, given))
