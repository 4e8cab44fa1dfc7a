# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share: they run it as its users do."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import guest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from caught_signals import catches, is_interruptible  # noqa: E402, F401 - for the tests

DEVICE = os.environ.get("MYRIARM_TEST_DEVICE", "cpu")
MYRIARM = "myriarm"


def main():
    """The first argument is the path of myriarm, the others are those of unittest."""
    global MYRIARM
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} PATH_OF_MYRIARM")
    MYRIARM = os.path.abspath(sys.argv.pop(1))
    unittest.main(module="__main__", verbosity=1)


def two_families(count):
    """Lines of two kinds in turn, and the order of their numbers when inputs that resemble each other follow
    each other."""
    lines = [b"%s(%d)\n" % ((b"print", b"fetch")[i % 2], i) for i in range(count)]
    return b"".join(lines), [*range(1, count, 2), *range(0, count, 2)]


class CliTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        # Translated code of this test alone.
        self.cache = self.folder / "translation-cache"

    def file(self, name, contents):
        path = self.folder / name
        path.write_bytes(contents)
        return str(path)

    def elf(self, code):
        return self.file("guest", guest.elf(code))

    def myriarm(self, *arguments, **options):
        environment = {"MYRIARM_CACHE_DIR": str(self.cache), **options.pop("env", os.environ)}
        return subprocess.run(
            [MYRIARM, *map(str, arguments)], capture_output=True, timeout=120, env=environment, **options
        )

    def run_guest(self, *arguments, **options):
        return self.myriarm("run", "--device", DEVICE, *arguments, **options)

    def run_json(self, *arguments):
        done = self.run_guest("--json", "-", *arguments)
        return json.loads(done.stdout), done.returncode

    def assert_refused(self, *arguments, says):
        done = self.myriarm(*arguments)
        message = done.stderr.decode()
        self.assertEqual(done.returncode, 2, message)
        self.assertEqual(done.stdout, b"")
        self.assertTrue(message.startswith("myriarm: "), message)
        self.assertEqual(message.count("\n"), 1, message)
        self.assertIn(says, message)
        self.assertIn(";", message, "does not say what to do")
