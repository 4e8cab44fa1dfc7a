# SPDX-License-Identifier: Apache-2.0
"""docs/suite.md, of what suite_test.py has found."""

import collections

from differences import errors_of_pages
from errors_of_pages import served_calls
from other_checks import other_checks
from running import HERE, PROGRAMS

PAGE = HERE.parents[1] / "docs/suite.md"
WHO = {"native": "natively", "qemu": "QEMU", "cpu": "CPU", "cuda": "CUDA"}
HEAD = """# One suite for each call

Made by [`tests/suite/suite_test.py`](../tests/suite/suite_test.py), which runs [the programs of that folder](../tests/suite) natively on the host's
Linux, under QEMU user mode and under myriarm, on each engine. Each has numbered checks: the effects and the errors that the manual page of
a call has, and for streams, memory and threads the clauses of the C standard. Each says what the manual has for it. *Natively* counts the checks
whose result on Linux is what the manual says; the other columns count those whose result is the same as on Linux.

"""  # noqa: E501


class Counts:
    """For each who, how many checks agree."""

    def __init__(self, suite, kept):
        self.suite, self.kept = suite, kept
        self.agree = {who: collections.Counter() for who in WHO}
        self.ran = {who: collections.Counter() for who in WHO}
        self.total = collections.Counter()
        self.reasons = {who: collections.defaultdict(list) for who in WHO}
        for program, checks in suite.checks.items():
            for key, check in checks.items():
                self.total[check.call] += 1
                for who in WHO:
                    self.count(who, program, key, check)

    def result(self, who, program, key, check):
        """The result, or None if it was not run."""
        if who not in self.kept or program not in self.kept[who]["differ"]:
            return None
        return self.kept[who]["differ"][program].get("|".join(key), check.manual)

    def count(self, who, program, key, check):
        found = self.result(who, program, key, check)
        if found is None:
            return
        native = self.result("native", program, key, check)
        right = check.manual if who == "native" or native in (None, "ENOSYS") else native
        self.ran[who][check.call] += 1
        if found == right:
            self.agree[who][check.call] += 1
            return
        reason = self.suite.differences.reason(who, program, *key) or "no reason"
        self.reasons[who][reason].append((program, check.number))


def cell(counts, who, call):
    if not counts.ran[who][call]:
        return "not run"
    agree, ran = counts.agree[who][call], counts.ran[who][call]
    return str(agree) if agree == ran == counts.total[call] else f"{agree} of {ran}"


def table(counts, calls, errors, elsewhere):
    head = ["", "checks", *WHO.values()] + (["errors of its page", "checks elsewhere"] if errors else [])
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for call in calls:
        cells = [f"`{call}`", str(counts.total[call]), *(cell(counts, who, call) for who in WHO)]
        if errors:
            missing = sum(call == other for pairs in errors.values() for other, _ in pairs)
            listed = len(errors_of_pages()[call])
            cells += [f"{listed - missing} of {listed}", str(elsewhere[call])]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def numbers_text(places):
    """files 3, 7; paths 12"""
    programs = collections.defaultdict(list)
    for program, number in places:
        programs[program].append(number)
    return "; ".join(f"{program} {', '.join(map(str, numbers))}" for program, numbers in programs.items())


def summary(counts, calls, missing):
    total = sum(counts.total.values())
    of_calls = sum(counts.total[call] for call in calls)
    text = f"The table has {len(calls)} calls that are served, and each has at least one check. "
    text += f"There are {total} checks in {len(PROGRAMS)} programs, {of_calls} of them of these calls.\n\n"
    for who, name in WHO.items():
        ran, agree = sum(counts.ran[who].values()), sum(counts.agree[who].values())
        what = f" ({counts.kept[who]['of']})" if who in ("native", "qemu") and who in counts.kept else ""
        text += f"- {name}{what}: {f'{agree} of {ran} agree' if ran else 'not run'}\n"
    listed = sum(len(errors) for errors in errors_of_pages().values())
    left = sum(len(pairs) for pairs in missing.values())
    text += f"- of the {listed} errors that the pages list, {listed - left} are seen; "
    return text + "[why not the rest](#errors-that-no-check-has)\n"


def make_page(suite, kept, missing):
    counts = Counts(suite, kept)
    calls = list(served_calls())
    functions = [name for name in counts.total if name not in calls]
    text = HEAD + summary(counts, calls, missing)
    text += (
        "\n## By call\nThe last column counts lines of the other guest programs that check the call and are "
    )
    text += "compared with Linux.\n\n"
    text += table(counts, calls, missing, other_checks())
    text += "\n## By function of the C library\n\n" + table(counts, functions, None, None)
    text += "\n## Why the rest does not agree\n"
    for who, name in WHO.items():
        if not counts.ran[who]:
            continue
        text += f"\n### {name[0].upper()}{name[1:]}\n\n"
        for reason, places in counts.reasons[who].items():
            text += f"- {reason}: {numbers_text(places)}\n"
    text += "\n## Errors that no check has\n\n"
    for reason, pairs in missing.items():
        by_error = collections.defaultdict(list)
        for call, error in pairs:
            by_error[error].append(f"`{call}`")
        text += (
            f"- {reason}: "
            + "; ".join(f"{error} of {', '.join(names)}" for error, names in by_error.items())
            + "\n"
        )
    return text
