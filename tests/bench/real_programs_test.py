#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/real_programs.py: real_programs_test.py [unittest options]

Scripts stand in for myriarm, for the emulator and for the guests, so that it needs none of them: what is
tested is what becomes of inputs, times, digests and failures."""

import collections
import contextlib
import gzip
import hashlib
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import real_inputs  # noqa: E402
import real_programs  # noqa: E402

HOUR = 3600.0
# The beginning of SHA-256 of inputs 0 to 49 with seed 1. With other inputs figures are not comparable.
KNOWN_INPUTS = {
    "sha256sum": "94555791b44ed54e",
    "gzip": "5b25483c5490c8bd",
    "lua": "83463ede6d08c569",
    "sqlite": "14d77d36684fd04c",
    "debian-sqlite": "20f29e462518bff4",
    "debian-python": "472f2239f04cc7a3",
}
EXITED, CANCELLED, FAULT = 9, 8, 5

# The file of digests as cli/npy_file.cpp writes it.
FIELDS = (
    "[('number', '<u8'), ('instructions', '<u8'), ('pc', '<u8'), ('stdout_bytes', '<u8'), "
    "('stderr_bytes', '<u8'), ('stdout_hash', '<u8'), ('stderr_hash', '<u8'), ('stop_address', '<u8'), "
    "('stop_detail', '<u4'), "
    "('stop', '|u1'), ('fault', '|u1'), ('', '|V2')]"
)
STAND_INS = """#!{python}
import hashlib, pathlib, signal, struct, sys
if "--version" in sys.argv:
    print("stand-in 1")
    sys.exit({version_status})
def output_of(line):
    return hashlib.sha256(line).hexdigest().encode() + b"  -\\n"
def option(name):
    return pathlib.Path(sys.argv[sys.argv.index(name) + 1])
"""
# A queue of lines: the digest of each. What is run is what `output_of` says, whatever the guest.
MYRIARM = (
    STAND_INS
    + """
def fnv(output):
    value = 0xCBF29CE484222325
    for byte in output:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value
engine = sys.argv[sys.argv.index("--engine") + 1]
lines = option("--inputs").read_bytes().splitlines(keepends=True)
head = ("{{'descr': " + {fields!r} + ", 'fortran_order': False, 'shape': (0,), }}").ljust(501) + "\\n"
digests = []
for number, line in enumerate(lines):
    output, instructions, stop, status = output_of(line), 1000 + number, 9, 0
    {change}
    values = number, instructions, 64, len(output), 0, fnv(output), 7, 0, status, stop, 0
    digests.append(struct.pack("<8QIBB2x", *values))
head = b"\\x93NUMPY\\1\\0" + struct.pack("<H", len(head)) + head.encode()
option("--results").write_bytes(head + b"".join(digests))
option("--json").write_text('{{"idle_share": 0.25, "history": []}}')
{at_end}
"""
)
# Called as an emulator: -E NAME=VALUE ... [-L ROOT -0 NAME] GUEST [ARGUMENT...], with the lines on its
# standard input or in files.
QEMU = (
    STAND_INS
    + """
arguments = sys.argv[1:]
environment = []
while arguments[0] == "-E":
    environment.append(arguments[1])
    del arguments[:2]
assert environment == ["HOME=/", "PYTHONHASHSEED=0"], environment
guest, *arguments = arguments
if guest == "-L":
    _, _, named, guest, *arguments = arguments
    assert guest.endswith(named) and guest != named, guest
paths = [word for word in arguments if "/" in word]
lines = [pathlib.Path(path).read_bytes() for path in paths]
lines = lines or sys.stdin.buffer.read().splitlines(keepends=True)
for line in lines:
    sys.stdout.buffer.write(output_of(line){change})
