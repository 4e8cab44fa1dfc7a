#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs Debian's own arm64 programs, as they are, over the text of this repository: some thousand lanes, each
with a piece of it.

    tools/run_debian.py build/bin/myriarm

What each lane prints is compared with what Python says of the same piece. tools/debian-root makes the root,
once, beside the build; where it cannot, that is said in a line, and the exit status is 0. It is 1 if a lane
printed something else.
"""

import collections
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

TOOLS = pathlib.Path(__file__).resolve().parent
PACKAGES = ["coreutils", "dash", "gawk"]
TEXTS = {".c", ".cpp", ".cu", ".cuh", ".h", ".inc", ".md", ".py"}
FOLDERS = ["bench", "cli", "docs", "examples", "include", "python", "src", "tests", "tools"]
LINES = 50  # of a piece
WORDS = """tr -cs A-Za-z "\\n" | sort | uniq -c | sort -rn | head -n 1 | { read count word; echo $count; }"""


def most_frequent(text):
    words = re.sub(rb"[^A-Za-z]+", b"\n", text).split(b"\n")
    words = words[:-1] if not words[-1] else words  # a line ends where the next one would begin
    return f"{max(collections.Counter(words).values())}\n"


def different_words(text):
    words = set(re.findall(rb"[^ \t\n]+", text))
    return f"{text.count(10)} {len(words)}\n"


# By command: what it prints for a piece.
COMMANDS = {
    ("sha256sum",): lambda text: f"{hashlib.sha256(text).hexdigest()}  -\n",
    ("gawk", "{ for (i = 1; i <= NF; i++) seen[$i] = 1 } END { print NR, length(seen) }"): different_words,
    ("dash", "-c", WORDS): most_frequent,
}


def make_root(root):
    """Whether there is a root now."""
    if (root / "usr").is_dir():
        return True
    shutil.rmtree(root, ignore_errors=True)
    made = subprocess.run(
        [TOOLS / "debian-root", root, *PACKAGES], capture_output=True, text=True, check=False
    )
    if made.returncode == 0:
        return True
    shutil.rmtree(root, ignore_errors=True)
    why = (made.stderr.strip().splitlines() or ["it does not say why"])[-1]
    print(f"\nDebian's own programs were left out: {why}")
    return False


def pieces():
    for folder in FOLDERS:
        for file in sorted((TOOLS.parent / folder).rglob("*")):
            if file.suffix not in TEXTS or not file.is_file():
                continue
            lines = file.read_bytes().split(b"\n")
            for first in range(0, len(lines) - 1, LINES):
                yield b"\n".join(lines[first : min(first + LINES, len(lines) - 1)]) + b"\n"


def run(myriarm, root, inputs, command):
    """How many lanes there were, and how many of them printed what they must not."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as results:
        options = [
            "--device",
            "cpu",
            "--root",
            root,
            "--lanes",
            "256",
            "--inputs",
            inputs,
            "--results",
            results.name,
        ]
        subprocess.run([myriarm, "run", *options, *command], stdout=subprocess.DEVNULL, check=False)
        lines = pathlib.Path(results.name).read_text(encoding="utf-8").splitlines()
    lanes = [json.loads(line) for line in lines]
    wrong = 0
    for lane in lanes:
        text = (pathlib.Path(inputs) / lane["input"]).read_bytes()
        wrong += lane["exit_status"] != 0 or lane["stdout"] != COMMANDS[command](text)
    return len(lanes), wrong


def main():
    if len(sys.argv) != 2:
        sys.exit("run_debian: give the path of myriarm, as in: tools/run_debian.py build/bin/myriarm")
    myriarm = pathlib.Path(sys.argv[1]).resolve()
    root = myriarm.parent.parent / "debian-root"
    if not make_root(root):
        return 0
    rows, failed = [], 0
    with tempfile.TemporaryDirectory() as inputs:
        count = 0
        for count, piece in enumerate(pieces(), 1):
            (pathlib.Path(inputs) / f"{count:05}").write_bytes(piece)
        for command in COMMANDS:
            print(f"\n== Debian's {' '.join(command)}", flush=True)
            begin = time.perf_counter()
            lanes, wrong = run(myriarm, root, inputs, command)
            wrong += count - lanes
            failed += wrong
            rows.append((command[0], lanes, time.perf_counter() - begin, wrong))
    print(f"\n{'Debian':16} {'lanes':>8} {'seconds':>8} {'lanes that differ from Python':>30}")
    for name, lanes, seconds, wrong in rows:
        print(f"{name:16} {lanes:>8,} {seconds:>8.1f} {wrong:>30,}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
