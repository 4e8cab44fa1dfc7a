#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Tests run_programs.py: it passes with a correct stand-in for myriarm, fails for each wrong report of the
# stand-in, and names the package of a missing tool.
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def harness(work, lie="", path=None, myriarm=HERE / "stand_in.py"):
    environment = dict(os.environ, STAND_IN_LIE=lie)
    if path is not None:
        environment["PATH"] = path
    return subprocess.run(
        [
            sys.executable,
            HERE / "run_programs.py",
            "--myriarm",
            myriarm,
            "--work",
            work,
            "--lanes",
            "33",
            "example_hello",
        ],
        capture_output=True,
        text=True,
        env=environment,
    )


def main():
    wrong = 0

    def expect(what, condition, result):
        nonlocal wrong
        if not condition:
            wrong += 1
            print(f"{what}: status {result.returncode}\n{result.stdout}{result.stderr}")

    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        honest = harness(work)
        expect("a correct myriarm passes", honest.returncode == 0, honest)
        for lie, sentence in (("output", "the output differs"), ("status", "the exit status differs"),
                              ("lane", "lane 32 of 33"), ("stderr", "standard error differs"),
                              ("signal", "the signal differs"), ("sum", "the sum of the lanes' instructions"),
                              ("count", "alone and in a fleet"), ("calls", "compare the names"),
                              ("arguments", "compare argument 0"), ("results", "compare result"),
                              ("fork", "forked after 0x")):
            result = harness(work, lie)
            noticed = result.returncode == 1 and sentence in result.stderr
            expect(f"the wrong {lie} is noticed", noticed, result)
        for tool, package in (
            ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
            ("qemu-aarch64", "qemu-user"),
        ):
            tools = work / f"without-{tool}"
            tools.mkdir()
            for other in ("aarch64-linux-gnu-gcc", "qemu-aarch64"):
                if other != tool:
                    (tools / other).symlink_to(shutil.which(other))
            result = harness(work, path=str(tools))
            expect(
                f"a missing {tool} is named",
                result.returncode == 1 and f"package {package}" in result.stderr,
                result,
            )
        result = harness(work, myriarm=work / "nothing")
        expect("a missing myriarm is named", result.returncode == 1 and "make build" in result.stderr, result)
    print("the harness notices every wrong report" if not wrong else f"{wrong} checks of the harness failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