"""
)


class Inputs(unittest.TestCase):
    def test_they_depend_on_program_seed_and_number_alone(self):
        hashes = {
            name: hashlib.sha256(real_inputs.make_range(name, 1, 0, 50)).hexdigest()[:16]
            for name in real_inputs.MAKERS
        }
        self.assertEqual(hashes, KNOWN_INPUTS)
        for name in real_inputs.MAKERS:
            last = real_inputs.make_range(name, 1, 40, 10).splitlines(keepends=True)[9]
            self.assertEqual(real_inputs.make(name, 1, 49), last)

    def test_no_two_are_alike(self):
        for name in real_inputs.MAKERS:
            made = [real_inputs.make(name, seed, number) for seed in (1, 2) for number in range(500)]
            self.assertEqual(len(set(made)), len(made), name)

    def test_each_is_one_line(self):
        for name in real_inputs.MAKERS:
            for number in (0, 1, 999, 123_456_789):
                line = real_inputs.make(name, 1, number)
                self.assertEqual((line.count(b"\n"), line[-1:]), (1, b"\n"), name)

    def test_their_sizes(self):
        sizes = collections.defaultdict(list)
        for name in ("sha256sum", "gzip"):
            sizes[name] = [len(real_inputs.make(name, 1, number)) for number in range(500)]
            self.assertGreaterEqual(min(sizes[name]), 4 << 10)
        self.assertLess(max(sizes["sha256sum"]), 32 << 10)
        self.assertLess(max(sizes["gzip"]), 16 << 10)

    def test_every_piece_of_script_and_query_is_there(self):
        scripts = b"".join(real_inputs.make("lua", 1, number) for number in range(60))
        for name, piece in real_inputs.LUA.items():
            self.assertIn(piece.rsplit("}", 1)[1].encode(), scripts, name)
        queries = b"".join(real_inputs.make("sqlite", 1, number) for number in range(60))
        for query in real_inputs.QUERIES:
            self.assertIn(query.split("{")[0].encode(), queries)


class Rates(unittest.TestCase):
    """Digests of 10 instructions more each, which came in parts."""

    def progress(self, seconds, counts, cancelled=()):
        digests = [
            {"instructions": 10 * number, "stop": CANCELLED if number in cancelled else EXITED}
            for number in range(counts[-1] if counts else 3)
        ]
        return real_programs.progress(real_programs.Arrivals(0, list(seconds), list(counts)), digests)

    def warm(self, *points, most=10**9):
        names = ("seconds", "inputs", "instructions")
        return real_programs.warm_rate([dict(zip(names, point)) for point in points], most)

    def test_the_warm_half_begins_in_the_middle_of_the_time(self):
        # The middle of 2 and 10 is 6.
        warm = self.warm((0.1, 0, 0), (2, 1, 50), (5, 2, 90), (6, 10, 100), (10, 20, 500))
        self.assertEqual(warm, real_programs.Rate(10, 400, 4))

    def test_it_has_two_points_of_three_at_least(self):
        self.assertEqual(self.warm((2, 1, 10), (3, 2, 30), (20, 4, 60)), real_programs.Rate(2, 30, 17))
        self.assertEqual(self.warm((0, 0, 0), (2, 1, 10), (20, 4, 60)), real_programs.Rate())
        self.assertEqual(self.warm().text(), "too few")

    def test_processes_that_have_not_ended_count(self):
        warm = self.warm((1, 0, 10), (2, 0, 20), (3, 0, 40))
        self.assertEqual(warm, real_programs.Rate(0, 20, 1))

    def test_idle_lanes_at_the_end_are_not_in_it(self):
        points = [(at, 10 + 10 * at, 100 + 100 * at) for at in range(5)] + [(20, 60, 600)]
        warm = self.warm(*points, most=50)
        self.assertEqual((warm.inputs, warm.seconds), (20, 2))
        warm = self.warm(*points, most=49)
        self.assertEqual((warm.inputs, warm.seconds), (10, 1))
        self.assertEqual(self.warm(*points, most=-5), real_programs.Rate())

    def test_what_was_cancelled_is_not_in_the_progress(self):
        points = self.progress([1, 2, 3], [1, 3, 6], cancelled=(1, 4, 5))
        self.assertEqual(points, [(1, 1, 0), (2, 2, 20), (3, 3, 50)])

    def test_the_progress_has_few_points_and_its_end(self):
        seconds = [number / 100 for number in range(1, 1002)]
        points = self.progress(seconds, range(1, 1002))
        self.assertLessEqual(len(points), real_programs.POINTS + 2)
        self.assertEqual(points[-1], (10.01, 1001, sum(range(0, 10010, 10))))
        self.assertEqual(points, sorted(set(points)))

    def test_what_they_say(self):
        text = real_programs.Rate(5000, 3_000_000_000, 2).text()
        self.assertEqual(text, "1.5 G IPS, 2,500.0 inputs/s in 2.0 s")
        self.assertEqual(real_programs.Rate(1, 5000, 2).text(), "0.0025 M IPS, 0.5 inputs/s in 2.0 s")


class BenchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def script(self, name, text, **values):
        path = self.folder / name
        path.write_text(text.format(python=sys.executable, **{"version_status": 0, **values}))
        path.chmod(0o755)
        return path


class Watching(BenchTest):
    def test_the_times_are_those_of_the_file(self):
        path, head = self.folder / "digests", ("{'descr': " + FIELDS + ", }\n").encode()
        path.write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + bytes(3 * 72 + 71))
        os.utime(path, (1000, 1002.5))
        arrivals, ended = real_programs.Arrivals(1000), threading.Event()
        ended.set()  # there is a last look, when the command has ended
        arrivals.watch(path, ended)
        self.assertEqual((arrivals.seconds, arrivals.counts), ([2.5], [3]))

    def test_a_file_that_is_not_there_or_has_no_whole_head(self):
        path, ended = self.folder / "digests", threading.Event()
        ended.set()
        for contents in (None, b"", b"\x93NUMPY", b"\x93NUMPY\1\0\x80\0{'descr': [("):
            if contents is not None:
                path.write_bytes(contents)
            arrivals = real_programs.Arrivals(0)
            arrivals.watch(path, ended)
            self.assertEqual(arrivals.counts, [])


class Comparison(BenchTest):
    """Benchmark.check() of digests with those of another engine, and with outputs of QEMU."""

    OUTPUTS = {number: (1, b"output %d\n" % number) for number in range(4)}

    def digest(self, number, **other):
        output = b"output %d\n" % number
        values = {
            "number": number,
            "instructions": 5,
            "stdout_bytes": len(output),
            "stop": EXITED,
            "stop_detail": 0,
        }
        return {**values, "stdout_hash": real_programs.output_hash(output), **other}

    def check(self, digests, first=(), alone=None):
        benchmark = unittest.mock.Mock(qemu="qemu")
        first = {digest["number"]: digest for digest in first}
        return real_programs.Benchmark.check(
            benchmark, digests, first, "interpreter", self.OUTPUTS if alone is None else alone
        )

    def test_the_same(self):
        digests = [self.digest(number) for number in range(6)]
        self.assertEqual(self.check(digests), "4 as QEMU's")
        said = self.check(
            [*digests, self.digest(7, stop=CANCELLED)], [self.digest(5), self.digest(9), self.digest(0)]
        )
        self.assertEqual(said, "4 as QEMU's, 2 as interpreter's")

    def test_another_output_or_end_is_found(self):
        for change, says in (
            ({"stdout_hash": 1}, "input 2 has another output than under qemu: b'output 2"),
            ({"stdout_bytes": 8}, "input 2 has another output than under qemu"),
            ({"stop_detail": 3}, "input 2 ended with status 3"),
            ({"stop": FAULT}, "input 2 has neither exited nor been cancelled"),
        ):
            digests = [self.digest(0), self.digest(2, **change), self.digest(1)]
            with self.subTest(change), self.assertRaisesRegex(real_programs.Failure, says):
                self.check(digests)

    def test_another_count_than_the_first_engines_is_found(self):
        digests = [self.digest(number) for number in range(6)]
        with self.assertRaisesRegex(real_programs.Failure, "^input 5: .*, and the first engine gives "):
            self.check(digests, [self.digest(0), self.digest(5, instructions=6)])

    def test_nothing_to_compare_with_is_a_failure(self):
        with self.assertRaisesRegex(real_programs.Failure, "no input was done by QEMU too"):
            self.check([self.digest(9)])
        with self.assertRaisesRegex(real_programs.Failure, "no input was done by the first engine too"):
            self.check([self.digest(0)], [self.digest(1)])

    def test_several_in_one_process(self):
        check = real_programs.Benchmark.check_together
        alone = {number: (1, b"%d\n" % number) for number in range(5)}
        check(None, "lua", 2, {0: (2, b"0\n1\n"), 1: (2, b"2\n3\n"), 2: (2, b"not compared")}, alone)
        with self.assertRaisesRegex(real_programs.Failure, "inputs 2 to 3 in one process"):
            check(None, "lua", 2, {0: (2, b"0\n1\n"), 1: (2, b"2\n4\n")}, alone)
        # It names its files.
        alone = {number: (1, b"hash%d  -\n" % number) for number in range(2)}
        check(None, "sha256sum", 2, {0: (2, b"hash0  /a\nhash1  /b\n")}, alone)
        with self.assertRaises(real_programs.Failure):
            check(None, "sha256sum", 2, {0: (2, b"hash0  /a\nhash0  /b\n")}, alone)


class Runs(BenchTest):
    """The whole of it, with stand-ins."""

    def run_all(self, *words, status=0, myriarm=None, qemu=None, **options):
        kit = self.folder / "kit"
        kit.mkdir(exist_ok=True)
        for name in real_programs.GUESTS:
            (kit / name).write_text("a stand-in")
        emulator = self.script("emulator", QEMU, **{"change": "", **(qemu or {})})
        (kit / "qemu-aarch64.gz").write_bytes(gzip.compress(emulator.read_bytes()))
        command = self.script(
            "command", MYRIARM, **{"fields": FIELDS, "change": "pass", "at_end": "", **(myriarm or {})}
        )
        values = {"inputs": 30, "seconds": HOUR, "qemu_seconds": HOUR, "sample": 10, "share": 4, **options}
        words = [*words, *(f"--{name.replace('_', '-')}={value}" for name, value in values.items())]
        out = self.folder / "out"
        out.unlink(missing_ok=True)
        printed, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
            ended = real_programs.main(
                [f"--run={kit}", f"--myriarm={command}", f"--out={out}", f"--scratch={self.folder}", *words]
            )
        self.assertEqual(ended, status, printed.getvalue() + errors.getvalue())
        rows = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
        return (
            {(row["program"], row["what"]): row for row in rows if "program" in row},
            printed.getvalue(),
            errors.getvalue(),
        )

    def test_all_programs_and_engines(self):
        rows, table, _ = self.run_all(
            "--engines=interpreter,translate,cached", "--root=debian", *real_programs.PROGRAMS
        )
        for program in real_programs.PROGRAMS:
            self.assertEqual(rows[program, "qemu-aarch64, a process for each"]["inputs"], 10)
            self.assertEqual(rows[program, "qemu-aarch64, one for 4"]["inputs"], 30)
            for engine in real_programs.ENGINES:
                row = rows[program, engine]
                self.assertEqual(row["whole"]["inputs"], 30)
                self.assertEqual(row["whole"]["instructions"], sum(range(1000, 1030)))
                self.assertEqual(row["progress"][-1][1:], [30, sum(range(1000, 1030))])
                self.assertIn("all inputs done; lanes idle 25%; 10 as QEMU's", row["remark"])
                if engine != "interpreter":
                    self.assertIn("30 as interpreter's", row["remark"])
                self.assertIn(f"| {program} | {engine} | 30 | ", table)
        self.assertEqual(list(self.folder.glob("tmp*")), [], "what was made is removed")

    def test_the_inputs_are_in_the_order_of_their_numbers(self):
        with unittest.mock.patch.object(real_programs, "CHUNK", 7):
            # 30 lines in five parts, written at once.
            kept = self.folder / "kept"
            keep = {"at_end": f"import shutil; shutil.copy(option('--inputs'), {str(kept)!r})"}
            self.run_all("lua", "--engines=interpreter", "--seed=3", myriarm=keep)
        self.assertEqual(kept.read_bytes(), real_inputs.make_range("lua", 3, 0, 30))

    def test_engines_get_their_words(self):
        said = self.folder / "said"
        words = "*sys.argv, os.environ['MYRIARM_CACHE_DIR']"
        say = {"at_end": f"import os; print({words}, file=open({str(said)!r}, 'a'))"}
        self.run_all(
            *("lua", "gzip", "--engines=translate,cached", "--device=cuda", "--lanes=5"),
            *("--option=--memory", "--option=1M", "--seed=9"),
            myriarm=say,
        )
        lines = [line.split() for line in said.read_text().splitlines()]
        self.assertEqual([line[line.index("--engine") + 1] for line in lines], ["translate"] * 4)
        for line in lines:
            text = " ".join(line)
            for words in (
                "--device cuda ",
                "--lanes 5 ",
                "--memory 1M ",
                "--seed 9 ",
                "--env HOME=/ --env PYTHONHASHSEED=0 ",
                "--unordered ",
            ):
                self.assertIn(words, text)
        caches = [line[-1] for line in lines]
        self.assertEqual(caches[0], caches[1])
        self.assertEqual(len(set(caches)), 2, "each program has a cache of its own")
        self.assertEqual([line[-2] for line in lines], ["-", "-", "-c", "-c"])

    def test_a_wrong_digest_is_a_row_and_the_others_are_measured(self):
        wrong = {"change": "if number == 7 and engine == 'translate': output = b'x' + output[1:]"}
        rows, table, _ = self.run_all(
            "gzip", "lua", "--engines=translate,interpreter", status=1, myriarm=wrong
        )
        for program in ("gzip", "lua"):
            self.assertIn("input 7 has another output than under", rows[program, "translate"]["failure"])
            self.assertNotIn("whole", rows[program, "translate"])
            self.assertEqual(rows[program, "interpreter"]["whole"]["inputs"], 30)
            self.assertNotIn("translate", rows[program, "interpreter"]["remark"])
        self.assertIn("| gzip | translate |  |  |  | FAILED: input 7 has", table)

    def test_another_count_of_instructions_is_a_row(self):
        wrong = {"change": "instructions += number == 29 and engine == 'translate'"}
        rows, _, _ = self.run_all("lua", status=1, myriarm=wrong)
        self.assertIn("input 29: ", rows["lua", "translate"]["failure"])

    def test_an_input_without_a_digest_is_a_row(self):
        rows, _, _ = self.run_all("lua", status=1, myriarm={"change": "if number == 3: continue"})
        self.assertEqual(rows["lua", "interpreter"]["failure"], "29 of 30 inputs have a digest")

    def test_a_command_that_fails_is_a_row(self):
        rows, _, _ = self.run_all("lua", status=1, myriarm={"at_end": "sys.exit('no such device')"})
        self.assertEqual(rows["lua", "interpreter"]["failure"], "command ended with 1: no such device")

    def test_a_queue_ends_at_its_limit(self):
        rows, _, _ = self.run_all(
            "lua",
            "--engines=interpreter:1e-9",
            status=1,
            myriarm={"change": "signal.pause()"},
        )
        self.assertIn("there is no digest at the end of the time", rows["lua", "interpreter"]["failure"])
        # The limit is when the digests are there, and the command does not end by itself.
        waiting = f"open({str(self.folder / 'there')!r}, 'w'); signal.pause()"
        limit = real_programs.run_command

        def run_command(words, seconds):
            self.assertEqual(seconds, 5.5)
            with unittest.mock.patch("subprocess.Popen.wait", self.until_there(self.folder / "there")):
                return limit(words, seconds)

        with unittest.mock.patch.object(real_programs, "run_command", run_command):
            rows, _, _ = self.run_all("lua", "--engines=interpreter:5.5", myriarm={"at_end": waiting})
        self.assertRegex(rows["lua", "interpreter"]["remark"], "^ended at its limit.*; lanes idle 25%")

    def until_there(self, path):
        """In place of Popen.wait(limit): the limit is when there is this file."""
        wait = subprocess.Popen.wait

        def until(process, limit=None):
            if limit != 5.5:
                return wait(process, limit)
            while not path.exists():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    return wait(process, 0.01)
            raise subprocess.TimeoutExpired("command", limit)

        return until

    def test_qemu_that_fails_is_a_row_and_leaves_nothing_to_compare_with(self):
        rows, _, _ = self.run_all("lua", "--engines=interpreter", status=1, qemu={"change": "[:1/0]"})
        for what in ("a process for each", "one for 4"):
            self.assertIn("qemu-aarch64 ended with 1", rows["lua", f"qemu-aarch64, {what}"]["failure"])
        self.assertIn("no input was done by QEMU too", rows["lua", "interpreter"]["failure"])

    def test_several_inputs_of_one_qemu_must_be_as_alone(self):
        rate = real_programs.Rate(30, 3000, 1)
        with unittest.mock.patch.object(real_programs, "warm_rate", return_value=rate):
            rows, _, _ = self.run_all("gzip", status=1, qemu={"change": " + b'x' * (len(lines) > 1)"})
        failure = rows["gzip", "qemu-aarch64, one for 4"]["failure"]
        self.assertRegex(failure, "^inputs . to . in one process give something else$")
        remark = rows["gzip", "interpreter"]["remark"]
        self.assertIn("10 as QEMU's", remark)
        self.assertIn("times QEMU (each)", remark)
        self.assertNotIn("(one for", remark, "a failure is compared with nothing")

    def test_a_file_of_digests_that_was_not_begun_is_a_row(self):
        for contents in (b"", b"\x93NUMPY\1\0\x80\0{'descr': [("):
            broken = {"at_end": f"option('--results').write_bytes({contents!r})"}
            rows, _, _ = self.run_all("lua", "--engines=interpreter", status=1, myriarm=broken)
            self.assertIn("has not begun its file of digests", rows["lua", "interpreter"]["failure"])

    def test_inputs_that_cannot_be_written_are_a_row_and_the_next_program_is_measured(self):
        def make_inputs(benchmark, program, path, make=real_programs.Benchmark.make_inputs):
            make(benchmark, program, path)
            if program == "gzip":
                raise OSError("No space left on device")

        with unittest.mock.patch.object(real_programs.Benchmark, "make_inputs", make_inputs):
            rows, _, _ = self.run_all("gzip", "lua", "--engines=interpreter", status=1)
        self.assertEqual(rows["gzip", "all engines"]["failure"], "No space left on device")
        self.assertEqual(rows["lua", "interpreter"]["whole"]["inputs"], 30)

    def test_what_does_not_run_is_said_at_once(self):
        for who in ("myriarm", "qemu"):
            rows, table, errors = self.run_all(
                "lua", status=2, **{who: {"version_status": "'a library is missing'"}}
            )
            self.assertEqual((rows, table), ({}, ""))
            self.assertRegex(
                errors, r"^real_programs\.py: .* --version ended with 1: a library is missing\n$"
            )
        _, _, errors = self.run_all("lua", "--qemu=/none/qemu", status=2)
        self.assertRegex(errors, r"^real_programs\.py: /none/qemu does not run: .*\n$")
        _, _, errors = self.run_all("lua", "--scratch=/none", status=2)
        self.assertIn("/none", errors)


class Options(BenchTest):
    def parse(self, *words):
        for name in (*real_programs.GUESTS, "qemu-aarch64.gz"):
            (self.folder / name).touch()
        return real_programs.parse([f"--run={self.folder}", "--myriarm=m", *words])

    def test_defaults(self):
        options = self.parse()
        self.assertEqual(options.programs, ["sha256sum", "gzip", "lua", "sqlite"])
        self.assertEqual((options.lanes, options.engines), (64, {"interpreter": 12, "translate": 12}))
        options = self.parse("--device=cuda:1", "--seconds=8", "lua", "lua")
        self.assertEqual((options.lanes, options.programs), (16384, ["lua"]))
        self.assertEqual(options.engines, {"interpreter": 4, "translate": 8, "cached": 8})
        options = self.parse("--device=cuda", "--engines=translate:20,interpreter,cached:0.5", "--lanes=7")
        self.assertEqual(
            list(options.engines.items()), [("translate", 20), ("interpreter", 12), ("cached", 0.5)]
        )
        self.assertEqual(options.lanes, 7)

    def test_inputs_are_more_on_a_gpu(self):
        for words, expected in (
            ([], 20_000),
            (["--device=cuda"], 300_000),
            (["--inputs=8", "--device=cuda"], 8),
        ):
            with unittest.mock.patch.object(real_programs.Benchmark, "__init__", return_value=None):
                benchmark = real_programs.Benchmark()
            benchmark.options = self.parse(*words)
            self.assertEqual(benchmark.inputs("sha256sum"), expected)

    def test_mistakes(self):
        for words, says in (
            (["awk"], "there is no program awk; there are sha256sum, gzip, lua, sqlite"),
            (["--engines=jit"], "there is no 'jit'; there are interpreter, translate, cached"),
            (["--engines=translate,"], "there is no ''; there are"),
            (["--engines=translate,translate"], "translate is there twice"),
            (["--engines=cached,translate"], "cached needs translate before it, which fills the cache"),
            (["--engines=translate:"], "'' is not a number above 0"),
            (["--engines=translate:-1"], "'-1' is not a number above 0"),
            (["--seconds=nan"], "'nan' is not a number above 0"),
            (["--qemu-seconds=0"], "'0' is not a number above 0"),
            (["--inputs=0"], "'0' is not a whole number above 0"),
            (["--lanes=1.5"], "'1.5' is not a whole number above 0"),
            (["--myriarm="], "--run needs --myriarm"),
            (["debian-python"], "debian-python needs --root"),
            (["--prepare=x"], "not allowed with argument"),
        ):
            with self.subTest(words), contextlib.redirect_stderr(io.StringIO()) as errors:
                with self.assertRaises(SystemExit) as ended:
                    self.parse(*words)
                self.assertEqual(ended.exception.code, 2)
                self.assertIn(says, errors.getvalue())

    def test_a_folder_that_lacks_something(self):
        (self.folder / "lua").touch()
        with contextlib.redirect_stderr(io.StringIO()) as errors, self.assertRaises(SystemExit):
            real_programs.parse([f"--run={self.folder}", "--myriarm=m"])
        self.assertIn("has no busybox, sqlite3, qemu-aarch64.gz; make it with --prepare ", errors.getvalue())

    def test_a_folder_cannot_be_prepared_elsewhere(self):
        with unittest.mock.patch.object(real_programs, "HERE", self.folder / "kit"):
            with contextlib.redirect_stderr(io.StringIO()) as errors:
                self.assertEqual(real_programs.main([f"--prepare={self.folder / 'new'}"]), 2)
        self.assertIn("--prepare is for a checkout of myriarm", errors.getvalue())
        self.assertFalse((self.folder / "new").exists())


if __name__ == "__main__":
    unittest.main(verbosity=1)
