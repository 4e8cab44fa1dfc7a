#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Debian's own arm64 programs give the same under myriarm as under QEMU user mode, or as those of amd64
# natively where they execute others, and leave the same files. By hand, since it downloads them:
#   debian_test.py MYRIARM FOLDER [--device DEVICE] [--only PROGRAM] [--jobs N] [--limit SECONDS] [--keep]
#   debian_test.py MYRIARM FOLDER --table NEW | --lanes RESULTS [...]
#                              all in one fleet, since a lane alone is slow on a GPU; between the two,
#       debian_lanes DEVICE ENGINE FOLDER/root NEW/own SECONDS NEW/table RESULTS
#                              runs them, on any machine
#   debian_test.py --page      makes docs/programs.md of the results that --keep has kept, of every device
#   debian_test.py --check     exit status 1, and a sentence, if the page is not what they say
# FOLDER gets root/ and peer/, made by tools/debian-root, unless they are there. Prints a line for each
# command: the same, or what differs. Exit status 1 if one differs that is not in DIFFERENT, or the other way.
# Native peers need chroot(1), so root's privileges; without them these commands are left out, and counted.
# --peers FILE: what the peers give is kept there, and taken from there.
import argparse
import concurrent.futures
import json
import os
import pathlib
import pickle
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading

from debian_commands import PACKAGES, commands
from debian_differences import DIFFERENT
from debian_folder import USER, left_in, make_folder
from debian_page import check_page, keep_results, write_page
from debian_together import by_program, read_results, write_table
from lanes import stream_of

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/debian-root"
INPUT = b"one\ntwo words\nthree 3\nfour\n10\n9\n"
VARIABLES = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
MOUNTS = """mount --bind "$1" "$2/own" && mount -t tmpfs -o mode=1777 tmp "$2/tmp" &&
mount --rbind /dev "$2/dev" && mount --rbind /proc "$2/proc" && root=$2 && shift 2 &&
exec chroot --userspec=1000:1000 --groups= "$root" \\
  /usr/bin/env -i -C /own PATH=/usr/bin:/bin LC_ALL=C "$@" """


def run(command, limit, **options):
    try:
        done = subprocess.run(command, input=INPUT, capture_output=True, timeout=limit, **options)
    except subprocess.TimeoutExpired as ended:
        return ended.stdout or b"", ended.stderr or b"", f"not ended after {limit} s"
    return done.stdout, done.stderr, done.returncode if done.returncode >= 0 else 128 - done.returncode


