# SPDX-License-Identifier: Apache-2.0
"""A queue that several processes share, each with the CPU as its device: the same results as from one Queue,
also when a device fails or its process is killed; files of results, and going on with them."""

import json
import os
import pathlib
import pickle
import random
import signal
import subprocess
import sys

import myriarm
import numpy as np
import pytest
from failing_worker import FailingWorker, MissingDevice
from myriarm import ArgumentError, DeviceError, MultiDeviceQueue, Queue, StateError, StopReason, work_off
from myriarm.__main__ import COMMAND_LINE
from myriarm.job import job_of_run
from myriarm.slices import SliceResults
from test_queue import two_families

SOURCE = pathlib.Path(os.environ.get("MYRIARM_SOURCE", pathlib.Path(__file__).parents[2]))
PREBUILT = SOURCE / "examples" / "prebuilt"
SHA256 = PREBUILT / "sha256"


def messages(number):
    generator = random.Random(number)
    return [generator.randbytes(generator.randrange(500)) for _ in range(number)]


def shared(program=SHA256, worker_class=None, devices=("cpu", "cpu"), **options):
    options = {"lanes": 8, "slice_inputs": 7, "threads": 1, **options}
    if worker_class is None:
        return MultiDeviceQueue(program, devices=devices, **options)
    kind = type("Queue", (MultiDeviceQueue,), {"_worker_class": worker_class})
    return kind(program, devices=devices, **options)


def of_one_queue(inputs, program=SHA256, **options):
    with Queue(program, device="cpu", lanes=16) as queue:
        return list(queue.run(inputs, **options))


def texts_until(is_enough, texts, given):
    """The texts again and again, each added to `given`, until there are enough: what one device does within a
    number of them depends on when the process of another has started."""
    while not is_enough() and len(given) < 100_000:
        given.append(texts[len(given) % len(texts)])
        yield given[-1]


def test_the_same_results_as_one_queue():
    texts = messages(200)
    with shared() as queue:
        given = []
        both_are_ready = texts_until(lambda: len(given) >= 200 and len(queue.devices) == 2, texts, given)
        results = list(queue.run(both_are_ready))
        assert queue.devices == ["cpu", "cpu"] and queue.failures == []
        assert results == of_one_queue(given)
        progress = queue.progress
        assert (progress.done, progress.failed, progress.running) == (len(given), 0, 0)
        assert progress.instructions == sum(result.instructions for result in results)
        expected = of_one_queue(texts)
        assert sorted(queue.run(texts, ordered=False)) == expected
        limited = list(queue.run(texts[:20], instructions=100))
        assert limited == of_one_queue(texts[:20], instructions=100)
        assert {result.stop.reason for result in limited} == {StopReason.budget}


def test_grouped_in_each_slice():
    texts, order = two_families(20)
    with shared(devices=["cpu"], lanes=1, slice_inputs=20) as queue:
        results = list(queue.run(texts, group=True))
        assert [result.number for result in results] == order
        assert sorted(results) == of_one_queue(texts)


def test_numbers_and_kinds_of_inputs():
    """`fault some` fails where MYRIARM_LANE is 7 modulo 8; argv[0] is the path that was given."""
    inputs = [{"arguments": ["some"], "stdin": b"a", "environment": {"A": str(i)}} for i in range(40)]
    with shared(PREBUILT / "fault", slice_inputs=3) as queue:
        results = list(queue.run(inputs))
        assert results == of_one_queue(inputs, PREBUILT / "fault")
        assert [result.number for result in results if result.signal] == list(range(7, 40, 8))
        assert queue.progress.failed == 5


def test_a_slice_has_the_results_of_the_whole():
    inputs = [{"arguments": ["some"]}] * 20
    options = {"device": "cpu", "lanes": 3, "seed": 5}
    whole = work_off(PREBUILT / "fault", options, inputs)
    assert list(whole) == of_one_queue(inputs, PREBUILT / "fault")
    slices = [work_off(PREBUILT / "fault", options, inputs[i : i + 6], i) for i in range(0, 20, 6)]
    assert [result for part in slices for result in part] == list(whole)
    some = work_off(PREBUILT / "fault", options, inputs[:2], numbers=[7, 9])
    assert list(some) == [list(whole)[7], list(whole)[9]]
    assert list(pickle.loads(pickle.dumps(whole))) == list(whole)
    assert len(whole) == 20 and 20 * 40 < whole.nbytes < 20 * 200
    assert list(SliceResults.of([])) == []


