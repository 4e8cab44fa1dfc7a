#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# calls.c makes the same calls natively, in a read-only root of the host's Linux, and under myriarm: every
# result is the same.
#   calls_test.py MYRIARM FOLDER
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
SOURCE = pathlib.Path(__file__).resolve().parent / "calls.c"
# A file system that is read-only itself, not just mounted so; then as a user who owns nothing.
NATIVE = """mount -t tmpfs -o mode=755 none "$2" && cp -a "$1/." "$2" && mount -o remount,ro "$2" &&
exec chroot --userspec=1000:1000 "$2" /native"""


def make_root(root):
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("a/b/c", "locked", "empty"):
        (root / folder).mkdir(parents=True)
    (root / "a/f").write_text("0123456789")
    (root / "a/hidden").write_text("hidden")
    (root / "a/hidden").chmod(0o600)
    (root / "tool").write_text("tool")
    (root / "tool").chmod(0o755)
    (root / "locked/x").write_text("x")
    (root / "locked").chmod(0o700)
    links = {"l": "a/f", "la": "/a", "loop": "loop", "dangling": "none"}
    links.update({"up": "../../../a/f", "self": "/", "a/l": "f"})
    links.update({f"chain{i}": f"chain{i + 1}" for i in range(40)})
    for name, target in links.items():
        (root / name).symlink_to(target)
    (root / "chain40").write_text("end")


def compile_for(compiler, output, *flags):
    subprocess.run([compiler, "-O1", "-w", str(SOURCE), "-o", str(output), "-static", *flags], check=True)


def main(myriarm, folder):
    root = pathlib.Path(folder).resolve() / "root"
    make_root(root)
    compile_for("gcc", root / "native")
    compile_for("aarch64-linux-gnu-gcc", root / "guest")
    if os.geteuid() != 0:
        print("skipped: only root can make a root of the host's Linux for another user")
        return SKIPPED
    mounted = root.parent / "mounted"
    mounted.mkdir(exist_ok=True)
    command = ["unshare", "--mount", "sh", "-c", NATIVE, "sh", str(root), str(mounted)]
    native = Peer(lambda: lines_of(command, 120))
    if native.status != 0:
        print(f"skipped: the host cannot make a root here ({native.problem.strip()})")
        return SKIPPED
    run = [os.path.abspath(myriarm), "run", "--device", DEVICE, "--quiet", "--root", str(root)]
    run += ["--file-bytes", "0"]
    got, status, problem = lines_of([*run, "/guest"], 300)
    different = native.differences(got)
    for right, line in different:
        print(f"natively {right}\n  here {line}")
    checks = checks_of(native.lines)
    print(f"{checks} checks, {len(different)} lines differ")
    print(problem, end="")
    wrong = len(different) + (status != 0) + lanes_that_differ(run, ["/guest"], native, 300)
    return 1 if wrong or checks < 1000 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
