#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The programs of this folder check each call of the table by its manual page: the same natively on the host's
# Linux, under QEMU user mode, and under myriarm, on each engine.
#   suite_test.py MYRIARM FOLDER [DEVICE] [--write] [PROGRAM ...]
# What is native is right, or, where the host does not let the test make a folder of another user, what
# results.json has of it. differences.txt has every difference that there may be, and docs/suite.md is made of
# what is found; --write writes both. On another device than the CPU --write keeps its results, which the page
# has when it is written next. PROGRAM: these alone, without the page.
import json
import platform
import shutil
import subprocess
import sys

from differences import Differences, NotProvoked, errors_of_pages
from errors_of_pages import THE_SAME, served_calls
from page import PAGE, make_page
from running import HERE, PROGRAMS, QEMU, Runner, parse

sys.path.insert(0, str(HERE.parent / "peers"))
from peer import RUNS  # noqa: E402

RESULTS = HERE / "results.json"
LEAST = 2000  # checks
SHOWN = 40


def version_of(who, device):
    if who == "native":
        return f"Linux {'.'.join(platform.release().split('.')[:2])}"
    if who == "qemu":
        return (
            subprocess.run([QEMU[0], "--version"], capture_output=True, text=True)
            .stdout.split("\n")[0]
            .split(" (")[0]
        )
    return device


class Suite:
    def __init__(self, runner, device, writes):
        self.runner, self.device, self.writes, self.wrong = runner, device, writes, 0
        self.differences, self.checks, self.results, self.not_run = Differences(), {}, {}, set()
        self.kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}

    def report(self, text, is_wrong=True):
        self.wrong += is_wrong
        if self.wrong <= SHOWN:
            print(text)

    def one(self, program, who, output, engine=""):
        """What a run printed: {(call, about): Check}; None if it could not be run."""
        text, problem, status = output
        checks, wrong = parse(text)
        name = f"{program}, {engine or who}"
        for line in wrong:
            self.report(f"{name}: {line}")
        if status != 0 and not (who == "native" and not checks):
            self.report(f"{name}: status {status}; {problem}")
        return checks

    def settled(self, program, who, run):
        """What a peer's run printed, with what is kept of it where one of some more runs has that: a timer or
        a thread may come later than usual when the host is loaded."""
        checks = self.one(program, who, run(program))
        if self.writes or not self.is_kept(who):
            return checks
        for _ in range(RUNS - 1):
            kept = {key: self.kept_result(who, program, key, check) for key, check in checks.items()}
            unlike = [key for key, check in checks.items() if check.result != kept[key]]
            if not unlike:
                break
            again = self.one(program, who, run(program))
            checks |= {key: again[key] for key in unlike if key in again and again[key].result == kept[key]}
        return checks

    def kept_result(self, who, program, key, check):
        differ = self.kept.get(who, {}).get("differ", {})
        return differ.get(program, {}).get("|".join(key), check.manual)

    def compare(self, program, who, found, reference, name):
        """Keeps what differs from the manual; reports what differs from what is right without a reason."""
        kept = self.results.setdefault(who, {}).setdefault(program, {})
        for key, right in reference.items():
            check = found.get(key)
            result = check.result if check else "nothing"
            manual = self.checks[program][key].manual
            if result != manual:
                kept["|".join(key)] = result
            wanted = manual if who == "native" else right
            reason = result != wanted and self.differences.reason(who, program, *key)
            if result != wanted and not reason:
                place = f"{program} {self.checks[program][key].number} {key[0]}, {key[1]}"
                self.report(f"{name}: {place}: it should be {wanted}, and is {result}", self.is_known(who))
        for key in found.keys() - reference.keys():
            self.report(f"{name}: {program} {key[0]}, {key[1]}: is no check elsewhere")

    def reference_of(self, program, is_native):
        """What is right: what is native, or was when it was kept; the manual where Linux lacks a call."""
        right = {}
        for key, check in self.checks[program].items():
            kept = self.kept_result("native", program, key, check)
            native = check.result if is_native else kept
            # Another Linux may lack more than a call.
            foreign = is_native and not self.is_known("native") and native != kept
            right[key] = check.manual if native == "ENOSYS" or foreign else native
        return right

    def is_kept(self, who):
        """Whether results of this very version are kept."""
        return self.kept.get(who, {}).get("of") == version_of(who, self.device)

    def is_known(self, who):
        """Whether the version of it is the one whose results are kept; another may differ elsewhere."""
        return self.kept.get(who, {}).get("of", "") in ("", version_of(who, self.device))

    def run(self, program):
        self.runner.compile(program)
        native = self.settled(program, "native", self.runner.natively)
        engines = ["interpreter", "stepper"] + (["translate"] if self.device == "cpu" else [])
        ours = {}
        for engine in engines:
            output = self.runner.here(program, engine)
            if engine == "translate" and "LLVM" in output[1]:
                print("translate: this build has no translator")
                continue
            ours[engine] = self.one(program, self.device, output, engine)
        self.checks[program] = native or next(iter(ours.values()), {})
        if native:
            self.compare(program, "native", native, native, "natively")
        else:
            self.not_run.add("native")
        reference = self.reference_of(program, bool(native))
        who = "cpu" if self.device == "cpu" else "cuda"
        for engine, found in ours.items():
            self.compare(program, who, found, reference, engine)
        if native and shutil.which(QEMU[0]):
            theirs = self.settled(program, "qemu", self.runner.under_qemu)
            self.compare(program, "qemu", theirs, reference, "QEMU")
        else:
            self.not_run.add("qemu")
        results = [{key: check.result for key, check in found.items()} for found in ours.values()]
        agree = sum(all(found.get(key) == right for found in results) for key, right in reference.items())
        print(f"{program}: {agree} of {len(reference)} agree", flush=True)
        return agree, len(reference)


