# SPDX-License-Identifier: Apache-2.0
"""Small programs in one lane: the interpreter and translated code beside qemu-aarch64.

    python3 bench/programs.py --myriarm build/bin/myriarm --busybox PATH [--repeats N] [--only NAME[,NAME...]]
        [--engine ENGINE[,ENGINE...]] [--cached | --steady] [--results FILE]

docs/design/translation.md names the programs. PATH is a static busybox for AArch64. Each program takes some 1
to 2 seconds in QEMU. The engines take turns, --repeats times. A figure is the median of user and system
seconds of processor time of the whole command. Prints a table in Markdown, with QEMU's time over that of each
engine, and the geometric mean of these ratios; for translated code also without the seconds that it took to
compile, which tell more of a program that runs for long. The cache of translated code is not used; with
--cached each program has one of its own, and runs once before it is measured. With --results the figures also
go to FILE, as a line of JSON for each program. Another output or exit status than QEMU's ends it.

--steady compares the speed at which programs that run for long go on. Each does its work once and three
times, and what the longer run takes more is a column of its own; runs that find code of a former one are
another. All
figures are then the least of --repeats, since what else the machine does only adds to them."""

import argparse
import bz2
import json
import lzma
import math
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile

from processes import machine

ROOT = pathlib.Path(__file__).resolve().parents[1]
REPEATED = "tests/programs/src/{}.c"  # run by guests/repeat.c
AWK = "{n[$1] += $NF} END {for (word in n) sum += n[word] * length(word); print sum}"

# Arguments of the programs that are built from C: seed and how often.
BUILT = {
    "mixed": (["mixed_linux.c", "mixed.c"], [], [7, 4000]),
    "nbody": (["nbody_linux.c", "nbody.c"], ["--fp"], [7, 500]),
    "jpeg": (["jpeg.c"], [], [7, 300]),
}
TIMES = {"aes": 12000, "control": 100000, "coremix": 4000, "lz": 3000, "matrix": 5000, "regex": 3000,
         "sort": 2500, "words": 250}
# With --steady: a round of words takes the longer the more there were before.
STEADY_TIMES = {**TIMES, "words": 80}
# Arguments of busybox, and its standard input.
APPLETS = {
    "sha256sum": (["sha256sum"], "zeros"),
    "gzip": (["gzip", "-c"], "text"),
    "bunzip2": (["bunzip2", "-c"], "bz2"),
    "unxz": (["unxz", "-c"], "xz"),
    "busybox sort": (["sort"], "lines"),
    "grep": (["grep", "-E", "(ab|cd)+[a-m]*e[0-9]? "], "lines"),
    "awk": (["awk", AWK], "lines"),
}


def text(size):
    """Lines of words, each with a number at its end."""
    generator = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(generator.choices(letters, k=generator.randrange(2, 11))) for _ in range(3000)]
    lines, total = [], 0
    while total < size:
        words_of_line = generator.choices(words, k=generator.randrange(3, 14))
        lines.append(" ".join(words_of_line) + f" {generator.randrange(1_000_000)}\n")
        total += len(lines[-1])
    return "".join(lines).encode()


def records(count):
    generator = random.Random(2)
    return json.dumps([{"number": i, "name": f"entry {generator.randrange(10**9)}", "good": i % 3 == 0,
                        "tree": {"a": [generator.randrange(10**6) for _ in range(4)], "b": {"c": "x\ny"}}}
                       for i in range(count)]).encode()


