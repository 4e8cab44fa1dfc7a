#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Builds one guest program of cases.py, runs it under QEMU user mode and under myriarm, and compares standard
# output and exit status exactly. Then runs 100 lanes at once and compares a sample of them with QEMU.
#   run_programs.py --myriarm build/bin/myriarm --work DIRECTORY [--device cpu] (--raw | PROGRAM ...)
import argparse
import errno
import json
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

import calls
import cases

ROOT = pathlib.Path(__file__).resolve().parents[2]
HANG_SECONDS = 240  # a guard against endless loops, not a measurement


class Failure(Exception):
    """A test failure; its text is one sentence for the test's output."""


def find_tool(name, package):
    path = shutil.which(name)
    if not path:
        raise Failure(
            f"{name} is missing, and the program tests need it: install the Debian package {package}"
            " (`make test` does that)."
        )
    return path


def no_core_files():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def execute(command, stdin=b"", environment=None):
    try:
        return subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            timeout=HANG_SECONDS,
            env=environment,
            preexec_fn=no_core_files,
        )
    except subprocess.TimeoutExpired:
        raise Failure(f"{' '.join(map(str, command))} did not end within {HANG_SECONDS} s.") from None


def build(name, variant, work):
    program = cases.PROGRAMS[name]
    output = work / f"{name}-{variant}"
    sources = program["sources"] or [f"tests/programs/src/{name}.c"]
    flags = program["variants"][variant] + program["flags"] + [f"-Wl,-Map={map_of(output)}"]
    built = execute([ROOT / "tools" / program["tool"], output] + flags + sources)
    if built.returncode != 0:
        raise Failure(f"{name} cannot be built: {built.stderr.decode()}")
    return output


def map_of(elf):
    return elf.with_name(elf.name + ".map")


def main_of(name, elf):
    """How --fork-after names main(): programs with our own runtime have no symbols."""
    if name.startswith("glibc_"):
        return "main"
    place = re.search(r"^ \.text(?:\.startup)?\.main\s+(0x\w+)", map_of(elf).read_text(), re.MULTILINE)
    if not place:
        raise Failure(f"{map_of(elf)} does not say where main is.")
    return hex(int(place[1], 16))


class Qemu:
    def __init__(self):
        self.path = find_tool("qemu-aarch64", "qemu-user")
        version = re.search(rb"version (\d+)", execute([self.path, "--version"]).stdout)
        if not version:
            raise Failure(f"{self.path} --version prints no version: is it QEMU?")
        self.version = int(version[1])

    def run(self, program, arguments, stdin, lane=0):
        """Standard output, standard error, exit status (None if killed) and signal (0 if none)."""
        result = execute(
            [self.path, "-E", f"MYRIARM_LANE={lane}", program] + arguments, stdin, environment={}
        )
        stderr = b"".join(
            line for line in result.stderr.splitlines(True) if not line.startswith(b"qemu: uncaught target")
        )
        if result.returncode < 0:
            return result.stdout, stderr, None, -result.returncode
        return result.stdout, stderr, result.returncode, 0


class Myriarm:
    def __init__(self, path, device):
        self.command = [path, "run", "--device", device]

    def run(self, program, arguments, stdin, options=(), report=None):
        with tempfile.NamedTemporaryFile() as text:
            text.write(stdin)
            text.flush()
            given = [] if "--raw" in options else ["--stdin", text.name]  # a bare program reads no files
            command = self.command + given + list(options) + [program] + arguments
            result = execute(command)
        if report is None:
            return result
        try:
            return json.loads(report.read_bytes())
        except (OSError, ValueError) as error:
            raise Failure(
                f"{' '.join(map(str, command))} left no JSON report: {error}.\n{result.stderr.decode()}"
            ) from error


def show(value):
    text = value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)
    return text if len(text) < 1500 else f"{text[:1000]}\n... {len(text)} characters ...\n{text[-400:]}"


def expect_same(what, expected, found):
    if expected != found:
        raise Failure(f"{what}\n--- expected:\n{show(expected)}\n--- found:\n{show(found)}")


