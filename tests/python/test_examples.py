# SPDX-License-Identifier: Apache-2.0
"""The Python of the documentation works as the pages say: the scripts of examples/python, the tutorial with
its output, the program of README.md, and the fragments of the guides."""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import os
import pathlib
import re
import subprocess
import sys
import types

import myriarm
import numpy as np
import pytest

SOURCE = pathlib.Path(os.environ.get("MYRIARM_SOURCE", pathlib.Path(__file__).parents[2]))
DEVICE = os.environ.get("MYRIARM_TEST_DEVICE", "cpu")
SCRIPTS = SOURCE / "examples" / "python"
PREBUILT = SOURCE / "examples" / "prebuilt"

# What each script prints, as a regular expression of all of it.
PRINTED = {
    "lanes": r"""10000 lanes halted
the longest walk starts at 6171 and takes 261 steps
the lanes retired 3 to \d+ instructions each
\d+ M instructions a second on (cpu|cuda:\d+)
""",
    "async_poll": r"""(?: *\d+\.\d\d s +[\d,]+ instructions
){5}CANCELLED: 64 lanes can go on, counts exact: True
each lane went on for 1000 instructions
""",
    "snapshots": r"""20480 inputs, \d+ accepted, (?P<crashes>\d+) different ones crash the program
(  input [4-9a-f][0-9a-f] [0-9a-f]{2}: a store to 0x4000, where nothing is mapped
){3}an input cost \d+ instructions; the set-up, 40001, ran once
""",
    "syscalls": r"""4000 system calls in 4 batches
the lanes told 1, 4, 9, \.\.\. 1000000
lane 42 wrote b'ready\\n'
1000 lanes exited with status \{7\}
""",
    "torch_policy": r"""(PyTorch is not installed; a rule decides|a PyTorch model decides)
it was asked 40 times, for \d+ lanes at first and 1 at last
500 of 500 lanes arrived, after 40 steps at most
""",
    "dlpack": r"""NumPy: memory of shape \(256, 8192\), lane 41 has 42
(NumPy: registers of shape \(256, 31\), the fleet says 1000
)?(torch: the sums of lane 0 to 255 add up to 1536|torch is not installed)
(cupy: the sums of lane 0 to 255 add up to 1536|cupy is not installed|cupy: takes arrays of a GPU.*)
""",
    "rl_corridor": r"""by hand: 19\d{3} episodes, 5\d % with the reward
(VectorEnv: 19\d{3} episodes, 5\d % with the reward|gymnasium is not installed)
""",
    "parser": r"""verdict      documents   instructions each
valid +(?P<valid>[\d,]+) +[12],\d{3}
refused +(?P<refused>[\d,]+) +[12],\d{3}
crashed +0 +0

Python's parser agrees on 100,000 of 100,000
[\d,]+ documents a second on (cpu|cuda:\d+)
""",
    "sweep": r"""   darts   mean error   error x sqrt\(darts\)   instructions
( +[\d,]+ +0\.\d{5} +1\.[1-6]\d +[\d,]+
){7}
448 processes retired 73,321,773 instructions on (cpu|cuda:\d+)
""",
    "search": r"""guesses instructions  best guess
( +[\d,]+ +\d+  open s.*
){4}
it opens: one of 95\*\*24 lines of this length
""",
    "coverage": r"""   inputs   new outputs   in all
( +[\d,]+ +\d+ +\d+
){6}
([4-9]|\d\d) values, depth \d: [\[{].*
""",
    "kvrm": r"""MetalCPU: MAX_CYCLES, 300000 cycles, 100000 in memory
MLXKernelCPUv2: MAX_CYCLES, 300000 cycles, 100000 in memory
MLXKernelCPU: FAULT, 1 cycles, 0 in memory
continuous: CHECKPOINT, 1000000 cycles in 10 batches
mega: CHECKPOINT, 1000000 cycles; x0 is 666667
async: 3000000 cycles seen, 3000000 done
""",
}


def test_every_script_is_tested():
    assert sorted(path.stem for path in SCRIPTS.glob("*.py")) == sorted(PRINTED)