class Programs:
    """The command line and the standard input of each program, in a folder of its own. Each does its work
    `times`."""

    def __init__(self, folder, busybox, wanted, times=1, rounds=TIMES):
        folder.mkdir()
        self.folder, self.times = folder, times
        self.commands = {}
        self.nothing = self.input("nothing", b"")
        for name, (sources, flags, arguments) in BUILT.items():
            if name in wanted:
                seed, runs = arguments
                paths = [f"bench/guests/{source}" for source in sources]
                self.build(name, flags, paths, [seed, times * runs])
        for name, runs in rounds.items():
            if name in wanted:
                source = f'-DPROGRAM="{ROOT / REPEATED.format(name)}"'
                self.build(name, [source], ["bench/guests/repeat.c"], [7, times * runs])
        if "json" in wanted:
            self.build("json", [], [REPEATED.format("json")], [])
            self.commands["json"] = (self.commands["json"][0], self.input("records", records(100000 * times)))
        if any(name in wanted for name in APPLETS):
            words = text(16 << 20)
            lines = words[: words.rindex(b"\n", 0, 12 << 20) + 1]
            inputs = {"zeros": bytes(100 * times << 20), "text": times * words, "lines": times * lines,
                      "bz2": bz2.compress(times * words), "xz": lzma.compress(times * words, preset=1)}
            paths = {name: self.input(name, contents) for name, contents in inputs.items()}
            for name, (arguments, contents) in APPLETS.items():
                if name in wanted:
                    self.commands[name] = ([str(busybox), *arguments], paths[contents])

    def input(self, name, contents):
        path = self.folder / f"input-{name}"
        path.write_bytes(contents)
        return path

    def build(self, name, flags, sources, arguments):
        path = self.folder / name
        subprocess.run([ROOT / "tools/build_guest.sh", path, *flags, *sources], check=True)
        self.commands[name] = ([str(path), *map(str, arguments)], self.nothing)


