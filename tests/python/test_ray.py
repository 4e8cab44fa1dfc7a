# SPDX-License-Identifier: Apache-2.0
"""A queue over a Ray cluster of several nodes on this host, one of which is killed while it works: the same
results as from one Queue, in the same order, and a file of results that goes on."""

import importlib.metadata
import os
import pathlib
import re
import sys

import pytest
from myriarm import ArgumentError, Queue
from packaging.requirements import Requirement

try:
    import ray
    from myriarm.ray import ClusterQueue
    from ray.cluster_utils import Cluster
except ImportError:
    # `pip install myriarm[test]` installs Ray where there is one for this Python and machine.
    for wanted in map(Requirement, importlib.metadata.requires("myriarm") or []):
        if wanted.name == "ray" and wanted.marker.evaluate({"extra": "test"}):
            raise
    pytest.skip("there is no Ray for this Python and machine", allow_module_level=True)

SOURCE = pathlib.Path(os.environ.get("MYRIARM_SOURCE", pathlib.Path(__file__).parents[2]))
QUEENS = SOURCE / "examples" / "prebuilt" / "queens"
STORE = 100_000_000  # bytes of each node's object store, about the least that Ray takes

# Each takes some millions of instructions.
INPUTS = [{"arguments": ["0", "10"], "environment": {"A": str(i)}} for i in range(3000)]


@pytest.fixture(scope="module")
def cluster():
    node = {"num_cpus": 1, "num_gpus": 0, "object_store_memory": STORE, "include_dashboard": False}
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
        made = Cluster(initialize_head=True, head_node_args=node)
        try:
            made.workers = [made.add_node(**node) for _ in range(2)]
            ray.init(address=made.address, log_to_driver=False)
            yield made
        finally:
            ray.shutdown()
            made.shutdown()


def of_one_queue(inputs):
    with Queue(QUEENS, device="cpu", lanes=8, seed=3) as queue:
        return list(queue.run(inputs))


def shared(**options):
    options = {"kinds": ["cpu"], "lanes": 2, "slice_inputs": 2, "seed": 3, **options}
    return ClusterQueue(QUEENS, **options)


def when_ready(queue, nodes, inputs):
    """Inputs that are there as soon as so many nodes work."""
    while len(queue.devices) < nodes:
        yield None
    yield from inputs


def until_one_fails(queue):
    """All inputs, or 20 from the moment when a node has failed."""
    for i, item in enumerate(INPUTS):
        yield item
        if queue.failures:
            yield from INPUTS[i + 1 : i + 20]
            return


def test_the_block_of_the_page(cluster, monkeypatch, tmp_path, capfd):
    monkeypatch.setattr(ray, "init", lambda address: None)  # it is connected
    text = (SOURCE / "docs" / "many-devices.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```py\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert "results.jsonl" in block and "examples/prebuilt" in block
    block = block.replace("results.jsonl", str(tmp_path / "results.jsonl"))
    monkeypatch.chdir(SOURCE)
    for numbers in ([0, 1, 2], []):
        exec(block, {"inputs": [b"one", b"two", b"three"]})
        lines = [line.split() for line in capfd.readouterr().out.splitlines() if line.endswith("  -")]
        assert [int(number) for number, _, _ in lines] == numbers


# Ray may take a killed node for a living one for some time, so later runs may try it again.
@pytest.mark.filterwarnings("ignore:the CPU of node:RuntimeWarning")
def test_a_node_that_is_killed(cluster, tmp_path):
    path = tmp_path / "results.jsonl"
    with shared() as queue:
        results = []
        with pytest.warns(RuntimeWarning, match="the CPU of node .* takes no further part"):
            for result in queue.run(when_ready(queue, 3, until_one_fails(queue)), results=path):
                results.append(result)
                if len(results) == 5:
                    assert len(queue.devices) == 3
                    cluster.remove_node(cluster.workers[1], allow_graceful=False)
        assert 25 <= len(results) < len(INPUTS)
        expected = of_one_queue(INPUTS[: len(results)])
        assert results == expected
        assert len(queue.failures) == 1 and len(queue.devices) == 2

        inputs = INPUTS[:40]
        list(queue.run(inputs, results=path))
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        complete = whole[: len(whole) // 2].count(b"\n")
        resumed = list(queue.run(inputs, results=path, resume=True))
        assert [result.number for result in resumed] == list(range(complete, 40))
        assert path.read_bytes() == whole
        results = sorted(queue.run(inputs, ordered=False))
        assert results[:25] == expected[:25] and len(results) == 40

        with pytest.raises(ArgumentError, match="input 3 must be bytes or a mapping, not str"):
            list(queue.run([{}] * 3 + ["text"]))
        cluster.add_node(num_cpus=1, num_gpus=0, object_store_memory=STORE)
        with_new_node = list(queue.run(when_ready(queue, 3, inputs)))
        assert with_new_node == results, "a node that has joined takes part"


@pytest.mark.parametrize(
    ("options", "message"),
    (
        ({"kinds": "cpu"}, "kinds is 'cpu'; give some of"),
        ({"kinds": ["tpu"]}, "kinds is .*'tpu'"),
        ({"kinds": []}, "give some of"),
        ({"devices": ["cpu"]}, "ClusterQueue has no option 'devices'"),
    ),
)
def test_mistakes(options, message):
    with pytest.raises(ArgumentError, match=message):
        shared(**options)