class Comparison:
    def __init__(self, options):
        self.options = options
        self.root, self.peer = options.folder / "root", options.folder / "peer"
        self.same, self.missing, self.wrong, self.lock = {}, {}, 0, threading.Lock()
        self.peers, self.in_lanes, self.lacked = {}, {}, []
        if options.peers and options.peers.exists():
            self.peers = pickle.loads(options.peers.read_bytes())

    def start_of(self, device, work):
        command = [self.options.myriarm, "run", "--device", device, "--quiet"]
        command += ["--memory", "512M", "--root", self.root, "--stdin", "-", "--ignore-unimplemented"]
        return [*command, "--bind", f"{work}:/own:rw", "--cwd", "/own"]

    def ours(self, line, words, work, out):
        if line in self.in_lanes:
            return self.in_lanes[line][:4]
        summary = out.with_suffix(".json")
        command = [*self.start_of(self.options.device, work), "--collect", "/own", "--output-dir", out]
        # What a lane passes on at once, a GPU's host serves; with the results, its calls are served there.
        on_device = self.options.device != "cpu"
        command += ["--json", "-" if on_device else summary]
        command += [f"--env={name}={value}" for name, value in VARIABLES.items()]
        got = run([*command, *words], self.options.limit)
        files = left_in(out / "0/own")
        results = json.loads(got[0] or b"{}") if on_device else {}
        if not on_device and summary.exists():
            results = json.loads(summary.read_bytes())
        if missing := results.get("unimplemented"):
            self.missing[line] = sorted(missing)
        if on_device and results:
            lane = results["lane_results"][0]
            ended = lane["stop"] if lane["exit_status"] is None else lane["exit_status"]
            status = 128 + lane["signal"] if lane["signal"] else ended
            got = stream_of(lane, "stdout"), stream_of(lane, "stderr"), status
        shutil.rmtree(out, ignore_errors=True)
        return (*got, files)

    def theirs(self, words, work, native):
        if native:
            words = ["unshare", "-m", "sh", "-c", MOUNTS, "sh", work, self.peer, *words]
            return (*run(words, self.options.limit), left_in(work))
        user = []
        if os.geteuid() == 0:
            user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
        command = [*user, "qemu-aarch64", "-L", self.root, "-0", words[0], f"{self.root}{words[0]}"]
        return (*run([*command, *words[1:]], self.options.limit, env=VARIABLES, cwd=work), left_in(work))

    def command(self, line, native):
        with tempfile.TemporaryDirectory() as scratch:
            top = pathlib.Path(scratch)
            top.chmod(0o755)
            subprocess.run(["cp", "-a", self.options.template, top / "own"], check=True)
            words = shlex.split(line)
            got = self.ours(line, words, top / "own", top / "out")
            if line not in self.peers:
                self.peers[line] = self.theirs(words, top / "own", native)
            expected = self.peers[line]
        with self.lock:
            self.add(line, "native" if native else "QEMU", expected, got)

    def add(self, line, who, expected, got):
        self.same[line] = got == expected
        if (got == expected) != (line in DIFFERENT):
            why = DIFFERENT.get(line)
            print(f"differs: {line}: {why}" if why else f"same: {line}", flush=True)
            return
        self.wrong += 1
        print(f"WRONG {line}")
        for wanted, here in zip(expected, got):
            if wanted == here:
                continue
            if isinstance(wanted, dict):
                names = [name for name in {*wanted, *here} if wanted.get(name) != here.get(name)]
                wanted, here = ({name: which.get(name) for name in names} for which in (wanted, here))
            print(f"  {who + ':':8} {str(wanted)[:1000]}\n  myriarm: {str(here)[:1000]}", flush=True)


def fetch(folder):
    for name, architecture in (("root", "arm64"), ("peer", "amd64")):
        if not (folder / name).is_dir():
            variables = {**os.environ, "DEBIAN_ROOT_ARCHITECTURE": architecture}
            subprocess.run([TOOL, folder / name, *PACKAGES], env=variables, check=True)
        (folder / name / "own").mkdir(exist_ok=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("myriarm", type=pathlib.Path, nargs="?")
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", action="append", help="the commands of this program alone")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=300, help="seconds that end what hangs, and fail it")
    parser.add_argument("--peers", type=pathlib.Path)
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--lanes", type=pathlib.Path)
    parser.add_argument("--keep", action="store_true", help="keeps the results for the page")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        return check_page()
    if options.page:
        return write_page()
    if not options.folder:
        parser.error("give myriarm and a folder for the programs")
    options.myriarm, options.folder = options.myriarm.resolve(), options.folder.resolve()
    fetch(options.folder)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))  # as in a lane
    seen = Comparison(options)
    with tempfile.TemporaryDirectory() as scratch:
        options.template = pathlib.Path(scratch) / "own"
        make_folder(options.template)
        chosen = by_program(c for c in commands() if not options.only or c[0] in options.only)
        lines = [line for _, line, _ in chosen]
        if options.table:
            options.table.mkdir(parents=True)
            subprocess.run(["cp", "-a", options.template, options.table / "own"], check=True)
            write_table(options.table / "table", lines, INPUT, VARIABLES)
            return 0
        if options.lanes:
            seen.in_lanes, seen.lacked = read_results(options.lanes, lines)
        left_out = [line for _, line, native in chosen if native and os.geteuid() != 0]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            runs = [pool.submit(seen.command, c[1], c[2]) for c in chosen if c[1] not in left_out]
            for each in runs:
                each.result()
    print(f"{sum(seen.same.values())} of {len(seen.same)} are the same, {seen.wrong} are not as expected")
    if options.peers:
        options.peers.write_bytes(pickle.dumps(seen.peers))
    if seen.lacked:
        print(f"missing: {', '.join(seen.lacked)}")
    if left_out:
        print(f"{len(left_out)} were left out: they need a native peer, which needs root's privileges")
    if options.keep:
        same = {line: seen.same[line] for line in lines if line in seen.same}
        missing = {line: seen.missing[line] for line in same if line in seen.missing}
        keep_results(options.device.split(":")[0], same, missing)
    return 1 if seen.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
