#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`myriarm run` and the signals that end it, or that a write would send it:
signals_test.py MYRIARM [unittest options]"""
import json
import os
import pathlib
import resource
import signal
import subprocess

import case
import guest
from case import DEVICE, CliTest, main

SHA256 = pathlib.Path(__file__).parents[2] / "examples" / "prebuilt" / "sha256"
STATUSES = ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129))


class Signals(CliTest):
    def started(self, *arguments, device=DEVICE, **options):
        command = [case.MYRIARM, "run", "--device", device, *map(str, arguments)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, **options)
        self.addCleanup(process.kill)
        return process

    def end(self, process, number):
        """Sends the signal as soon as the command handles signals. Returns what it has said."""
        while not case.is_interruptible(process.pid):
            self.assertIsNone(process.poll())
            os.sched_yield()
        process.send_signal(number)
        # The pipe of its inputs stays open meanwhile.
        process.wait(timeout=60)
        said = process.stderr.read().decode()
        process.stdin.close()
        process.stderr.close()
        return said

    def results_in(self, log):
        if not log.exists():
            return 0
        if log.suffix == ".npy":
            return (log.stat().st_size - 512) // 72
        return log.read_bytes().count(b"\n")

    def test_a_queue_that_waits_for_inputs(self):
        """Results, summary and JSON are written whichever signal ends it."""
        for number, status in STATUSES:
            for name, device in (("log", DEVICE), ("log", f"{DEVICE},cpu"), ("log.npy", DEVICE)):
                with self.subTest(number=number, results=name, device=device):
                    log, whole = self.folder / name, self.folder / "whole"
                    options = ("--inputs", "-", "--lanes", 2, "--json", whole, "--results", log)
                    process = self.started(*options, SHA256, device=device)
                    process.stdin.write(b"1\n2\nhalf of the third")
                    process.stdin.flush()
                    while process.poll() is None and self.results_in(log) < 2:
                        os.sched_yield()
                    self.assertIn("2 done, 0 failed", self.end(process, number))
                    self.assertEqual(process.returncode, status)
                    described = json.loads(whole.read_text())
                    self.assertEqual((described["inputs"], described["stopped_early"]), (2, True))
                    log.unlink()

    def test_lanes_that_do_not_end(self):
        for number, status in STATUSES:
            path = self.folder / "json"
            process = self.started("--lanes", 3, "--json", path, self.elf(guest.LOOP))
            said = self.end(process, number)
            self.assertEqual(process.returncode, status, said)
            self.assertIn("instructions", said)
            stops = [lane["stop"] for lane in json.loads(path.read_text())["lane_results"]]
            self.assertEqual(stops, ["cancelled"] * 3)

    def test_ignored_signals_stay_ignored(self):
        def ignore():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

        process = self.started("--quiet", self.elf(guest.LOOP), preexec_fn=ignore)
        while not case.is_interruptible(process.pid):
            self.assertIsNone(process.poll())
        self.assertFalse(case.catches(process.pid, signal.SIGHUP))
        process.send_signal(signal.SIGHUP)
        self.end(process, signal.SIGINT)
        self.assertEqual(process.returncode, 130)


class FileSizes(CliTest):
    LIMIT = 8192

    def limited(self, *arguments):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.LIMIT, self.LIMIT))

        return self.run_guest("--quiet", *arguments, preexec_fn=limit)

    def test_a_file_of_results_that_may_not_grow(self):
        path = self.file("lines", b"".join(b"%d\n" % i for i in range(1000)))
        out = self.folder / "out"
        for options, results in ((("--results", self.folder / "log"), self.folder / "log"),
                                 (("--results", self.folder / "log.npy"), self.folder / "log.npy"),
                                 (("--output-dir", out), out / "results.jsonl")):
            done = self.limited("--inputs", path, *options, SHA256)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertRegex(done.stderr.decode(), r"^myriarm: --.*: .* could not be written completely "
                                                   r"\(File too large\); [^\n]*\n$")
            self.assertEqual(results.stat().st_size, self.LIMIT)

    def test_other_files(self):
        for option in ("--json", "--strace-file"):
            done = self.limited("--lanes", 300, option, self.folder / "file", SHA256)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(b"could not be written completely", done.stderr)


if __name__ == "__main__":
    main()
