#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What lanes get of their own, and their system calls as text: inputs_test.py MYRIARM [unittest options]"""
import json

import guest
from case import CliTest, main


class Trace(CliTest):
    CALLS = [  # of guest.CAT with the input "a\0\377\n\"7", in lane 0
        'openat(AT_FDCWD, "/input", O_RDONLY) = 3',
        'read(3, "a\\0\\377\\n\\"7", 512) = 6',
        'write(1, "a\\0\\377\\n\\"7", 6) = 6',
        'read(3, "", 512) = 0',
        "exit(0) = ?",
    ]

    def setUp(self):
        super().setUp()
        self.inputs = ["--inputs", self.file("in", b'a\0\xff\n"7' + bytes(6)), "--record-size", 6]

    def test_all_lanes(self):
        done = self.run_guest("--quiet", "--strace", "all", *self.inputs, self.elf(guest.CAT), "@@")
        lines = done.stderr.decode().splitlines()
        of_lane_0 = [line for line in lines if line.startswith("[lane 0]")]
        self.assertEqual(of_lane_0, [f"[lane 0] {call}" for call in self.CALLS])
        self.assertEqual(len(lines), 10)

    def test_some_lanes_to_a_file(self):
        log = self.folder / "log"
        for lanes, expected in (("0", 5), ("1,0-0", 10), ("0-1", 10)):
            done = self.run_guest("--quiet", "--strace", lanes, "--strace-file", log, *self.inputs,
                                  self.elf(guest.CAT), "@@")
            self.assertEqual((done.stderr, len(log.read_text().splitlines())), (b"", expected))

    def test_a_queue_names_inputs(self):
        path = self.file("lines", b"".join(b"%d\n" % i for i in range(30)))
        log = self.folder / "log"
        queue = ("--quiet", "--inputs", path, "--results", self.folder / "results", "--strace-file", log)
        for lanes, chosen, numbers in ((4, "all", range(30)), (1, "all", range(30)),
                                       (4, "5,17-18", (5, 17, 18)), (2, "29,4294967295", (29,))):
            done = self.run_guest(*queue, "--lanes", lanes, "--strace", chosen, self.elf(guest.CAT), "@@")
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            calls = {}
            for line in log.read_text().splitlines():
                name, call = line.split("] ", 1)
                calls.setdefault(name, []).append(call)
            self.assertEqual(set(calls), {f"[input {number}" for number in numbers})
            for number in numbers:
                text = f"{number}\\n"
                own = calls[f"[input {number}"]
                self.assertEqual(own[1], f'read(3, "{text}", 512) = {len(str(number)) + 1}')
                self.assertEqual(own[-1], "exit(0) = ?")
        for chosen in ("0-4294967296", "0-1000000", "0-999999,1000000"):
            self.assert_refused("run", *queue, "--strace", chosen, self.elf(guest.CAT), says="--strace")

    def test_errors_and_missing_calls(self):
        done = self.run_guest("--quiet", "--strace", "all", self.elf(guest.CAT), "/nowhere")
        self.assertIn(b'openat(AT_FDCWD, "/nowhere", O_RDONLY) = -1 ENOSYS (Function not implemented)\n'
                      b"exit(38) = ?\n", done.stderr)
        result, _ = self.run_json(self.elf(guest.SHOW))
        call = result["unimplemented"]["statx"]
        self.assertEqual((call["count"], call["lane"]), (1, 0))
        self.assertRegex(call["call"], r"^statx\(4, .*\) = -1 ENOSYS \(Function not implemented\)$")
        self.assertEqual(int(call["pc"], 16) % 4, 0)
        self.assertIn(call["call"].encode(), self.run_guest(self.elf(guest.SHOW)).stderr, "the summary")

    def test_what_is_refused(self):
        program = self.elf(guest.EXIT_7)
        for text in ("3", "1-0", "0-1", "x", ""):
            self.assert_refused("run", "--strace", text or ",", program, says="--strace")
        self.assert_refused("run", "--strace-file", "/nowhere/log", program, says="/nowhere/log cannot")
        self.assert_refused("run", "--raw", "0", "--strace", "all", program, says="bare")
        done = self.run_guest("--quiet", "--strace-file", "/dev/full", program)
        self.assertIn(b"could not be written completely", done.stderr)
        self.assertEqual(done.returncode, 2)


