#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/processes.py and what it measures with: processes_test.py MYRIARM [unittest options]

The parts run with few lanes and inputs, on the device under test and under the installed qemu-aarch64. For
sha256sum scripts stand in for myriarm and for the emulator, so that it needs no busybox."""

import contextlib
import io
import json
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import processes  # noqa: E402
import side_by_side  # noqa: E402

DEVICE = os.environ.get("MYRIARM_TEST_DEVICE", "cpu")
MYRIARM = ""
HOUR = 3600.0

# A queue of sha256sum as myriarm runs it: with --inputs a folder, --results a file and --json a summary.
STAND_IN = """#!/usr/bin/env python3
import hashlib, json, pathlib, sys
def option(name):
    return pathlib.Path(sys.argv[sys.argv.index(name) + 1])
files = sorted(option("--inputs").iterdir())
with open(option("--results"), "w") as results:
    for number, path in enumerate(files):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if number == {wrong}:
            digest = digest[::-1]
        result = {{"number": number, "stop": "exited", "stdout": digest + "  /input\\n"}}
        results.write(json.dumps(result) + "\\n")
summary = {{"inputs": len(files), "failed": 0, "instructions": 1, "seconds": 1.5}}
option("--json").write_text(json.dumps(summary))
"""
# Called as an emulator: -0 busybox PATH sha256sum FILE...
SHA256SUM = '#!/bin/sh\nshift 4\nexec sha256sum "$@"\n'


class BenchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def script(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path


class Commands(BenchTest):
    def test_a_command_that_fails_says_why(self):
        with self.assertRaisesRegex(side_by_side.Failure, "^sh ended with 3: the reason$"):
            side_by_side.run_command(["sh", "-c", "echo first >&2; echo the reason >&2; exit 3"], HOUR)
        ended = side_by_side.run_command(["sh", "-c", "exit 3"], HOUR, (0, 3))
        self.assertFalse(ended.cut)

    def test_a_command_ends_at_its_limit(self):
        ended = side_by_side.run_command(["tail", "-f", "/dev/null"], 0)
        self.assertTrue(ended.cut)
        self.assertTrue(ended.took(5).cut)

    def test_a_feed_ends_with_its_command(self):
        def feed(pipe):
            while True:
                os.write(pipe, b"x" * 4096)

        ended = side_by_side.run_command(["sh", "-c", "head -c 10 >&2"], HOUR, feed=feed)
        self.assertEqual((ended.stderr, ended.cut), ("x" * 10, False))

    def test_the_first_line(self):
        took = side_by_side.first_line(["sh", "-c", "echo line; exec tail -f /dev/null"], HOUR)
        self.assertEqual(took.done, 1)
        with self.assertRaisesRegex(side_by_side.Failure, "^sh gave no line in .* s: the reason$"):
            side_by_side.first_line(["sh", "-c", "echo the reason >&2"], HOUR)


class AllCores(BenchTest):
    def run_jobs(self, jobs, limit):
        return side_by_side.run_on_all_cores(jobs, limit, self.folder)

    def test_outputs_have_the_places_of_their_jobs(self):
        path = self.folder / "input"
        path.write_text("of the file")
        jobs = [side_by_side.Job(["echo", number]) for number in range(7)] + [side_by_side.Job(["cat"], path)]
        took, outputs = self.run_jobs(jobs, HOUR)
        self.assertEqual(outputs, {**{n: b"%d\n" % n for n in range(7)}, 7: b"of the file"})
        self.assertEqual((took.done, took.cut), (8, False))

    def test_what_has_not_ended_at_the_limit_does_not_count(self):
        jobs = [side_by_side.Job(["sh", "-c", "echo begun; exec tail -f /dev/null"])] * 5
        took, outputs = self.run_jobs(jobs, 0)
        self.assertEqual((took.done, took.cut, outputs), (0, True, {}))

    def test_an_emulator_that_fails(self):
        for words, says in ((["sh", "-c", "exit 2"], "sh ended with 2"), ([self.folder / "none"], "none")):
            with self.assertRaisesRegex(side_by_side.Failure, says):
                self.run_jobs([side_by_side.Job(["true"]), side_by_side.Job(words)] * 3, HOUR)


class Repeats(unittest.TestCase):
    def test_they_take_turns_and_failures_are_kept(self):
        order, limits = [], []

        def work(name, limit):
            order.append(name)
            limits.append(limit)
            if name == "b":
                raise side_by_side.Failure("no")
            return side_by_side.Took(len(order), 2, 1, 4)

        a, b = (
            side_by_side.Measured(name, "", lambda limit, name=name: work(name, limit), weight)
            for name, weight in (("a", 3), ("b", 1))
        )
        with contextlib.redirect_stderr(io.StringIO()):
            side_by_side.take_turns([a, b], 2, float("inf"))
            side_by_side.take_turns([b], 1, 0)
        self.assertEqual(order, ["a", "b", "a", "b", "b"])
        self.assertEqual(limits[-1], 0, "the deadline has passed")
        self.assertEqual((len(a.runs), a.failure, len(b.runs), b.failure), (2, "", 0, "no"))
        # The median of 1 and 3 things.
        self.assertEqual([a.rate(clock) for clock in ("elapsed", "processor", "engine")], [1, 2, 0.5])
        self.assertEqual(b.rate("elapsed"), 0)


class Rows(unittest.TestCase):
    def text(self, *runs):
        measured = side_by_side.Measured("name", "things", lambda limit: runs[0])
        measured.runs += runs
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            side_by_side.Table(None, "elapsed").row("part", measured)
        return printed.getvalue()

    def test_what_they_say(self):
        took = side_by_side.Took
        self.assertEqual(self.text(took(3000, 2, 0.25)), "| name | 3,000 | 2.00 | 0.250 | 1,500 things/s |\n")
        self.assertEqual(
            self.text(took(3, 2, 1, 0.5), took(4, 2, 1, 0.5, cut=True)),
            "| name | 3, 4 | 2.00, 2.00 | 1.00, 1.00 |"
            " 1.75 things/s; engine 0.500, 0.500 s; ended at its limit |\n",
        )
        nothing = self.text(took(0, 2, 1, cut=True))
        self.assertEqual(nothing, "| name | 0 | 2.00 | 1.00 | ended at its limit |\n")


class Records(unittest.TestCase):
    def test_they_are_whole_and_different(self):
        # One and a fifth of the chunks that are written at once.
        records = processes.Records(5000, 1)
        block, read_records = records.block, []
        read, write = os.pipe()
        threading.Thread(target=self.write, args=(records, write), daemon=True).start()
        with open(read, "rb") as pipe:
            for begin in range(3):
                contents = pipe.read(len(block))
                self.assertTrue(contents == block[begin:] + block[:begin], f"pass {begin}")
                read_records += [
                    contents[i : i + processes.RECORD] for i in range(0, len(block), processes.RECORD)
                ]
        self.assertEqual(len(set(read_records)), 15000)
        self.assertLessEqual(set(block), set(b"abcdefghij 01234\n"))

    def write(self, records, pipe):
        with contextlib.suppress(BrokenPipeError):
            records.write(pipe, HOUR)

    def test_they_end_with_a_whole_record(self):
        records = processes.Records(3, 1)
        read, write = os.pipe()
        records.write(write, 0)
        os.close(write)
        with open(read, "rb") as pipe:
            self.assertEqual(pipe.read(), records.block)


class Parts(BenchTest):
    def run_parts(self, *arguments, status=0, **options):
        """Options with _ for -. Nothing comes to its limit of time."""
        values = {"myriarm": MYRIARM, "device": DEVICE, "out": self.folder / "out", "lanes": 8}
        values.update({"call_lanes": 2, "queue_seconds": 0, "sample_seconds": HOUR, "records": 64, **options})
        words = [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]
        parts = [f"{part}:{1000 * HOUR}" for part in arguments]
        printed, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
            ended = processes.main([*words, *parts])
        self.assertEqual(ended, status, printed.getvalue() + errors.getvalue())
        self.assertEqual((self.folder / "out" / "processes.md").read_text(), printed.getvalue())
        lines = (self.folder / "out" / "processes.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in lines][1:]
        shutil.rmtree(self.folder / "out")
        return {row["what"]: row for row in rows}, printed.getvalue()

    def done(self, rows):
        return {name: row["runs"][0]["done"] for name, row in rows.items() if row.get("runs")}

    def stand_ins(self, wrong=-1, qemu=SHA256SUM):
        fake = self.script("fake", STAND_IN.format(wrong=wrong))
        return {"myriarm": fake, "qemu": self.script("qemu", qemu)}

    def sha256sum(self, status=0, **options):
        return self.run_parts("sha256sum", status=status, files=9, **self.stand_ins(**options))

    def test_sha256sum(self):
        rows, table = self.sha256sum()
        names = list(self.done(rows))
        self.assertEqual(list(self.done(rows).values()), [9, 9, 9])
        self.assertEqual(names[:2], ["sha256sum, 8 lanes", "qemu-aarch64, a process for each file"])
        self.assertEqual(rows[names[0]]["runs"][0]["engine"], 1.5)
        for name in names[1:]:
            rates = rows[names[0]]["rate"], rows[name]["rate"]
            self.assertEqual(rows[f"sha256sum in lanes to {name}"]["ratio"], rates[0] / rates[1])
            self.assertIn(f"| {name} | 9 | ", table)

    def test_a_wrong_digest_is_a_failure(self):
        rows, table = self.sha256sum(wrong=7, status=1)
        self.assertIn("file 7 is not hashlib's", rows["sha256sum, 8 lanes"]["failure"])
        self.assertIn("FAILED: the digest of file 7", table)
        self.assertEqual(list(self.done(rows).values()), [9, 9], "the others are measured all the same")
        self.assertFalse([name for name in rows if " to " in name], "a failure is compared with nothing")
        broken = SHA256SUM.replace("exec sha256sum", "sha256sum -b")
        rows, _ = self.sha256sum(status=1, qemu=broken + "echo extra\n")
        self.assertIn("digests of", rows["qemu-aarch64, a process for each file"]["failure"])

    def test_records(self):
        rows, _ = self.run_parts("parser", "first", alone=30, inputs=500)
        done = self.done(rows)
        self.assertEqual(done["parser, 8 lanes"], 64)
        self.assertEqual(done["qemu-aarch64, a process for each input"], 30)
        self.assertEqual(done["parser: results that are qemu-aarch64's"], 30)
        for order in ("", " --unordered"):
            self.assertEqual(done[f"first result of 500, 8 lanes{order}"], 1)

    def test_other_results_than_qemus_are_a_failure(self):
        qemu = self.script("qemu", '#!/bin/sh\nqemu-aarch64 "$@" | sed s/a/b/\n')
        rows, _ = self.run_parts("parser", "fork", status=1, qemu=qemu, alone=30, inputs=40)
        for name in ("parser", "--fork-after start", "--fork-after main", "--fork-after read"):
            failure = rows[f"{name}: results that are qemu-aarch64's"]["failure"]
            self.assertIn("and qemu-aarch64 gives", failure)

    def test_fork(self):
        rows, _ = self.run_parts("fork", alone=10, inputs=40)
        done = self.done(rows)
        for point in ("start", "main", "read"):
            self.assertEqual(done[f"parser with the C library, --fork-after {point}"], 40)
            self.assertEqual(done[f"--fork-after {point}: results that are qemu-aarch64's"], 10)

    def test_calls(self):
        rows, _ = self.run_parts("calls", repeats=2)
        done = self.done(rows)
        self.assertEqual(done["calls close together, 2 lanes"], 2 * 1100)
        self.assertEqual(done["memory calls, lanes alike, 2 lanes"], 2 * 1201)
        self.assertEqual(done["memory calls, qemu-aarch64 on each core"], side_by_side.cores() * 100_201)
        row = rows["calls apart, 2 lanes"]
        self.assertEqual((len(row["runs"]), row["clock"]), (2, "engine"))
        self.assertGreater(row["runs"][0]["instructions"], 2 * 1000 * 100)
        self.assertIn("IPS of calls apart, 2 lanes, to those without calls", rows)

    def test_one_core_and_many_ranges(self):
        rows, _ = self.run_parts("core", "ranges", range_lanes=2, clock="processor")
        done = self.done(rows)
        pages = "memory calls, 4,096 ranges, lanes: 2, "
        expected = {
            "calls 1000000, one lane on one core": 1_100_000,
            "calls 1000000, qemu-aarch64 on that core": 1_100_000,
        }
        for name in (pages + "the same pages", pages + "each its own pages"):
            expected.update({name: 2 * 102_046, name + ": qemu-aarch64 for each": 2 * 102_046})
            self.assertIn(f"lanes to {name}: qemu-aarch64 for each", rows)
        self.assertEqual(done, expected)
        self.assertIn("one lane to calls 1000000, qemu-aarch64 on that core", rows)

    def test_a_part_that_cannot_begin_is_a_failure_and_the_next_runs(self):
        with unittest.mock.patch.dict(os.environ, MYRIARM_GUEST_COMPILER="no-compiler"):
            rows, _ = self.run_parts("parser", "sha256sum", status=1, files=3, **self.stand_ins())
        self.assertIn("build_guest.sh cannot build parse: ", rows["parser"]["failure"])
        self.assertEqual(rows["sha256sum, 8 lanes"]["runs"][0]["done"], 3)

    def test_an_unknown_part_is_refused(self):
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()) as errors:
            processes.main(["--myriarm=m", "sha"])
        self.assertIn("there is no part 'sha'; the parts are sha256sum, ", errors.getvalue())


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} PATH_OF_MYRIARM")
    MYRIARM = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=1)