@pytest.mark.parametrize("name", PRINTED)
def test_script(name):
    script = [sys.executable, str(SCRIPTS / f"{name}.py"), DEVICE]
    ran = subprocess.run(script, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    if name not in ("torch_policy", "dlpack"):  # PyTorch may print warnings of its own
        assert ran.stderr == ""
    assert re.fullmatch(PRINTED[name], ran.stdout), ran.stdout


def test_what_the_fuzzer_finds_is_what_the_program_does_wrong():
    ran = subprocess.run(
        [sys.executable, str(SCRIPTS / "snapshots.py"), DEVICE], capture_output=True, text=True, timeout=600
    )
    # Half of the inputs have both bytes mutated. Of these a check byte is right once in 256 times, and 191
    # lengths are too long.
    expected = 20480 * 0.49 / 256 * 191 / 256
    crashes = int(re.fullmatch(PRINTED["snapshots"], ran.stdout)["crashes"])
    assert expected / 2 < crashes < expected * 2
    for length, check in re.findall(r"input (..) (..)", ran.stdout):
        assert int(length, 16) > 64 and int(check, 16) == int(length, 16) ^ 0x3C


def blocks(page, language):
    """(line, text, and the text of the block that directly follows) of the fenced blocks of a page."""
    text = (SOURCE / page).read_text(encoding="utf-8")
    found = list(re.finditer(r"^```([+\w]*)\n(.*?)^```\n", text, re.MULTILINE | re.DOTALL))
    for this, following in zip(found, [*found[1:], None]):
        if this[1] == language:
            directly = following is not None and not text[this.end() : following.start()].strip()
            yield text.count("\n", 0, this.start()) + 2, this[2], following[2] if directly else None


def run_block(page, line, text, names):
    """Runs a block, with the page's line numbers in tracebacks, and returns what it printed."""
    code = compile(ast.increment_lineno(ast.parse(text), line - 1), str(SOURCE / page), "exec")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    return printed.getvalue()


@pytest.mark.parametrize(
    "page, least", [("README.md", 1), ("docs/tutorial.md", 12), ("docs/many-devices.md", 3)]
)
def test_blocks_print_what_stands_below_them(page, least, monkeypatch):
    monkeypatch.chdir(SOURCE)
    names = {}
    compared = 0
    for line, text, expected in blocks(page, "python"):
        text = text.replace('DEVICE = "auto"', f"DEVICE = {DEVICE!r}")
        printed = run_block(page, line, text, names)
        if expected is None:
            assert printed == "", f"{page}:{line} prints what the page does not show"
        else:
            assert printed == expected, f"{page}:{line}"
            compared += 1
    assert compared >= least


@pytest.mark.parametrize("page", ["docs/modes.md", "docs/memory.md", "docs/reinforcement-learning.md"])
def test_fragments_run(page):
    """With a program that adds, stops at BRK and adds again, and what else the fragments take as given."""
    code = np.array([0x91000400, 0xD4200000, 0x91000400, 0xD4000001, 0xD4400000], "<u4").tobytes()
    program = myriarm.Program.raw(code, memory=0x4000)
    module = types.SimpleNamespace(**vars(myriarm))
    module.Fleet = functools.partial(myriarm.Fleet, device=DEVICE)
    taken = 0
    sys.path.insert(0, str(SCRIPTS))
    from rl_corridor import CORRIDOR, SPACES

    for line, text, _ in blocks(page, "py"):
        if "gymnasium" in text and not SPACES:
            continue
        with myriarm.Fleet(program, lanes=64, device=DEVICE) as fleet:
            names = {
                "myriarm": module,
                "np": np,
                "fleet": fleet,
                "program": program,
                "producer": program,
                "consumer": program,
                "data": b"data",
                "device": DEVICE,
                "corridor": myriarm.Program.raw(CORRIDOR, memory=0x10000),
                "addresses": np.array([0x1000, 0x2000, 0x3000]),
                "hello": PREBUILT / "hello",
                "sha256": PREBUILT / "sha256",
            }
            run_block(page, line, text, names)
            names["fleet"].close()
            taken += 1
    assert taken >= 1


def test_links_of_the_documentation_lead_somewhere():
    pages = [
        SOURCE / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md", "tests/README.md")
    ]
    pages += (SOURCE / "docs").rglob("*.md")
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", text):
            if "://" in target:
                continue
            place = page.parent / target if target else page
            assert place.exists(), f"{page}: {target}"
            if anchor:
                headings = re.findall(r"^#+ (.*)$", place.read_text(encoding="utf-8"), re.MULTILINE)
                slugs = [re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings]
                assert anchor in slugs, f"{page}: {target}#{anchor}"
