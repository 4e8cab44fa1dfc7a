#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Each attempt of attempts.inc, in a lane beside an honest one, ends as the table says; the honest lanes give
# what they give in a fleet without attackers; the folders of the host, and what the host's process has, are
# as before. On the device that MYRIARM_TEST_DEVICE names (default: the CPU); what differs on a GPU stands in
# on_a_gpu.inc.
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
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/isolation.md"
TEXT = r'"((?:[^"\\]|\\.)*)"'
ROW = re.compile(rf"^ATTEMPT\((\w+), (\w+), {TEXT}, {TEXT}, {TEXT}, {TEXT}\)$", re.MULTILINE)
COMPILER = "aarch64-linux-gnu-gcc"
FLAGS = ["-D_GNU_SOURCE", "-std=gnu11", "-O1", "-static", "-pthread"]
FLAGS += ["-Wall", "-Wextra", "-Wno-nonnull", "-Wno-stringop-overread"]  # both are what it is about
DIFFERENCE = re.compile(rf"^ON_A_GPU\((\w+), {TEXT}, {TEXT}, {TEXT}\)$", re.MULTILINE)
LIMIT = 800  # seconds that end what hangs, and fail it


class Way(NamedTuple):
    """How the attempts run on a kind of device, as host.cpp has it."""

    engines: tuple
    memory: int  # MiB of a window
    pool: int  # MiB
    instructions: int  # millions
    attackers: int  # for each honest lane


CPU = Way(("interpreter", "translate"), memory=64, pool=192, instructions=6, attackers=1)
# There a lane that is alone is slow, and honest lanes cost the time that attackers take.
GPU = Way(("interpreter",), memory=64, pool=3072, instructions=4, attackers=8)
DEVICE = os.environ.get("MYRIARM_TEST_DEVICE", "cpu")
ON_A_GPU = not DEVICE.startswith("cpu")
WAY = GPU if ON_A_GPU else CPU
# What the host may take more with attackers than with honest lanes alone: the pool and the output that is
# kept, and what the translator, the allocator and files of the root take.
SLACK = 128
MOST_MEBIBYTES = WAY.pool + 64 + SLACK
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
[the table](../tests/isolation/attempts.inc) that the test checks: it runs all of these {count} attempts in one fleet (on a GPU in one for each section, and for each bomb), each in a lane beside honest lanes, and asserts
- that each ends as its row says: what it got from its calls, and how its lane ended;
- that the honest lanes give what they give in a fleet without attackers, to the last instruction, and that no attacker sees a file of another lane;
- that the folders of the host (the root, one that is bound with `:rw`, one without) are byte for byte as before, with their times;
- that the host's process has as many descriptors and threads as before, no children, and took no more memory than the pool, the output that is kept, and {slack} MiB.

The fleet has `--file-bytes 2M` and 64 MiB of output for all lanes. The attempts are functions of [`tests/isolation`](../tests/isolation/guest.c), by the names in the first column.

{ways}On a GPU a page that one lane writes takes room for 32. What ends differently there stands [below](#on-a-gpu).

"""  # noqa: E501
DIFFERENCES = """## On a GPU
What these attempts give there, and why it is not what the tables above say; all others give the same. `missing_calls` makes 1,000 calls there: the host serves them, and all lanes stop for each.

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


def rows_of(file, row):
    found = row.findall((HERE / file).read_text())
    return [tuple(re.sub(r"\\(.)", r"\1", cell) for cell in cells) for cells in found]


def attempts():
    return rows_of("attempts.inc", ROW)


def differences():
    """What attempts give on a GPU, by name: what they print, how they end, why."""
    rows = {name: rest for name, *rest in rows_of("on_a_gpu.inc", DIFFERENCE)}
    known = {name: (prints, ends) for _, name, _, prints, ends, _ in attempts()}
    for name, (prints, ends, _) in rows.items():
        if known.get(name, (prints, ends)) == (prints, ends):
            sys.exit(f"on_a_gpu.inc: {name} is no attempt, or does not differ; take it out")
    return rows


def here(table):
    """The rows of attempts.inc, with what they give on this device."""
    other = differences() if ON_A_GPU else {}
    return [(kind, name, what, *other.get(name, row)[:2]) for kind, name, what, *row in table]


def table_of(rows):
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines) + "\n\n"


