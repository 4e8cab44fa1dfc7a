# SPDX-License-Identifier: Apache-2.0
"""A program in several lanes, whose calls a GPU serves itself. Those of a lane that is alone, and passes its
output on at once, are served by the host."""

import base64
import json
import subprocess

LANES = 33  # of more than one team of a GPU


def checks_of(lines):
    return sum(line[:1].isdigit() and ": " in line for line in lines)


def lines_of(command, seconds):
    """A run's lines, its status, and its standard error."""
    more = {"encoding": "utf-8", "errors": "backslashreplace", "timeout": seconds}
    done = subprocess.run(command, capture_output=True, **more)
    return done.stdout.splitlines(), done.returncode, done.stderr


def stream_of(lane, name):
    """What a lane has written to `stdout` or `stderr`, of its results."""
    exact = lane.get(f"{name}_base64")  # if it is not UTF-8
    return base64.b64decode(exact) if exact else lane[name].encode()


def outputs_of_lanes(command, words, seconds):
    """Runs `command`, up to its options, in several lanes. Returns their standard outputs, each once, with
    the exit status; and what went wrong."""
    command = [*command, "--lanes", str(LANES), "--json", "-", *words]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds)
    problem = done.stderr.decode(errors="backslashreplace")
    found = set()
    for lane in json.loads(done.stdout)["lane_results"] if done.stdout else ():
        text = stream_of(lane, "stdout").decode(errors="backslashreplace")
        found.add((text, lane["exit_status"]))
    return found, problem


def lanes_that_differ(command, words, native, seconds):
    """How many outputs of lanes are not those of `native`, a Peer, with status 0; says where one is not."""
    found, problem = outputs_of_lanes(command, words, seconds)
    compared = [(native.differences(text.splitlines()), status) for text, status in found]
    wrong = [(different, status) for different, status in compared if different or status != 0]
    for different, status in wrong[:1]:
        print(f"a lane, status {status}")
        for right, line in different[:1]:
            print(f"natively {right}\n  here {line}")
    if not found or wrong:
        print(problem, end="")
    print(f"{LANES} lanes, {len(wrong)} outputs differ")
    return len(wrong) + (not found)