def check_case(name, variant, case, elf, qemu, myriarm):
    where = f"{name}-{variant} {case['arguments']} with {len(case['stdin'])} bytes of standard input: "
    stdout, _, status, signal = qemu.run(elf, case["arguments"], case["stdin"])
    if case["expect"] is not None:
        expect_same(where + "QEMU's output is not the known answer", case["expect"].encode(), stdout)
    found = myriarm.run(elf, case["arguments"], case["stdin"])
    if found.returncode < 0:
        raise Failure(
            f"{where}myriarm itself was killed by signal {-found.returncode}.\n{show(found.stderr)}"
        )
    if qemu.version < case["oldest_qemu"]:
        if found.returncode == (128 + signal if signal else status):
            raise Failure(
                f"{where}QEMU {qemu.version} is right after all: take its oldest_qemu out of cases.py."
            )
        return
    expect_same(f"{where}the exit status differs; standard error is\n{show(found.stderr)}",
                128 + signal if signal else status, found.returncode)
    expect_same(where + "the output differs", stdout, found.stdout)


def check_outcome(where, lane_result, expected):
    stdout, stderr, status, signal = expected
    expect_same(where + "the signal differs", signal, lane_result["signal"] or 0)
    if not signal:
        expect_same(where + "the stop differs", "exited", lane_result["stop"])
        expect_same(where + "the exit status differs", status, lane_result["exit_status"])
    expect_same(where + "the output differs", stdout.decode(errors="replace"), lane_result["stdout"])
    expect_same(where + "standard error differs", stderr.decode(errors="replace"), lane_result["stderr"])


def check_lanes(name, variant, elf, work, qemu, myriarm, count):
    report = work / f"{name}-{variant}.json"
    text = cases.TEXT if name in ("kernel", "example_sha256") else b""

    def fleet(lanes):
        report.unlink(missing_ok=True)
        return myriarm.run(elf, [], text, ["--lanes", str(lanes), "--json", str(report), "--quiet"], report)

    many, one = fleet(count), fleet(1)
    expect_same(f"{name}: lanes in the report", count, many["lanes"])
    results = many["lane_results"]
    expect_same(f"{name}: lane numbers in the report", list(range(count)), [r["lane"] for r in results])
    expect_same(
        f"{name}: the sum of the lanes' instructions",
        many["instructions"],
        sum(r["instructions"] for r in results),
    )
    expect_same(
        f"{name}: instructions of lane 0, alone and in a fleet",
        one["lane_results"][0]["instructions"],
        results[0]["instructions"],
    )
    sample = [lane for lane in cases.SAMPLED_LANES if lane < count]
    for lane in sample:
        check_outcome(
            f"{name}-{variant}, lane {lane} of {count}: ", results[lane], qemu.run(elf, [], text, lane)
        )
    return len(sample)


def check_calls(name, variant, case, elf, work, qemu, myriarm, comparison):
    """The system calls of one case: the same, in the same order, with the same arguments and results."""
    log, ours = work / f"{name}-{variant}.qemu", work / f"{name}-{variant}.strace"
    # The C library reads the time zone's file, which under QEMU is the host's; of this zone there is none.
    zone = "TZ=UTC0"
    execute([qemu.path, "-strace", "-D", log, "-E", "MYRIARM_LANE=0", "-E", zone, elf, *case["arguments"]],
            case["stdin"], environment={})  # fmt: skip
    options = ["--quiet", "--env", zone, "--strace-file", str(ours)]
    found = myriarm.run(elf, case["arguments"], case["stdin"], options)
    difference = comparison.first_difference(
        calls.calls_in(log.read_text(errors="replace"), lambda name: 0),
        calls.calls_in(ours.read_text(errors="replace"), lambda name: getattr(errno, name)),
    )
    if difference:
        where = f"{name}-{variant} {case['arguments']}"
        raise Failure(f"{where}: {difference}; see {log} and {ours}.\n{show(found.stderr)}")


def check_all_calls(name, variant, elf, work, qemu, myriarm):
    """The calls of all cases. Fails also if this QEMU no longer differs in what it is known to."""
    comparison = calls.Comparison(elf)
    compared = [case for case in cases.PROGRAMS[name]["cases"] if qemu.version >= case["oldest_qemu"]]
    for case in compared:
        check_calls(name, variant, case, elf, work, qemu, myriarm, comparison)
    for known in calls.unused(name, comparison.used) if qemu.version == calls.KNOWN_QEMU else []:
        raise Failure(
            f"{name}-{variant}: {known.call}, {known.part} does not differ: take it out of calls.DIFFERENCES."
        )
    return len(compared)


