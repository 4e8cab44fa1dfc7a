# SPDX-License-Identifier: Apache-2.0
"""The command line as its users see it. Usage: cli_test.py PATH_OF_MYRIARM [unittest options]"""
import base64
import itertools
import json
import os
import pathlib
import pty
import random
import signal
import subprocess

import case
import guest
from case import DEVICE, CliTest

MISSING_STATX = (
    b"myriarm: system calls that are not implemented were answered with ENOSYS: statx 1; "
    b"--ignore-unimplemented leaves this line out\n"
)
HEX_KEYS = [f"x{n}" for n in range(31)] + ["sp", "nzcv"]


class OneLane(CliTest):
    def test_output_passes_through_and_the_status_is_the_guests(self):
        stdin = self.file("in", b"input\x00\xff\n" * 20)
        program = self.elf(guest.SHOW)
        done = self.run_guest("--quiet", "--stdin", stdin, program, "two words", "")
        lines = f"{program}\ntwo words\n\nMYRIARM_LANE=0\n".encode()
        self.assertEqual(done.stdout, lines + b"input\x00\xff\n" * 20)
        self.assertEqual(done.stderr, b"err\n" + MISSING_STATX)
        self.assertEqual(done.returncode, 3)

    def test_what_follows_the_program_is_its_own(self):
        program = self.elf(guest.SHOW)
        arguments = ["--lanes", "4", "--help", "-x", "--", "run", "info", "[a,b]", "{}", "a=b"]
        for separator in ([], ["--"]):
            done = self.run_guest("--quiet", *separator, program, *arguments)
            self.assertEqual(done.stdout.decode().splitlines(), [program, *arguments, "MYRIARM_LANE=0"])

    def test_a_program_named_like_a_command(self):
        self.elf(guest.SHOW)
        (self.folder / "guest").rename(self.folder / "info")
        done = self.run_guest("--quiet", "info", cwd=self.folder)
        self.assertEqual(done.stdout, b"info\nMYRIARM_LANE=0\n")

    def test_options_after_the_program_get_a_hint(self):
        program = self.elf(guest.EXIT_7)
        for argument in ("--lanes", "--lanes=4", "--json"):
            done = self.run_guest(program, "x", argument, "4")
            self.assertIn(f"{argument.split('=')[0]} follows the program", done.stderr.decode())
            self.assertEqual(done.returncode, 7)
        for arguments in ([program, "-x", "lanes", "--lane"], ["--", program, "--lanes"],
                          ["--quiet", program, "--lanes"]):
            self.assertNotIn(b"follows", self.run_guest(*arguments).stderr)

    def test_missing_system_calls_are_named(self):
        program = self.elf(guest.SHOW)
        for options in ([], ["--quiet"], ["--json", "-"], ["--quiet", "--lanes", "2"]):
            self.assertIn(b"ENOSYS: statx", self.run_guest(*options, program).stderr, options)
        self.assertEqual(self.run_guest("--quiet", "--ignore-unimplemented", program).stderr, b"err\n")
        self.assertEqual(self.run_guest("--quiet", self.elf(guest.EXIT_7)).stderr, b"")

    def test_counts_and_sizes(self):
        program = self.elf(guest.LOOP)
        for text, count in (("1000", 1000), ("1e3", 1000), ("1.5k", 1500), ("0x10", 16), ("1M", 1_000_000),
                            (".002m", 2000), ("12.50e1", 125), ("0e99", 0)):
            options = ["--max-instructions", text, "--threads", 1, "--pool", "16M"]
            result, status = self.run_json(*options, program)
            self.assertEqual((result["instructions"], status), (count, 124), text)

    def test_pool_is_what_lanes_can_write(self):
        program = self.elf(guest.SHOW)
        self.assertEqual(self.run_guest("--quiet", "--pool", "1M", program).returncode, 1)
        if DEVICE != "cpu":
            # All lanes begin at once, and their stacks alone are more.
            self.assert_refused("run", "--device", DEVICE, "--pool", "1M", "--lanes", "2000", program,
                                says="MiB for written pages is full; ")
            return
        # Lanes that have exited give their pages to others, unless they are to keep them.
        result, status = self.run_json("--pool", "1M", "--lanes", "2000", program)
        self.assertEqual({lane["stop"] for lane in result["lane_results"]}, {"exited"})
        self.assertEqual(status, 1)
        result, status = self.run_json("--pool", "1M", "--keep-memory", "--lanes", "2000", program)
        self.assertEqual({lane["stop"] for lane in result["lane_results"]}, {"exited", "out_of_memory"})
        self.assertEqual(status, 137)

    def test_environment(self):
        done = self.run_guest("--quiet", "--env", "A=1", "--env", "B=[2,3]", self.elf(guest.SHOW))
        self.assertEqual(done.stdout.decode().splitlines()[1:], ["A=1", "B=[2,3]", "MYRIARM_LANE=0"])

    def test_standard_input_can_be_ours(self):
        done = self.run_guest("--quiet", "--stdin", "-", self.elf(guest.SHOW), input=b"piped")
        self.assertTrue(done.stdout.endswith(b"piped"))

    def test_summary_is_on_standard_error(self):
        done = self.run_guest(self.elf(guest.SHOW))
        self.assertNotIn(b"instructions", done.stdout)
        for part in ("device", "lanes", "instructions", "seconds", "IPS", "exited 1", "statx 1"):
            self.assertIn(part, done.stderr.decode())
        self.assertNotIn(b"\r", done.stderr, "a progress bar without a terminal")

    def test_exit_statuses(self):
        for code, status in ((guest.EXIT_7, 7), (guest.LOAD_FAULT, 128 + signal.SIGSEGV),
                             (guest.BREAK, 128 + signal.SIGTRAP), (guest.ABORT, 128 + signal.SIGABRT),
                             (guest.UNDEFINED, 128 + signal.SIGILL),
                             (guest.HALT, 128 + signal.SIGILL)):
            self.assertEqual(self.run_guest("--quiet", self.elf(code)).returncode, status)
        self.assertEqual(self.run_guest("--max-instructions", 1000, self.elf(guest.LOOP)).returncode, 124)

    def test_entry(self):
        done = self.run_guest("--quiet", "--entry", hex(guest.BASE + guest.HEADERS + 4),
                              self.elf(guest.UNDEFINED + guest.EXIT_7))
        self.assertEqual(done.returncode, 7)