def provoked(suite):
    """{call: the errors that a check of it has by the manual}"""
    found = {}
    for checks in suite.checks.values():
        for check in checks.values():
            found.setdefault(check.call, set()).add(THE_SAME.get(check.manual, check.manual))
    return found


def check_coverage(suite):
    """Each call has a check, and each error of its page one too, or a reason why not."""
    found, reasons = provoked(suite), NotProvoked()
    missing, used = {}, set()
    for call, errors in errors_of_pages().items():
        if call not in found:
            suite.report(f"{call} has no check")
        for error in errors:
            if error in found.get(call, ()):
                continue
            reason = reasons.reason(call, error)
            if not reason:
                suite.report(f"{call}: no check has {error}, and not_provoked.txt has no reason")
            used.add(reason)
            missing.setdefault(reason, []).append((call, error))
    for _, _, reason in reasons.all:
        if reason not in used:
            suite.report(f"not_provoked.txt: nothing needs this: {reason}")
    if set(errors_of_pages()) != set(served_calls()):
        suite.report("errors.txt: it has not the calls of the table; run errors_of_pages.py")
    return missing


def check_page(suite, missing, write):
    kept = suite.kept
    for who, results in suite.results.items():
        version = version_of(who, suite.device)
        now = {"of": version, "differ": results}
        if write:
            kept[who] = now
        elif kept.get(who, {}).get("of") == version and kept[who] != now:
            suite.report(f"results.json: {who} has other results; run this test with --write")
    if write:
        RESULTS.write_text(json.dumps(kept, indent=0, sort_keys=True) + "\n")
    if suite.device != "cpu":  # not all programs run there, so that it does not know all checks
        return
    text = make_page(suite, kept, missing)
    if write:
        PAGE.write_text(text)
    elif not suite.not_run and (not PAGE.exists() or PAGE.read_text() != text):
        suite.report("docs/suite.md is not what was found; run this test with --write")


def main(myriarm, folder, *more):
    write = "--write" in more
    names = [name for name in more if name in PROGRAMS]
    device = next((name for name in more if name not in names and name != "--write"), "cpu")
    suite = Suite(Runner(myriarm, folder, device), device, write)
    agree = checks = 0
    for program in names or PROGRAMS:
        same, all_of_it = suite.run(program)
        agree, checks = agree + same, checks + all_of_it
    print(f"{agree} of {checks} agree")
    if not names and device != "cpu":
        check_page(suite, None, write)
    elif not names:
        if checks < LEAST:
            suite.report(f"there are only {checks} checks")
        missing = check_coverage(suite)
        for difference in suite.differences.all:
            if not difference.used and not {"qemu", "cuda"} & set(difference.who) and not suite.not_run:
                suite.report(f"differences.txt: nothing needs this: {difference.line}")
        check_page(suite, missing, write)
    if suite.wrong > SHOWN:
        print(f"and {suite.wrong - SHOWN} more")
    return 1 if suite.wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
