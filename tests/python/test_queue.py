# SPDX-License-Identifier: Apache-2.0
"""A queue of inputs from Python: the same results as the host computes, in order, for any number of lanes."""

import hashlib
import itertools
import os
import pathlib
import random
import signal
import threading

import myriarm
import numpy as np
import pytest
from myriarm import ArgumentError, LinuxFleet, Queue, StateError, StopReason

SOURCE = pathlib.Path(os.environ.get("MYRIARM_SOURCE", pathlib.Path(__file__).parents[2]))
PREBUILT = SOURCE / "examples" / "prebuilt"


@pytest.fixture
def sha256(device):
    with Queue(PREBUILT / "sha256", lanes=33, device=device) as queue:
        yield queue


def messages(number, seed=1):
    generator = random.Random(seed)
    return [generator.randbytes(generator.randrange(3000)) for _ in range(number)]


def digests(results):
    return [result.stdout.split()[0].decode() for result in results]


def test_results_come_in_order(sha256):
    texts = messages(300)
    results = list(sha256.run(iter(texts)))
    assert digests(results) == [hashlib.sha256(text).hexdigest() for text in texts]
    assert [result.number for result in results] == list(range(300))
    first = results[0]
    assert (first.stop.reason, first.exit_status, first.signal) == (StopReason.exited, 0, 0)
    assert first.stderr == b""
    assert first.instructions > 1000
    assert sha256.progress.done == 300 and sha256.progress.running == sha256.progress.failed == 0
    assert sha256.unimplemented == {}


def test_a_queue_agrees_with_a_fleet(device):
    texts = messages(40, seed=2)
    with LinuxFleet(PREBUILT / "sha256", stdin=texts, seed=7, device=device) as fleet:
        fleet.run()
        expected = [(fleet.stdout(lane), int(fleet.fleet.instructions[lane])) for lane in range(40)]
    for lanes in (1, 7, 64):
        with Queue(PREBUILT / "sha256", lanes=lanes, seed=7, device=device) as queue:
            assert [(result.stdout, result.instructions) for result in queue.run(texts)] == expected


def test_without_order(sha256):
    texts = messages(200, seed=3)
    results = sorted(sha256.run(texts, ordered=False))
    assert digests(results) == [hashlib.sha256(text).hexdigest() for text in texts]


def test_inputs_of_all_kinds(device):
    with Queue(PREBUILT / "queens", arguments=["0", "4"], lanes=3, device=device) as queue:
        inputs = [
            b"",
            bytearray(b"x"),
            np.zeros(3, np.uint8),
            {"arguments": ["0", "6"]},
            {"stdin": b"a", "environment": {"A": "1"}},
            {},
        ]
        results = list(queue.run(inputs))
        assert [int(result.stdout.split()[2]) for result in results] == [2, 2, 2, 4, 2, 2]


def test_results_become_inputs(sha256):
    """A chain: the next input is the output before it, and the iterator says None while there is none."""
    chain = [b"start"]

    def inputs():
        given = 0
        while len(chain) < 6:
            if given < len(chain):
                yield chain[given]
                given += 1
            else:
                yield None

    for result in sha256.run(inputs()):
        chain.append(result.stdout)
    expected = [b"start"]
    for _ in range(5):
        expected.append(hashlib.sha256(expected[-1]).hexdigest().encode() + b"  -\n")
    assert chain[:6] == expected


def test_limits_and_failures(device):
    with Queue(PREBUILT / "fault", lanes=4, device=device) as queue:
        kinds = [{"arguments": [kind]} for kind in ("null", "undefined", "readonly")]
        assert [result.signal for result in queue.run(kinds)] == [11, 4, 11]
        assert queue.progress.failed == 3
        (result,) = queue.run([b""], instructions=10)
        assert (result.stop.reason, result.instructions) == (StopReason.budget, 10)


def test_an_endless_source_is_left(sha256):
    taken = list(itertools.islice(sha256.run(b"%d" % i for i in itertools.count()), 50))
    assert [result.number for result in taken] == list(range(50))
    run = sha256.run(b"%d" % i for i in itertools.count())
    next(run)
    with pytest.raises(StateError, match="at work"):
        next(sha256.run([]))
    run.close()
    assert len(list(sha256.run([b"a"] * 40))) == 40, "it can be used again"


def test_what_the_iterator_raises(sha256):
    class Mine(Exception):
        pass

    def inputs():
        yield from [b"a"] * 100
        raise Mine

    with pytest.raises(Mine):
        list(sha256.run(inputs()))
    assert len(list(sha256.run([b"a"]))) == 1


def test_cancel(sha256):
    run = sha256.run(b"%d" % i for i in itertools.count())
    next(run)
    threading.Thread(target=sha256.cancel).start()
    results = list(run)
    assert len(results) < 10**6


def test_ctrl_c(device):
    loop = (PREBUILT / "sha256").read_bytes()
    with Queue(loop, lanes=2, device=device) as queue:

        def inputs():
            yield b"a"
            signal.raise_signal(signal.SIGINT)
            yield b"b"

        with pytest.raises(KeyboardInterrupt):
            list(queue.run(inputs()))


@pytest.mark.parametrize(
    ("item", "message"),
    (
        ("text", "input 0 must be bytes or a mapping, not str"),
        (5, "input 0 must be bytes or a mapping, not int"),
        ({"stdin": "text"}, "stdin of input 0 must be bytes"),
        ({"input": b""}, "input 0 has 'input'; use stdin"),
        ({"arguments": "a"}, "arguments must be a list of str"),
        ({"arguments": [["a"]]}, "give one list of arguments"),
        ({"arguments": ["a" * 2**24]}, "of stack"),
    ),
)
def test_mistakes(sha256, item, message):
    with pytest.raises(ArgumentError, match=message):
        list(sha256.run([item]))


def test_mistakes_of_the_queue(device):
    with pytest.raises(ArgumentError, match="one list of arguments"):
        Queue(PREBUILT / "hello", arguments=[["a"], ["b"]], device=device)
    queue = Queue(PREBUILT / "hello", device=device, lanes=1)
    run = queue.run([b"a"] * 3)
    next(run)
    queue.close()
    assert repr(queue) == "<Queue, closed>"
    with pytest.raises(StateError, match="closed"):
        next(queue.run([]))
    run.close()
    assert myriarm.Queue is Queue
