# SPDX-License-Identifier: Apache-2.0
"""docs/programs.md, of the results that debian_test.py has written."""

import json
import pathlib
import shlex

from debian_commands import commands
from debian_differences import DIFFERENT

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/programs.md"
RESULTS = HERE / "results"
DEVICES = ("cpu", "cuda")
HEAD = """# Debian's programs

Made by [`tests/roots/debian_test.py`](../tests/roots/debian_test.py), which runs Debian's own arm64 programs in a [root](roots.md), one
process tree in one lane, and compares standard output, standard error, exit status, and the files that they leave. What they are compared with is QEMU user
mode, or, where a program executes others (which QEMU would give to the host's kernel), the same version of the amd64 program,
natively. [The commands](../tests/roots/debian_commands.py) are one a line there, and [their scripts](../tests/roots/scripts) beside them.

"""  # noqa: E501


def results_of(device):
    """What --keep has kept: {line: whether it is the same}, and calls that are missing; {} if nothing is."""
    path = RESULTS / f"{device}.json"
    return json.loads(path.read_text()) if path.exists() else {"same": None, "missing": {}}


def keep_results(device, same, missing):
    """Beside those of other commands that were kept before."""
    before = results_of(device)
    all_same = {**(before["same"] or {}), **same}
    all_missing = {line: calls for line, calls in before["missing"].items() if line not in same} | missing
    lines = [line for _, line, _ in commands()]
    kept = {
        "device": device,
        "same": {line: all_same[line] for line in lines if line in all_same},
        "missing": {line: all_missing[line] for line in lines if line in all_missing},
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{device}.json").write_text(json.dumps(kept, indent=0, ensure_ascii=False) + "\n")


def table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        lines.append("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines) + "\n"


def tried(lines):
    """What the commands of a program are called, each once."""
    names = []
    for line in lines:
        words = shlex.split(line)
        name = words[1] if words[0] == "/bin/busybox" else pathlib.PurePath(words[0]).name
        if name not in names:
            names.append(name)
    return names


def on_cuda(results):
    """What is equal on the CPU and differs on CUDA."""
    lines = [line for line, same in results["cuda"].items() if not same and results["cpu"].get(line)]
    if not lines:
        return ""
    return "\nEqual on the CPU alone:\n\n" + "".join(f"- `` {line} ``\n" for line in lines)


def page():
    kept = {device: results_of(device) for device in DEVICES}
    results = {device: kept[device]["same"] for device in DEVICES}
    programs = {}
    for program, line, native in commands():
        programs.setdefault(program, []).append((line, native))

    def equal(device, lines):
        if results[device] is None:
            return "not run"
        known = [results[device][line] for line in lines if line in results[device]]
        if not known:
            return "not run"
        rest = "" if len(known) == len(lines) else f", {len(lines) - len(known)} not run"
        return f"{sum(known)} of {len(known)}{rest}"

    rows = [("program", "commands", "of them compared natively", *(f"equal on {d.upper()}" for d in DEVICES))]
    for program, lines in programs.items():
        texts = [line for line, _ in lines]
        count = sum(native for _, native in lines)
        rows.append((program, str(len(lines)), str(count), *(equal(device, texts) for device in DEVICES)))
    every = [line for lines in programs.values() for line, _ in lines]
    count = sum(native for lines in programs.values() for _, native in lines)
    rows.append(("all", str(len(every)), str(count), *(equal(device, every) for device in DEVICES)))
    text = HEAD + table(rows)
    if results["cuda"] is None:
        text += "\nNot run on CUDA yet.\n"
    else:
        text += on_cuda(results)
    text += "\n## What the programs are\n"
    for program in ("coreutils", "busybox"):
        names = tried(line for line, _ in programs[program])
        text += f"- `{program}`, {len(names)}: " + " ".join(f"`{name}`" for name in names) + "\n"
    text += "\n## What differs, and why\n"
    rows = [("program", "command", "why")]
    for program, lines in programs.items():
        for line, _ in lines:
            if line in DIFFERENT:
                short = line if len(line) <= 100 else line[:97] + "..."
                rows.append((program, "`` " + short.replace("|", "\\|") + " ``", DIFFERENT[line]))
    text += table(rows) + "\n## Calls that they made and that are missing\n"
    text += "They got ENOSYS, as from a kernel without them, and went on as above.\n\n"
    users = {}
    for program, lines in programs.items():
        for line, _ in lines:
            for call in kept["cpu"]["missing"].get(line, []):
                users.setdefault(call, {}).setdefault(program, []).append(line)
    rows = [("call", "programs, and how many of their commands")]
    for call in sorted(users):
        rows.append((f"`{call}`", ", ".join(f"`{name}` {len(lines)}" for name, lines in users[call].items())))
    return text + table(rows)


def write_page():
    PAGE.write_text(page())


def check_page():
    if PAGE.exists() and PAGE.read_text() == page():
        return 0
    print("docs/programs.md is not what the results say; run tests/roots/debian_test.py --page")
    return 1
