#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Dynamic programs give the same under myriarm as under QEMU user mode: alone, in many lanes, after a common
# part and from a queue. Their root has the C library of the cross compiler and a library of ours.
#   roots_test.py MYRIARM FOLDER
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
LIBRARIES = pathlib.Path("/usr/aarch64-linux-gnu/lib")
GLIBC = HERE.parent / "programs/src/glibc"
COMPILER = "aarch64-linux-gnu-gcc"
DEVICE = os.environ.get("MYRIARM_TEST_DEVICE", "cpu")
# Of tests/programs, where they are linked statically.
STATIC_ELSEWHERE = ("decimal", "libm", "strings", "ending", "fenv", "matrix", "png", "fft")
INPUT = b"one\ntwo words\nthree\n"
# Their first lines.
SCRIPTS = {
    "data/script": "/bin/hello  one two \t",
    "bin/nested": " /bin/inner in a",
    "bin/inner": "/bin/hello",
    "data/none": " ",
    "data/gone": "/bin/gone",
    "data/endless": "/data/endless",
}


def build(root):
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("lib", "bin", "data/sub"):
        (root / folder).mkdir(parents=True)
    for name in ("ld-linux-aarch64.so.1", "libc.so.6", "libm.so.6"):
        shutil.copy(LIBRARIES / name, root / "lib" / name)
    (root / "data/text").write_text("first line\nsecond line\nthe end\n")
    (root / "data/sub/inner").write_text("inner")
    (root / "data/link").symlink_to("text")

    def compile_to(output, *arguments):
        command = [COMPILER, "-std=gnu11", "-O2", "-Wall", "-Wextra", "-o", root / output]
        subprocess.run([*command, *map(str, arguments)], check=True)

    compile_to("bin/hello", HERE / "hello.c")
    compile_to("bin/hello-at-an-address", HERE / "hello.c", "-no-pie", "-fno-pie")
    compile_to("bin/files", HERE / "files.c")
    compile_to("bin/asks", HERE / "asks.c")
    compile_to("lib/libours.so", HERE / "library.c", "-shared", "-fpic")
    compile_to("bin/libraries", HERE / "libraries.c", f"-L{root}/lib", "-lours")
    compile_to("bin/libraries-now", HERE / "libraries.c", f"-L{root}/lib", "-lours", "-Wl,-z,now")
    for name in STATIC_ELSEWHERE:
        compile_to(f"bin/{name}", GLIBC / f"{name}.c", "-w", "-lm")


