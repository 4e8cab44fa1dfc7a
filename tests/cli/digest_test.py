#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`myriarm run --results FILE.npy`: digest_test.py MYRIARM [unittest options]"""
import ast
import functools
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import threading

import case
import guest
from case import DEVICE, CliTest, main

try:
    import numpy
except ImportError:
    numpy = None

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "prebuilt"
SHA256 = EXAMPLES / "sha256"
FIELDS = ("number", "instructions", "pc", "stdout_bytes", "stderr_bytes", "stdout_hash", "stderr_hash",
          "stop_address", "stop_detail", "stop", "fault")
DIGEST = struct.Struct("<8QIBBxx")
HEADER_BYTES = 512
STOPS = {"exited": 9, "fault": 5, "budget": 4}


def fnv1a(text):
    return functools.reduce(lambda state, byte: (state ^ byte) * 0x100000001B3 % 2**64, text,
                            0xCBF29CE484222325)


def expected_of(entry):
    """The digest of a line of JSON; what both programs of the tests write is ASCII."""
    stdout, stderr = entry["stdout"].encode(), entry["stderr"].encode()
    fault = entry["fault"] or {"kind": "none", "address": "0x0"}
    return {
        "number": entry["number"], "instructions": entry["instructions"], "pc": int(entry["pc"], 16),
        "stdout_bytes": len(stdout), "stderr_bytes": len(stderr),
        "stdout_hash": fnv1a(stdout), "stderr_hash": fnv1a(stderr),
        "stop_address": int(fault["address"], 16), "stop_detail": entry["exit_status"] or 0,
        "stop": STOPS[entry["stop"]],
    }


def read_digests(path):
    """The digests of a file, as dictionaries. Checks its header, with NumPy if it is there."""
    data = pathlib.Path(path).read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00" and struct.unpack("<H", data[8:10])[0] == HEADER_BYTES - 10
    assert data[HEADER_BYTES - 1:HEADER_BYTES] == b"\n"
    header = ast.literal_eval(data[10:HEADER_BYTES].decode())
    assert set(header) == {"descr", "fortran_order", "shape"}
    (count,) = header["shape"]
    assert len(data) - HEADER_BYTES >= count * DIGEST.size
    rows = [DIGEST.unpack_from(data, HEADER_BYTES + i * DIGEST.size) for i in range(count)]
    if numpy is not None:
        array = numpy.load(path)
        assert array.dtype.names == FIELDS and array.dtype.itemsize == DIGEST.size
        assert array.tolist() == rows
    return [dict(zip(FIELDS, row)) for row in rows]


