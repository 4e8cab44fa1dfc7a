#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`myriarm run` with a queue of inputs: queue_test.py MYRIARM [unittest options]"""
import hashlib
import json
import pathlib
import random
import signal
import subprocess

import case
import guest
from case import DEVICE, CliTest, main

SHA256 = pathlib.Path(__file__).parents[2] / "examples" / "prebuilt" / "sha256"


class Queue(CliTest):
    def entries(self, text):
        return [json.loads(line) for line in text.splitlines()]

    def lines(self, count, size=40, seed=1):
        generator = random.Random(seed)
        lines = [b"%d %s\n" % (i, b"x" * generator.randrange(size)) for i in range(count)]
        return self.file("lines", b"".join(lines)), lines

    def expect_digests(self, entries, lines):
        self.assertEqual([entry["number"] for entry in entries], list(range(len(lines))))
        self.assertEqual([entry["stdout"].split()[0] for entry in entries],
                         [hashlib.sha256(line).hexdigest() for line in lines])

    def test_results_come_in_order(self):
        path, lines = self.lines(500)
        done = self.run_guest("--quiet", "--inputs", path, "--lanes", 33, SHA256)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        entries = self.entries(done.stdout)
        self.expect_digests(entries, lines)
        self.assertEqual(
            list(entries[0]),
            ["number", "stop", "exit_status", "signal", "instructions", "pc", "fault", "stdout", "stderr"],
        )
        one = self.run_guest("--quiet", "--inputs", path, "--lanes", 1, SHA256)
        self.assertEqual(one.stdout, done.stdout, "the number of lanes changes nothing")

    def test_unordered_results_are_the_same(self):
        path, lines = self.lines(300, size=4000)
        log = self.folder / "log"
        done = self.run_guest("--inputs", path, "--lanes", 16, "--unordered", "--results", log, SHA256)
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        self.assertIn(b"300 done, 0 failed", done.stderr)
        self.expect_digests(sorted(self.entries(log.read_text()), key=lambda entry: entry["number"]), lines)

    def test_a_queue_from_a_pipe(self):
        path, lines = self.lines(100)
        done = self.run_guest("--quiet", "--inputs", "-", "--lanes", 7, SHA256, input=b"".join(lines))
        self.expect_digests(self.entries(done.stdout), lines)

    def test_a_folder_of_outputs(self):
        folder = self.folder / "in"
        folder.mkdir()
        for name, contents in (("b", b"2"), ("a", b"1\xff"), ("c", b"")):
            (folder / name).write_bytes(contents)
        out = self.folder / "out"
        done = self.run_guest("--quiet", "--inputs", folder, "--output-dir", out, self.elf(guest.CAT), "@@")
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        self.assertEqual([(out / f"{i}.stdout").read_bytes() for i in range(3)], [b"1\xff", b"2", b""])
        self.assertEqual([(out / f"{i}.stderr").read_bytes() for i in range(3)], [b""] * 3)
        entries = self.entries((out / "results.jsonl").read_text())
        self.assertEqual([(entry["input"], entry["exit_status"]) for entry in entries],
                         [("a", 0), ("b", 0), ("c", 0)])
        self.assertNotIn("stdout", entries[0])

    def test_failures_are_results(self):
        arguments = self.file("args", b"readonly\nnull\nnone\n")
        fault = SHA256.with_name("fault")
        done = self.run_guest("--args-file", arguments, "--lanes", 2, fault)
        entries = self.entries(done.stdout)
        self.assertEqual([(entry["stop"], entry["signal"]) for entry in entries[:2]], [("fault", 11)] * 2)
        self.assertEqual(done.returncode, 128 + signal.SIGSEGV, "the highest of all inputs")
        self.assertRegex(done.stderr.decode(), r"inputs +3 done, [23] failed")
        loop = self.run_guest("--quiet", "--inputs", arguments, "--lanes", 2, "--timeout-instructions", 1000,
                              self.elf(guest.LOOP))
        self.assertEqual([(entry["stop"], entry["instructions"]) for entry in self.entries(loop.stdout)],
                         [("budget", 1000)] * 3)
        self.assertEqual(loop.returncode, 124)

    def resumed(self, kills, *options):
        """Kills a queue `kills` times when its results have grown to a random size, and lets it end then."""
        path, lines = self.lines(400, size=3000)
        log = self.folder / "log"
        command = [case.MYRIARM, "run", "--device", DEVICE, "--quiet", "--inputs", path, "--lanes", "8"]
        command += ["--resume", *options, "--results", str(log), str(SHA256)]
        generator = random.Random(7)
        for _ in range(kills):
            size = log.stat().st_size if log.exists() else 0
            target = size + generator.randrange(1, 3000)
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while process.poll() is None and (not log.exists() or log.stat().st_size < target):
                pass
            process.kill()
            process.wait()
        done = subprocess.run(command, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.entries(log.read_text()), lines

    def test_a_killed_queue_goes_on(self):
        self.expect_digests(*self.resumed(25))

    def test_a_killed_queue_without_order_goes_on(self):
        entries, lines = self.resumed(25, "--unordered")
        self.expect_digests(sorted(entries, key=lambda entry: entry["number"]), lines)

    def test_a_line_that_was_cut_off_is_made_again(self):
        path, lines = self.lines(30)
        log = self.folder / "log"
        options = ["--quiet", "--inputs", path, "--lanes", 4, "--results", log]
        self.run_guest(*options, SHA256)
        whole = log.read_bytes()
        for size in (0, 1, len(whole) // 2, len(whole) - 1, len(whole)):
            log.write_bytes(whole[:size])
            self.assertEqual(self.run_guest(*options, "--resume", SHA256).returncode, 0)
            self.assertEqual(log.read_bytes(), whole, size)
        log.write_bytes(b"something else\n")
        self.assert_refused("run", *options, "--resume", SHA256, says="no result of a queue")
        self.assertEqual(log.read_bytes(), b"something else\n", "it was not written to")

    def test_mistakes(self):
        path, _ = self.lines(3)
        program = self.elf(guest.CAT)
        self.assert_refused("run", "--results", "-", program, says="no queue")
        self.assert_refused("run", "--resume", "--inputs", path, program, says="--results FILE")
        self.assert_refused("run", "--results", "-", "--output-dir", self.folder, "--inputs", path, program,
                            says="--output-dir already")
        self.assert_refused("run", "--lanes", 2, "--json", "-", "--inputs", path, program, says="--results")
        self.assert_refused("run", "--results", "/nowhere/x", "--inputs", path, program,
                            says="cannot be written")
        self.assert_refused("run", "--output-dir", "/dev/null/x", "--inputs", path, program,
                            says="cannot be made")
        for options in (["--results", "/dev/full"], ["--lanes", "2"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([case.MYRIARM, "run", "--device", DEVICE, "--quiet", "--inputs", path,
                                       *options, program], stdout=full, stderr=subprocess.PIPE, timeout=60)
            self.assertEqual(done.returncode, 2, options)
            self.assertIn(b"could not be written", done.stderr)


if __name__ == "__main__":
    main()
