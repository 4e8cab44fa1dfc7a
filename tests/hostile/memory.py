# SPDX-License-Identifier: Apache-2.0
"""What guests and inputs can make the host keep, and limits of the host."""

import json
import os
import pathlib
import signal
import threading
import unittest

from attack import DEVICE, MEBIBYTE, OPTIONS, Attack, needs_memory_limits, slow


def program_bytes():
    """The addresses that the program's file takes: with kernels for many devices ten times those without."""
    return os.stat(OPTIONS.myriarm).st_size


class Limits(Attack):
    """ulimit -v."""

    @needs_memory_limits
    def test_the_default_pool_fits(self):
        for kibibytes in (3_900_000, 970_000, 378_000, 178_000):
            addresses = (kibibytes << 10) + program_bytes()
            ended = self.attack("run", "--device", "cpu", self.guest, "touch", "16", addresses=addresses)
            self.assertEqual((ended.status, ended.stdout), (0, b"ok\n"), f"{kibibytes}: {ended.stderr}")

    @needs_memory_limits
    def test_too_little(self):
        ends = set()
        for mebibytes in range(4, 100, 4):
            addresses = (mebibytes << 20) + program_bytes()
            # Below what the system needs to map the program and to start it, nothing of ours runs.
            with open(os.devnull, "w") as nowhere:
                version = self.start("--version", addresses=addresses, stdout=nowhere, stderr=nowhere)
            if self.end(version)[0] != 0:
                continue
            ended = self.attack("run", "--device", "cpu", self.guest, "touch", addresses=addresses)
            ends.add(ended.status)
            if ended.status == 0:
                self.assertEqual(ended.stdout, b"ok\n", mebibytes)
            else:
                self.assertEqual(ended.status, 2, f"{mebibytes}: {ended.stderr}")
                self.assertTrue(ended.stderr.startswith("myriarm: "), ended.stderr)
        self.assertEqual(ends, {0, 2})

    @needs_memory_limits
    def test_lanes_that_do_not_fit(self):
        self.refused(
            "run",
            "--device",
            "cpu",
            "--lanes",
            "100000",
            self.guest,
            "touch",
            says="fewer lanes",
            addresses=500 * MEBIBYTE,
        )

    @needs_memory_limits
    def test_output_that_does_not_fit_is_refused_to_the_guest(self):
        result = self.folder / "result"
        ended = self.attack(
            "run",
            "--device",
            "cpu",
            "--quiet",
            "--pool",
            "16M",
            "--lanes",
            "2",
            "--json",
            result,
            self.guest,
            "letters",
            "300",
            addresses=400 * MEBIBYTE,
            shell=">/dev/null",
        )
        self.assertEqual(ended.status, 1, ended.stderr)
        for lane in json.loads(result.read_bytes())["lane_results"]:
            self.assertEqual((lane["exit_status"], set(lane["stdout"])), (1, {"A"}))

    def test_a_pool_that_is_spent(self):
        ended = self.run_guest("--pool", "8M", self.guest, "touch", "16")
        self.assertEqual(ended.status, 137, ended.stderr)

    def test_many_threads(self):
        ended = self.run_guest("--threads", "100000", "--lanes", "1000", "--quiet", self.guest, "touch")
        self.assertEqual((ended.status, ended.stdout), (0, b"== lanes 0-999: exited with 0\nok\n"))


