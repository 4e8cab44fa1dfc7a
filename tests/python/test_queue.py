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


def two_families(half):
    """Texts of two kinds in turn, and the order of their numbers when those that resemble each other follow
    each other in each half."""
    texts = [b"%s(%d)" % ((b"print", b"fetch")[i % 2], i) for i in range(2 * half)]
    return texts, [i for first in (0, half) for odd in (1, 0) for i in range(first + odd, first + half, 2)]


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


def test_grouped(device):
    """One lane shows the order in which inputs begin. None ends what is put into order together."""
    texts, order = two_families(20)
    with Queue(PREBUILT / "sha256", lanes=1, device=device) as queue:
        expected = list(queue.run(texts))
        results = list(queue.run(iter([*texts[:20], None, *texts[20:]]), group=True, ordered=True))
        assert [result.number for result in results] == order
        assert sorted(results) == expected
        inputs = [{"stdin": text, "environment": ["A=1"]} for text in texts]
        assert sorted(queue.run(inputs, group=True)) == list(queue.run(inputs))
        assert list(queue.run(texts)) == expected, "the next run is not grouped"


def late(texts, first):
    """`texts` in two halves with None between, behind `first`, and an on_call: the queue makes the first call
    only when all have been given, so that its thread gets both halves at once."""
    all_given = threading.Event()

    def inputs():
        yield from ([first], None, texts[: len(texts) // 2], None, texts[len(texts) // 2 :])
        all_given.set()

    return inputs(), lambda lane, text: all_given.wait()


def test_a_group_ends_at_none_however_late_the_queue_is(device):
    texts, order = two_families(20)
    parts, on_call = late(texts, b"first")
    inputs = (text for part in parts for text in ([part] if part is None else part))
    with Queue(PREBUILT / "sha256", lanes=1, on_call=on_call, device=device) as queue:
        numbers = [result.number for result in queue.run(inputs, group=True)]
        assert numbers == [0, *(1 + number for number in order)]


def test_grouped_results_become_inputs(sha256):
    chain = [b"start"]

    def inputs():
        for length in range(1, 12):
            while len(chain) < length:
                yield None
            yield chain[-1]

    for result in sha256.run(inputs(), group=True):
        chain.append(result.stdout)
    assert len(chain) == 12


def test_many_large_inputs_are_grouped_with_bounded_memory(device):
    """The iterator is not asked for all of them before there are results."""
    given, large = 0, bytes(1 << 20)

    def inputs():
        nonlocal given
        while given < 500:
            given += 1
            yield large

    with Queue(PREBUILT / "hello", lanes=4, device=device) as queue:
        results = queue.run(inputs(), group=True)
        first = next(results)
        assert given < 500
        assert len({first.number, *(result.number for result in results)}) == 500


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


def test_numbers_of_the_inputs(device):
    """An input with a number of its own has the result that it has among all inputs: the number is
    MYRIARM_LANE, by which `fault some` fails in every eighth lane."""
    inputs = [{"arguments": ["some"]}] * 40
    with Queue(PREBUILT / "fault", lanes=5, device=device) as queue:
        every = list(queue.run(inputs))
        assert [result.number for result in every if result.signal] == [7, 15, 23, 31, 39]
        numbers = [3, 7, 9, 31, 32, 39]
        assert list(queue.run(inputs[:6], numbers=numbers)) == [every[number] for number in numbers]
        assert list(queue.run(inputs[:6], numbers=range(16, 99))) == every[16:22]


@pytest.mark.parametrize(
    ("numbers", "message"),
    (
        ([5, 5, 6], "the number 5; numbers must rise"),
        ([1, 0, 2], "the number 0; numbers must rise"),
        ([0, 1, 10**10], "the number 10000000000; numbers must rise, and have at most ten digits"),
        ([0, 1], "more inputs than numbers"),
        ([0, -1, 2], "the number of an input is -1"),
        ("abc", "the number of an input must be an integer, not str"),
    ),
)
def test_mistakes_of_numbers(sha256, numbers, message):
    with pytest.raises(ArgumentError, match=message):
        list(sha256.run([b"a"] * 3, numbers=numbers))


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


def test_lanes_begin_after_a_common_part(device):
    texts = messages(30, seed=4)
    entry = int.from_bytes((PREBUILT / "sha256").read_bytes()[24:32], "little")
    with LinuxFleet(PREBUILT / "sha256", stdin=texts, device=device) as fleet:
        whole = fleet.run().instructions
        expected = [(fleet.stdout(lane), int(fleet.fleet.instructions[lane])) for lane in range(30)]
    for point in ("start", entry, np.uint64(entry), hex(entry), "read"):
        with LinuxFleet(PREBUILT / "sha256", stdin=texts, fork_after=point, device=device) as fleet:
            common = int(fleet.fleet.instructions[0])
            assert (common > 0) == (point == "read")
            assert fleet.run().instructions == whole - 30 * common
            found = [(fleet.stdout(lane), int(fleet.fleet.instructions[lane])) for lane in range(30)]
            assert found == expected
        with Queue(PREBUILT / "sha256", lanes=4, fork_after=point, device=device) as queue:
            assert [(result.stdout, result.instructions) for result in queue.run(texts)] == expected


def test_a_common_part_is_traced_while_the_fleet_is_made(device):
    calls, refused = [], RuntimeError("mine")

    def refuse(lane, text):
        raise refused

    for kind in (LinuxFleet, Queue):
        options = {"fork_after": "read", "lanes": 2, "device": device}
        calls.clear()
        kind(PREBUILT / "json", on_call=lambda *call: calls.append(call), **options).close()
        assert [(lane, text[:4]) for lane, text in calls] == [(0, "brk(")] * 2
        with pytest.raises(RuntimeError) as caught:
            kind(PREBUILT / "json", on_call=refuse, **options)
        assert caught.value is refused


def test_mistakes_of_a_common_part(device):
    def refused(says, program="sha256", **options):
        with pytest.raises(ArgumentError, match=says):
            LinuxFleet(PREBUILT / program, device=device, **options)

    refused("no symbols, so that 'main' cannot be found", fork_after="main")
    refused("fork_after must be an integer", fork_after=1.5)
    refused("0x4 is no address of an instruction", fork_after=4)
    refused("before it comes to a call that reads its input", "hello", fork_after="read")
    refused("the arguments and the environment", arguments=[["a"], ["b"]], fork_after="read")
    with Queue(PREBUILT / "sha256", lanes=1, fork_after="read", device=device) as queue:
        with pytest.raises(ArgumentError, match="the arguments and the environment"):
            list(queue.run([{"arguments": ["a"]}]))


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


class Bar:
    """What a bar of tqdm is told."""

    made = []

    def __init__(self, total, unit, unit_scale):
        self.total, self.unit, self.n, self.said = total, unit, 0, []
        Bar.made.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.ended = True

    def set_postfix_str(self, text, refresh):
        self.said.append(text)

    def update(self, more):
        self.n += more


def test_progress_and_stragglers(sha256, device):
    texts = messages(100, seed=9)
    results = list(sha256.run(texts))
    progress = sha256.progress
    assert progress.inputs_per_second > 0 and progress.instructions_per_second > 0
    assert progress.seconds_left == 0.0
    counts = [result.instructions for result in results]
    assert (progress.longest_instructions, progress.longest_number) == (
        max(counts),
        counts.index(max(counts)),
    )
    assert progress.median_instructions == pytest.approx(sorted(counts)[49], rel=0.01)
    assert 0 < progress.idle_share < 1
    list(sha256.run(iter(texts)))
    assert sha256.progress.seconds_left is None, "an iterator does not say how many there are"
    with Queue(PREBUILT / "sha256", lanes=1, device=device) as one:
        list(one.run(texts[:5]))
        assert one.progress.idle_share == 0, "one lane waits for nobody"


def test_the_bar_of_a_queue(sha256, monkeypatch, capfd):
    assert len(list(sha256.run([b"a"] * 3, progress=True))) == 3
    assert capfd.readouterr().err == "", "not a terminal"
    monkeypatch.setattr("myriarm.progress._bar_class", lambda: Bar)
    Bar.made.clear()
    list(sha256.run([b"a"] * 60, progress=True))
    list(sha256.run(iter([b"a"] * 50), progress=True))
    list(sha256.run([b"a"] * 40))
    assert [(bar.total, bar.n, bar.unit, bar.ended) for bar in Bar.made] == [
        (60, 60, " inputs", True),
        (None, 50, " inputs", True),
    ]
    assert Bar.made[0].said[-1].startswith("0 running, 0 failed, ")
    with myriarm.MultiDeviceQueue(PREBUILT / "sha256", devices=["cpu"], lanes=4, threads=1) as queue:
        list(queue.run([b"a"] * 20, progress=True))
    assert (Bar.made[-1].total, Bar.made[-1].n) == (20, 20)
