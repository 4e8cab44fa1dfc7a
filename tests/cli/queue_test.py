#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`myriarm run` with a queue of inputs: queue_test.py MYRIARM [unittest options]"""
import dataclasses
import hashlib
import json
import os
import pathlib
import pty
import random
import re
import shutil
import signal
import subprocess
import typing

import case
import fork_test
import guest
from case import DEVICE, CliTest, main

SHA256 = pathlib.Path(__file__).parents[2] / "examples" / "prebuilt" / "sha256"
SOME_DEVICES = (DEVICE, f"{DEVICE},cpu", "cpu,cpu", "cpu", f"cpu,{DEVICE},cpu")


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

    def test_grouped_results_are_the_same(self):
        lines, order = case.two_families(40)
        path, log = self.file("lines", lines), self.folder / "log"
        options = ("--quiet", "--inputs", path, "--lanes", 1)
        one = self.run_guest(*options, SHA256).stdout
        done = self.run_guest(*options, "--group", SHA256).stdout
        self.assertEqual([entry["number"] for entry in self.entries(done)], order)
        self.assertEqual(sorted(done.splitlines()), sorted(one.splitlines()))
        done = self.shared(*options, "--group", SHA256, device="cpu,cpu").stdout
        self.assertEqual(sorted(done.splitlines()), sorted(one.splitlines()))
        self.run_guest("--quiet", "--inputs", path, "--group", "--output-dir", log, SHA256)
        for number, entry in enumerate(self.entries(one)):
            self.assertEqual((log / f"{number}.stdout").read_text(), entry["stdout"])

    def test_arguments_are_grouped(self):
        path = self.file("args", b"some 1\nother 1\nsome 2\nother 20\nother 3\n")
        options = ("--quiet", "--args-file", path, "--lanes", 1)
        one = self.run_guest(*options, SHA256.with_name("fault")).stdout
        done = self.run_guest(*options, "--group", SHA256.with_name("fault")).stdout
        self.assertEqual([entry["number"] for entry in self.entries(done)], [1, 4, 3, 0, 2])
        self.assertEqual(sorted(done.splitlines()), sorted(one.splitlines()))

    def test_a_last_record_that_is_cut_off(self):
        path = self.file("records", bytes(100 * 16 + 5))
        for device in ("cpu", "cpu,cpu"):
            for lanes in (2, 64, 128):
                done = self.myriarm("run", "--device", device, "--quiet", "--inputs", path,
                                    "--record-size", 16, "--lanes", lanes, SHA256)
                self.assertEqual(done.returncode, 2)
                self.assertIn(b"has 5 of 16 bytes", done.stderr)
                self.assertEqual([entry["number"] for entry in self.entries(done.stdout)], list(range(100)))

    def test_files_that_cannot_be_read_are_left_out(self):
        folder = self.folder / "in"
        folder.mkdir()
        for name in "abcdef":
            (folder / name).write_bytes(name.encode())
        arguments = self.file("args", b"".join(b"%d\n" % i for i in range(6)))
        for name in "be":
            os.truncate(folder / name, 2**32 + 1)
        log, show = self.folder / "log", self.elf(guest.SHOW)
        for words, word in ([], ""), (["--args-file", arguments], "{}\n"):
            done = self.run_guest("--quiet", "--inputs", folder, "--lanes", 2, "--results", log, *words, show)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"b has more than 4 GiB; 2 of 6 files are no input", done.stderr)
            expected = [(i, "abcdef"[i], f"{show}\n{word.format(i)}MYRIARM_LANE={i}\n{'abcdef'[i]}")
                        for i in (0, 2, 3, 5)]
            found = [(entry["number"], entry["input"], entry["stdout"])
                     for entry in self.entries(log.read_text())]
            self.assertEqual(found, expected)

    def test_a_line_without_end(self):
        for words in (["--results", self.folder / "log"], ["--results", self.folder / "digests.npy"]):
            with open("/dev/zero", "rb") as zeros:
                done = self.run_guest("--quiet", "--inputs", "-", "--lanes", 2, *words, SHA256, stdin=zeros)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"line 1 of - has no end within 64 MiB", done.stderr)

    def test_a_queue_from_a_pipe(self):
        path, lines = self.lines(100)
        done = self.run_guest("--quiet", "--inputs", "-", "--lanes", 7, SHA256, input=b"".join(lines))
        self.expect_digests(self.entries(done.stdout), lines)

    def test_a_result_is_written_before_the_next_input_is_read(self):
        process = subprocess.Popen(
            [case.MYRIARM, "run", "--device", DEVICE, "--quiet", "--inputs", "-", "--lanes", "1", SHA256],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for number in range(10):
            process.stdin.write(b"%d\n" % number)
            process.stdin.flush()
            self.assertEqual(json.loads(process.stdout.readline())["number"], number)
        self.assertEqual(process.communicate(), (b"", None))

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

    def resumed(self, kills, *options, devices=(DEVICE,)):
        """Kills a queue `kills` times when its results have grown to a random size, and lets it end then.
        Each time another one of `devices` works it off."""
        path, lines = self.lines(400, size=3000)
        log = self.folder / "log"
        generator = random.Random(7)
        for kill in range(kills + 1):
            device = devices[kill % len(devices)]
            command = [case.MYRIARM, "run", "--device", device, "--quiet", "--lanes", "8"]
            command += ["--inputs", path, "--resume", *options, "--results", str(log), str(SHA256)]
            if kill == kills:
                break
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

    def test_a_killed_queue_goes_on_with_other_devices(self):
        self.expect_digests(*self.resumed(25, devices=SOME_DEVICES))

    def test_a_killed_queue_of_devices_without_order_goes_on(self):
        for option in ("--unordered", "--group"):
            with self.subTest(option=option):
                entries, lines = self.resumed(10, option, devices=SOME_DEVICES[1:])
                self.expect_digests(sorted(entries, key=lambda entry: entry["number"]), lines)
                (self.folder / "log").unlink()

    def shared(self, *arguments, device=f"{DEVICE},cpu", **options):
        return self.myriarm("run", "--device", device, *arguments, **options)

    def test_devices_share_a_queue(self):
        path, _ = self.lines(500)
        one = self.run_guest("--quiet", "--inputs", path, "--lanes", 16, SHA256).stdout
        for device in (f"{DEVICE},cpu", "cpu,cpu,cpu", "all"):
            done = self.shared("--quiet", "--inputs", path, "--lanes", 5, SHA256, device=device)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(done.stdout, one, device)
        log = self.folder / "log"
        done = self.shared("--inputs", path, "--unordered", "--results", log, SHA256)
        self.assertEqual(sorted(log.read_bytes().splitlines()), sorted(one.splitlines()))
        said = done.stderr.decode()
        self.assertRegex(said, rf"inputs +500 done, 0 failed\ndevices +{DEVICE}[:0-9]*, cpu\n")
        fault = SHA256.with_name("fault")
        arguments = self.file("args", b"some\n" * 40)
        one = self.run_guest("--quiet", "--args-file", arguments, "--lanes", 16, fault)
        done = self.shared("--quiet", "--args-file", arguments, "--lanes", 2, fault)
        self.assertEqual((done.stdout, done.returncode), (one.stdout, 128 + signal.SIGSEGV))

    def test_an_input_that_does_not_fit_comes_after_the_others(self):
        arguments = self.file("args", b"".join(b"%d\n" % i for i in range(60)) + b"x" * 10**6 + b"\n1\n" * 20)
        for device in (DEVICE, f"{DEVICE},cpu"):
            done = self.shared("--quiet", "--args-file", arguments, "--memory", "1M", "--lanes", 7,
                               self.elf(guest.EXIT_LANE), device=device)
            self.assertEqual(done.returncode, 2)
            self.assertEqual([entry["number"] for entry in self.entries(done.stdout)], list(range(60)))
            self.assertIn(b"arguments", done.stderr)

    def test_the_queue_as_json(self):
        # Two lanes begin together, and the one that ends first waits for the other.
        path = self.file("lines", b"short\n" + b"x" * 3000 + b"\n")
        log, whole = self.folder / "log", self.folder / "whole"
        options = ["--inputs", path, "--lanes", 2, "--results", log]
        done = self.run_guest("--json", whole, *options, SHA256)
        self.assertEqual(done.stdout, b"")
        counts = [entry["instructions"] for entry in self.entries(log.read_text())]
        described = json.loads(whole.read_text())
        self.assertEqual(
            list(described),
            ["devices", "engine", "lanes", "inputs", "failed", "earlier", "stopped_early", "instructions",
             "seconds", "ips", "inputs_per_second", "idle_share", "longest", "median_instructions",
             "history", "device_failures", "unimplemented"])
        history = described["history"]
        self.assertTrue(1 <= len(history) <= 128)
        points = [(at["seconds"], at["inputs"], at["instructions"]) for at in history]
        self.assertEqual(points, sorted(points))
        self.assertLessEqual(history[-1]["instructions"], described["instructions"])
        self.assertEqual((described["lanes"], described["inputs"], described["stopped_early"]), (2, 2, False))
        self.assertEqual(described["instructions"], sum(counts))
        longest = counts[1]
        self.assertGreater(longest, counts[0])
        self.assertEqual(described["longest"], {"number": 1, "instructions": longest})
        self.assertAlmostEqual(described["idle_share"], 1 - sum(counts) / (2 * longest))
        self.assertRegex(done.stderr.decode(), r"longest +input 1: ")
        again = self.run_guest("--json", "-", "--resume", *options, SHA256)
        described = json.loads(again.stdout)
        self.assertEqual((described["inputs"], described["earlier"], described["longest"]), (0, 2, None))

    def test_progress_says_the_time_left(self):
        path = self.file("lines", b"x\n" * 10**6)
        ours, theirs = pty.openpty()
        log = self.folder / "log"
        process = subprocess.Popen(
            [case.MYRIARM, "run", "--device", f"{DEVICE},cpu", "--inputs", path, "--lanes", "2",
             "--max-instructions", "1M", "--results", str(log), self.elf(guest.LOOP)], stderr=theirs)
        os.close(theirs)
        said = b""
        line = rb"done, \d+ running, [\d,]+ failed, .* inputs/s, .* IPS, \d+ .* left, lanes idle \d+ %"
        while not re.search(line, said):
            said += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        while process.poll() is None:
            try:
                os.read(ours, 4096)
            except OSError:  # the other end is closed
                process.wait()
        os.close(ours)
        self.assertEqual(process.returncode, 130)

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
        self.assert_refused("run", "--group", program, says="--group: there is no queue")
        self.assert_refused("run", "--resume", "--inputs", path, program, says="--results FILE")
        self.assert_refused("run", "--results", "-", "--output-dir", self.folder, "--inputs", path, program,
                            says="--output-dir already")
        self.assert_refused("run", "--lanes", 2, "--json", "-", "--inputs", path, program, says="--results")
        self.assert_refused("run", "--lanes", 2, "--json", "/nowhere/x", "--inputs", path, program,
                            says="cannot be written")
        self.assert_refused("run", "--lanes", 2, "--registers", "--inputs", path, program, says="--results")
        for device in ("all", "cpu,cpu"):
            self.assert_refused("run", "--device", device, program, says="share a queue")
            self.assert_refused("run", "--device", device, "--raw", "0", program, says="share a queue")
            self.assert_refused("run", "--device", device, "--inputs", path, program, says="share a queue")
        self.assert_refused("run", "--device", "cpu,abacus", "--lanes", 1, "--inputs", path, program,
                            says="abacus")
        self.assert_refused("run", "--device", "cpu,cpu", "--lanes", 1, "--strace", "all", "--inputs", path,
                            program, says="--strace")
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


@dataclasses.dataclass
class KilledQueue:
    """A queue that is killed again and again; its results must be those of a run that nothing disturbs."""
    BYTES: typing.ClassVar[int] = 512_000  # of its inputs: a multiple of the sizes of records
    options: tuple
    record_size: int = 0
    folder: bool = False
    program: object = SHA256

    def command(self, inputs, results):
        records = ("--record-size", self.record_size) if self.record_size else ()
        kept = ("--output-dir" if self.folder else "--results", results)
        words = ("--device", DEVICE, "--quiet", "--inputs", inputs, "--lanes", 8, *records, *self.options)
        return list(map(str, (case.MYRIARM, "run", *words, "--resume", *kept, self.program)))

    def log(self, results):
        return results / "results.jsonl" if self.folder else results

    def contents(self, results):
        """What a run has left, in the order of the inputs."""
        files = sorted(results.iterdir()) if self.folder else [results]
        lines = self.log(results).read_text().splitlines()
        lines.sort(key=lambda line: json.loads(line)["number"])
        return lines, {path.name: path.read_bytes() for path in files if path != self.log(results)}


class KilledQueues(CliTest):
    KILLS = int(os.environ.get("MYRIARM_TEST_KILLS", "12"))  # in all

    def queues(self):
        common = self.file("common", guest.elf_with_symbols(fork_test.GUEST, {"main": fork_test.PART}))
        return [
            KilledQueue(()),
            KilledQueue(("--unordered",)),
            KilledQueue(("--group",)),
            KilledQueue(("--fork-after", "read"), record_size=512),
            KilledQueue(("--fork-after", "main"), program=common),
            KilledQueue(("--unordered", "--fork-after", "main"), folder=True, program=common),
            KilledQueue(("--fork-after", "read"), record_size=1000, folder=True),
        ]

    def kill_once(self, queue, inputs, results, generator):
        """Kills a run when its results have grown by some size. Returns whether it had not ended before."""
        log = queue.log(results)
        size = log.stat().st_size if log.exists() else 0
        target = size + generator.choice((0, generator.randrange(500), generator.randrange(20000)))
        process = subprocess.Popen(queue.command(inputs, results), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        while process.poll() is None and (log.stat().st_size if log.exists() else 0) < target:
            pass
        process.kill()
        return process.wait() == -signal.SIGKILL

    def test_results_are_those_of_an_undisturbed_run(self):
        generator = random.Random(7)
        words = (b"%d %s" % (i, b"x" * generator.randrange(2000)) for i in range(600))
        text = b"\n".join(words).ljust(KilledQueue.BYTES)[:KilledQueue.BYTES]
        inputs = self.file("inputs", text)
        queues = self.queues()
        for number, queue in enumerate(queues):
            with self.subTest(options=queue.options, record_size=queue.record_size, folder=queue.folder):
                whole, results = self.folder / f"whole{number}", self.folder / f"results{number}"
                expected = subprocess.run(queue.command(inputs, whole), capture_output=True, timeout=300)
                self.assertEqual(expected.stderr, b"")
                kills = self.KILLS * (number + 1) // len(queues) - self.KILLS * number // len(queues)
                while kills:
                    if self.kill_once(queue, inputs, results, generator):
                        kills -= 1
                    else:  # it has ended: from the beginning
                        self.assertEqual(queue.contents(results), queue.contents(whole))
                        shutil.rmtree(results) if queue.folder else results.unlink()
                done = subprocess.run(queue.command(inputs, results), capture_output=True, timeout=300)
                self.assertEqual((done.returncode, done.stderr), (expected.returncode, b""))
                self.assertEqual(queue.contents(results), queue.contents(whole))
                if not {"--unordered", "--group"} & set(queue.options):
                    self.assertEqual(queue.log(results).read_bytes(), queue.log(whole).read_bytes())


if __name__ == "__main__":
    main()