class ManyLanes(CliTest):
    def test_each_lane_finds_its_number(self):
        result, status = self.run_json("--lanes", 9, self.elf(guest.EXIT_LANE))
        self.assertEqual([lane["exit_status"] for lane in result["lane_results"]], list(range(9)))
        self.assertEqual(status, 8, "the highest")

    def test_equal_outputs_are_told_together(self):
        done = self.run_guest("--lanes", 4, "--max-instructions", 5, self.elf(guest.LOOP))
        self.assertEqual(done.stdout, b"== lanes 0-3: budget\n")
        self.assertEqual(done.returncode, 124)
        done = self.run_guest("--lanes", 25, "--quiet", self.elf(guest.SHOW))
        text = done.stdout.decode()
        self.assertIn("== lane 3: exited with 1\n", text)
        self.assertIn("MYRIARM_LANE=3\n", text)
        self.assertIn("15 other lanes", text)
        self.assertEqual(done.stderr, b"err\n" * 10 + MISSING_STATX.replace(b"statx 1;", b"statx 25;"))

    def test_progress_bar_only_on_a_terminal(self):
        ours, theirs = pty.openpty()
        program = self.elf(guest.LOOP)
        subprocess.run(
            [case.MYRIARM, "run", "--device", DEVICE, "--lanes", "2", "--max-instructions", "1000", program],
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            check=False,
            timeout=120,
        )
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 4096):
                text += part
        except OSError:
            pass  # the terminal is closed
        os.close(ours)
        self.assertIn(b"/2 lanes", text)


