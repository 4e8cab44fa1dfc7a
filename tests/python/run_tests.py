#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Installs the package into a fresh virtual environment and runs the tests of this folder against it:
#   run_tests.py SOURCE FOLDER [-DNAME=VALUE ...] [-- PYTEST_ARGUMENT ...]
# FOLDER holds the environment, which is made anew each time, and the compiled files, which are kept.
import os
import pathlib
import shlex
import shutil
import subprocess
import sys


def fail(sentence):
    print(f"run_tests.py: {sentence}", file=sys.stderr)
    return 1


def main(arguments):
    source, folder = (pathlib.Path(argument).resolve() for argument in arguments[:2])
    flags = arguments[2:]
    pytest_arguments = flags[flags.index("--") + 1 :] if "--" in flags else []
    flags = flags[: len(flags) - len(pytest_arguments)]
    environment_folder = folder / "venv"
    shutil.rmtree(environment_folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    if subprocess.run([sys.executable, "-m", "venv", str(environment_folder)]).returncode != 0:
        return fail("cannot make a virtual environment; install python3-venv (tools/setup.sh test does).")
    python = str(environment_folder / "bin" / "python")

    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")
    }
    # Compiled files stay, so that the next run compiles only what changed.
    environment["SKBUILD_BUILD_DIR"] = str(folder)
    environment["CMAKE_ARGS"] = shlex.join(flag for flag in flags if flag != "--")
    environment.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", "2")
    # Without a network pip then fails soon, also the pip that makes the build environment.
    environment.setdefault("PIP_RETRIES", "2")
    environment.setdefault("PIP_DEFAULT_TIMEOUT", "30")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{source}[test]"]
    if subprocess.run(install, env=environment, cwd=folder).returncode != 0:
        return fail(
            "pip could not install the package; its messages are above. Install python3-dev, and give pip a"
            " network or a mirror."
        )

    # In another folder, so that the tests import the installed package and not the source.
    tests = [
        python,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(source),
        "-ra",
        str(source / "tests" / "python"),
        *pytest_arguments,
    ]
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    environment["MYRIARM_SOURCE"] = str(source)
    return subprocess.run(tests, env=environment, cwd=folder).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