class Inputs(CliTest):
    def folder_of(self, files):
        folder = self.folder / "inputs"
        folder.mkdir()
        for name, contents in files.items():
            (folder / name).write_bytes(contents)
        return str(folder)

    def outputs(self, *arguments, **options):
        done = self.run_guest("--json", "-", *arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [lane["stdout"] for lane in json.loads(done.stdout)["lane_results"]]

    def test_lines(self):
        lines = self.file("lines", b"first\n\nx\nlast")
        texts = ["first\n", "\n", "x\n", "last"]
        cat = self.elf(guest.CAT)
        self.assertEqual(self.outputs("--inputs", lines, cat, "@@"), texts)
        show = self.file("show", guest.elf(guest.SHOW))
        result, _ = self.run_json("--inputs", lines, show)
        self.assertEqual([lane["stdout"] for lane in result["lane_results"]],
                         [f"{show}\nMYRIARM_LANE={lane}\n{text}" for lane, text in enumerate(texts)])
        self.assertNotIn("input", result["lane_results"][0])
        self.assertEqual(self.outputs("--inputs", "-", cat, "@@", input=b"a\nb\n"), ["a\n", "b\n"])

    def test_a_line_longer_than_a_block(self):
        text = "y" * 3_000_000 + "\n"
        lines = (text + "end\n").encode()
        outputs = self.outputs("--inputs", "-", self.elf(guest.CAT), "@@", input=lines)
        self.assertEqual(outputs, [text, "end\n"])

    def test_records(self):
        data = self.file("data", bytes(range(12)))
        result, _ = self.run_json("--inputs", data, "--record-size", 4, self.elf(guest.CAT), "@@")
        self.assertEqual([lane["stdout"] for lane in result["lane_results"]],
                         ["\0\1\2\3", "\4\5\6\7", "\x08\x09\x0a\x0b"])
        self.assert_refused("run", "--inputs", data, "--record-size", 5, self.elf(guest.CAT), "@@",
                            says="has 2 of 5 bytes")
        self.assert_refused("run", "--inputs", data, "--record-size", 0, self.elf(guest.CAT), says="no bytes")
        self.assert_refused("run", "--record-size", 5, self.elf(guest.CAT), says="--inputs")

    def test_a_folder(self):
        folder = self.folder_of({"b": b"2", "a": b"1", ".hidden": b"0", "c": b"", "d": b"1"})
        (self.folder / "inputs" / "folder").mkdir()
        (self.folder / "inputs" / "nowhere").symlink_to("nothing")
        result, _ = self.run_json("--inputs", folder, self.elf(guest.CAT), "@@")
        self.assertEqual([(lane["input"], lane["stdout"]) for lane in result["lane_results"]],
                         [("a", "1"), ("b", "2"), ("c", ""), ("d", "1")])
        self.assert_refused("run", "--inputs", folder, "--record-size", 4, self.elf(guest.CAT), says="folder")

    def test_arguments(self):
        lines = self.file("args", b"one 'two three'\n\n\"a'b\"\\ c\t@@ x''\n")
        show = self.elf(guest.SHOW)
        result, _ = self.run_json("--args-file", lines, show, "common")
        shown = [lane["stdout"].splitlines()[2:-1] for lane in result["lane_results"]]
        self.assertEqual(shown, [["one", "two three"], [], ["a'b c", "@@", "x"]])
        self.assertEqual(result["lane_results"][1]["stdout"], f"{show}\ncommon\nMYRIARM_LANE=1\n")

    def test_arguments_beside_inputs(self):
        """The first lane's arguments say whether inputs are files."""
        show, inputs = self.elf(guest.SHOW), self.file("in", b"1\n2\n")
        for lines, shown in ((b"-f=@@\nb @@\n", ["b", "/input", "MYRIARM_LANE=1"]),
                             (b"a\nb @@\n", ["b", "@@", "MYRIARM_LANE=1", "2"])):
            result, _ = self.run_json("--args-file", self.file("args", lines), "--inputs", inputs, show)
            self.assertEqual(result["lane_results"][1]["stdout"].splitlines()[1:], shown)

    def test_standard_input_beside_a_file(self):
        inputs, stdin = self.file("in", b"1\n2\n"), self.file("stdin", b"all")
        show = self.elf(guest.SHOW)
        result, _ = self.run_json("--inputs", inputs, "--stdin", stdin, show, "@@")
        self.assertTrue(all(lane["stdout"].endswith("all") for lane in result["lane_results"]))
        self.assert_refused("run", "--inputs", inputs, "--stdin", stdin, show, says="@@")

    def test_mistakes(self):
        cat = self.elf(guest.CAT)
        two = self.file("two", b"1\n2\n")
        self.assert_refused("run", "--inputs", two, "--args-file", self.file("one", b"a\n"), cat,
                            says="--args-file has 1 lines, and --inputs has more")
        empty = self.file("empty", b"")
        self.assert_refused("run", "--inputs", empty, cat, says="holds nothing for a lane")
        self.assert_refused("run", "--args-file", empty, cat, says="holds nothing for a lane")
        self.assert_refused("run", "--inputs", "/nowhere", cat, says="/nowhere cannot be read")
        self.assert_refused("run", "--raw", "0", "--inputs", two, cat, says="bare")
        for text, says in ((b"ok\n'a\n", "line 2 of"), (b"a\\", "backslash"), (b"a\0b", "NUL")):
            self.assert_refused("run", "--args-file", self.file("bad", text), cat, says=says)


if __name__ == "__main__":
    main()