def measure(words, stdin, **variables):
    """Processor seconds of a command with `variables` in its environment, its output, and its exit status."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(stdin, "rb") as opened:
        done = subprocess.run(words, stdin=opened, capture_output=True, env={**os.environ, **variables})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, (done.stdout, done.returncode)


def command_of(options, engine, report, stdin, *more):
    return [options.myriarm, "run", "--quiet", "--ignore-unimplemented", "--explain", *more,
            "--memory", "512M",
            "--device", "cpu", "--engine", engine, "--json", str(report), "--stdin", str(stdin)]


def columns_of(engine):
    return [engine, "without compiling"] if engine == "translate" else [engine]


def take_turns(options, engines, words, stdin, report):
    """The seconds of each turn, by column. `report`: a path for the report of a run."""
    seconds = {"qemu": []}
    cache = {"MYRIARM_CACHE_DIR": tempfile.mkdtemp(dir=report.parent)}
    for _ in range(options.repeats):
        used, expected = measure([options.qemu, *words], stdin)
        seconds["qemu"].append(used)
        for engine in engines:
            own = command_of(options, engine, report, stdin, *([] if options.cached else ["--no-cache"]))
            if options.cached and len(seconds["qemu"]) == 1:
                measure([*own, *words], stdin, **cache)
            used, result = measure([*own, *words], stdin, **cache)
            if result != expected:
                sys.exit(f"{words[0]} gives something else with the engine {engine} than with {options.qemu}")
            seconds.setdefault(engine, []).append(used)
            if engine == "translate":
                compiling = json.loads(report.read_text())["translation"]["compile_seconds"]
                seconds.setdefault("without compiling", []).append(used - compiling)
    return seconds


def steady_turns(options, short, long, report):
    """The seconds of each turn of a program, by column; `short`, `long`: its command and input for both
    lengths."""
    cache = {"MYRIARM_CACHE_DIR": tempfile.mkdtemp(dir=report.parent)}
    stored = command_of(options, "translate", report, long[1])
    measure([*stored, *long[0]], long[1], **cache)
    seconds = {}
    for _ in range(options.repeats):
        for length, (words, stdin) in {"": short, ", three times": long}.items():
            for column, own in {
                "qemu": [options.qemu],
                "cold": command_of(options, "translate", report, stdin, "--no-cache"),
                "from the cache": command_of(options, "translate", report, stdin),
            }.items():
                if column == "cold" and length:
                    continue
                used, result = measure([*own, *words], stdin, **cache)
                if column == "qemu":
                    expected = result
                elif result != expected:
                    sys.exit(f"{words[0]} gives something else {column} than with {options.qemu}")
                seconds.setdefault(column + length, []).append(used)
    return seconds


def steady_table(options, wanted, folder, report):
    """Prints QEMU's time over that of translated code: whole runs without a cache and with one, and what more
    work takes."""
    short, long = (
        Programs(folder / f"{times}", options.busybox, wanted, times, STEADY_TIMES) for times in (1, 3)
    )
    ratios = {"cold": [], "from the cache": [], "steady": []}
    print("| program | qemu-aarch64 |" + "".join(f" {column} |" for column in ratios) + " G/s, steady |")
    print("|---|---|" + "---|" * len(ratios) + "---|")
    for name in wanted:
        seconds = steady_turns(options, short.commands[name], long.commands[name], report)
        counted = json.loads(report.read_text())["instructions"]
        least = {column: min(values) for column, values in seconds.items()}
        columns = ("qemu", "from the cache")
        more = {column: least[f"{column}, three times"] - least[column] for column in columns}
        values = [least["qemu"] / least["cold"], least["qemu"] / least["from the cache"],
                  more["qemu"] / more["from the cache"]]
        for column, value in zip(ratios, values):
            ratios[column].append(value)
        speed = counted * 2 / 3 / more["from the cache"] / 1e9
        print(f"| {name} | {least['qemu']:.2f} s |" + "".join(f" {value:.2f} |" for value in values) +
              f" {speed:.2f} |", flush=True)
        if options.results:
            with open(options.results, "a") as results:
                results.write(json.dumps({"program": name, "seconds": seconds}) + "\n")
    means = [math.exp(statistics.fmean(map(math.log, values))) for values in ratios.values()]
    print(f"| geometric mean of {len(wanted)} | |" + "".join(f" **{mean:.2f}** |" for mean in means) + " |")


def main():
    parser = argparse.ArgumentParser(description="Small programs in one lane beside qemu-aarch64.")
    parser.add_argument("--myriarm", required=True, help="path of the command")
    parser.add_argument("--qemu", default="qemu-aarch64")
    parser.add_argument("--busybox", required=True, help="path of a static busybox for AArch64")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", help="names of programs, with commas between them")
    parser.add_argument("--engine", default="interpreter,translate", help="engines, with commas between them")
    parser.add_argument("--cached", action="store_true", help="measure runs that find code of a former one")
    parser.add_argument("--steady", action="store_true", help="compare how fast more work is done, too")
    parser.add_argument("--results", help="a file for the figures as JSON")
    options = parser.parse_args()
    everything = [*BUILT, *TIMES, "json", *APPLETS]
    wanted = options.only.split(",") if options.only else everything
    if unknown := set(wanted) - set(everything):
        sys.exit(f"There is no program {', '.join(sorted(unknown))}; there are {', '.join(everything)}.")
    engines = options.engine.split(",")
    columns = [column for engine in engines for column in columns_of(engine)]
    print(f"Machine: {machine('cpu')}. `{' '.join(sys.argv)}`\n")
    if options.steady:
        with tempfile.TemporaryDirectory() as folder:
            return steady_table(options, wanted, pathlib.Path(folder), pathlib.Path(folder) / "report")
    print("| program | qemu-aarch64 |" + "".join(f" {column} | QEMU's time over it |" for column in columns))
    print("|---|---|" + "---|---|" * len(columns))
    ratios = {column: [] for column in columns}
    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(pathlib.Path(folder) / "programs", options.busybox, wanted)
        for name in wanted:
            seconds = take_turns(options, engines, *programs.commands[name], pathlib.Path(folder) / "report")
            qemu = statistics.median(seconds["qemu"])
            row = f"| {name} | {qemu:.2f} s |"
            for column in columns:
                median = statistics.median(seconds[column])
                ratios[column].append(qemu / median)
                row += f" {median:.2f} s | {qemu / median:.2f} |"
            print(row, flush=True)
            if options.results:
                with open(options.results, "a") as results:
                    results.write(json.dumps({"program": name, "seconds": seconds}) + "\n")
    means = [math.exp(statistics.fmean(map(math.log, ratios[column]))) for column in columns]
    print(f"| geometric mean of {len(wanted)} | |" + "".join(f" | {mean:.2f} |" for mean in means))


if __name__ == "__main__":
    main()