class Memory(Attack):
    """What guests can make the host keep."""

    def json_of(self, *words, kept, most_read=1 << 30):
        """The result of a run, how long its JSON is, and the end of it, read from a pipe."""
        least = self.least()
        reading, writing = os.pipe()
        size, text = 0, bytearray()

        def read():
            nonlocal size
            while part := os.read(reading, 1 << 16):
                size += len(part)
                text.extend(part)
                del text[:-most_read]

        reader = threading.Thread(target=read)
        reader.start()
        try:
            ended = self.run_guest("--quiet", "--json", "-", *words, stdout=writing)
        finally:
            os.close(writing)
            reader.join()
            os.close(reading)
        if not OPTIONS.no_memory_limits:
            self.assertLess(ended.most_bytes - least, 1.5 * kept + 2 * MEBIBYTE)
        return ended, size, bytes(text)

    @needs_memory_limits
    def test_many_lanes_cost_little(self):
        if DEVICE != "cpu":
            self.skipTest("on a GPU all lanes run side by side")
        hello = pathlib.Path(__file__).resolve().parents[2] / "examples" / "prebuilt" / "hello"
        lanes = 20_000
        for options, most in (((), 1500), (("--pool", "16M"), 1500), (("--keep-memory",), 21_000)):
            ended = self.run_guest("--quiet", "--lanes", lanes, *options, hello)
            self.assertEqual(ended.status, 0, ended.stderr)  # the highest of all lanes
            self.assertLess((ended.most_bytes - self.least()) / lanes, most, options)

    def test_json_of_zeros(self):
        ended, _, text = self.json_of(self.guest, "zeros", "16", kept=32 * MEBIBYTE)
        lane = json.loads(text)["lane_results"][0]
        self.assertEqual(ended.status, 0)
        for stream in ("stdout", "stderr"):
            self.assertEqual(lane[stream], "\0" * (16 * MEBIBYTE))

    def test_json_of_bytes(self):
        _, _, text = self.json_of(self.guest, "bytes", "16", kept=16 * MEBIBYTE)
        lane = json.loads(text)["lane_results"][0]
        self.assertEqual(lane["stdout"], "\ufffd" * (16 * MEBIBYTE))
        self.assertEqual(len(lane["stdout_base64"]), (16 * MEBIBYTE + 2) // 3 * 4)

    @slow
    def test_json_of_many_zeros(self):
        ended, size, text = self.json_of(self.guest, "zeros", "256", kept=512 * MEBIBYTE, most_read=6)
        self.assertEqual(ended.status, 0)
        self.assertEqual(text, b'"}\n]}\n')
        self.assertGreater(size, 6 * 512 * MEBIBYTE)

    def write_untouched(self, mebibytes):
        memory = f"{mebibytes + 64}M"
        ended = self.run_guest(
            "--quiet", "--memory", memory, self.guest, "write untouched", mebibytes, shell="2>/dev/null"
        )
        self.assertEqual(ended.stdout, f"map good, wrote {min(mebibytes << 20, 0x7FFFF000)}\n".encode())
        self.assert_takes(ended, kept=16 * MEBIBYTE)  # a part of it at a time

    def test_a_write_of_untouched_pages(self):
        self.write_untouched(512)

    @slow
    def test_a_write_of_gigabytes_of_untouched_pages(self):
        self.write_untouched(2048)

    def test_input_is_held_once(self):
        file = self.sparse("input", 64 * MEBIBYTE)
        with open(file, "rb") as regular:
            for options in (["--stdin", file], ["--stdin", "-"]):
                ended = self.run_guest("--quiet", *options, self.guest, "read all", stdin=regular)
                self.assertEqual(ended.stdout, f"{64 * MEBIBYTE}\n".encode())
                self.assert_takes(ended, kept=64 * MEBIBYTE)

    def test_input_from_a_pipe_is_held_once(self):
        reading, writing = os.pipe()

        def write():
            with open(writing, "wb") as pipe:
                for _ in range(64):
                    pipe.write(bytes(MEBIBYTE))

        writer = threading.Thread(target=write)
        writer.start()
        ended = self.run_guest("--quiet", "--stdin", "-", self.guest, "read all", stdin=reading)
        os.close(reading)
        writer.join()
        self.assertEqual(ended.stdout, f"{64 * MEBIBYTE}\n".encode())
        self.assert_takes(ended, kept=64 * MEBIBYTE)

    def test_a_read_of_everything_at_once(self):
        file = self.sparse("input", 48 * MEBIBYTE)
        ended = self.run_guest(
            "--quiet", "--memory", "128M", "--stdin", file, self.guest, "read at once", "64"
        )
        self.assertEqual(ended.stdout, f"{48 * MEBIBYTE} 0\n".encode())
        self.assert_takes(ended, kept=2 * 48 * MEBIBYTE)  # the input, and the lane's pages

    def test_mappings(self):
        self.assertEqual(self.run_guest("--quiet", self.guest, "maps", "10000").stdout, b"4093\n")

    @slow
    def test_many_mappings(self):
        self.assertEqual(self.run_guest("--quiet", self.guest, "maps", "100000").stdout, b"4093\n")

    def fragments(self, lanes, count):
        ended = self.run_guest("--quiet", "--lanes", lanes, self.guest, "fragments", count)
        self.assertEqual(ended.status, 0)
        self.assertEqual(ended.stdout, f"== lanes 0-{lanes - 1}: exited with 0\nsome\n".encode())

    def test_fragments(self):
        self.fragments(20, 4096)

    @slow
    def test_many_fragments(self):
        self.fragments(1000, 4096)

    def code(self, lanes, mebibytes):
        ended = self.run_guest("--quiet", "--lanes", lanes, self.guest, "code", mebibytes)
        self.assertEqual(ended.stdout, f"== lanes 0-{lanes - 1}: exited with 0\nok\n".encode())

    def test_pages_of_written_code(self):
        self.code(6, 8)

    @slow
    def test_many_pages_of_written_code(self):
        self.code(32, 48)
        self.code(64, 48)

    @unittest.skipUnless(DEVICE == "cpu", "the lanes of a team share its pages")
    def test_written_code_beyond_the_pool_ends_its_lane_alone(self):
        words = ["--quiet", "--threads", 1, "--pool", "64M", "--lanes", 8]
        result = self.folder / "result"
        ended = self.run_guest(*words, "--json", result, self.guest, "code by lane", "2")
        self.assertEqual(ended.status, 137, ended.stderr)
        self.assert_takes(ended, kept=64 * MEBIBYTE)
        lanes = json.loads(result.read_bytes())["lane_results"]
        self.assertEqual((lanes[0]["stop"], lanes[0]["stdout"]), ("exited", "ok\n"))
        self.assertEqual((lanes[7]["stop"], lanes[7]["stdout"]), ("out_of_memory", ""), "it needs 96 MiB")

    def test_wild_pointers_and_sizes(self):
        for attack, output in (
            ("wild writes", b"-14 -14 0 -14 -22 -22 -22\n"),
            ("map sizes", b"some most refused\n"),
        ):
            ended = self.run_guest("--quiet", self.guest, attack)
            self.assertEqual((ended.status, ended.stdout), (0, output))

    def test_a_process_without_memory(self):
        for attack in ("unmap all", "protect all"):
            self.assertEqual(self.run_guest("--quiet", self.guest, attack).status, 128 + signal.SIGSEGV)

    def test_missing_calls_are_few_words(self):
        ended = self.run_guest("--quiet", self.guest, "missing calls", "10000")
        self.assertEqual(ended.status, 0)
        self.assertIn("not implemented", ended.stderr)
        self.assertLess(len(ended.stderr), 1000)
