# SPDX-License-Identifier: Apache-2.0
"""Reasons: differences.txt has where results may differ, not_provoked.txt errors that no check can have."""

import fnmatch
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent


class Difference:
    """A line: WHO | PROGRAM | CALL | ABOUT | REASON. The three in the middle are patterns."""

    def __init__(self, line):
        self.line = line
        who, self.program, calls, self.about, self.reason = re.split(r" \| ", line)
        self.who, self.calls, self.used = who.split(","), calls.split(","), False

    def is_about(self, who, program, call, about):
        here = who in self.who or (who in ("cpu", "cuda") and "here" in self.who)
        if not here or not fnmatch.fnmatch(program, self.program) or not fnmatch.fnmatch(about, self.about):
            return False
        return any(fnmatch.fnmatch(call, pattern) for pattern in self.calls)


def lines_of(name):
    return [line for line in (HERE / name).read_text().splitlines() if line and not line.startswith("#")]


class Differences:
    def __init__(self):
        self.all = [Difference(line) for line in lines_of("differences.txt")]

    def reason(self, who, program, call, about):
        for difference in self.all:
            if difference.is_about(who, program, call, about):
                difference.used = True
                return difference.reason
        return None


class NotProvoked:
    """Lines: ERRORS | CALLS | REASON; * stands for all calls."""

    def __init__(self):
        self.all = []
        for line in lines_of("not_provoked.txt"):
            errors, calls, reason = line.split(" | ")
            self.all.append((errors.split(), calls.split(), reason))

    def reason(self, call, error):
        for errors, calls, reason in self.all:
            if ("*" in errors or error in errors) and ("*" in calls or call in calls):
                return reason
        return None


def errors_of_pages():
    """{call: the errors that its manual page lists}"""
    pairs = (line.split(":") for line in lines_of("errors.txt"))
    return {call: errors.split() for call, errors in pairs}
