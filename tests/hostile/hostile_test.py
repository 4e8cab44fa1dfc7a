#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks on the command line: absurd options, files and streams, limits of the host, Ctrl-C, and guests
that take all they can get (guest.c). Whatever happens, the command ends by itself with a status and a
sentence, and takes little more memory than what it was asked to keep.
    hostile_test.py --myriarm PATH --work FOLDER [--slow] [--no-memory-limits] [unittest options]
--slow adds the attacks that take minutes or gigabytes. --no-memory-limits leaves out what depends on memory.
"""

import argparse
import errno
import fcntl
import functools
import json
import os
import pathlib
import resource
import select
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEVICE = os.environ.get("MYRIARM_TEST_DEVICE", "cpu")
HANG_SECONDS = 300  # ends a command that hangs, and fails its test
MEBIBYTE = 1 << 20
F_SETPIPE_SZ = 1031  # fcntl has the name from Python 3.10 on
OPTIONS = argparse.Namespace()


class Ended:
    """How a command ended: status (negative: killed by a signal), output, and the most memory that it took.
    The kernel counts this process's memory when it started the command, too; so tests hold little then."""

    def __init__(self, status, stdout, stderr, most_bytes):
        self.status, self.stdout, self.stderr, self.most_bytes = status, stdout, stderr, most_bytes


def needs_memory_limits(test):
    @functools.wraps(test)
    def run(self):
        if OPTIONS.no_memory_limits:
            self.skipTest("memory is not as in a plain build")
        test(self)

    return run


def slow(test):
    """For attacks that take minutes or gigabytes."""

    @functools.wraps(test)
    def run(self):
        if not OPTIONS.slow:
            self.skipTest("slow")
        test(self)

    return run


class Attack(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=OPTIONS.work)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.guest = str(OPTIONS.work / "guest")

    def file(self, name, contents=b""):
        path = self.folder / name
        path.write_bytes(contents)
        return str(path)

    def sparse(self, name, size):
        path = self.file(name)
        os.truncate(path, size)
        return path

    def start(self, *words, addresses=None, shell=None, **streams):
        """Starts the command. addresses: its limit of address space in bytes; shell: redirections."""
        command = [OPTIONS.myriarm, *map(str, words)]
        if shell:
            command = ["sh", "-c", f'exec "$0" "$@" {shell}', *command]

        def limits():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if addresses is not None:
                resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))

        return subprocess.Popen(command, preexec_fn=limits, **streams)

    def end(self, process):
        """Waits for a process, and returns its status and the most memory that it took, in bytes."""
        guard = threading.Timer(HANG_SECONDS, process.kill)
        guard.start()
        _, status, usage = os.wait4(process.pid, 0)
        guard.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertNotEqual(process.returncode, -signal.SIGKILL, "it hung, or the host has too little memory")
        return process.returncode, usage.ru_maxrss * 1024

    def attack(self, *words, stdin=subprocess.DEVNULL, addresses=None, shell=None, stdout=None):
        with open(self.folder / "stdout", "w+b") as out, open(self.folder / "stderr", "w+b") as err:
            process = self.start(
                *words, addresses=addresses, shell=shell, stdin=stdin, stdout=stdout or out, stderr=err
            )
            status, most_bytes = self.end(process)
            out.seek(0)
            err.seek(0)
            ended = Ended(status, out.read(), err.read().decode(), most_bytes)
        self.assertGreaterEqual(status, 0, f"killed by a signal: {ended.stderr}")
        return ended

    def run_guest(self, *words, **options):
        return self.attack("run", "--device", DEVICE, *words, **options)

    def refused(self, *words, says, **options):
        ended = self.attack(*words, **options)
        self.assertEqual(ended.status, 2, ended.stderr)
        self.assertIn(says, ended.stderr)
        self.assertEqual(ended.stderr.count("\n"), 1, ended.stderr)
        return ended

    def assert_takes(self, ended, kept):
        """What it took beyond what any run takes is at most 1.5 times what it had to keep."""
        if OPTIONS.no_memory_limits:
            return
        self.assertLess(ended.most_bytes - self.least(), 1.5 * kept + 2 * MEBIBYTE)

    def least(self):
        """What a run takes that keeps nothing."""
        return self.run_guest("--quiet", self.guest, "missing calls", "0").most_bytes


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