def ways():
    cells = [("device", "engines", "`--memory`", "pool", "`--max-instructions`", "honest lanes")]
    for name, way in (("CPU", CPU), ("GPU", GPU)):
        honest = "one beside each attacker" if way.attackers == 1 else f"one for {way.attackers} attackers"
        limits = (f"{way.memory}M", f"{way.pool} MiB", f"{way.instructions}M")
        cells.append((name, ", ".join(way.engines), *limits, honest))
    return table_of(cells)


def page():
    rows = attempts()
    text = HEAD.format(count=len(rows), slack=SLACK, ways=ways())
    for kind, title in KINDS.items():
        text += f"## {title}\n"
        table = [("attempt", "what is tried", "what it got", "how the lane ends", "what bounds it")]
        for row_kind, name, what, prints, ends, bound in rows:
            if row_kind == kind:
                table.append((f"`{name}`", what, prints.replace("|", "\\|"), ends, bound))
        text += table_of(table)
    text += DIFFERENCES
    table = [("attempt", "what it got", "how the lane ends", "why")]
    table += [(f"`{name}`", *cells) for name, cells in differences().items()]
    text += table_of(table)
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


def run(host_program, engine, host, alone, words):
    command = [host_program, DEVICE, engine, host / "tree", host / "own", host / "given", alone, words]
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
    attackers = [lane for lane in lanes if lane.attempt != "honest"]
    wrong = []
    if len(attackers) != len(table) or len(honest) != len(lanes):
        wrong.append(f"{len(attackers)} attackers have ended, and {len(honest)} lanes without them")
    for (_, name, _, prints, ends), lane in zip(table, attackers):
        assert name == lane.attempt
        if (lane.output, lane.ends) != (prints, ends):
            wrong.append(f"{name}: it should be '{prints}', {ends}\n  and is '{lane.output}', {lane.ends}")
        if lane.errors not in ("", "xxx~"):
            wrong.append(f"{name}: it has written {lane.errors[:200]}")
    for number, (alone, beside) in enumerate(zip(honest, lanes)):
        if beside.attempt == "honest" and alone.result() != beside.result():
            wrong.append(f"honest lane {number}: alone {alone.result()}\n  and beside {beside.result()}")
        good = alone.ends == "exited 0" and re.fullmatch(r"givchanged [0-9a-f]{16} \d+ 1000", alone.output)
        if alone.attempt == "honest" and not good:
            wrong.append(f"honest lane {number}: {alone.result()}")
    for what, first, last in zip(("descriptors", "threads", "children"), before, after):
        if last > first:
            wrong.append(f"the host has {last} {what}, and had {first}")
    if before[2] != 0:
        wrong.append("the host has children")
    if memory and after[3] - before[3] > MOST_MEBIBYTES:
        wrong.append(f"the host took {after[3]} MiB, and {before[3]} without attackers")
    print(f"{engine}: {len(attackers)} attempts, host {before} and {after}")
    for problem in wrong:
        print(f"{engine}: {problem}")
    return len(wrong)


def fleets_of(table):
    """On a GPU all lanes of a fleet stop where the host does something for one, so each kind has a fleet; and
    a process that ends or executes a program looks at all page tables of its team, so each bomb has one."""
    if not ON_A_GPU:
        return [table]
    kinds = [[row for row in table if row[0] == kind] for kind in KINDS if kind != "bombs"]
    return kinds + [[row] for row in table if row[0] == "bombs"]


def lanes_of(table):
    lanes = []
    for number, (_, name, *_) in enumerate(table):
        lanes += [name, "honest"] if number % WAY.attackers == 0 else [name]
    return lanes


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
    table, folder = here(attempts()), options.folder.resolve()
    host = fill(folder)
    before = snapshot_of(host)
    wrong = 0
    for engine in WAY.engines:
        for group in fleets_of(table):
            words, alone = folder / "words", folder / "alone"
            lanes = lanes_of(group)
            words.write_text("".join(f"{lane}\n" for lane in lanes))
            # Attackers' lanes do honest work too where it costs little.
            instead = "quiet" if ON_A_GPU else "honest"
            alone.write_text("".join(f"{lane if lane == 'honest' else instead}\n" for lane in lanes))
            results = run(options.host_program.resolve(), engine, host, alone, words)
            memory = not options.no_memory_limits
            wrong += 1 if results is None else check(engine, group, results, memory)
    after = snapshot_of(host)
    for path in sorted({*before, *after}):
        if before.get(path) != after.get(path):
            wrong += 1
            print(f"the host's {path} has changed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
