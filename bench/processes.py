# SPDX-License-Identifier: Apache-2.0
"""Linux processes in lanes, compared with qemu-aarch64 and with each other.

    python3 bench/processes.py --myriarm build/bin/myriarm --busybox PATH [--device DEVICE] [--lanes N]
        [--files N] [--inputs N] [--alone N] [--repeats N]

calls      10 times 1,000 lanes and 10,000 lanes of bench/guests/calls.c
sha256sum  --files different files of 4 to 64 KiB, hashed by busybox (PATH: a static one for AArch64); each
           digest must be that of hashlib
parser     bench/guests/parse_glibc.c: a queue of --inputs records with --fork-after, and one qemu-aarch64 for
           each of --alone of them; both must give the same

What is compared takes turns, --repeats times. A figure is the median of user and system seconds of processor
time, of the command with all that it starts, so that other work on the machine changes it little. With a GPU
it is the median of elapsed seconds. Prints a table in Markdown. A wrong result ends the program."""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
RECORD = 256


def machine():
    model = next(line for line in open("/proc/cpuinfo") if line.startswith("model name"))
    return f"{model.split(':')[1].strip()}, {os.cpu_count()} threads"


class Measured:
    """The seconds of one thing that is measured: of all its repeats."""

    def __init__(self, name, work, on_cpu=True):
        self.name, self.work, self.on_cpu = name, work, on_cpu
        self.seconds = []

    def measure(self):
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        self.work()
        elapsed, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.seconds.append(used if self.on_cpu else elapsed)

    @property
    def median(self):
        return statistics.median(self.seconds)


def take_turns(measured, repeats):
    for _ in range(repeats):
        for one in measured:
            one.measure()


class Benchmark:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder

    def run(self, *words, **more):
        done = subprocess.run([*map(str, words)], capture_output=True, **more)
        if done.returncode not in (0, 1):
            sys.exit(f"{' '.join(map(str, words))} ended with {done.returncode}: {done.stderr.decode()}")
        return done.stdout

    def myriarm(self, *words):
        return self.run(self.options.myriarm, "run", "--device", self.options.device, "--quiet", *words)

    def qemu(self, *words, **more):
        return self.run(self.options.qemu, *words, **more)

    def measured(self, name, work):
        return Measured(name, work, self.options.device == "cpu")

    def on_all_cores(self, work, items):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(work, items))

    def build(self, tool, name, source, *flags):
        path = self.folder / name
        self.run(ROOT / "tools" / tool, path, *flags, ROOT / "bench" / "guests" / source)
        return path

    def report(self, measured, unit, counts):
        """A row for each: `counts`: how many things each did."""
        for one, count in zip(measured, counts):
            seconds = ", ".join(f"{value:.2f}" for value in one.seconds)
            rate = f"{count / one.median:,.0f} {unit}"
            print(f"| {one.name} | {seconds} | {one.median:.2f} | {rate} |", flush=True)

    def calls(self):
        program = self.build("build_guest.sh", "calls", "calls.c", "-O2")

        def run(lanes):
            self.myriarm("--lanes", lanes, program, 1000, 0)

        few = self.measured("calls, 10 times 1,000 lanes", lambda: [run(1000) for _ in range(10)])
        many = self.measured("calls, 10,000 lanes", lambda: run(10_000))
        take_turns([few, many], self.options.repeats)
        self.report([few, many], "calls/s", [11_000_000] * 2)
        print(f"| 10,000 lanes cost {many.median / few.median:.2f} times 10 times 1,000 | | | |")

    def sha256sum(self):
        files = self.folder / "files"
        files.mkdir()
        generator = random.Random(1)
        digests = []
        for number in range(self.options.files):
            contents = generator.randbytes(generator.randrange(4 << 10, (64 << 10) + 1))
            (files / f"{number:08}").write_bytes(contents)
            digests.append(hashlib.sha256(contents).hexdigest())
        paths = sorted(files.iterdir())
        results = self.folder / "digests"

        def check(lines):
            if [line.split()[0] for line in lines] != digests:
                sys.exit("a digest is not that of hashlib")

        def in_lanes():
            self.myriarm("--inputs", files, "--lanes", self.options.lanes, "--results", results,
                         self.options.busybox, "sha256sum", "@@")
            check([json.loads(line)["stdout"] for line in results.open()])

        def one(path):
            return self.qemu(self.options.busybox, "sha256sum", path).decode()

        def many(part):
            return self.qemu("-0", "busybox", self.options.busybox, "sha256sum", *part).decode()

        # Not more than fit in the arguments of a process.
        share = min(10_000, (len(paths) + os.cpu_count() - 1) // os.cpu_count())
        parts = [paths[i:i + share] for i in range(0, len(paths), share)]

        def many_at_once():
            check("".join(self.on_all_cores(many, parts)).splitlines())

        measured = [
            self.measured("sha256sum, myriarm, a process for each file", in_lanes),
            self.measured("sha256sum, qemu-aarch64, a process for each file",
                          lambda: check(self.on_all_cores(one, paths))),
            self.measured(f"sha256sum, qemu-aarch64, a process for {share:,} files", many_at_once),
        ]
        take_turns(measured, self.options.repeats)
        self.report(measured, "files/s", [len(paths)] * 3)

    def parser(self):
        program = self.build("build_glibc_guest.sh", "parse_glibc", "parse_glibc.c", "-O2")
        generator = random.Random(1)
        records = ["".join(generator.choices("abcdefghij    01234\n", k=RECORD)).encode()
                   for _ in range(self.options.inputs)]
        inputs = self.folder / "records"
        inputs.write_bytes(b"".join(records))
        results = self.folder / "parsed"
        outputs = {}

        def queue(point):
            self.myriarm("--fork-after", point, "--inputs", inputs, "--record-size", RECORD, "--lanes",
                         self.options.lanes, "--results", results, program)
            outputs[point] = [json.loads(line)["stdout"] for line in results.open()]

        def one_by_one():
            outputs["qemu"] = self.on_all_cores(lambda record: self.qemu(program, input=record).decode(),
                                                records[:self.options.alone])

        points = ("start", "main", "read")
        name = "parser, a queue with --fork-after"
        measured = [self.measured(f"{name} {point}", functools.partial(queue, point))
                    for point in points]
        measured.append(self.measured("parser, qemu-aarch64 for each input", one_by_one))
        take_turns(measured, self.options.repeats)
        for point in points:
            if len(outputs[point]) != len(records) or outputs[point][:self.options.alone] != outputs["qemu"]:
                sys.exit(f"--fork-after {point} and qemu-aarch64 give different outputs")
        self.report(measured, "inputs/s", [len(records)] * 3 + [self.options.alone])


def main():
    parser = argparse.ArgumentParser(description="Linux processes in lanes, compared with qemu-aarch64.")
    parser.add_argument("--myriarm", required=True, help="path of the command")
    parser.add_argument("--qemu", default="qemu-aarch64")
    parser.add_argument("--busybox", required=True, help="path of a static busybox for AArch64")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--lanes", type=int, default=256, help="of the queues")
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--inputs", type=int, default=50_000)
    parser.add_argument("--alone", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    seconds = "processor seconds" if options.device == "cpu" else "seconds"
    print(f"Machine: {machine()}. `{' '.join(map(str, sys.argv))}`\n")
    print(f"| | {seconds} | median | |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        benchmark = Benchmark(options, pathlib.Path(folder))
        benchmark.calls()
        benchmark.sha256sum()
        benchmark.parser()


if __name__ == "__main__":
    main()
