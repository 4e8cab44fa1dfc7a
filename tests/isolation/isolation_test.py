#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Each attempt of attempts.inc, in a lane beside an honest one, ends as the table says; the honest lanes give
# what they give in a fleet without attackers; the folders of the host, and what the host's process has, are
# as before.
#   isolation_test.py HOST FOLDER [--no-memory-limits]
#   isolation_test.py --page          makes docs/isolation.md of the table
#   isolation_test.py --check         exit status 1, and a sentence, if the page is not what the table says
import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/isolation.md"
TEXT = r'"((?:[^"\\]|\\.)*)"'
ROW = re.compile(rf"^ATTEMPT\((\w+), (\w+), {TEXT}, {TEXT}, {TEXT}, {TEXT}\)$", re.MULTILINE)
COMPILER = "aarch64-linux-gnu-gcc"
FLAGS = ["-D_GNU_SOURCE", "-std=gnu11", "-O1", "-static", "-pthread"]
FLAGS += ["-Wall", "-Wextra", "-Wno-nonnull", "-Wno-stringop-overread"]  # both are what it is about
LIMIT = 800  # seconds that end what hangs, and fail it
ENGINES = ("interpreter", "translate")
# What the host may take more with attackers than with honest lanes alone: the pool and the output that is
# kept, as host.cpp has them, and what the translator, the allocator and files of the root take.
MOST_MEBIBYTES = 192 + 64 + 128
KINDS = {
    "paths": "Paths",
    "races": "Races, and files of other lanes",
    "descriptors": "Descriptors",
    "addresses": "Addresses, instructions, programs",
    "bombs": "Processes, threads, signals",
    "memory": "Memory",
    "floods": "Output and files",
    "time": "Time",
    "host": "The host's processes, kernel and clocks",
}
HEAD = """# Isolation

What a program in a lane tries in vain, and what ends it. This page is made by [`isolation_test.py`](../tests/isolation/isolation_test.py) of
[the table](../tests/isolation/attempts.inc) that the test checks: it runs all of these {count} attempts in one fleet, each in a lane beside an honest lane, and asserts
- that each ends as its row says: what it got from its calls, and how its lane ended;
- that the honest lanes give what they give in a fleet without attackers, to the last instruction, and that no attacker sees a file of another lane;
- that the folders of the host (the root, one that is bound with `:rw`, one without) are byte for byte as before, with their times;
- that the host's process has as many descriptors and threads as before, no children, and took no more memory than the pool, the output that is kept, and {slack} MiB.

The fleet has `--memory 64M`, `--file-bytes 2M`, `--max-instructions 6M`, a pool of 192 MiB and 64 MiB of output for all lanes, and runs in the interpreter and translated.
The attempts are functions of [`tests/isolation`](../tests/isolation/guest.c), by the names in the first column. Every attempt runs on the CPU. On a GPU a page that one lane writes takes room for 32, so that in a fleet which is no queue lanes that take memory leave none for others.

"""  # noqa: E501
TAIL = """
## Other tests of isolation
| test | what it tries |
|---|---|
| `hostile` ([`tests/hostile`](../tests/hostile)) | options, files, streams and limits of the host that are absurd, Ctrl-C, guests that flood memory and output, wild addresses, random calls and words; on GPUs too |
| `roots.files` ([`attempts.c`](../tests/roots/attempts.c)) | 84 attempts on files, beside a lane that reads its own; what `--collect` writes |
| `processes` ([`hostile.c`](../tests/processes/hostile.c)) | bombs and chains of processes in many lanes; 2,000 damaged programs and scripts |
| `fuzz` ([`tests/fuzz`](../tests/fuzz)) | random ELF files, calls, instructions, regions and files of the cache |

## What is not bounded
- **The pool is common to all lanes.** A lane that takes its window, its files and 64 processes takes memory that others may need then. A queue gives each process the result that it has alone
  (`as_if_alone`, as this test has it); other runs need a pool for all, or their lanes stop with `out_of_memory`.
- **Instructions do not bound the time of the host.** A call counts as one, and some take longer the more a lane has: a name is looked for among all names of a
  folder that the lane has changed, so to fill one with names takes time that grows with the square of `--file-bytes`: names of 200 characters take 0.9 s of a core for 2 MiB, 16.5 s for 8 MiB (2.5 million instructions), and
  by that some 18 minutes for the 64 MiB of the default. A run that must end in time has a time-out, or a small `--file-bytes`.
- **Side channels** (time, caches, speculation) of lanes in one process of the host are not considered.
"""  # noqa: E501


def attempts():
    return [
        tuple(re.sub(r"\\(.)", r"\1", cell) for cell in row)
        for row in ROW.findall((HERE / "attempts.inc").read_text())
    ]


