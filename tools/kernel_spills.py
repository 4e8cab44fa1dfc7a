#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# What ptxas made of the engines' kernels for GPUs: registers of a thread, and bytes of its stack, of spill
# stores and of spill loads. A kernel at its limit of registers spills with small changes of other code, which
# no test sees and each lane pays for.
#   kernel_spills.py BUILD [--json FILE] [--beside FILE]
# BUILD is a configured folder with a GPU's architecture (-DMYRIARM_CUDA_ARCHITECTURES=90); nothing in it
# changes. Each kernel is compiled for the first one, which takes minutes. --json writes the figures, and
# --beside prints those of an earlier run too. The status is 1 if a kernel spills more than there.
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

SOURCE = re.compile(r"/backends/cuda/(?:interpreter|stepper|translated)/\w+\.cu$")
MACHINE = re.compile(r"\bsm_\d+[a-z]?\b")
ENTRY = re.compile(
    r"Compiling entry function '(\w+)'.*?"
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads.*?"
    r"Used (\d+) registers",
    re.DOTALL,
)
# What nvcc writes in front of the name of a static kernel: numbers that change with the file.
STATIC = re.compile(r"^__nv_static_\w*?(?=_ZN)")
WITH_VALUE = ("-MT", "-MF", "-o", "-gencode")
COLUMNS = ("registers", "stack", "spill stores", "spill loads")


def command_of(line):
    """The command that compiles kernels of an engine to machine code, and its source; None: there is none."""
    for part in line.split(" && "):
        words = shlex.split(part)
        nvcc = next((i for i, word in enumerate(words) if word.endswith("/nvcc")), None)
        source = next((word for word in words if SOURCE.search(word)), None)
        if nvcc is None or source is None:
            continue
        machine = MACHINE.search(part)
        if machine is None:
            raise SystemExit(
                f"{source} is compiled to PTX alone; configure with -DMYRIARM_CUDA_ARCHITECTURES=90."
            )
        kept, skips = [], False
        for word in words[nvcc:]:
            if not skips and word not in (*WITH_VALUE, "-MD", "-c", "-fatbin"):
                if not word.startswith("--generate-code="):
                    kept.append(word)
            skips = not skips and word in WITH_VALUE
        return [*kept, "-cubin", f"-arch={machine[0]}", "-Xptxas=-v"], source
    return None


def kernels_of(messages):
    """The figures of each kernel, by its name in C++ without parameters, from what `ptxas -v` prints."""
    found = {}
    for name, stack, stores, loads, registers in ENTRY.findall(messages):
        name = STATIC.sub("", name)
        plain = subprocess.run(["c++filt", "-p", name], capture_output=True, text=True).stdout
        row = dict(zip(COLUMNS, map(int, (registers, stack, stores, loads))))
        found[plain.strip().rsplit("::", 1)[-1]] = row
    return found


def compiled(build, command, source):
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [*command, "-o", f"{folder}/kernels.cubin"], cwd=build, capture_output=True, text=True
        )
    if run.returncode != 0:
        raise SystemExit(f"{source} does not compile:\n{run.stderr}")
    return {f"{pathlib.Path(source).stem}: {name}": row for name, row in kernels_of(run.stderr).items()}


def print_table(kernels, earlier):
    rows = [["kernel", *COLUMNS]]
    for name, row in kernels.items():
        before = earlier.get(name)
        cells = [f"{row[c]:,}" + (f" ({before[c]:,})" if before else "") for c in COLUMNS]
        rows.append([name, *cells])
    widths = [max(map(len, column)) for column in zip(*rows)]
    for name, *cells in rows:
        print(name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:])), sep="  ")


def spills_more(kernels, earlier):
    """Those that store or load more bytes of spills than before."""
    return [
        name
        for name, row in kernels.items()
        if name in earlier and any(row[c] > earlier[name][c] for c in COLUMNS[2:])
    ]


def main(arguments):
    parser = argparse.ArgumentParser(description="Registers, stack and spills of the engines' kernels.")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--beside", type=pathlib.Path)
    options = parser.parse_args(arguments)
    try:
        earlier = json.loads(options.beside.read_text()) if options.beside else {}
        words = ["ninja", "-C", options.build, "-t", "commands"]
        ninja = subprocess.run(words, capture_output=True, text=True)
    except (OSError, ValueError) as problem:
        raise SystemExit(f"kernel_spills.py: {problem}") from None
    work = [found for found in map(command_of, ninja.stdout.splitlines()) if found]
    if not work:
        raise SystemExit(f"{options.build} compiles no kernels; configure it with Ninja and with CUDA.")
    kernels = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, part in enumerate(pool.map(lambda each: compiled(options.build, *each), work), 1):
            kernels |= part
            if sys.stderr.isatty():
                print(f"\r{number} of {len(work)} files", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    kernels = dict(sorted(kernels.items()))
    if options.json:
        options.json.write_text(json.dumps(kernels, indent=1) + "\n")
    print_table(kernels, earlier)
    more = spills_more(kernels, earlier)
    for name in more:
        print(f"{name} spills more than before", file=sys.stderr)
    return 1 if more else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