def check_forked(name, variant, case, elf, work, myriarm):
    """--fork-after changes nothing of a lane's results."""
    report = work / f"{name}-{variant}.forked.json"

    def results(point, lanes):
        report.unlink(missing_ok=True)
        options = ["--fork-after", point, "--lanes", str(lanes), "--json", str(report), "--quiet"]
        return myriarm.run(elf, case["arguments"], case["stdin"], options, report)["lane_results"]

    # Before they read, programs may have read MYRIARM_LANE, which then was 0.
    points = [(main_of(name, elf), 5 if cases.PROGRAMS[name]["lanes"] else 1)]
    if case["stdin"]:
        points.append(("read", 1))
    for point, lanes in points:
        expect_same(f"{name}-{variant} {case['arguments']}, forked after {point}",
                    results("start", lanes), results(point, lanes))
    return len(points)


def check_older_qemu(name, variant, elf, qemu, myriarm):
    """Fails if this QEMU, which is known to be wrong about the variant, agrees in every case."""
    try:
        for case in cases.PROGRAMS[name]["cases"]:
            check_case(name, variant, case, elf, qemu, myriarm)
    except Failure:
        return
    raise Failure(
        f"{name}-{variant}: QEMU {qemu.version} is right after all: take its oldest_qemu out of cases.py."
    )


def check_program(name, work, qemu, myriarm, lanes):
    count = 0
    for number, variant in enumerate(cases.PROGRAMS[name]["variants"]):
        elf = build(name, variant, work)
        if qemu.version < cases.PROGRAMS[name]["oldest_qemu"].get(variant, 0):
            check_older_qemu(name, variant, elf, qemu, myriarm)
            print(f"{name}-{variant}: not compared, QEMU {qemu.version} is wrong about it")
            continue
        for case in cases.PROGRAMS[name]["cases"]:
            check_case(name, variant, case, elf, qemu, myriarm)
            count += 1
        count += check_forked(name, variant, cases.PROGRAMS[name]["cases"][-1], elf, work, myriarm)
        if number == 0:
            count += check_all_calls(name, variant, elf, work, qemu, myriarm)
        if cases.PROGRAMS[name]["lanes"] and number == 0:
            count += check_lanes(name, variant, elf, work, qemu, myriarm, lanes)
    print(f"{name}: {count} runs as under QEMU")


def check_raw(work, qemu, myriarm):
    """Compares the bare programs in examples/prebuilt with their definition and with mixed.c under QEMU."""
    prebuilt = ROOT / "examples/prebuilt"
    report = work / "raw.json"

    def fleet(program, *options):
        report.unlink(missing_ok=True)
        return myriarm.run(
            prebuilt / program,
            [],
            b"",
            ["--raw", "0", "--registers", "--json", str(report), "--quiet", *options],
            report,
        )["lane_results"]

    budget = 300001
    for program, size, before in (("loop_add.bin", 2, 0), ("loop_store.bin", 3, 1)):
        for lane in fleet(program, "--lanes", "3", "--max-instructions", str(budget)):
            rounds = (budget - before + size - 1) // size
            where = f"{program}, lane {lane['lane']}: "
            expect_same(where + "stop", "budget", lane["stop"])
            expect_same(where + "instructions", budget, lane["instructions"])
            expect_same(where + "x0", lane["lane"] + rounds, int(lane["registers"]["x0"], 16))
    for iterations in (1, 4):
        for lane in fleet(f"mixed_{iterations}.bin", "--lanes", "9"):
            expected = qemu.run(prebuilt / "mixed", [str(lane["lane"]), str(iterations)], b"")[0]
            where = f"mixed_{iterations}.bin, lane {lane['lane']}: "
            expect_same(where + "stop", "halt", lane["stop"])
            expect_same(where + "x0", int(expected, 16), int(lane["registers"]["x0"], 16))
    print("raw: the bare programs have the expected results")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--myriarm", required=True, type=pathlib.Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--lanes", type=int, default=cases.LANES)
    parser.add_argument("--raw", action="store_true")
    parser.add_argument("programs", nargs="*", choices=[[], *cases.PROGRAMS])
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    try:
        if not options.myriarm.exists():
            raise Failure(f"{options.myriarm} is missing: build myriarm first (`make build`).")
        find_tool("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")
        qemu = Qemu()
        myriarm = Myriarm(options.myriarm, options.device)
        for name in options.programs:
            check_program(name, options.work, qemu, myriarm, options.lanes)
        if options.raw:
            check_raw(options.work, qemu, myriarm)
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