class Json(CliTest):
    def test_schema(self):
        result, _ = self.run_json("--lanes", 2, "--registers", self.elf(guest.SHOW))
        self.assertEqual(
            list(result),
            ["device", "engine", "lanes", "instructions", "seconds", "ips", "unimplemented", "lane_results"],
        )
        self.assertEqual(result["unimplemented"]["statx"]["count"], 2)
        self.assertEqual(result["lanes"], 2)
        self.assertGreater(result["seconds"], 0)
        self.assertAlmostEqual(
            result["ips"], result["instructions"] / result["seconds"], delta=result["ips"] / 1e6
        )
        self.assertEqual(sum(lane["instructions"] for lane in result["lane_results"]), result["instructions"])
        for number, lane in enumerate(result["lane_results"]):
            self.assertEqual(
                list(lane),
                [
                    "lane",
                    "stop",
                    "exit_status",
                    "signal",
                    "instructions",
                    "pc",
                    "registers",
                    "fault",
                    "stdout",
                    "stderr",
                ],
            )
            self.assertEqual((lane["lane"], lane["stop"], lane["exit_status"], lane["signal"], lane["fault"]),
                             (number, "exited", 1, None, None))
            self.assertEqual(list(lane["registers"]), HEX_KEYS)
            self.assertEqual(int(lane["registers"]["x8"], 16), 94)
            self.assertEqual(int(lane["registers"]["sp"], 16) % 16, 0)
            self.assertGreater(int(lane["pc"], 16), guest.BASE)
            self.assertTrue(lane["stdout"].endswith(f"MYRIARM_LANE={number}\n"))
            self.assertEqual(lane["stderr"], "err\n")

    def test_one_lane_prints_nothing_else(self):
        done = self.run_guest("--json", "-", self.elf(guest.SHOW))
        lane = json.loads(done.stdout)["lane_results"][0]
        self.assertNotIn("registers", lane)
        self.assertIn("MYRIARM_LANE=0", lane["stdout"])
        self.assertNotIn(b"err\n", done.stderr)

    def test_engines_differ_in_nothing_but_their_name(self):
        program = self.elf(guest.SHOW)
        results = []
        for engine in ("interpreter", "stepper", "translate"):
            result, status = self.run_json("--engine", engine, "--registers", program, "argument")
            self.assertEqual(result.pop("engine"), engine)
            results.append([result["instructions"], result["lane_results"], status])
        self.assertGreater(results[0][0], 100)
        self.assertEqual(results[0], results[1])
        self.assertEqual(results[0], results[2])

    def test_what_was_translated_is_explained(self):
        program = self.elf(guest.SHOW)
        translated = ["--engine", "translate", "--compile-threads", 1, "--explain"]
        said = self.run_guest("--quiet", *translated, program).stderr.decode()
        if DEVICE == "cpu":  # on a GPU a launch is long enough to find something hot
            self.assertRegex(said, r"(?m)^in copied code +0 instructions \(0\.0 %\)$")
            self.assertRegex(said, r"(?m)^in compiled code +0 instructions \(0\.0 %\)$")
            self.assertNotIn("lanes together", said)  # a team is one lane
        done = self.run_guest("--quiet", "--explain", program)
        none = b"translation       none: the engine is interpreter; use --engine translate\n"
        self.assertIn(none, done.stderr)
        result, _ = self.run_json("--engine", "translate", "--explain", program)
        tiers = result["translation"]
        self.assertEqual(tiers["interpreted"] + tiers["translated"], result["instructions"])
        self.assertLessEqual(tiers["translated_by_copying"], tiers["translated"])
        self.assertLessEqual(tiers["visits"], tiers["lanes_in_visits"])
        if DEVICE == "cpu":
            self.assertEqual(tiers["regions"], 0)
        self.assertNotIn("translation", self.run_json("--engine", "translate", program)[0])
        self.assert_refused("run", "--compile-threads", "0", program, says="--compile-threads")
        engines = "use interpreter, stepper, translate or auto"
        self.assert_refused("run", "--engine", "jit", program, says=engines)

    def test_into_a_file_the_output_still_passes(self):
        path = self.folder / "result.json"
        done = self.run_guest("--quiet", "--json", path, "--lanes", 2, self.elf(guest.SHOW))
        self.assertIn(b"MYRIARM_LANE=1", done.stdout)
        self.assertEqual(len(json.loads(path.read_text())["lane_results"]), 2)

    def test_stops(self):
        for code, stop, number in ((guest.LOAD_FAULT, "fault", signal.SIGSEGV),
                                   (guest.BREAK, "breakpoint", signal.SIGTRAP),
                                   (guest.UNDEFINED, "undefined", signal.SIGILL)):
            lane = self.run_json(self.elf(code))[0]["lane_results"][0]
            self.assertEqual((lane["stop"], lane["exit_status"], lane["signal"]), (stop, None, number))
            self.assertEqual(int(lane["pc"], 16), guest.BASE + guest.HEADERS)
            self.assertEqual(lane["instructions"], 0)
            self.assertEqual(
                lane["fault"], {"kind": "unmapped", "address": "0x0"} if stop == "fault" else None
            )
        result, _ = self.run_json("--lanes", 2, self.elf(guest.ABORT))
        for lane in result["lane_results"]:
            self.assertEqual(
                (lane["stop"], lane["exit_status"], lane["signal"]), ("exited", None, signal.SIGABRT)
            )

    def test_bytes_that_are_not_text(self):
        stdin = self.file("in", b"\xff\xfe\x00\"")
        lane = self.run_json("--stdin", stdin, self.elf(guest.SHOW))[0]["lane_results"][0]
        self.assertTrue(lane["stdout"].endswith("\ufffd\ufffd\x00\""))
        self.assertEqual(base64.b64decode(lane["stdout_base64"], validate=True)[-4:], b"\xff\xfe\x00\"")
        self.assertEqual(lane["stderr"], "err\n")
        self.assertNotIn("stderr_base64", lane, "text says it all")

    def test_output_is_exact_whatever_the_bytes(self):
        every_pair = b"".join(bytes(pair) for pair in itertools.product(range(256), repeat=2))
        edges = ("c1bf", "c280", "e09fbf", "e0a080", "ed9fbf", "eda080", "efbfbf", "f08fbfbf", "f0908080",
                 "f48fbfbf", "f4908080", "f5808080")
        whole = [every_pair, b"\xf0\x90\x80" * 3, "\u00e4\u20ac\U0001d11e".encode() * 7]
        for edge in map(bytes.fromhex, edges):
            whole += [edge[:-1] + b"x", *(edge[:size] for size in range(1, len(edge) + 1))]
        for number, written in enumerate([*whole, random.Random(1).randbytes(100_001)]):
            program = self.elf(guest.SHOW)
            lane = self.run_json("--stdin", self.file("in", written), program)[0]["lane_results"][0]
            written = f"{program}\nMYRIARM_LANE=0\n".encode() + written
            self.assertEqual(lane["stdout"], written.decode(errors="replace"), number)
            try:
                written.decode()
                self.assertNotIn("stdout_base64", lane)
            except UnicodeDecodeError:
                self.assertEqual(base64.b64decode(lane["stdout_base64"], validate=True), written)

    def test_same_results_whatever_the_number_of_lanes(self):
        program = self.elf(guest.SHOW)
        few = self.run_json("--lanes", 3, "--registers", program)[0]["lane_results"]
        many = self.run_json("--lanes", 70, "--registers", program)[0]["lane_results"]
        self.assertEqual(few, many[:3])