class Streams(Attack):
    def test_closed(self):
        for shell in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-", "<&- >&-", ">&- 2>&-"):
            result = self.folder / "result.json"
            ended = self.run_guest("--json", result, self.guest, "letters", shell=shell)
            self.assertEqual(ended.status, 1 if ">&-" in shell.replace("2>&-", "") else 0, shell)
            lanes = json.loads(result.read_bytes())["lane_results"]
            self.assertEqual([lane["stop"] for lane in lanes], ["exited"], "no other output is in the file")
            self.assertEqual(len(ended.stdout), 0 if ended.status else MEBIBYTE)

    def test_closed_input(self):
        self.refused("run", "--stdin", "-", self.guest, "read all", says="Bad file descriptor", shell="<&-")

    def test_standard_output_is_closed_or_full(self):
        program = self.file("code", bytes.fromhex("1f2003d5") * 100_000)
        commands = (
            ["info"],
            ["info", "--json"],
            ["isa"],
            ["isa", "--json"],
            ["disasm", program],
            ["--help"],
            ["run", "--help"],
            ["--version"],
            ["run", "--quiet", "--json", "-", self.guest, "touch"],
            ["run", "--quiet", "--lanes", "2", self.guest, "touch"],
        )
        for shell, says in ((">/dev/full", "No space left"), (">&-", "Bad file descriptor")):
            for command in commands:
                self.refused(*command, says="standard output could not be written", shell=shell)
                self.refused(*command, says=says, shell=shell)

    def test_standard_error_is_closed_or_full(self):
        for shell in ("2>/dev/full", "2>&-"):
            ended = self.run_guest(self.guest, "touch", shell=shell)
            self.assertEqual((ended.status, ended.stdout), (0, b"ok\n"), shell)
            ended = self.run_guest("--lanes", "2", self.guest, "touch", shell=shell)
            self.assertEqual((ended.status, ended.stdout), (0, b"== lanes 0-1: exited with 0\nok\n"), shell)
            self.assertEqual(self.run_guest("--lanes", "0", self.guest, shell=shell).status, 2)
            self.assertEqual(self.attack("frobnicate", shell=shell).status, 2)
            self.assertEqual(
                self.run_guest("--lanes", "2", self.guest, "zeros", shell=shell).status, 2, "it is lost"
            )

    def test_everything_reaches_a_slow_reader(self):
        reading, writing = os.pipe()
        fcntl.fcntl(writing, F_SETPIPE_SZ, 4096)
        process = self.start("run", "--device", DEVICE, "--quiet", self.guest, "letters", stdout=writing)
        os.close(writing)
        total = 0
        while part := os.read(reading, 100):
            self.assertEqual(part, b"A" * len(part))
            total += len(part)
        os.close(reading)
        self.assertEqual(self.end(process)[0], 0)
        self.assertEqual(total, MEBIBYTE)

    def lose_the_reader(self, *words, stream=1):
        """Runs a command whose output (stream 1) or messages (2) go to a pipe that nobody reads any more."""
        reading, writing = os.pipe()
        os.close(reading)
        try:
            with tempfile.TemporaryFile(dir=self.folder) as other:
                streams = {"stdout": other, "stderr": other, ("stdout", "stderr")[stream - 1]: writing}
                status, _ = self.end(self.start(*words, stdin=subprocess.DEVNULL, **streams))
                other.seek(0)
                return status, other.read()
        finally:
            os.close(writing)

    def test_a_program_whose_reader_has_gone_gets_sigpipe(self):
        result = self.folder / "result"
        run = ["run", "--device", DEVICE, "--quiet", "--json", result, self.guest]
        self.assertEqual(self.lose_the_reader(*run, "letters", "64"), (128 + signal.SIGPIPE, b""))
        lane = json.loads(result.read_bytes())["lane_results"][0]
        self.assertEqual((lane["exit_status"], lane["signal"]), (None, signal.SIGPIPE))
        self.assertEqual(self.lose_the_reader(*run, "letters without SIGPIPE"), (errno.EPIPE, b""))
        self.assertEqual(json.loads(result.read_bytes())["lane_results"][0]["exit_status"], errno.EPIPE)
        self.assertEqual(self.lose_the_reader(*run, "zeros", stream=2), (128 + signal.SIGPIPE, bytes(MEBIBYTE)))

    def test_a_reader_that_goes_after_the_first_line(self):
        reading, writing = os.pipe()
        result = self.folder / "result"
        words = ["--quiet", "--json", result, self.guest, "letters", "64"]
        process = self.start("run", "--device", DEVICE, *words, stdout=writing)
        os.close(writing)
        self.assertEqual(os.read(reading, 1), b"A")
        os.close(reading)
        self.assertEqual(self.end(process)[0], 128 + signal.SIGPIPE)
        self.assertEqual(json.loads(result.read_bytes())["lane_results"][0]["signal"], signal.SIGPIPE)

    def test_a_command_whose_reader_has_gone_ends_quietly_and_completes_its_file(self):
        program = self.file("code", bytes.fromhex("1f2003d5") * 100_000)
        result = self.folder / "result"
        for command in (
            ["run", "--quiet", "--lanes", 20, "--json", result, self.guest, "letters"],
            ["run", "--quiet", "--json", "-", self.guest, "letters"],
            ["info"],
            ["isa", "--json"],
            ["disasm", program],
            ["run", "--help"],
            ["--version"],
        ):
            self.assertEqual(self.lose_the_reader(*command), (128 + signal.SIGPIPE, b""), command)
        lanes = json.loads(result.read_bytes())["lane_results"]
        self.assertEqual([len(lane["stdout"]) for lane in lanes], [MEBIBYTE] * 20)

    def test_messages_that_nobody_reads_change_nothing(self):
        self.assertEqual(self.lose_the_reader("run", self.guest, "touch", stream=2), (0, b"ok\n"))
        self.assertEqual(self.lose_the_reader("frobnicate", stream=2), (2, b""))

    def test_endless_input(self):
        self.refused("run", "--stdin", "/dev/zero", self.guest, "read all", says="regular file")

    @needs_memory_limits
    def test_endless_input_in_little_memory(self):
        with open("/dev/zero", "rb") as zeros:
            self.refused(
                "run",
                "--device",
                "cpu",
                "--stdin",
                "-",
                self.guest,
                "read all",
                says="too little memory",
                stdin=zeros,
                addresses=512 * MEBIBYTE,
            )

    @slow
    def test_endless_input_in_much_memory(self):
        with open("/dev/zero", "rb") as zeros:
            self.refused("run", "--stdin", "-", self.guest, "read all", says="larger than 4 GiB", stdin=zeros)


