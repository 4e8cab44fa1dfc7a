# SPDX-License-Identifier: Apache-2.0
"""A program in several lanes, whose calls a GPU serves itself. Those of a lane that is alone, and passes its
output on at once, are served by the host."""

import base64
import json
import subprocess

LANES = 33  # of more than one team of a GPU


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


def lanes_that_differ(command, words, expected, seconds):
    """How many outputs of lanes are not the expected one, with status 0; says where the first is not."""
    found, problem = outputs_of_lanes(command, words, seconds)
    lines = expected.splitlines()
    wrong = [(text, status) for text, status in found if status != 0 or text.splitlines() != lines]
    for text, status in wrong[:1]:
        pairs = enumerate(zip(lines, text.splitlines()), 1)
        place = next(((i, *pair) for i, pair in pairs if pair[0] != pair[1]), ("the end", "", ""))
        print(f"a lane, status {status}, line {place[0]}: natively {place[1]}\n  here {place[2]}")
    if not found or wrong:
        print(problem, end="")
    print(f"{LANES} lanes, {len(wrong)} outputs differ")
    return len(wrong) + (not found)