def test_a_device_that_fails_gives_its_inputs_back():
    texts = messages(150)
    with shared(worker_class=FailingWorker, devices=["cpu"]) as queue:
        results = []
        with pytest.warns(RuntimeWarning, match="cpu takes no further part: the device has fallen"):
            with pytest.raises(DeviceError, match="no device is left .* fallen off the bus"):
                for result in queue.run(texts):
                    results.append(result)
    assert results == of_one_queue(texts)[:8], "a slice, and the first input of the next"
    with shared(worker_class=FailingWorker) as queue:
        queue._pool._what[1] = (myriarm.slices.SliceWorker, *queue._pool._what[1][1:])
        given = []
        with pytest.warns(RuntimeWarning, match="fallen off the bus"):
            results = list(queue.run(texts_until(lambda: queue.failures, texts, given)))
        assert results == of_one_queue(given)
        assert queue.failures == [("cpu", "the device has fallen off the bus; plug it in")]
        assert queue.devices == ["cpu"]


@pytest.mark.parametrize("ordered", (True, False))
def test_a_process_that_is_killed_gives_its_inputs_back(ordered):
    texts = messages(150)
    with shared() as queue:
        given, results = [], []
        # Else all inputs may have their results before the process has been killed.
        inputs = texts_until(lambda: queue.failures, texts, given)
        with pytest.warns(RuntimeWarning, match="its process was killed by signal 9"):
            for result in queue.run(inputs, ordered=ordered):
                results.append(result)
                if len(results) == 10:
                    os.kill(queue.processes[1], signal.SIGKILL)
        assert sorted(results) == of_one_queue(given)
        assert not ordered or results == sorted(results)
        assert queue.failures == [("cpu", "its process was killed by signal 9")]
        assert len(list(queue.run(texts))) == 150 and queue.failures == [], "it is tried again"


def test_a_device_that_is_missing():
    with shared(worker_class=MissingDevice) as queue:
        with pytest.warns(RuntimeWarning, match="no such device"):
            with pytest.raises(DeviceError, match="no device is left"):
                list(queue.run([b"a"]))


