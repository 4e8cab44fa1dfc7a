# SPDX-License-Identifier: Apache-2.0
"""Compiles the programs of the suite and runs them: natively, under QEMU user mode, and under myriarm."""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
# Each with whether it needs a root.
PROGRAMS = {
    "files": True,
    "copying": True,
    "paths": True,
    "processes": True,
    "descriptors": False,
    "sockets": False,
    "memory": False,
    "clocks": False,
    "identity": False,
    "signals": False,
    "threads": False,
    "stdio": True,
    "allocation": False,
}
# A folder of the host's Linux in which user 1000 has files, as in a lane.
NATIVE = """mount -t tmpfs -o mode=755 none /mnt && cp -a "$1/." /mnt && chown -R 1000:1000 /mnt/own &&
cd /mnt/own && shift && exec setpriv --reuid 1000 --regid 1000 --clear-groups -- "$@" """
QEMU = ["qemu-aarch64", "-cpu", "cortex-a72"]
INPUT = b"the standard input\n"
LINE = re.compile(r"(\d+) (\w+), (.*): (\S+?)(?: \((\S+) by the manual\))?")
SECONDS = 120  # a guard against programs that wait for ever


def compile_for(compiler, name, output):
    options = ["-O1", "-fno-builtin", "-w", "-static", "-pthread"]
    subprocess.run([compiler, *options, str(HERE / f"{name}.c"), "-lm", "-o", str(output)], check=True)


def make_tree(folder, program):
    """What is /mnt natively, and in the root of a lane: own/ is the user's, theirs/ is another's."""
    shutil.rmtree(folder, ignore_errors=True)
    theirs = folder / "theirs"
    (folder / "own").mkdir(parents=True)
    (theirs / "closed").mkdir(parents=True)
    (theirs / "open").mkdir()
    for name, mode in (
        ("readable", 0o644),
        ("secret", 0o600),
        ("tool", 0o755),
        ("closed/x", 0o644),
        ("open/x", 0o644),
    ):
        (theirs / name).write_text("of another")
        (theirs / name).chmod(mode)
    (theirs / "closed").chmod(0o700)
    (theirs / "open").chmod(0o1777)
    theirs.chmod(0o755)
    shutil.copy(program, folder / "own/program")


def read_all(fd):
    with open(fd, encoding="utf-8", errors="backslashreplace") as file:
        return file.read()


def prepared():
    # A nice value would be inherited, and programs look at it.
    os.setpriority(os.PRIO_PROCESS, 0, 0)


def run(command):
    """Standard input is a pipe with all of its bytes and no writer. Streams belong to the user of a lane.
    The program leads its session, as the first process of a lane does."""
    reader, writer = os.pipe()
    os.write(writer, INPUT)
    os.close(writer)
    outputs = [os.pipe(), os.pipe()]
    if os.geteuid() == 0:
        for end in (reader, outputs[0][1], outputs[1][1]):
            os.fchown(end, 1000, 1000)
    ends = {"stdin": reader, "stdout": outputs[0][1], "stderr": outputs[1][1], "start_new_session": True}
    with subprocess.Popen(command, preexec_fn=prepared, env={"PATH": os.environ["PATH"]}, **ends) as process:
        for fd in (reader, outputs[0][1], outputs[1][1]):
            os.close(fd)
        with concurrent.futures.ThreadPoolExecutor() as readers:
            texts = readers.map(read_all, [end for end, _ in outputs])
            try:
                status = process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                status = "none, it did not end"
            return *texts, status


class Check:
    def __init__(self, line, match):
        self.line, self.number, self.call, self.about = line, int(match[1]), match[2], match[3]
        self.result, self.manual = match[4], match[5] or match[4]


def parse(text):
    """{(call, about): Check}, and what is wrong with the lines."""
    checks, wrong = {}, []
    for line in text.splitlines():
        match = LINE.fullmatch(line)
        check = match and Check(line, match)
        if not check or (check.call, check.about) in checks or check.number != len(checks) + 1:
            wrong.append(f"the line is no check, or not the next, or there twice: {line}")
            continue
        checks[check.call, check.about] = check
    return checks, wrong


class Runner:
    def __init__(self, myriarm, folder, device):
        self.myriarm, self.device = os.path.abspath(myriarm), device
        self.folder = pathlib.Path(folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)

    def compile(self, name):
        for compiler, who in (("gcc", "native"), ("aarch64-linux-gnu-gcc", "guest")):
            compile_for(compiler, name, self.folder / f"{name}.{who}")

    def in_namespace(self, program, command):
        tree = self.folder / "tree"
        make_tree(tree, program)
        return run(["unshare", "--mount", "sh", "-c", NATIVE, "sh", str(tree), *command])

    def natively(self, name):
        return self.in_namespace(self.folder / f"{name}.native", ["./program"])

    def under_qemu(self, name):
        return self.in_namespace(self.folder / f"{name}.guest", [*QEMU, "./program"])

    def here(self, name, engine):
        guest, root = self.folder / f"{name}.guest", self.folder / "root"
        command = [
            self.myriarm,
            "run",
            "--device",
            self.device,
            "--quiet",
            "--ignore-unimplemented",
            "--engine",
            engine,
        ]
        standard_input = self.folder / "input"
        standard_input.write_bytes(INPUT)
        command += ["--stdin", str(standard_input)]
        if not PROGRAMS[name]:
            return run([*command, str(guest)])
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        make_tree(root / "mnt", guest)
        shutil.rmtree(self.folder / "own", ignore_errors=True)
        (root / "mnt/own").rename(self.folder / "own")
        (root / "mnt/own").mkdir()
        command += ["--root", str(root), "--bind", f"{self.folder / 'own'}:/mnt/own:rw", "--cwd", "/mnt/own"]
        return run([*command, "/mnt/own/program"])
