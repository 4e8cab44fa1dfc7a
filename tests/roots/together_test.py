#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Different programs in one fleet leave what each leaves alone: debian_lanes.cpp with programs of ours.
#   together_test.py MYRIARM DEBIAN_LANES FOLDER
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import unittest

from debian_folder import left_in
from debian_together import by_program, read_results, write_table
from lanes import stream_of

HERE = pathlib.Path(__file__).resolve().parent
DEVICE = os.environ.get("MYRIARM_TEST_DEVICE", "cpu")
INPUT = b"one\ntwo words\n"
VARIABLES = {"GREETING": "good day"}
LINES = ("/bin/hello", "/bin/keeps keep", "/bin/hello a 'b c' ''", "/bin/keeps fault", "/bin/keeps fifo")


class Together(unittest.TestCase):
    maxDiff = None

    def alone(self, line):
        shutil.rmtree(FOLDER / "out", ignore_errors=True)
        own = ["--root", ROOT, "--bind", f"{OWN}:/own:rw", "--cwd", "/own", "--memory", "1G"]
        command = [MYRIARM, "run", "--device", DEVICE, "--quiet", *own, "--stdin", "-", "--json", "-"]
        command += [f"--env={name}={value}" for name, value in VARIABLES.items()]
        command += ["--collect", "/own", "--output-dir", FOLDER / "out", *shlex.split(line)]
        done = subprocess.run(command, input=INPUT, capture_output=True, timeout=300)
        lane = json.loads(done.stdout)["lane_results"][0]
        status = 128 + lane["signal"] if lane["signal"] else lane["exit_status"]
        files = left_in(FOLDER / "out/0/own")
        return stream_of(lane, "stdout"), stream_of(lane, "stderr"), status, files, lane["instructions"]

    def test_each_leaves_what_it_leaves_alone(self):
        chosen = by_program(("", line, False) for line in LINES)
        lines = [line for _, line, _ in chosen]
        self.assertEqual([line.split()[0] for line in lines], ["/bin/hello"] * 2 + ["/bin/keeps"] * 3)
        write_table(FOLDER / "table", lines, INPUT, VARIABLES)
        command = [LANES, DEVICE, "interpreter", ROOT, OWN, "300", FOLDER / "table", FOLDER / "results"]
        subprocess.run(command, check=True, timeout=600)
        found, missing = read_results(FOLDER / "results", lines)
        self.assertEqual(missing, [])
        for line in lines:
            with self.subTest(line):
                self.assertEqual(found[line], self.alone(line))
        self.assertEqual(found["/bin/keeps fault"][2], 139)
        self.assertEqual(found["/bin/keeps keep"][3]["text"][1], b"given\none\n")


if __name__ == "__main__":
    MYRIARM, LANES = map(os.path.abspath, sys.argv[1:3])
    FOLDER = pathlib.Path(sys.argv[3]).resolve()
    shutil.rmtree(FOLDER, ignore_errors=True)
    ROOT, OWN = FOLDER / "root", FOLDER / "own"
    (ROOT / "bin").mkdir(parents=True)
    (OWN / "sub").mkdir(parents=True)
    (OWN / "text").write_text("given\n")
    (OWN / "link").symlink_to("text")
    for name, source in (("hello", "hello.c"), ("keeps", "attempts.c")):
        command = ["aarch64-linux-gnu-gcc", "-O1", "-static", "-o", ROOT / "bin" / name, HERE / source]
        subprocess.run(command, check=True)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
