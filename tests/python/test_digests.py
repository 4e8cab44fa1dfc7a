# SPDX-License-Identifier: Apache-2.0
"""Queue.digests(): the digests of a queue's results, for inputs that come as arrays."""

import functools
import gc
import itertools
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import weakref

import myriarm
import numpy as np
import pytest
from myriarm import DIGEST, ArgumentError, FaultKind, Queue, StateError, StopReason, output_hash
from test_inputs import program_of_files
from test_queue import PREBUILT, Bar, late, two_families

NO_OUTPUT = 0xCBF29CE484222325


@pytest.fixture
def json_queue(device):
    with Queue(PREBUILT / "json", lanes=33, device=device) as queue:
        yield queue


@pytest.fixture
def loop(device):
    """A queue whose inputs need no time: each ends at its first instruction."""
    with Queue(PREBUILT / "hello", lanes=64, device=device) as queue:
        yield functools.partial(queue.digests, instructions=1)


def documents(number, seed=1):
    source = random.Random(seed)
    pieces = (b"[", b"]", b"{", b"1", b",", b'"a"', b":", b" ")
    return [b"".join(source.choices(pieces, k=source.randrange(20))) for _ in range(number)]


def pair(inputs, begin=0):
    offsets = np.cumsum([begin, *map(len, inputs)]).astype(np.uint64)
    return np.frombuffer(bytes(begin) + b"".join(inputs), np.uint8), offsets


def whole(digests):
    return np.concatenate(list(digests))


def of_result(result):
    return (
        result.number,
        result.instructions,
        result.pc,
        len(result.stdout),
        len(result.stderr),
        output_hash(result.stdout),
        output_hash(result.stderr),
        result.stop.address,
        result.stop.detail,
        int(result.stop.reason),
        int(result.stop.fault),
    )


def test_the_hash_is_fnv_1a():
    text = b"what a process wrote\n"
    state = functools.reduce(lambda state, byte: (state ^ byte) * 0x100000001B3 % 2**64, text, NO_OUTPUT)
    assert output_hash(text) == output_hash(np.frombuffer(text, np.uint8)) == state
    assert output_hash(b"") == NO_OUTPUT
    with pytest.raises(ArgumentError, match="data must be bytes or uint8, not str"):
        output_hash("text")


def test_digests_are_those_of_the_results(json_queue):
    texts = documents(500)
    results = list(json_queue.run(texts))
    arrays = list(json_queue.digests([texts]))
    assert all(array.dtype == DIGEST and len(array) and not array.flags.writeable for array in arrays)
    assert np.concatenate(arrays).tolist() == [of_result(result) for result in results]
    assert {result.exit_status for result in results} == {0, 1}
    progress = json_queue.progress
    assert (progress.done, progress.running) == (500, 0)
    assert progress.failed == sum(result.exit_status for result in results)
    assert progress.instructions == sum(result.instructions for result in results)


def test_batches_of_all_kinds(json_queue):
    texts = documents(300, seed=2)
    expected = whole(json_queue.digests([texts])).tolist()
    table = np.frombuffer(b"".join(text.ljust(60) for text in texts), np.uint8).reshape(300, 60)
    padded = whole(json_queue.digests([[text.ljust(60) for text in texts]])).tolist()
    assert padded != expected
    assert whole(json_queue.digests([table])).tolist() == padded
    assert whole(json_queue.digests([table[:10], table[10:]])).tolist() == padded
    doubled = np.repeat(table, 2, axis=0)
    assert whole(json_queue.digests([doubled[::2]])).tolist() == padded, "not contiguous"
    assert whole(json_queue.digests([pair(texts)])).tolist() == expected
    assert whole(json_queue.digests([pair(texts, begin=7)])).tolist() == expected
    mixed = [
        pair(texts[:100]),
        [],
        None,
        texts[100:150],
        np.empty((0, 5), np.uint8),
        [bytearray(text) for text in texts[150:200]],
        [np.frombuffer(text, np.uint8) for text in texts[200:]],
    ]
    assert whole(json_queue.digests(iter(mixed))).tolist() == expected
    assert list(json_queue.digests([])) == list(json_queue.digests([[]])) == []


