#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# writes.c and random_writes.c make the same calls natively, in a folder of the host's Linux, and under
# myriarm: every result is the same. Natively the working folder lies on a tmpfs, and the user is 1000.
#   writes_test.py MYRIARM FOLDER
# Skipped (status 77) where the host does not let the test make a root: it has to be root, and to mount.
import os
import pathlib
import shutil
import subprocess
import sys

from lanes import checks_of, lanes_that_differ, lines_of

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
from peer import Peer  # noqa: E402

SKIPPED = 77
DEVICE = os.environ.get("MYRIARM_TEST_DEVICE", "cpu")
HERE = pathlib.Path(__file__).resolve().parent
NATIVE = """mount -t tmpfs -o mode=755 none "$2" && cp -a "$1/." "$2" && chown -R 1000:1000 "$2/own" &&
top="$2" && shift 2 && exec chroot --userspec=1000:1000 "$top" /in-work "$@" """
SEEDS, RANDOM_CALLS = range(1, 13), 1500
IN_WORK = """#include <unistd.h>
int main(int argc, char** argv) { chdir("/own"); argv[0] = argv[1]; return execv(argv[1], argv + 1); }
"""


def fill(work):
    shutil.rmtree(work, ignore_errors=True)
    (work / "given/sub/inner").mkdir(parents=True)
    (work / "given/one").write_text("one")
    (work / "given/large").write_bytes(bytes(i * 7 % 251 for i in range(20000)))
    (work / "given/sub/x").write_text("x in sub")
    (work / "given/sub/inner/deep").write_text("deep")
    (work / "given/link").symlink_to("one")
    (work / "given/pair1").write_text("pair")
    os.link(work / "given/pair1", work / "given/pair2")
    for i in range(60):
        (work / f"given/file{i}").write_text(str(i))


def compile_for(compiler, source, output):
    command = [compiler, "-O1", "-w", f"-I{HERE}", "-x", "c", "-", "-o", str(output), "-static"]
    subprocess.run(command, check=True, input=source)


def differences(native, got, name):
    found = native.differences(got)
    for right, line in found[:20]:
        print(f"{name}: natively {right}\n  here {line}")
    return len(found)


def main(myriarm, folder):
    root = pathlib.Path(folder).resolve() / "root"
    shutil.rmtree(root, ignore_errors=True)
    (root / "tmp").mkdir(parents=True)
    work = root / "own"
    for name in ("writes", "random_writes"):
        source = (HERE / f"{name}.c").read_bytes()
        compile_for("gcc", source, root / f"native-{name}")
        compile_for("aarch64-linux-gnu-gcc", source, root / name)
    compile_for("gcc", IN_WORK.encode(), root / "in-work")
    if os.geteuid() != 0:
        print("skipped: only root can make a root of the host's Linux for another user")
        return SKIPPED
    mounted = root.parent / "mounted"
    mounted.mkdir(exist_ok=True)
    different = checks = 0
    for words in (["writes"], *(["random_writes", str(seed), str(RANDOM_CALLS)] for seed in SEEDS)):
        command = [
            "unshare",
            "--mount",
            "sh",
            "-c",
            NATIVE,
            "sh",
            str(root),
            str(mounted),
            f"/native-{words[0]}",
            *words[1:],
        ]

        def natively(command=command):
            fill(work)
            return lines_of(command, 120)

        native = Peer(natively)
        if native.status != 0:
            print(f"skipped: the host cannot make a root here ({native.problem.strip()})")
            return SKIPPED
        run = [os.path.abspath(myriarm), "run", "--device", DEVICE, "--quiet", "--root", str(root)]
        run += ["--bind", f"{work}:/own:rw", "--cwd", "/own"]
        words = [f"/{words[0]}", *words[1:]]
        got, status, problem = lines_of([*run, *words], 300)
        print(problem, end="")
        different += differences(native, got, " ".join(words)) + (status != 0)
        different += lanes_that_differ(run, words, native, 300)
        checks += checks_of(native.lines)
    print(f"{checks} checks, {different} lines differ")
    return 1 if different or checks < 15000 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