class Bare(CliTest):
    def test_lane_number_and_halt(self):
        result, status = self.run_json(
            "--raw", "0x1000", "--lanes", 3, "--registers", self.file("raw", guest.HALT)
        )
        self.assertEqual(status, 0)
        self.assertEqual(result["instructions"], 3)
        for number, lane in enumerate(result["lane_results"]):
            self.assertEqual((lane["stop"], lane["pc"], lane["signal"]), ("halt", "0x1004", None))
            self.assertEqual(int(lane["registers"]["x0"], 16), number)
            self.assertEqual(int(lane["registers"]["x1"], 16), number + 5)
            self.assertEqual(int(lane["registers"]["sp"], 16), 4 << 20)

    def test_system_calls_are_stops(self):
        result, status = self.run_json("--raw", 0, self.file("raw", guest.SVC))
        self.assertEqual((result["lane_results"][0]["stop"], status), ("syscall", 1))
        self.assertEqual(result["lane_results"][0]["pc"], "0x4")

    def test_budget_entry_and_memory(self):
        raw = self.file("raw", guest.UNDEFINED + guest.LOOP)
        result, status = self.run_json(
            "--raw",
            "4096",
            "--entry",
            "0x1004",
            "--memory",
            "64K",
            "--max-instructions",
            77,
            "--registers",
            raw,
        )
        lane = result["lane_results"][0]
        self.assertEqual((lane["stop"], lane["instructions"], lane["registers"]["sp"], status),
                         ("budget", 77, "0x10000", 124))


class Interrupt(CliTest):
    def test_ends_the_run_with_partial_results(self):
        for arguments in (["--lanes", "3"], [], ["--raw", "0x1000"]):
            program = self.file("raw", guest.LOOP) if "--raw" in arguments else self.elf(guest.LOOP)
            path = self.folder / "result.json"
            child = subprocess.Popen(
                [case.MYRIARM, "run", "--device", DEVICE, "--json", path, *arguments, program],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            while not case.is_interruptible(child.pid):
                self.assertIsNone(child.poll())
                os.sched_yield()
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.wait(), 130)
            for lane in json.loads(path.read_text())["lane_results"]:
                self.assertEqual(lane["stop"], "cancelled")