def test_faults_and_numbers(device):
    """`fault some` fails in every eighth lane, by MYRIARM_LANE, which is the number."""
    with Queue(PREBUILT / "fault", arguments=["some"], lanes=5, device=device) as queue:
        digests = whole(queue.digests([[b""] * 20, [b""] * 5], first_number=30))
        assert digests["number"].tolist() == list(range(30, 55))
        faults = digests[digests["stop"] == StopReason.fault]
        assert faults["number"].tolist() == [31, 39, 47]
        assert (faults["fault"] != FaultKind.none).all()
        (result,) = queue.run([b""], numbers=[31])
        assert faults[0].item() == of_result(result)


def test_inputs_as_files(device):
    texts = documents(50, seed=3)
    with Queue(program_of_files(), arguments=["@@"], lanes=7, device=device) as queue:
        results = list(queue.run([{"file": text} for text in texts]))
        assert [result.stdout for result in results] == texts
        digests = whole(queue.digests([texts], as_file=True))
        assert digests.tolist() == [of_result(result) for result in results]


def test_without_order(json_queue):
    texts = documents(400, seed=4)
    expected = whole(json_queue.digests([texts]))
    found = whole(json_queue.digests([texts[:150], texts[150:]], ordered=False, held_bytes=0))
    assert np.sort(found, order="number").tolist() == expected.tolist()


def test_grouped(device):
    """Batches are put into an order together. One lane shows it, on the CPU."""
    texts, order = two_families(20)
    with Queue(PREBUILT / "json", lanes=1, device=device) as queue:
        expected = whole(queue.digests([texts]))
        found = whole(queue.digests([texts[:5], texts[5:20], None, texts[20:]], group=True))
        assert np.sort(found, order="number").tolist() == expected.tolist()
        if device == "cpu":
            assert found["number"].tolist() == order


def test_a_group_ends_at_none_however_late_the_queue_is():
    """As with Queue.run(), on the CPU, where one lane shows the order."""
    texts, order = two_families(20)
    batches, on_call = late(texts, b"1")
    with Queue(PREBUILT / "json", lanes=1, on_call=on_call) as queue:
        found = whole(queue.digests(batches, group=True))
        assert found["number"].tolist() == [0, *(1 + number for number in order)]


def test_many_inputs(loop):
    digests = whole(loop([np.zeros((60_000, 1), np.uint8), [b"text"] * 40_000]))
    assert digests["number"].tolist() == list(range(100_000))
    assert set(digests["stop"].tolist()) == {StopReason.budget}
    assert set(digests["instructions"].tolist()) == {1}


def test_digests_become_inputs(json_queue):
    """The iterator says None until it has seen the digest of what it gave."""
    seen = []

    def batches():
        for length in range(1, 6):
            yield [b"1" * length]
            while len(seen) < length:
                yield None

    for digests in json_queue.digests(batches()):
        seen.extend(digests["number"].tolist())
    assert seen == list(range(5))


def test_arrays_are_kept_as_long_as_needed(loop):
    class Array(np.ndarray):
        """Memory that is known to be there or not."""

    known = []

    def batches():
        for number in range(40):
            memory = np.full((500, 3), number, np.uint8).view(Array)
            known.append(weakref.ref(memory))
            yield memory
            del memory

    assert len(whole(loop(batches()))) == 20_000
    gc.collect()
    assert [reference() for reference in known] == [None] * 40


def test_digests_outlive_the_queue(device):
    with Queue(PREBUILT / "json", lanes=3, device=device) as queue:
        digests = next(queue.digests([[b"1", b"["]]))
        copy = digests.copy()
    del queue
    gc.collect()
    assert digests.tolist() == copy.tolist()
    with pytest.raises(ValueError, match="read-only"):
        digests["pc"] = 0


def test_an_endless_source_is_left(json_queue):
    endless = (documents(100, seed) for seed in itertools.count())
    run = json_queue.digests(endless)
    assert next(run)["number"][0] == 0
    for start in (json_queue.run, json_queue.digests):
        with pytest.raises(StateError, match="at work"):
            next(start([]))
    run.close()
    assert len(whole(json_queue.digests([documents(10)]))) == 10, "it can be used again"
    assert len(list(json_queue.run(documents(10)))) == 10


def test_what_the_iterable_raises(json_queue):
    class Mine(Exception):
        pass

    def batches():
        yield documents(100)
        raise Mine

    with pytest.raises(Mine):
        list(json_queue.digests(batches()))
    assert len(whole(json_queue.digests([documents(10)]))) == 10


def test_cancel(json_queue):
    run = json_queue.digests(documents(100, seed) for seed in itertools.count())
    next(run)
    threading.Thread(target=json_queue.cancel).start()
    assert sum(map(len, run)) < 10**7