class Digests(CliTest):
    def setUp(self):
        super().setUp()
        self.npy, self.log = self.folder / "digests.npy", self.folder / "log"

    def lines(self, count, size=40, seed=1):
        generator = random.Random(seed)
        lines = (b"%d %s\n" % (i, b"x" * generator.randrange(size)) for i in range(count))
        return self.file("lines", b"".join(lines))

    def write_digests(self, *arguments, status=0, device=DEVICE):
        done = self.myriarm("run", "--device", device, "--quiet", "--results", self.npy, *arguments)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (status, b"", b""))

    def digests(self, *arguments, **options):
        self.write_digests(*arguments, **options)
        return read_digests(self.npy)

    def expect_those_of_the_results(self, *arguments, status=0):
        """The digests, which must agree with the lines of JSON that the same queue gives."""
        done = self.run_guest("--quiet", "--results", self.log, *arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        expected = [expected_of(json.loads(line)) for line in self.log.read_text().splitlines()]
        found = self.digests(*arguments, status=status)
        self.assertEqual([{name: digest[name] for name in expected[0]} for digest in found], expected)
        return found

    def test_digests_are_those_of_the_results(self):
        path = self.lines(5000)
        found = self.expect_those_of_the_results("--inputs", path, "--lanes", 33, SHA256)
        self.assertEqual(len(found), 5000)
        self.assertEqual(found[0]["stop"], STOPS["exited"])

    def test_records_and_a_common_part(self):
        path = self.file("records", random.Random(2).randbytes(300 * 64))
        options = ("--record-size", 64, "--fork-after", "read", "--inputs", path)
        self.assertEqual(len(self.expect_those_of_the_results(*options, SHA256)), 300)

    def test_files_of_a_folder_by_name(self):
        folder = self.folder / "in"
        folder.mkdir()
        for name, contents in (("b", b"22"), ("a", b""), ("c", b"1")):
            (folder / name).write_bytes(contents)
        found = self.expect_those_of_the_results("--inputs", folder, self.elf(guest.CAT), "@@")
        self.assertEqual([digest["stdout_bytes"] for digest in found], [0, 2, 1])

    def test_many_files_of_a_folder(self):
        """More than the blocks hold that come first, of sizes that differ."""
        folder, generator = self.folder / "in", random.Random(3)
        folder.mkdir()
        sizes = [generator.randrange(60_000) for _ in range(200)]
        for number, size in enumerate(sizes):
            (folder / f"{number:03}").write_bytes(b"%d" % number + bytes(size))
        found = self.expect_those_of_the_results("--inputs", folder, "--lanes", 8, self.elf(guest.CAT), "@@")
        self.assertEqual([digest["number"] for digest in found], list(range(200)))
        lengths = [len(str(number)) + size for number, size in enumerate(sizes)]
        self.assertEqual([digest["stdout_bytes"] for digest in found], lengths)

    def test_a_file_that_cannot_be_read_is_left_out(self):
        folder = self.folder / "in"
        folder.mkdir()
        for name in "abcd":
            (folder / name).write_bytes(name.encode())
        for large, numbers in (("a", [1, 2, 3]), ("c", [0, 1, 3]), ("d", [0, 1, 2])):
            os.truncate(folder / large, 2**32 + 1)
            done = self.run_guest("--quiet", "--inputs", folder, "--results", self.npy,
                                  self.elf(guest.CAT), "@@")
            self.assertEqual(done.returncode, 2)
            self.assertIn(large.encode() + b" has more than 4 GiB; 1 of 4 files is no input", done.stderr)
            self.assertEqual([digest["number"] for digest in read_digests(self.npy)], numbers)
            (folder / large).write_bytes(large.encode())

    def test_faults_limits_and_the_highest_status(self):
        path = self.lines(40)
        options = ("--inputs", path, "--lanes", 4)
        endless = self.elf(guest.LOOP)
        found = self.expect_those_of_the_results(*options, "--max-instructions", 1000, endless, status=124)
        stops = {(digest["stop"], digest["instructions"]) for digest in found}
        self.assertEqual(stops, {(STOPS["budget"], 1000)})
        status = 128 + signal.SIGSEGV
        found = self.expect_those_of_the_results(*options, EXAMPLES / "fault", "some", status=status)
        self.assertEqual([digest["number"] for digest in found if digest["fault"]], [7, 15, 23, 31, 39])
        self.expect_those_of_the_results(*options, self.elf(guest.EXIT_LANE), status=9)

    def test_a_process_that_ends_itself_by_a_signal(self):
        done = self.digests("--inputs", self.lines(3), self.elf(guest.ABORT), status=128 + signal.SIGABRT)
        self.assertEqual([digest["stop_detail"] for digest in done], [256 + signal.SIGABRT] * 3)

    def test_several_devices_and_no_order(self):
        path = self.lines(400)
        one = self.digests("--inputs", path, "--lanes", 16, SHA256)
        self.assertEqual([digest["number"] for digest in one], list(range(400)))
        self.assertEqual(self.digests("--inputs", path, "--lanes", 5, SHA256, device=f"{DEVICE},cpu"), one)
        mixed = self.digests("--inputs", path, "--lanes", 5, "--unordered", SHA256, device="cpu,cpu")
        self.assertEqual(sorted(mixed, key=lambda digest: digest["number"]), one)

    def test_grouped_digests_are_the_same(self):
        lines, order = case.two_families(300)
        path = self.file("lines", lines)
        one = self.digests("--inputs", path, "--lanes", 16, SHA256)
        self.assertEqual([digest["number"] for digest in one], list(range(300)))
        for device, lanes in ((DEVICE, 32), ("cpu", 1), ("cpu,cpu", 5), (f"{DEVICE},cpu", 8)):
            with self.subTest(device=device):
                found = self.digests("--inputs", path, "--lanes", lanes, "--group", SHA256, device=device)
                self.assertEqual(sorted(found, key=lambda digest: digest["number"]), one)
                if lanes == 1:
                    self.assertEqual([digest["number"] for digest in found], order)

    def test_more_inputs_than_a_block_holds(self):
        """Blocks end within a read, and the last line has no newline."""
        count = 2**20 + 5000
        path = self.file("lines", b"a\n" * (count - 1) + b"b")
        options = ("--inputs", path, "--lanes", 1024, "--max-instructions", 1)
        self.write_digests(*options, self.elf(guest.LOOP), status=124)
        numbers = [number for (number,) in struct.iter_unpack("<Q64x", self.npy.read_bytes()[HEADER_BYTES:])]
        self.assertEqual(numbers, list(range(count)))

    def test_a_block_ends_after_64_mib(self):
        size = 2**20 + 1
        path = self.file("records", bytes(size) * 66)
        options = ("--inputs", path, "--record-size", size, "--lanes", 2, "--max-instructions", 100)
        self.assertEqual(len(self.digests(*options, self.elf(guest.LOOP), status=124)), 66)

    def test_a_file_without_inputs(self):
        self.assertEqual(self.digests("--inputs", self.file("none", b""), SHA256), [])

    def started(self, *arguments, **options):
        command = [case.MYRIARM, "run", "--device", DEVICE, "--quiet", *map(str, arguments)]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def until_there_are(self, process, digests):
        while process.poll() is None and (not self.npy.exists()
                                          or self.npy.stat().st_size < HEADER_BYTES + digests * DIGEST.size):
            pass
        self.assertIsNone(process.poll())

    def test_inputs_of_a_pipe_begin_when_they_are_there(self):
        process = self.started("--inputs", "-", "--lanes", 4, "--results", self.npy, SHA256)
        for number in range(5):
            process.stdin.write(b"%d\npart of the " % number)
            process.stdin.flush()
            self.until_there_are(process, number + 1)
            process.stdin.write(b"next: ")
        process.stdin.write(b"\nlast")
        self.assertEqual(process.communicate(timeout=60), (None, b""))
        self.assertEqual((process.returncode, len(read_digests(self.npy))), (0, 7))

    def test_what_was_written_before_a_kill_is_there(self):
        for how, status in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
            process = self.started("--inputs", "-", "--lanes", 1, "--results", self.npy, SHA256)
            process.stdin.write(b"1\n2\n3\n")
            process.stdin.flush()
            self.until_there_are(process, 3)
            process.send_signal(how)
            self.assertEqual(process.wait(timeout=60), status)
            process.communicate()
            data = self.npy.read_bytes()
            numbers = [DIGEST.unpack_from(data, HEADER_BYTES + i * DIGEST.size)[0] for i in range(3)]
            self.assertEqual(numbers, [0, 1, 2])
            if how == signal.SIGINT:
                self.assertEqual(len(read_digests(self.npy)), 3)
            self.npy.unlink()

    def test_a_file_that_was_cut_off_is_continued(self):
        """What a kill leaves: a row that is not whole, a header that says less, or not even a header."""
        options = ("--inputs", self.lines(200), "--lanes", 8, SHA256)
        self.write_digests(*options)
        whole = self.npy.read_bytes()
        rows, beginning = whole[HEADER_BYTES:], self.header(0)
        cases = [beginning[:size] for size in (0, 1, HEADER_BYTES - 1)]
        cases += [beginning + rows[:size] for size in (0, 1, 72, 5000, len(rows))]
        cases += [whole[:-1], whole]
        cases += [self.header(90) + rows[:90 * DIGEST.size], self.header(150) + rows[:90 * DIGEST.size]]
        # Some file systems fill what was not written with zeros.
        cases += [self.header(3) + rows[:720] + bytes(200)]
        for left in cases:
            self.npy.write_bytes(left)
            self.write_digests("--resume", *options)
            self.assertEqual(self.npy.read_bytes(), whole, (len(left), left[:200]))

    def header(self, count):
        """That of a file with so many of the digests that are in self.npy."""
        head = self.npy.read_bytes()[10:HEADER_BYTES].decode()
        shape = ast.literal_eval(head)["shape"][0]
        head = head.rstrip().replace(f"({shape},)", f"({count},)")
        return self.npy.read_bytes()[:10] + head.ljust(HEADER_BYTES - 11).encode() + b"\n"

    def test_digests_that_an_earlier_run_has_left(self):
        """They count for the exit status, and any of them may be missing."""
        options = ("--inputs", self.lines(9), "--lanes", 2, self.elf(guest.EXIT_LANE))
        self.write_digests(*options, status=8)
        whole = self.npy.read_bytes()
        rows = [whole[at:at + DIGEST.size] for at in range(HEADER_BYTES, len(whole), DIGEST.size)]
        self.npy.write_bytes(whole[:HEADER_BYTES] + rows[8] + rows[1] + rows[4] + rows[3])
        done = self.run_guest("--resume", "--json", "-", "--results", self.npy, *options)
        described = json.loads(done.stdout)
        self.assertEqual((done.returncode, described["inputs"], described["earlier"]), (8, 5, 4))
        self.assertIn(b"5 done", done.stderr)
        self.assertEqual([digest["number"] for digest in read_digests(self.npy)], [8, 1, 4, 3, 0, 2, 5, 6, 7])

    def test_a_file_of_something_else_is_not_continued(self):
        options = ("--inputs", self.lines(9), SHA256)
        self.write_digests(*options)
        whole = self.npy.read_bytes()
        first = DIGEST.unpack_from(whole, HEADER_BYTES)
        no_reason = DIGEST.pack(*first[:9], 0, 0)
        others = [b"no array", whole.replace(b"'number'", b"'other'."), b"\x93NUMPY\x02" + whole[7:],
                  whole[:HEADER_BYTES] + no_reason + whole[HEADER_BYTES + DIGEST.size:],
                  whole.replace(b"(9,)", b"(9,9)")]
        for other in others:
            self.npy.write_bytes(other)
            self.assert_refused("run", "--results", self.npy, "--resume", *options,
                                says="something else than digests")
            self.assertEqual(self.npy.read_bytes(), other, "it was not written to")

    def test_a_last_record_that_is_cut_off(self):
        path = self.file("records", bytes(65))
        done = self.run_guest("--quiet", "--inputs", path, "--record-size", 10, "--results", self.npy, SHA256)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"the last record", done.stderr)
        self.assertIn(b"has 5 of 10 bytes", done.stderr)
        self.assertEqual([digest["number"] for digest in read_digests(self.npy)], list(range(6)))

    def test_the_summary_and_the_json(self):
        path = self.lines(20)
        done = self.run_guest("--inputs", path, "--json", "-", "--results", self.npy, SHA256)
        self.assertIn(b"20 done, 0 failed", done.stderr)
        described = json.loads(done.stdout)
        found = read_digests(self.npy)
        self.assertEqual((described["inputs"], described["failed"]), (20, 0))
        self.assertEqual(described["instructions"], sum(digest["instructions"] for digest in found))

    def test_mistakes(self):
        path, program = self.lines(3), self.elf(guest.CAT)
        options = ("run", "--results", self.npy)
        given = (*options, "--inputs", path)
        self.assert_refused(*options, program, says="no queue")
        self.assert_refused(*given, "--output-dir", self.folder / "out", program, says="--output-dir")
        self.assert_refused(*given, "--args-file", path, program, says="--args-file")
        self.assert_refused(*options, "--args-file", path, program, says="--args-file")
        self.assertFalse(self.npy.exists())
        self.assert_refused("run", "--results", "/nowhere/x.npy", "--inputs", path, program,
                            says="cannot be written")
        pipe = self.folder / "pipe.npy"
        os.mkfifo(pipe)
        reader = threading.Thread(target=pipe.read_bytes)
        reader.start()
        self.assert_refused("run", "--results", pipe, "--inputs", path, program, says="is a pipe")
        reader.join()
        full = self.folder / "full.npy"
        full.symlink_to("/dev/full")
        self.assert_refused("run", "--results", full, "--inputs", path, program, says="written completely")


