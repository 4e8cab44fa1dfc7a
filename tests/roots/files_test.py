#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Files that lanes write: each lane has its own, they can be taken out, a queue begins without them, and
# nothing that a program tries reaches the host or another lane.
#   files_test.py MYRIARM FOLDER
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
COMPILER = "aarch64-linux-gnu-gcc"
DEVICE = os.environ.get("MYRIARM_TEST_DEVICE", "cpu")


def snapshot_of(folder):
    """Paths, types, contents and times of all that is in a folder of the host."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[str(path)] = (status.st_mode, status.st_mtime_ns, content)
    return found


class Files(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        shutil.rmtree(BIND, ignore_errors=True)
        (BIND / "sub").mkdir(parents=True)
        (BIND / "text").write_text("given\n")
        (BIND / "sub/inner").write_text("inner")
        (BIND / "way-out").symlink_to("/../../../../../../etc")
        self.out = FOLDER / "out"
        shutil.rmtree(self.out, ignore_errors=True)
        self.before = snapshot_of(FOLDER)

    def tearDown(self):
        after = {
            path: what for path, what in snapshot_of(FOLDER).items() if not path.startswith(str(self.out))
        }
        self.assertEqual(after, self.before, "the host's files have changed")

    def run_lanes(self, *words, options=(), **more):
        command = [
            *RUN,
            "--root",
            ROOT,
            "--bind",
            f"{BIND}:/own:rw",
            "--cwd",
            "/own",
            *options,
            "/guest",
            *words,
        ]
        return subprocess.run(command, capture_output=True, timeout=300, **more)

    def lanes_of(self, done):
        return json.loads(done.stdout)["lane_results"]

    def collected(self, number):
        top = self.out / str(number)
        return {
            str(path.relative_to(top)): path.read_text()
            for path in top.rglob("*")
            if path.is_file() and not path.is_symlink()
        }

    def test_each_lane_has_its_own(self):
        (FOLDER / "inputs").mkdir(exist_ok=True)
        for i in range(6):
            (FOLDER / f"inputs/{i}").write_text(f"lane {i}\n")
        self.before = snapshot_of(FOLDER)
        for lanes in ([], ["--lanes", "2"], ["--lanes", "2", "--fork-after", "read"]):
            with self.subTest(lanes):
                shutil.rmtree(self.out, ignore_errors=True)
                options = ["--inputs", FOLDER / "inputs", *lanes, "--collect", "/own", "--collect", "/tmp"]
                done = self.run_lanes("keep", options=[*options, "--output-dir", self.out])
                self.assertEqual(done.returncode, 0, done.stderr)
                for i in range(6):
                    expected = {
                        "own/text": f"given\nlane {i}\n",
                        "own/sub/inner": "inner",
                        "tmp/own": f"lane {i}\n",
                    }
                    self.assertEqual(self.collected(i), expected)
                    self.assertEqual((self.out / f"{i}/tmp/own").stat().st_mode & 0o777, 0o640)
                    self.assertEqual(os.readlink(self.out / f"{i}/own/way-out"), "/../../../../../../etc")

    def test_without_collecting_nothing_is_left(self):
        done = self.run_lanes("keep", input=b"x\n", options=["--stdin", "-"])
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_a_file_alone_and_one_that_is_not_there(self):
        options = ["--stdin", "-", "--collect", "/tmp/own", "--collect", "/nothing", "--output-dir", self.out]
        self.assertEqual(self.run_lanes("keep", input=b"x\n", options=options).returncode, 0)
        self.assertEqual(self.collected(0), {"tmp/own": "x\n"})

    def test_a_lane_that_ends_with_a_fault_has_files(self):
        options = ["--collect", "/tmp", "--output-dir", self.out]
        self.assertEqual(self.run_lanes("fault", options=options).returncode, 139)
        self.assertEqual(self.collected(0), {"tmp/last": "words"})

    def test_a_fifo_is_collected_as_one(self):
        options = ["--collect", "/tmp", "--output-dir", self.out]
        for _ in range(2):  # the second one takes the place of the first
            self.assertEqual(self.run_lanes("fifo", options=options).returncode, 0)
            self.assertEqual(stat.filemode((self.out / "0/tmp/fifo").stat().st_mode), "prw--w----")

    def test_a_giant_file_is_left_out(self):
        options = ["--collect", "/tmp", "--output-dir", self.out]
        done = self.run_lanes("giant", options=options)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"/tmp/giant of 0 is too large to be collected, and was left out", done.stderr)
        self.assertEqual(self.collected(0), {"tmp/small": "small"})

    def test_what_the_output_has_is_replaced_and_not_followed(self):
        secret = FOLDER / "secret"
        secret.mkdir(exist_ok=True)
        (secret / "own").write_text("secret")
        self.before = snapshot_of(FOLDER)
        (self.out / "0").mkdir(parents=True)
        (self.out / "0/tmp").symlink_to(secret)
        options = ["--stdin", "-", "--collect", "/tmp", "--output-dir", self.out]
        self.assertEqual(self.run_lanes("keep", input=b"x\n", options=options).returncode, 0)
        self.assertEqual((secret / "own").read_text(), "secret")
        self.assertEqual(self.collected(0), {"tmp/own": "x\n"})

    def test_attempts(self):
        # Beside one lane that only reads what it was given.
        done = self.run_lanes("attempts", options=["--lanes", "2", "--json", "-", "--file-bytes", "2M"])
        first, second = self.lanes_of(done)
        self.assertEqual(second["stdout"], "given\nand nothing else: . .. sub text way-out\n")
        lines = first["stdout"].splitlines()
        self.assertGreater(len(lines), 40)
        self.assertEqual([line for line in lines if not line.startswith("refused")], ["done"])

    def test_mistakes(self):
        for options, message in (
            (["--bind", "nothing"], "--bind: nothing is no folder and its place"),
            (["--bind", "/nowhere:/x"], "/nowhere: cannot be opened as a bind (No such file"),
            (["--bind", f"{BIND}:x"], "x cannot be the place of"),
            (["--bind", f"{BIND}:/"], "that is the root"),
            (["--bind", f"{BIND}:/dev/x"], "/dev is not of files"),
            (["--bind", f"{BIND}:/a/../b"], "it has .."),
            (["--bind", f"{BIND}:/guest/x"], "guest is no folder"),
            (["--cwd", "/guest"], "/guest is no folder of the root"),
            (["--collect", "/tmp"], "--collect: the files need a place"),
            (["--file-bytes", "100G"], "a lane can keep 64 GiB of files at most"),
        ):
            with self.subTest(options):
                done = subprocess.run(
                    [*RUN, "--root", ROOT, *options, "/guest"], capture_output=True, text=True
                )
                self.assertEqual((done.stdout, done.returncode), ("", 2))
                self.assertIn(message, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
        for option in ("--bind", "--cwd", "--collect", "--file-bytes"):
            done = subprocess.run([*RUN, option, "1", ROOT / "guest"], capture_output=True, text=True)
            self.assertIn(f"{option}: the program has no files; give it a root with --root", done.stderr)


if __name__ == "__main__":
    MYRIARM, FOLDER = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    RUN = [MYRIARM, "run", "--device", DEVICE, "--quiet"]
    shutil.rmtree(FOLDER, ignore_errors=True)
    ROOT, BIND = FOLDER / "root", FOLDER / "bind"
    ROOT.mkdir(parents=True)
    subprocess.run(
        [COMPILER, "-O1", "-Wall", "-static", "-o", ROOT / "guest", HERE / "attempts.c"], check=True
    )
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