def test_ctrl_c(json_queue):
    def batches():
        yield [b"1"]
        signal.raise_signal(signal.SIGINT)
        yield [b"2"]

    with pytest.raises(KeyboardInterrupt):
        list(json_queue.digests(batches()))
    assert len(whole(json_queue.digests([[b"1"]]))) == 1


@pytest.mark.parametrize("what", ("digests", "run"))
def test_a_fork_during_a_run(json_queue, what):
    """Children are refused, and can end; the run of the parent goes on. When the later ones are made, the
    queue's thread waits for results to be taken."""
    texts = documents(2000)
    run = json_queue.digests([texts]) if what == "digests" else json_queue.run(texts)
    first = next(run)
    for _ in range(5):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                list(run)
            except StateError as error:
                status = 7 if "made before fork()" in str(error) else 2
            finally:
                run.close()
                json_queue.close()
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    rest = list(run)
    assert sum(map(len, [first, *rest])) == 2000 if what == "digests" else len(rest) == 1999


TEXT = np.zeros(4, np.uint8)


@pytest.mark.parametrize(
    ("batch", "message"),
    (
        (b"abc", "the batch of input 2 must be a uint8 array with a row for each input, .* not bytes"),
        (5, "a list of bytes, not int"),
        (TEXT, r"two dimensions, a row for each input, not shape \(4,\)"),
        (np.zeros((2, 2, 2), np.uint8), "one or two dimensions"),
        (np.zeros((2, 2), np.int64), "must be bytes or uint8, not int64"),
        ([b"a", "b"], "the batch of input 2 has an input that is not bytes"),
        ([np.zeros(3, np.uint32)], "has an input that is not bytes"),
        ((TEXT,), "is a tuple of 1"),
        ((TEXT, [0, 4]), "the offsets of the batch of input 2 must be a uint64 array of one dimension"),
        ((TEXT, np.array([0, 4])), "must be a uint64 array"),
        ((TEXT, np.array([[0, 4]], np.uint64)), "of one dimension"),
        ((TEXT, np.empty(0, np.uint64)), "are none"),
        ((TEXT.reshape(2, 2), np.array([0, 4], np.uint64)), r"one dimension, not shape \(2, 2\)"),
        ((TEXT, np.array([0, 5], np.uint64)), "0 and 5, of 4 bytes; they must rise"),
        ((TEXT, np.array([3, 1], np.uint64)), "3 and 1, of 4 bytes; they must rise"),
    ),
)
def test_mistakes_of_batches(json_queue, batch, message):
    with pytest.raises(ArgumentError, match=message):
        list(json_queue.digests([[b"1", b"2"], batch]))
    assert len(whole(json_queue.digests([[b"1"]]))) == 1


def test_mistakes(json_queue):
    def refused(message, error=ArgumentError, **options):
        with pytest.raises(error, match=message):
            list(json_queue.digests([[b"1"] * 2], **options))

    refused("first_number is -1", first_number=-1)
    refused("at most ten digits", first_number=10**10 - 1)
    refused("held_bytes must be an integer", held_bytes="many")
    refused("instructions is -1", instructions=-1)
    with pytest.raises(TypeError, match="not iterable"):
        list(json_queue.digests(5))
    json_queue.close()
    refused("closed", error=StateError)


def test_the_bar(json_queue, monkeypatch):
    monkeypatch.setattr("myriarm.progress._bar_class", lambda: Bar)
    Bar.made.clear()
    list(json_queue.digests([documents(60)], progress=True))
    assert [(bar.total, bar.n, bar.unit, bar.ended) for bar in Bar.made] == [(None, 60, " inputs", True)]


def test_a_file_of_the_command_line_has_digests(tmp_path, device, json_queue):
    texts = [text + b"\n" for text in documents(100, seed=6)]
    (tmp_path / "lines").write_bytes(b"".join(texts))
    command = [sys.executable, "-m", "myriarm", "run", "--device", device, "--quiet", "--inputs", "lines"]
    done = subprocess.run(
        [*command, "--results", "digests.npy", str(PREBUILT / "json")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stderr == ""
    digests = np.load(tmp_path / "digests.npy")
    assert digests.dtype == DIGEST
    expected = whole(json_queue.digests([texts]))
    assert digests.tolist() == expected.tolist()
    assert pathlib.Path(tmp_path / "digests.npy").stat().st_size == 512 + 72 * 100
    assert myriarm.DIGEST is DIGEST