class Roots(unittest.TestCase):
    maxDiff = None

    def qemu(self, program, *arguments, stdin=INPUT):
        command = ["qemu-aarch64", "-L", ROOT, "-0", program, str(ROOT) + program, *arguments]
        variables = {"GREETING": "hello"}
        done = subprocess.run(command, input=stdin, capture_output=True, env=variables, timeout=300)
        status = done.returncode if done.returncode >= 0 else 128 - done.returncode
        return done.stdout, done.stderr, status

    def myriarm(self, *words, stdin=INPUT, options=()):
        command = [*RUN, "--root", ROOT, *options, "--stdin", "-", *words]
        done = subprocess.run(command, input=stdin, capture_output=True, timeout=300)
        return done.stdout, done.stderr, done.returncode

    def check(self, *words):
        self.assertEqual(self.myriarm(*words), self.qemu(*words))

    def test_hello(self):
        self.check("/bin/hello", "one", "two words")
        self.assertEqual(self.myriarm("/bin/hello")[2], 7)

    def test_hello_at_a_fixed_address(self):
        self.check("/bin/hello-at-an-address")

    def test_libraries(self):
        self.check("/bin/libraries")
        self.check("/bin/libraries-now")

    def test_files(self):
        self.check("/bin/files", "/data")
        self.assertIn(b"mapped: !irst line", self.myriarm("/bin/files", "/data")[0])

    def test_programs_that_are_static_elsewhere(self):
        for name in STATIC_ELSEWHERE:
            with self.subTest(name):
                expected, got = self.qemu(f"/bin/{name}"), self.myriarm(f"/bin/{name}")
                self.assertEqual((got[0], got[2]), (expected[0], expected[2]))

    def test_a_program_of_this_machine(self):
        expected = self.qemu("/bin/hello")
        self.assertEqual(self.myriarm(str(ROOT / "bin/hello")), expected)
        command = [*RUN, "--root", LIBRARIES.parent, "--stdin", "-", ROOT / "bin/hello"]
        done = subprocess.run(command, input=INPUT, capture_output=True, timeout=300)
        self.assertEqual((done.stdout, done.stderr, done.returncode), expected)

    def test_scripts(self):
        for name, line in SCRIPTS.items():
            (ROOT / name).write_text(f"#!{line}\nthe rest\n")
        for words, arguments in (
            (["/data/script", "more"], ["one two", "/data/script", "more"]),
            (["nested", "x", ""], ["/bin/inner", "in a", "/bin/nested", "x", ""]),
        ):
            with self.subTest(words):
                self.assertEqual(self.myriarm(*words), self.qemu("/bin/hello", *arguments))
        lanes = json.loads(self.myriarm("nested", options=["--lanes", "3", "--json", "-"])[0])["lane_results"]
        expected = self.qemu("/bin/hello", "/bin/inner", "in a", "/bin/nested")[0].decode()
        self.assertEqual([lane["stdout"] for lane in lanes], [expected] * 3)

    def test_many_lanes(self):
        expected = self.qemu("/bin/hello", "x")
        for options in ([], ["--fork-after", "main"], ["--fork-after", "read"]):
            with self.subTest(options):
                run = ["--lanes", "40", "--json", "-", *options]
                lanes = json.loads(self.myriarm("/bin/hello", "x", options=run)[0])["lane_results"]
                got = {(lane["stdout"], lane["stderr"], lane["exit_status"]) for lane in lanes}
                self.assertEqual(got, {(expected[0].decode(), expected[1].decode(), expected[2])})
                self.assertEqual(len({lane["instructions"] for lane in lanes}), 1)

    def test_pages_of_files_are_common_to_lanes(self):
        # A copy of what the C library has in memory would take some 60 MB of a GPU's pool for each 32 lanes.
        expected = self.qemu("/bin/hello", "x")
        run = ["--lanes", "64", "--pool", "24M", "--json", "-"]
        lanes = json.loads(self.myriarm("/bin/hello", "x", options=run)[0])["lane_results"]
        got = {(lane["stdout"], lane["exit_status"]) for lane in lanes}
        self.assertEqual(got, {(expected[0].decode(), expected[2])})

    def test_many_lanes_with_files_and_libraries(self):
        for words in (("/bin/files", "/data"), ("/bin/libraries",), ("/bin/libraries-now",)):
            with self.subTest(words):
                stdout, stderr, status = self.qemu(*words)
                results = json.loads(self.myriarm(*words, options=["--lanes", "40", "--json", "-"])[0])
                got = {
                    (lane["stdout"], lane["stderr"], lane["exit_status"]) for lane in results["lane_results"]
                }
                self.assertEqual(got, {(stdout.decode(), stderr.decode(), status)})

    def test_a_queue(self):
        inputs = ROOT.parent / "inputs"
        inputs.mkdir(exist_ok=True)
        for i in range(30):
            (inputs / f"{i:02}").write_text("line\n" * i)
        for options in ([], ["--fork-after", "read"]):
            command = [*RUN, "--root", ROOT, "--inputs", inputs, "--lanes", "4", *options, "/bin/hello"]
            done = subprocess.run(command, capture_output=True, timeout=300)
            results = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual(len(results), 30)
            for i, result in enumerate(results):
                self.assertEqual(result["stdout"].encode(), self.qemu("/bin/hello", stdin=b"line\n" * i)[0])

    def test_what_asks_for_a_lanes_file(self):
        (ROOT.parent / "sizes").mkdir(exist_ok=True)
        for i in range(5):
            (ROOT.parent / "sizes" / str(i)).write_text("x" * i)
        for options in ([], ["--fork-after", "read"]):
            for call in ("statx", "faccessat2"):
                command = [*RUN, "--root", ROOT, *options, "--inputs", ROOT.parent / "sizes", "--json", "-"]
                done = subprocess.run([*command, "/bin/asks", call, "@@"], capture_output=True, timeout=300)
                self.assertEqual(done.stderr, b"")
                found = [lane["stdout"] for lane in json.loads(done.stdout)["lane_results"]]
                self.assertEqual(found, [f"{i if call == 'statx' else 0}\n" for i in range(5)])

    def test_mistakes(self):
        for name, line in SCRIPTS.items():
            (ROOT / name).write_text(f"#!{line}\n")
        for words, options, message in (
            (["/bin/nothing"], [], b"there is no such program in the root"),
            (["/data/text"], [], b"it is not an ELF file"),
            (["/data/none"], [], b"its first line names no interpreter"),
            (["/data/gone"], [], b"the root has no /bin/gone, which its first line names"),
            (["/data/endless"], [], b"its interpreters are scripts too"),
        ):
            with self.subTest(message):
                stdout, stderr, status = self.myriarm(*words, options=options)
                self.assertEqual((stdout, status), (b"", 2))
                self.assertIn(message, stderr)
                self.assertEqual(stderr.count(b"\n"), 1)
        for folder, message in (("/nowhere", b"No such file"), (ROOT / "bin/hello", b"Not a directory")):
            done = subprocess.run([*RUN, "--root", folder, "/bin/hello"], capture_output=True)
            self.assertIn(b"cannot be opened as a root (" + message, done.stderr)
        done = subprocess.run([MYRIARM, "run", "--quiet", ROOT / "bin/hello"], capture_output=True)
        self.assertIn(b"it is dynamically linked", done.stderr)
        (ROOT / "empty").mkdir(exist_ok=True)
        command = [*RUN, "--root", ROOT / "empty", ROOT / "bin/hello"]
        done = subprocess.run(command, capture_output=True)
        self.assertIn(b"its loader /lib/ld-linux-aarch64.so.1 is not in the root", done.stderr)

    def test_mistakes_of_debian_root(self):
        tool = HERE.parents[1] / "tools/debian-root"
        for words, message in (
            ([], b"give a folder and at least one package"),
            ([ROOT, "coreutils"], b"is not empty"),
            ([ROOT / "bin/hello", "coreutils"], b"is no folder"),
            ([ROOT.parent / "new", "--option"], b"'--option' is no name of a package"),
        ):
            done = subprocess.run([tool, *words], capture_output=True, timeout=60)
            self.assertEqual((done.stdout, done.returncode), (b"", 1))
            self.assertRegex(done.stderr, b"^debian-root: [^\n]*" + message + b"[^\n]*\n$")
        self.assertFalse((ROOT.parent / "new").exists())


if __name__ == "__main__":
    MYRIARM, folder = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    RUN = [MYRIARM, "run", "--device", DEVICE, "--quiet", "--env", "GREETING=hello"]
    ROOT = folder / "root"
    build(ROOT)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
