# SPDX-License-Identifier: Apache-2.0
"""What the attacks of this folder share: how a command is started, and what is known of its end."""

import argparse
import functools
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import threading
import unittest

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
            self.skipTest("--no-memory-limits: sanitizers take memory and addresses of their own")
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