class Limits(Attack):
    """ulimit -v."""

    @needs_memory_limits
    def test_the_default_pool_fits(self):
        for kibibytes in (4_000_000, 1_000_000, 400_000, 200_000):
            ended = self.attack(
                "run", "--device", "cpu", self.guest, "touch", "16", addresses=kibibytes << 10
            )
            self.assertEqual((ended.status, ended.stdout), (0, b"ok\n"), f"{kibibytes}: {ended.stderr}")

    @needs_memory_limits
    def test_too_little(self):
        ends = set()
        for mebibytes in range(24, 96, 4):
            ended = self.attack("run", "--device", "cpu", self.guest, "touch", addresses=mebibytes << 20)
            ends.add(ended.status)
            if ended.status == 0:
                self.assertEqual(ended.stdout, b"ok\n", mebibytes)
            elif ended.status != 127:  # that of the dynamic loader
                self.assertEqual(ended.status, 2, f"{mebibytes}: {ended.stderr}")
                self.assertTrue(ended.stderr.startswith("myriarm: "), ended.stderr)
        self.assertIn(0, ends)

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

    def json_of(self, *words, kept):
        """The result of a run, with its JSON read from a pipe."""
        least = self.least()
        reading, writing = os.pipe()
        parts = []

        def read():
            while part := os.read(reading, 1 << 20):
                parts.append(part)

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
        return ended, b"".join(parts)

    def test_json_of_zeros(self):
        ended, text = self.json_of(self.guest, "zeros", "16", kept=32 * MEBIBYTE)
        lane = json.loads(text)["lane_results"][0]
        self.assertEqual(ended.status, 0)
        for stream in ("stdout", "stderr"):
            self.assertEqual(lane[stream], "\0" * (16 * MEBIBYTE))

    def test_json_of_bytes(self):
        _, text = self.json_of(self.guest, "bytes", "16", kept=16 * MEBIBYTE)
        lane = json.loads(text)["lane_results"][0]
        self.assertEqual(lane["stdout"], "\ufffd" * (16 * MEBIBYTE))
        self.assertEqual(len(lane["stdout_base64"]), (16 * MEBIBYTE + 2) // 3 * 4)

    @slow
    def test_json_of_many_zeros(self):
        ended, text = self.json_of(self.guest, "zeros", "256", kept=512 * MEBIBYTE)
        self.assertEqual(ended.status, 0)
        self.assertTrue(text.endswith(b'"}\n]}\n'))
        self.assertGreater(len(text), 6 * 512 * MEBIBYTE)

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


class Interrupts(Attack):
    def catches(self, process):
        """Whether a process has a handler for SIGINT by now."""
        self.assertIsNone(process.poll(), "it ended before it was told")
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        caught = int(next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:")), 16)
        return caught >> (signal.SIGINT - 1) & 1

    def until(self, condition):
        while not condition():
            os.sched_yield()

    def start_run(self, *words, **streams):
        self.result = self.folder / "result.json"
        process = self.start("run", "--device", DEVICE, "--quiet", "--json", self.result, *words, **streams)
        self.until(lambda: self.catches(process))
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
        process = self.start("run", "--device", DEVICE, "--json", "-", self.guest, "letters", stdout=writing)
        self.until(is_full)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.end(process)[0], 128 + signal.SIGINT)


def build_guest():
    OPTIONS.work.mkdir(parents=True, exist_ok=True)
    source = pathlib.Path(__file__).parent / "guest.c"
    subprocess.run(
        [ROOT / "tools" / "build_guest.sh", (OPTIONS.work / "guest").resolve(), source], check=True
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--myriarm", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--no-memory-limits", action="store_true")
    _, rest = parser.parse_known_args(namespace=OPTIONS)
    OPTIONS.myriarm, OPTIONS.work = OPTIONS.myriarm.resolve(), OPTIONS.work.resolve()
    build_guest()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=1)


if __name__ == "__main__":
    main()