def page():
    rows = attempts()
    text = HEAD.format(count=len(rows), slack=128)
    for kind, title in KINDS.items():
        text += f"## {title}\n"
        table = [("attempt", "what is tried", "what it got", "how the lane ends", "what bounds it")]
        for row_kind, name, what, prints, ends, bound in rows:
            if row_kind == kind:
                table.append((f"`{name}`", what, prints.replace("|", "\\|"), ends, bound))
        widths = [max(len(row[i]) for row in table) for i in range(5)]
        lines = [
            "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in table
        ]
        lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        text += "\n".join(lines) + "\n\n"
    return text.rstrip("\n") + "\n" + TAIL


def snapshot_of(folder):
    """Paths, types, contents and times of all that is in a folder of the host."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        status = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[str(path)] = (status.st_mode, status.st_uid, status.st_mtime_ns, status.st_ctime_ns, content)
    return found


def fill(folder):
    shutil.rmtree(folder, ignore_errors=True)
    host = folder / "host"
    for name in ("tree/bin", "own", "given", "etc"):
        (host / name).mkdir(parents=True)
    (host / "own/text").write_text("given text of a file\n")
    (host / "own/way-out").symlink_to("/../../../../../../etc")
    (host / "given/file").write_text("given\n")
    (host / "etc/hostname").write_text("the host\n")
    guest = [COMPILER, *FLAGS, "-o", host / "tree/bin/isolation", HERE / "guest.c"]
    subprocess.run(guest, check=True)
    return host


class Lane:
    def __init__(self, line):
        _, self.attempt, reason, detail, instructions, self.output, self.errors = line.split("\t")
        self.ends = reason
        if reason == "exited":
            self.ends += f" {detail}"
        elif reason == "signal":
            self.ends = signal.Signals(int(detail)).name
        self.instructions = int(instructions)

    def result(self):
        return self.ends, self.instructions, self.output, self.errors


def run(host_program, engine, host, words):
    command = [host_program, engine, host / "tree", host / "own", host / "given", words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    if done.returncode != 0:
        print(f"{engine}: status {done.returncode}\n{done.stderr[-5000:]}")
        return None
    lines = done.stdout.splitlines()
    lanes = [Lane(line) for line in lines if line.startswith("lane\t")]
    hosts = [list(map(int, line.split("\t")[1:])) for line in lines if line.startswith("host\t")]
    return lanes[: len(lanes) // 2], lanes[len(lanes) // 2 :], *hosts


def check(engine, table, results, memory):
    """How many assertions fail, each of which is printed."""
    honest, lanes, before, after = results
    wrong = []
    for (_, name, _, prints, ends, _), lane in zip(table, lanes[::2]):
        assert name == lane.attempt
        if (lane.output, lane.ends) != (prints, ends):
            wrong.append(f"{name}: it should be '{prints}', {ends}\n  and is '{lane.output}', {lane.ends}")
        if lane.errors not in ("", "xxx~"):
            wrong.append(f"{name}: it has written {lane.errors[:200]}")
    for number, (alone, beside) in enumerate(zip(honest, lanes)):
        if number % 2 == 1 and alone.result() != beside.result():
            wrong.append(f"honest lane {number}: alone {alone.result()}\n  and beside {beside.result()}")
        if alone.ends != "exited 0" or not re.fullmatch(r"givchanged [0-9a-f]{16} \d+ 1000", alone.output):
            wrong.append(f"honest lane {number}: {alone.result()}")
    for what, first, last in zip(("descriptors", "threads", "children"), before, after):
        if last > first:
            wrong.append(f"the host has {last} {what}, and had {first}")
    if before[2] != 0:
        wrong.append("the host has children")
    if memory and after[3] - before[3] > MOST_MEBIBYTES:
        wrong.append(f"the host took {after[3]} MiB, and {before[3]} without attackers")
    print(f"{engine}: {len(lanes) // 2} attempts, host {before} and {after}")
    for problem in wrong:
        print(f"{engine}: {problem}")
    return len(wrong)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("host_program", type=pathlib.Path, nargs="?")
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("--no-memory-limits", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.page:
        PAGE.write_text(page())
        return 0
    if options.check:
        if PAGE.read_text() == page():
            return 0
        print("docs/isolation.md is not what the table says; run tests/isolation/isolation_test.py --page")
        return 1
    if not options.folder:
        parser.error("give the host's program and a folder")
    table, folder = attempts(), options.folder.resolve()
    host = fill(folder)
    words = folder / "words"
    words.write_text("".join(f"{name}\nhonest\n" for _, name, *_ in table))
    before = snapshot_of(host)
    wrong = 0
    for engine in ENGINES:
        results = run(options.host_program.resolve(), engine, host, words)
        wrong += 1 if results is None else check(engine, table, results, not options.no_memory_limits)
    after = snapshot_of(host)
    for path in sorted({*before, *after}):
        if before.get(path) != after.get(path):
            wrong += 1
            print(f"the host's {path} has changed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