def test_a_file_of_results_goes_on(tmp_path):
    """Cut off at any byte, the file becomes what it was."""
    texts = messages(60)
    expected = of_one_queue(texts)
    path = tmp_path / "results.jsonl"
    with shared() as queue:
        assert list(queue.run(texts, results=path)) == expected
        whole = path.read_bytes()
        for size in (0, 1, len(whole) // 3, len(whole) - 1, len(whole)):
            path.write_bytes(whole[:size])
            complete = whole[:size].count(b"\n")
            assert list(queue.run(texts, results=path, resume=True)) == expected[complete:]
            assert path.read_bytes() == whole
        path.write_bytes(whole + b'{"number":60,"st')
        assert list(queue.run(texts, results=path, resume=True)) == []
        assert path.read_bytes() == whole
        lines = whole.splitlines(keepends=True)
        random.Random(1).shuffle(lines)
        path.write_bytes(b"".join(lines[:25]))
        list(queue.run(texts, ordered=False, results=path, resume=True))
        assert sorted(path.read_bytes().splitlines(keepends=True)) == sorted(lines)
        path.unlink()
        list(queue.run(texts, results=path, resume=True))
        assert path.read_bytes() == whole, "without a file it begins"


def test_results_of_another_job_are_refused(tmp_path):
    texts = messages(20)
    path = tmp_path / "results.jsonl"
    job = tmp_path / "results.jsonl.job"
    with shared(seed=3) as queue:
        list(queue.run(texts, results=path, instructions=10**6))
    kept, whole = job.read_bytes(), path.read_bytes()
    other = [*texts[:19], bytes(len(texts[19]))]
    for what, inputs, limit, program, options in (
        ("seed (3, and now 4)", texts, 10**6, SHA256, {"seed": 4}),
        ("memory (1073741824, and now 134217728)", texts, 10**6, SHA256, {"seed": 3, "memory": 1 << 27}),
        ("arguments", texts, 10**6, SHA256, {"seed": 3, "arguments": ["more"]}),
        ("env", texts, 10**6, SHA256, {"seed": 3, "environment": {"A": "b"}}),
        ("fork-after (start, and now main)", texts, 10**6, SHA256, {"seed": 3, "fork_after": "main"}),
        ("program", texts, 10**6, PREBUILT / "fault", {"seed": 3}),
        ("max-instructions (1000000, and now none)", texts, None, SHA256, {"seed": 3}),
        ("inputs (20, hash", texts[:19], 10**6, SHA256, {"seed": 3}),
        ("inputs (20, hash", other, 10**6, SHA256, {"seed": 3}),
    ):
        with shared(program, **options) as queue:
            with pytest.raises(ArgumentError, match="results are of .*another|are of another") as raised:
                list(queue.run(inputs, results=path, resume=True, instructions=limit))
            assert f"another {what}" in str(raised.value)
            assert "give the same, or begin anew without resume" in str(raised.value)
            assert (job.read_bytes(), path.read_bytes()) == (kept, whole), "nothing is written"
    with shared(seed=3, lanes=3, devices=["cpu"]) as queue:
        assert list(queue.run(texts, results=path, resume=True, instructions=10**6)) == []
        assert job.read_bytes() == kept
        job.write_text("[]")
        with pytest.raises(ArgumentError, match="does not say which job the results are of; remove it"):
            list(queue.run(texts, results=path, resume=True, instructions=10**6))
        job.unlink()
        with pytest.warns(RuntimeWarning, match="there is no .*results.jsonl.job that says which job"):
            list(queue.run(texts, results=path, resume=True, instructions=10**6))
        assert job.read_bytes() == kept
        list(queue.run(texts, results=path))
        assert json.loads(job.read_text())["--max-instructions"] == "none", "that of new results"


def test_inputs_of_a_job_in_any_form(tmp_path):
    """What differs is seen, and what an iterable without a length gives is not known."""
    rows = np.arange(40, dtype=np.uint8).reshape(10, 4)
    forms = [
        [bytes(row) for row in rows],
        [{"stdin": bytes(row), "arguments": ["\udcff"]} for row in rows],
        [{"stdin": bytes(row), "arguments": ["\udcfe"]} for row in rows],
        [{"file": bytes(row)} for row in rows],
        [bytes(row) for row in rows[::-1]],
    ]
    found = [job_of_run(form, None)["inputs"] for form in forms]
    assert len(set(found)) == len(found)
    assert job_of_run(rows, None) == job_of_run(forms[0], None)
    assert job_of_run(rows[::2], None) != job_of_run(rows[:5], None)
    for unknown in (iter(forms[0]), (form for form in forms[0])):
        assert job_of_run(unknown, 7) == {"--max-instructions": "7"}


def test_lanes_that_wait_show_as_idle():
    """One long input among short ones, in slices of four."""
    inputs = [b"x" * (50_000 if i % 8 == 0 else 1) for i in range(40)]
    with shared(lanes=4, slice_inputs=4) as queue:
        assert queue.progress.idle_share is None
        list(queue.run(inputs))
        assert 0.5 < queue.progress.idle_share < 1
    with shared(lanes=1, slice_inputs=4) as queue:
        list(queue.run(inputs))
        assert queue.progress.idle_share == 0, "one lane waits for nobody"


def test_a_run_that_was_killed_goes_on(tmp_path):
    texts = messages(60)
    path = tmp_path / "results.jsonl"
    with shared() as queue:
        run = queue.run(texts, results=path)
        for _ in range(20):
            next(run)
        run.close()
        assert 20 <= path.read_bytes().count(b"\n") <= 60
        list(queue.run(texts, results=path, resume=True))
        resumed = path.read_bytes()
        list(queue.run(texts, results=path))
        assert path.read_bytes() == resumed


def test_the_file_is_that_of_the_command_line(tmp_path):
    """Each kind of outcome, and outputs that are text and not."""
    if not os.access(COMMAND_LINE, os.X_OK):
        pytest.skip("this package was built without the command line")
    path, of_command = tmp_path / "results.jsonl", tmp_path / "command.jsonl"
    words = ["null", "undefined", "readonly", "some", '\u00e4\u4e16\U0001f600"\\', "\udcff\udce4\udcb8a"]
    (tmp_path / "args").write_bytes(b"\n".join(b"'%s'" % os.fsencode(word) for word in words[:5]))
    inputs = [{"arguments": [word]} for word in words[:5]]
    command = [COMMAND_LINE, "run", "--device", "cpu", "--lanes", "2", "--results", of_command, "--quiet"]
    subprocess.run([*command, "--args-file", tmp_path / "args", PREBUILT / "fault"], timeout=60)
    with shared(PREBUILT / "fault") as queue:
        results = list(queue.run(inputs, results=path))
        assert [json.loads(line) for line in path.read_text().splitlines()] == [
            json.loads(line) for line in of_command.read_text().splitlines()
        ]
        assert list(queue.run(inputs, results=of_command, resume=True)) == []
        assert "--args-file" in json.loads((tmp_path / "command.jsonl.job").read_text()), "it stays"
        again = subprocess.run(
            [*command, "--resume", "--args-file", tmp_path / "args", PREBUILT / "fault"],
            capture_output=True,
            timeout=60,
        )
        assert b"resume" not in again.stderr
        assert "inputs" in json.loads((tmp_path / "command.jsonl.job").read_text())
        list(queue.run(inputs, results=path, instructions=100))
        assert json.loads(path.read_text().splitlines()[0])["stop"] == "budget"
        list(queue.run([{"arguments": [words[5]]}], results=path))
        entry = json.loads(path.read_text())
        assert entry["stdout"] == "lane 0: \ufffd\ufffda\n"
        assert entry["stdout_base64"] == "bGFuZSAwOiD/5LhhCg=="
    assert len(results) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    (
        ({"resume": True}, "resume needs the file of the earlier run"),
        ({"resume": True, "results": "no-folder/file"}, "no-folder/file cannot be written"),
        ({"results": "no-folder/file"}, "No such file or directory.; give a path in a writable folder"),
        ({"held_bytes": -1}, "held_bytes is -1"),
        ({"instructions": "many"}, "instructions must be an integer"),
    ),
)
def test_mistakes_of_a_run(options, message):
    with shared() as queue:
        with pytest.raises(ArgumentError, match=message):
            list(queue.run([b"a"], **options))
        assert len(list(queue.run([b"a"]))) == 1


