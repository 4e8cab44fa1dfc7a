# SPDX-License-Identifier: Apache-2.0
"""Standard streams that are closed, full, slow, endless, or that nobody reads any more."""

import errno
import fcntl
import json
import os
import signal
import subprocess
import tempfile

from attack import DEVICE, F_SETPIPE_SZ, MEBIBYTE, Attack, needs_memory_limits, slow


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
        status, output = self.lose_the_reader(*run, "zeros", stream=2)
        self.assertEqual((status, output), (128 + signal.SIGPIPE, bytes(MEBIBYTE)))

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