class Mistakes(CliTest):
    def test_arguments(self):
        program = self.elf(guest.EXIT_7)
        self.assert_refused("run", says="no program")
        self.assert_refused("run", "--", says="no program")
        self.assert_refused(says="command")
        self.assert_refused("frobnicate", says="frobnicate")
        self.assert_refused("run", "--frobnicate", program, says="--frobnicate")
        self.assert_refused("info", "--frobnicate", says="--frobnicate")
        self.assert_refused("disasm", says="FILE")
        self.assert_refused("run", "--lanes", "0", program, says="zero lanes")
        self.assert_refused("run", "--lanes", "many", program, says="'many'")
        self.assert_refused("run", "--lanes", "-1", program, says="'-1'")
        self.assert_refused("run", "--lanes", "99999999999", program, says="99999999999")
        for text in ("1.5", "1e", "e6", "1e20", "18446744073709551616", "1.5e0", "1MB", "1 000", "1e-3", "0x",
                     ".", "-5"):
            self.assert_refused("run", "--max-instructions=" + text, program, says=f"'{text}'")
        self.assert_refused("run", "--threads", "0", program, says="0 threads")
        self.assert_refused("run", "--threads", "1e12", program, says="1e12 threads")
        self.assert_refused("run", "--pool", "0", program, says="--pool")
        self.assert_refused("run", "--pool", "1Q", program, says="1Q")
        self.assert_refused("run", "--seed", "99999999999999999999", program, says="99999999999999999999")
        self.assert_refused("run", "--memory", "64Q", program, says="64Q")
        self.assert_refused("run", "--memory", "99999999999999999T", program, says="--memory")
        self.assert_refused("run", "--memory", "4097", program, says="4097")
        self.assert_refused("run", "--memory", "4K", program, says="does not fit")
        self.assert_refused("run", "--memory", "1000T", program, says="memory")
        self.assert_refused("run", "--device", "abacus", program, says="abacus")
        self.assert_refused("run", "--device", "cuda:99", program, says="cuda:99")
        self.assert_refused("run", "--engine", "steam", program, says="steam")
        self.assert_refused("run", "--entry", "zz", program, says="--entry")
        self.assert_refused("run", "--env", "NAME", program, says="NAME")
        self.assert_refused("run", "--stdin", "/nonexistent", program, says="/nonexistent")
        self.assert_refused("run", "--json", "/nonexistent/x", program, says="/nonexistent/x")

    def test_a_gpu_that_is_not_there(self):
        done = self.myriarm("run", "--device", "cuda", self.elf(guest.EXIT_7))
        if done.returncode == 7:
            self.skipTest("it is there")
        message = done.stderr.decode()
        if os.environ.get("MYRIARM_TEST_WITH_CUDA") == "OFF":
            self.assertIn("because it was built with MYRIARM_WITH_CUDA=OFF", message)
        elif "this build has no CUDA" not in message and not pathlib.Path("/proc/driver/nvidia").exists():
            self.assertIn("this machine has no NVIDIA driver", message)

    def test_bare_programs(self):
        raw = self.file("raw", guest.HALT)
        self.assert_refused("run", "--raw", "0x1001", raw, says="multiple of 4")
        self.assert_refused("run", "--raw", "0x400000", raw, says="do not fit")
        self.assert_refused("run", "--raw", "0xfffffffffffffffc", raw, says="do not fit")
        self.assert_refused("run", "--raw", "0", "--memory", "0", raw, says="memory of 0 bytes")
        self.assert_refused("run", "--raw", "0", raw, "argument", says="no arguments")
        self.assert_refused("run", "--raw", "0", "--stdin", raw, raw, says="--stdin")
        self.assert_refused("run", "--raw", "0", self.file("empty", b""), says="empty")

    def test_files(self):
        for command in ("run", "disasm"):
            self.assert_refused(command, "/nonexistent", says="/nonexistent")
            self.assert_refused(command, str(self.folder), says="directory")
            self.assert_refused(command, "/dev/zero", says="regular file")
            self.assert_refused(command, self.file("x86", guest.elf(guest.EXIT_7, machine=62)), says="x86-64")
            self.assert_refused(command, self.file("cut", guest.elf(guest.EXIT_7)[:-1]), says="the file ends")
        self.assert_refused("run", self.file("text", b"#!/bin/sh\n"), says="not an ELF file")
        self.assert_refused("run", self.file("none", b""), says="not an ELF file")
        self.assert_refused(
            "run", self.file("data", guest.elf(guest.EXIT_7, flags=6)), says="executable segment"
        )

    def test_nothing_is_half_started(self):
        path = self.folder / "result.json"
        self.assert_refused("run", "--json", path, "--lanes", "0", self.elf(guest.EXIT_7), says="zero lanes")
        self.assertFalse(path.exists())