def test_what_cannot_be_resumed(tmp_path):
    path = tmp_path / "results.jsonl"
    with shared() as queue:
        with pytest.raises(ArgumentError, match="inputs from an iterator cannot be resumed"):
            list(queue.run(iter([b"a"]), results=path, resume=True))
        for line in (b"text\n", b"{}\n", b"7\n", b'{"number": "1"}\n'):
            path.write_bytes(line)
            with pytest.raises(ArgumentError, match="a line that is no result of a queue"):
                list(queue.run([b"a"], results=path, resume=True))
            assert path.read_bytes() == line, "a file of something else is left alone"


def test_mistakes_of_inputs():
    with shared(slice_inputs=3) as queue:
        results = []
        with pytest.raises(ArgumentError, match="input 20 must be bytes or a mapping, not str"):
            for result in queue.run([b"a"] * 20 + ["text"] + [b"a"] * 20):
                results.append(result)
        assert results == of_one_queue([b"a"] * 18), "of the slices before"
        with pytest.raises(ArgumentError, match="of stack"):
            list(queue.run([{"arguments": ["a" * 2**24]}]))


@pytest.mark.parametrize(
    ("options", "message"),
    (
        ({"devices": "cpu"}, "devices is 'cpu'; give \"all\", or a list"),
        ({"devices": []}, r"devices is \[\]; give"),
        ({"devices": 5}, "devices is int; give"),
        ({"devices": ["gpu"]}, "gpu"),
        ({"slice_inputs": 0}, "slice_inputs is 0"),
        ({"device": "cpu"}, "MultiDeviceQueue has no option 'device'; it has arguments"),
        ({"collect": ["/tmp"]}, "MultiDeviceQueue has no option 'collect'"),
        ({"seed": len}, "seed cannot go to the processes that have the devices"),
        ({"program": PREBUILT / "missing"}, "missing"),
    ),
)
def test_mistakes_of_the_queue(options, message):
    with pytest.raises(ArgumentError, match=message):
        shared(**options)


def test_options_that_each_device_refuses():
    with shared(engine="none") as queue:
        with pytest.raises(ArgumentError, match="engine is 'none'"):
            list(queue.run([b"a"]))


def test_ctrl_c_and_the_end():
    def inputs():
        yield from [b"a"] * 40
        signal.raise_signal(signal.SIGINT)

    with shared() as queue:
        with pytest.raises(KeyboardInterrupt):
            list(queue.run(inputs()))
        assert len(list(queue.run([b"a"] * 40))) == 40
        queue.cancel()
    assert repr(queue) == "<MultiDeviceQueue, closed>"
    assert queue.processes == []
    with pytest.raises(StateError, match="closed"):
        next(queue.run([]))


# Prints the ids of its workers, one of which runs a guest that lasts for hours, and kills itself.
PARENT = """
import os, signal, sys, myriarm
queue = myriarm.MultiDeviceQueue(sys.argv[1], devices=["cpu", "cpu"], lanes=1, threads=1, slice_inputs=1)
inputs = [{"arguments": ["0", size]} for size in ("9", "1000000000000", "9")]
for result in queue.run(inputs):
    print(result.exit_status, len(queue.processes), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_processes_end_with_the_one_that_started_them():
    """They hold its standard output open, so run() returns when they have ended."""
    command = [sys.executable, "-c", PARENT, str(PREBUILT / "collatz")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, timeout=120)
    assert ran.returncode == -signal.SIGKILL
    assert ran.stdout == "0 2\n"
