#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Replaces `myriarm run` in the test of the harness: it runs the program under QEMU, and if STAND_IN_LIE is
# set it reports one thing wrongly, which the harness must notice.
import argparse
import json
import os
import pathlib
import subprocess
import sys

lie = os.environ.get("STAND_IN_LIE", "")
parser = argparse.ArgumentParser()
parser.add_argument("run")
parser.add_argument("--device")
parser.add_argument("--stdin")
parser.add_argument("--lanes", type=int, default=1)
parser.add_argument("--json")
parser.add_argument("--fork-after", default="start")
parser.add_argument("--strace-file")
parser.add_argument("--env", default="NONE=")
parser.add_argument("--quiet", action="store_true")
parser.add_argument("program")
parser.add_argument("arguments", nargs=argparse.REMAINDER)
options = parser.parse_args()
stdin = pathlib.Path(options.stdin).read_bytes()


def run(lane):
    trace = ["-strace", "-D", options.strace_file] if options.strace_file else []
    environment = ["-E", f"MYRIARM_LANE={lane}", "-E", options.env]
    result = subprocess.run(
        ["qemu-aarch64", *trace, *environment, options.program, *options.arguments],
        input=stdin,
        capture_output=True,
        env={},
    )
    stderr = b"".join(
        line for line in result.stderr.splitlines(True) if not line.startswith(b"qemu: uncaught target")
    )
    return result.stdout, stderr, result.returncode


if options.json is None:
    stdout, stderr, status = run(0)
    lies = {"calls": ("write(", "writev("), "arguments": ("write(1", "write(2"), "results": (" = 1", " = 2")}
    if options.strace_file and lie in lies:
        log = pathlib.Path(options.strace_file)
        log.write_text(log.read_text().replace(*lies[lie]))
    sys.stdout.buffer.write(stdout[:-1] if lie == "output" else stdout)
    sys.stderr.buffer.write(stderr)
    sys.stdout.flush()
    sys.exit((128 - status if status < 0 else status) ^ (lie == "status"))

lanes = []
for number in range(options.lanes):
    stdout, stderr, status = run(31 if lie == "lane" and number == 32 else number)
    if lie == "stderr":
        stderr += b"noise"
    lanes.append(
        {
            "lane": number,
            "stop": "exited" if status >= 0 else "fault",
            "exit_status": status if status >= 0 else -1,
            "signal": max(0, -status) ^ (lie == "signal"),
            "instructions": 1000 + number + (lie == "count" and options.lanes > 1 and number == 0)
            + (lie == "fork" and options.fork_after != "start"),
            "stdout": stdout.decode(errors="replace"),
            "stderr": stderr.decode(errors="replace"),
        }
    )
total = sum(lane["instructions"] for lane in lanes) + (lie == "sum")
pathlib.Path(options.json).write_text(
    json.dumps({"lanes": options.lanes, "instructions": total, "lane_results": lanes})
)