class Other(CliTest):
    def test_help_and_version(self):
        for arguments in (
            ["--help"],
            ["run", "--help"],
            ["info", "--help"],
            ["isa", "--help"],
            ["disasm", "--help"],
        ):
            done = self.myriarm(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertIn(b"Usage", done.stdout)
        self.assertIn("--max-instructions", self.myriarm("run", "--help").stdout.decode())
        self.assertEqual(self.myriarm("--version").stdout[:8], b"myriarm ")

    def test_info(self):
        self.assertIn(b"cpu", self.myriarm("info").stdout)
        info = json.loads(self.myriarm("info", "--json").stdout)
        self.assertEqual(info["devices"][0]["id"], "cpu")
        self.assertGreater(info["devices"][0]["units"], 0)
        kinds = {device["id"].partition(":")[0] for device in info["devices"]}
        unusable = {device["kind"]: device["reason"] for device in info["unusable_devices"]}
        self.assertEqual(set(unusable), {"cpu", "cuda"} - kinds)
        self.assertNotIn("", unusable.values())
        self.assertIn("BASE", [feature["name"] for feature in info["features"]])

    def test_isa(self):
        groups = json.loads(self.myriarm("isa", "--json").stdout)["groups"]
        self.assertGreater(len(groups), 20)
        for group in groups:
            self.assertEqual(list(group), ["name", "feature", "rows", "implemented", "todo", "undefined"])
            self.assertEqual(group["rows"], group["implemented"] + group["todo"] + group["undefined"])
        self.assertIn(groups[0]["name"], self.myriarm("isa").stdout.decode())

    def test_disasm(self):
        text = self.myriarm("disasm", self.file("raw", guest.HALT + b"\x01\x02")).stdout.decode().splitlines()
        self.assertEqual([line.split() for line in text],
                         [["0:", "91001401", "add", "x1,", "x0,", "#0x5"], ["4:", "d44000e0", "hlt", "#0x7"],
                          ["8:", "01", ".byte", "0x01"], ["9:", "02", ".byte", "0x02"]])
        text = self.myriarm("disasm", "--address", "0x1000", self.file("raw", guest.LOOP)).stdout.decode()
        self.assertEqual(text.split(), ["1000:", "14000000", "b", "0x1000"])
        # Without sections: the segment, but not the headers at its beginning.
        text = self.myriarm("disasm", self.elf(guest.EXIT_7)).stdout.decode().splitlines()
        self.assertEqual(text[0], f"segment at {guest.BASE:#x}, {guest.HEADERS + 12} bytes")
        self.assertTrue(text[1].strip().startswith(f"{guest.BASE + guest.HEADERS:x}:  d2800ba8"))
        self.assertEqual(len(text), 4)

    def test_disasm_by_section_and_symbol(self):
        # bl .+8; ret; cbnz x0, .-4; adr x0, .
        code = guest.words(0x94000002, 0xD65F03C0, 0xB5FFFFE0, 0x10000000)
        file = self.file("guest", guest.elf_with_symbols(code, {"start": 0, "loop": 8}))
        base = guest.BASE + guest.HEADERS
        self.assertEqual(self.myriarm("disasm", file).stdout.decode().splitlines(), [
            f"section .text at {base:#x}, 16 bytes",
            "",
            f"{base:>10x} <start>:",
            f"{base:>10x}:  94000002  bl {base + 8:#x} <loop>",
            f"{base + 4:>10x}:  d65f03c0  ret",
            "",
            f"{base + 8:>10x} <loop>:",
            f"{base + 8:>10x}:  b5ffffe0  cbnz x0, {base + 4:#x} <start+0x4>",
            f"{base + 12:>10x}:  10000000  adr x0, {base + 12:#x} <loop+0x4>"])


if __name__ == "__main__":
    case.main()
