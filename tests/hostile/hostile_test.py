#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks on the command line: absurd options, files and streams, limits of the host, Ctrl-C, guests that
take all they can get (guest.c), and guests that reach for what is not theirs (wild.c). Whatever happens, the
command ends by itself with a status and a sentence, and takes little more memory than what it was asked to
keep.
    hostile_test.py --myriarm PATH --work FOLDER [--slow] [--no-memory-limits] [unittest options]
--slow adds the attacks that take minutes or gigabytes. --no-memory-limits leaves out what depends on memory.
"""

import argparse
import fcntl
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import unittest

from attack import DEVICE, F_SETPIPE_SZ, MEBIBYTE, OPTIONS, Attack
from memory import Limits, Memory
from streams import Streams
from wild import Wild

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from caught_signals import is_interruptible  # noqa: E402

__all__ = ["Interrupts", "Limits", "Memory", "Options", "Streams", "Wild"]  # what unittest finds here

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Options(Attack):
    def test_lanes(self):
        for lanes in ("0", "-1", 2**32, 2**64, "1e30", "nan"):
            self.refused("run", "--lanes", lanes, self.guest, "loop", says="lanes")

    def test_memory(self):
        for memory in (
            "0",
            "1",
            "4K",
            "16E",
            "17T" if DEVICE != "cpu" else "16777216T",
            "18446744073709551615",
        ):
            self.refused("run", "--device", DEVICE, "--memory", memory, self.guest, "loop", says="memory")
        self.assertEqual(self.run_guest("--memory", "63M", self.guest, "touch", "16").stdout, b"ok\n")

    @unittest.skipUnless(DEVICE == "cpu", "a GPU has less")
    def test_memory_of_terabytes(self):
        ended = self.run_guest("--memory", "128T", self.guest, "touch", "16")
        self.assertIn(ended.status, (0, 2), ended.stderr)
        self.assertEqual(ended.stdout, b"ok\n" if ended.status == 0 else b"")

    def test_raw(self):
        code = self.file("code", bytes.fromhex("000040d4"))  # hlt
        for file, address, says in (
            ("/dev/zero", 0, "regular file"),
            (self.folder, 0, "directory"),
            (code, 2**64 - 1, "multiple of 4"),
            (code, 3, "multiple of 4"),
            (code, 2**64 - 4, "do not fit"),
            (code, 2**64, "not a number"),
        ):
            self.refused("run", "--raw", address, file, says=says)

    def test_a_file_that_cannot_fit_is_not_read(self):
        file = self.sparse("large", 4 << 30)
        for options in (["--raw", "0"], []):
            ended = self.refused("run", *options, file, says="do not fit" if options else "not an ELF file")
            self.assert_takes(ended, kept=0)

    def test_json_that_cannot_be_written(self):
        for path, says in ((self.folder, "directory"), (self.folder / "missing" / "x", "No such file")):
            self.refused("run", "--device", DEVICE, "--json", path, self.guest, "loop", says=says)
        ended = self.run_guest("--quiet", "--lanes", 2, "--json", "/dev/full", self.guest, "touch")
        self.assertEqual(ended.status, 2)
        self.assertIn("No space left", ended.stderr)
        self.assertIn(b"lanes 0-1", ended.stdout, "the rest is printed")


class Interrupts(Attack):
    def is_interruptible(self, process):
        """Whether a process handles SIGINT by now."""
        self.assertIsNone(process.poll(), "it ended before it was told")
        return is_interruptible(process.pid)

    def until(self, condition):
        while not condition():
            os.sched_yield()

    def start_run(self, *words, **streams):
        self.result = self.folder / "result.json"
        process = self.start("run", "--device", DEVICE, "--quiet", "--json", self.result, *words, **streams)
        self.until(lambda: self.is_interruptible(process))
        return process

    def assert_interrupted(self, process):
        self.assertEqual(self.end(process)[0], 128 + signal.SIGINT)
        return json.loads(self.result.read_bytes())["lane_results"]

    def test_once(self):
        for attack in ("loop", "calls"):
            for lanes in (1, 3):
                process = self.start_run("--lanes", lanes, self.guest, attack, stdout=subprocess.DEVNULL)
                process.send_signal(signal.SIGINT)
                self.assertEqual(
                    [lane["stop"] for lane in self.assert_interrupted(process)], ["cancelled"] * lanes
                )

    def test_a_second_time_while_the_result_is_written(self):
        lanes = 20_000
        process = self.start_run(
            "--lanes", lanes, "--registers", self.guest, "loop", stdout=subprocess.DEVNULL
        )
        process.send_signal(signal.SIGINT)
        self.until(lambda: self.result.stat().st_size)
        process.send_signal(signal.SIGINT)
        self.assertEqual(len(self.assert_interrupted(process)), lanes)

    def full_pipe(self):
        """A pipe that takes little, and a condition that it takes no more."""
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        self.addCleanup(os.close, writing)
        fcntl.fcntl(writing, F_SETPIPE_SZ, 4096)
        poll = select.poll()
        poll.register(writing, select.POLLOUT)
        return writing, lambda: not poll.poll(0)

    def test_while_a_guest_writes_to_a_full_pipe(self):
        writing, is_full = self.full_pipe()
        process = self.start_run(self.guest, "letters", "64", stdout=writing)
        self.until(is_full)
        process.send_signal(signal.SIGINT)
        lane = self.assert_interrupted(process)[0]
        self.assertEqual(lane["stop"], "cancelled")

    def test_while_the_result_goes_to_a_full_pipe(self):
        writing, is_full = self.full_pipe()
        process = self.start_run("--lanes", "2", self.guest, "letters", stdout=writing)
        self.until(is_full)
        process.send_signal(signal.SIGINT)
        for lane in self.assert_interrupted(process):
            self.assertEqual(
                (lane["stop"], len(lane["stdout"])), ("exited", MEBIBYTE), "the file is complete"
            )

    def test_while_json_goes_to_a_full_pipe(self):
        writing, is_full = self.full_pipe()
        words = ["--quiet", "--json", "-", self.guest, "letters"]
        process = self.start("run", "--device", DEVICE, *words, stdout=writing)
        self.until(is_full)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.end(process)[0], 128 + signal.SIGINT)


def build_guests():
    OPTIONS.work.mkdir(parents=True, exist_ok=True)
    for name in ("guest", "wild"):
        source = pathlib.Path(__file__).parent / f"{name}.c"
        subprocess.run([ROOT / "tools" / "build_guest.sh", OPTIONS.work / name, source], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--myriarm", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--no-memory-limits", action="store_true")
    _, rest = parser.parse_known_args(namespace=OPTIONS)
    OPTIONS.myriarm, OPTIONS.work = OPTIONS.myriarm.resolve(), OPTIONS.work.resolve()
    build_guests()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=1)


if __name__ == "__main__":
    main()
