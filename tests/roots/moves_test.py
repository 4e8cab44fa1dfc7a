#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Programs that make the same calls natively, in a folder of the host's Linux, and under myriarm, on each
# engine and as a queue whose lanes begin where the program first calls one of its functions: every result is
# the same. Natively the working folder lies on a tmpfs, /proc and /dev are the host's, and the user is 1000.
#   moves_test.py MYRIARM FOLDER
# Skipped (status 77) where the host does not let the test make a root: it has to be root, and to mount.
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

from lanes import checks_of, lanes_that_differ
from writes_test import DEVICE, HERE, IN_WORK, SKIPPED, Peer, differences, fill

NATIVE = """mount -t tmpfs -o mode=755 none "$2" && cp -a "$1/." "$2" && chown -R 1000:1000 "$2/own" &&
mkdir -p "$2/proc" "$2/dev" && mount -t proc none "$2/proc" && mount --bind /dev "$2/dev" &&
mkdir -p "$2/dev/shm" && mount -t tmpfs -o mode=1777 none "$2/dev/shm" &&
top="$2" && shift 2 && exec chroot --userspec=1000:1000 "$top" /in-work "$@" """
# Each with the number of checks that it makes at least.
PROGRAMS = {
    "splices": 190,
    "sendfiles": 220,
    "descriptors": 250,
    "fifos": 150,
    "mappings": 210,
    "probes": 200,
    "tells": 60,
}
INPUT = b"the standard input\n"
# Where pipes or FIFOs are open, or have bytes.
FORKED_AT = {
    "splices": "show_pipe",
    "sendfiles": "free_room",
    "descriptors": "show_link",
    "fifos": "events_of",
    "mappings": "begin_mapping",
}
INPUTS = 3
# Where a file is mapped whose pages a copy would not have.
MAPPED_AT = {"mappings": "in_child"}
REFUSAL = "freeze it before that, or when it has unmapped the file\n"


def compile_for(compiler, name, output):
    options = ["-O1", "-fno-inline", "-w", f"-I{HERE}", "-static", "-pthread"]
    subprocess.run([compiler, *options, str(HERE / f"{name}.c"), "-o", str(output)], check=True)


def read_all(fd):
    with open(fd, encoding="utf-8", errors="backslashreplace") as file:
        return file.read()


def run(command, seconds):
    """Standard input is a pipe with all of its bytes and no writer. Streams belong to the user."""
    reader, writer = os.pipe()
    os.write(writer, INPUT)
    os.close(writer)
    os.fchown(reader, 1000, 1000)
    outputs = [os.pipe(), os.pipe()]
    for _, end in outputs:
        os.fchown(end, 1000, 1000)
    ends = {"stdin": reader, "stdout": outputs[0][1], "stderr": outputs[1][1]}
    # A nice value would be inherited, and programs look at it.
    ends["preexec_fn"] = lambda: os.setpriority(os.PRIO_PROCESS, 0, 0)
    with subprocess.Popen(command, **ends) as process:
        for fd in (reader, outputs[0][1], outputs[1][1]):
            os.close(fd)
        with concurrent.futures.ThreadPoolExecutor() as readers:
            texts = readers.map(read_all, [reader for reader, _ in outputs])
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                status = None
            text, problem = texts
            return text.splitlines(), status, problem


def queue(command, folder, name):
    """The output of each input of a queue whose lanes begin at a function."""
    inputs, outputs = folder / "inputs", folder / "outputs"
    shutil.rmtree(outputs, ignore_errors=True)
    inputs.mkdir(exist_ok=True)
    for i in range(INPUTS):
        (inputs / str(i)).write_bytes(INPUT)
    more = ["--lanes", "2", "--inputs", str(inputs), "--fork-after", FORKED_AT[name]]
    command = [*command, *more, "--output-dir", str(outputs), f"/{name}"]
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=600, check=False)
    found = [file for file in outputs.rglob("*") if file.is_file() and file.stat().st_size > 2000]
    return [file.read_text(errors="backslashreplace") for file in found]


def main(myriarm, folder, *names):
    root = pathlib.Path(folder).resolve() / "root"
    shutil.rmtree(root, ignore_errors=True)
    (root / "tmp").mkdir(parents=True)
    work = root / "own"
    in_work = ["gcc", "-w", "-static", "-x", "c", "-", "-o", str(root / "in-work")]
    subprocess.run(in_work, check=True, input=IN_WORK.encode())
    if os.geteuid() != 0:
        print("skipped: only root can make a root of the host's Linux for another user")
        return SKIPPED
    mounted = root.parent / "mounted"
    mounted.mkdir(exist_ok=True)
    standard_input = root.parent / "input"
    standard_input.write_bytes(INPUT)
    wrong = 0
    for name in names or PROGRAMS:
        compile_for("gcc", name, root / f"native-{name}")
        compile_for("aarch64-linux-gnu-gcc", name, root / name)
        command = ["unshare", "--mount", "sh", "-c", NATIVE, "sh", str(root), str(mounted), f"/native-{name}"]

        def natively(command=command):
            fill(work)
            return run(command, 120)

        native = Peer(natively)
        if native.status != 0 and not native.lines:
            print(f"skipped: the host cannot make a root here ({native.problem.strip()})")
            return SKIPPED
        checks = checks_of(native.lines)
        wrong += native.status != 0
        wrong += checks < PROGRAMS[name]
        ours = [os.path.abspath(myriarm), "run", "--device", DEVICE, "--quiet"]
        ours += ["--root", str(root), "--bind", f"{work}:/own:rw", "--cwd", "/own"]
        for engine in ("interpreter", "stepper", "translate"):
            more = ["--engine", engine, "--stdin", str(standard_input)]
            got, status, problem = run([*ours, *more, f"/{name}"], 300)
            if engine == "translate" and "LLVM" in problem:
                continue
            print(problem, end="")
            differ = differences(native, got, f"{name}, {engine}")
            print(f"{name}, {engine}: {checks} checks, {differ} lines differ, status {status}")
            wrong += differ + (status != 0) + lanes_that_differ([*ours, *more], [f"/{name}"], native, 600)
        if name in FORKED_AT:
            texts = queue(ours, root.parent, name)
            bad = sum(differences(native, text.splitlines(), f"{name}, queue") for text in texts)
            begin = f"{name}, from the first call of {FORKED_AT[name]}"
            print(f"{begin}: {len(texts)} inputs, {bad} lines differ")
            wrong += bad + (len(texts) != INPUTS)
        if name in MAPPED_AT:
            problem = run([*ours, "--fork-after", MAPPED_AT[name], f"/{name}"], 120)[2]
            refused = problem.endswith(REFUSAL) and problem.count("\n") == 1
            print(f"{name}, from the first call of {MAPPED_AT[name]}: {problem}", end="")
            wrong += not refused
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