class KilledDigests(CliTest):
    """Queues that are killed when their files have grown by some size, and resumed: what they leave must be
    what a run leaves that nothing disturbs."""
    KILLS = int(os.environ.get("MYRIARM_TEST_KILLS", "12"))  # in all
    OPTIONS = (("--lanes", 500), ("--lanes", 300, "--unordered"), ("--lanes", 300, "--group"))
    RECORD, INPUTS = 16, 30_000

    def setUp(self):
        super().setUp()
        self.npy = self.folder / "digests.npy"

    def command(self, results, options):
        words = ("--device", DEVICE, "--quiet", "--resume", "--results", results, *options)
        words += ("--inputs", self.inputs, "--record-size", self.RECORD, self.program, "@@")
        return list(map(str, (case.MYRIARM, "run", *words)))

    def kill_once(self, command, generator):
        """Returns whether it had not ended before."""
        size = self.npy.stat().st_size if self.npy.exists() else 0
        target = size + generator.choice((0, generator.randrange(2000), generator.randrange(1_000_000)))
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and (self.npy.stat().st_size if self.npy.exists() else 0) < target:
            pass
        process.kill()
        return process.wait() == -signal.SIGKILL

    def rows(self, path):
        read_digests(path)  # checks the header
        data = path.read_bytes()[HEADER_BYTES:]
        return sorted(data[at:at + DIGEST.size] for at in range(0, len(data), DIGEST.size))

    def test_digests_are_those_of_an_undisturbed_run(self):
        generator = random.Random(5)
        self.inputs = self.file("records", generator.randbytes(self.RECORD * self.INPUTS))
        self.program = self.elf(guest.CAT)
        whole = self.folder / "whole.npy"
        subprocess.run(self.command(whole, ("--lanes", 500)), check=True, timeout=300)
        self.assertEqual(len(read_digests(whole)), self.INPUTS)
        for part, options in enumerate(self.OPTIONS):
            with self.subTest(options=options):
                kills = self.KILLS * (part + 1) // len(self.OPTIONS) - self.KILLS * part // len(self.OPTIONS)
                while kills:
                    if self.kill_once(self.command(self.npy, options), generator):
                        kills -= 1
                    else:  # it has ended: from the beginning
                        self.assertEqual(self.rows(self.npy), self.rows(whole))
                        self.npy.unlink()
                done = subprocess.run(self.command(self.npy, options), capture_output=True, timeout=300)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                self.assertEqual(self.rows(self.npy), self.rows(whole))
                if len(options) == 2:  # in order
                    self.assertEqual(self.npy.read_bytes(), whole.read_bytes())
                self.npy.unlink()


if __name__ == "__main__":
    main()
