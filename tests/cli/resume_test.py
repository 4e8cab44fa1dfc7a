#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""That `myriarm run --resume` goes on with the same job alone: resume_test.py MYRIARM [unittest options]"""
import json
import os
import pathlib
import shutil

import guest
from case import CliTest, main

SHA256 = pathlib.Path(__file__).parents[2] / "examples" / "prebuilt" / "sha256"


class Jobs(CliTest):
    def setUp(self):
        super().setUp()
        self.inputs = self.file("lines", b"".join(b"%d\n" % i for i in range(20)))
        self.program = self.elf(guest.SHOW)

    def run_queue(self, *options, inputs=None, program=None, arguments=("a",), **more):
        words = ("--quiet", "--ignore-unimplemented", "--inputs", inputs or self.inputs, *options)
        return self.run_guest(*words, program or self.program, *arguments, **more)

    def kept_in(self, name):
        """The options for these results, and their file."""
        if name == "folder":
            return ("--output-dir", self.folder / name), self.folder / name / "results.jsonl"
        return ("--results", self.folder / name), self.folder / name

    def begin(self, name, *options, **more):
        """Begins a queue, and cuts its results as a kill does."""
        kept, results = self.kept_in(name)
        done = self.run_queue(*kept, *options, **more)
        self.assertEqual(done.stderr, b"")
        results.write_bytes(results.read_bytes()[:1600])
        return kept, results, pathlib.Path(f"{results}.job")

    def expect_refused(self, results, says, done):
        """`says`: what differs, each of which the sentence names."""
        said = done.stderr.decode()
        self.assertEqual((done.returncode, said.count("\n")), (2, 1), said)
        self.assertTrue(said.startswith(f"myriarm: --resume: the results in {results} are of another "), said)
        for name in says:
            self.assertIn(f"another {name} (", said)
        self.assertEqual(said.count("another "), len(says), said)
        self.assertEqual(results.stat().st_size, 1600, "nothing was written")

    def test_the_same_job_goes_on(self):
        for name in ("log", "log.npy", "folder"):
            options = ("--seed", 4, "--env", "A=1")
            kept, results = self.kept_in(name)
            self.run_queue(*kept, *options)
            whole = results.read_bytes()
            kept, results, job = self.begin(name, *options)
            was = job.read_bytes()
            # Not all of it decides the results, and their order may change.
            more = ("--lanes", 3, "--threads", 1, "--engine", "stepper")
            same = pathlib.Path(self.file("copy", pathlib.Path(self.inputs).read_bytes()))
            done = self.run_queue("--resume", *kept, *options, *more, inputs=same)
            self.assertEqual((done.returncode, done.stderr), (2, b""), "2 is argc")
            self.assertEqual((results.read_bytes(), job.read_bytes()), (whole, was))

    def test_another_job_is_refused(self):
        other = self.file("other", guest.elf(guest.CAT))
        edited = self.file("edited", pathlib.Path(self.inputs).read_bytes().replace(b"7", b"8"))
        longer = self.file("longer", pathlib.Path(self.inputs).read_bytes() + b"20\n")
        kept, results, _ = self.begin("log")
        again = ("--resume", *kept)
        for options, more, says in (
                (("--seed", 5), {}, ["--seed"]),
                (("--env", "A=1"), {}, ["--env"]),
                (("--memory", "32M"), {}, ["--memory"]),
                (("--max-instructions", 1000), {}, ["--max-instructions"]),
                (("--record-size", 1), {}, ["--record-size"]),
                (("--fork-after", "read"), {}, ["--fork-after"]),
                (("--entry", "0x400100"), {}, ["--entry"]),
                ((), {"arguments": ("b",)}, ["arguments"]),
                ((), {"arguments": ("a", "")}, ["arguments"]),
                ((), {"inputs": edited}, ["--inputs"]),
                ((), {"inputs": longer}, ["--inputs"]),
                ((), {"inputs": longer, "program": other}, ["program", "arguments", "--inputs"])):
            with self.subTest(options=options, **more):
                self.expect_refused(results, says, self.run_queue(*again, *options, **more))
        for name in ("log.npy", "folder"):
            kept, results, _ = self.begin(name)
            shutil.copy(other, self.program)  # another program at the same path
            self.expect_refused(results, ["program"], self.run_queue("--resume", *kept))
            self.elf(guest.SHOW)

    def test_the_sentence_says_both_values(self):
        kept, results, _ = self.begin("log", "--seed", 3)
        done = self.run_queue("--resume", *kept, "--seed", "0x10")
        expected = (f"myriarm: --resume: the results in {results} are of another --seed (3, and now 16); "
                    "give the same, or begin anew without --resume\n")
        self.assertEqual(done.stderr.decode(), expected)

    def test_lines_of_arguments_and_standard_input(self):
        kept, results = self.kept_in("log")
        words, stdin = self.file("words", b"a\n" * 20), self.file("stdin", b"1")
        options = ("--args-file", words, "--stdin", stdin)
        arguments = {"arguments": ("@@",)}
        self.begin("log", *options, **arguments)
        again = ("--resume", *kept)
        self.file("words", b"b\n" * 20)
        self.expect_refused(results, ["--args-file"], self.run_queue(*again, *options, **arguments))
        self.file("words", b"a\n" * 20)
        self.file("stdin", b"2")
        self.expect_refused(results, ["--stdin"], self.run_queue(*again, *options, **arguments))
        self.expect_refused(results, ["--args-file", "--stdin"], self.run_queue(*again, **arguments))

    def test_a_folder_of_inputs(self):
        inputs = self.folder / "inputs"
        inputs.mkdir()
        for i in range(20):
            (inputs / f"{i:02}").write_bytes(b"%d\n" % i)
        kept, results, _ = self.begin("log", inputs=inputs)

        def again():
            return self.run_queue("--resume", *kept, inputs=inputs)

        times = (inputs / "03").stat()
        (inputs / "03").write_bytes(b"4\n")
        self.expect_refused(results, ["--inputs"], again())
        os.utime(inputs / "03", ns=(times.st_atime_ns, times.st_mtime_ns))
        (inputs / "03").rename(inputs / "3")
        self.expect_refused(results, ["--inputs"], again())
        (inputs / "3").rename(inputs / "03")
        (inputs / "20").write_bytes(b"")
        self.expect_refused(results, ["--inputs"], again())
        (inputs / "20").unlink()
        (inputs / ".hidden").write_bytes(b"no input")
        self.assertEqual(again().stderr, b"")

    def test_inputs_of_a_pipe_are_not_known(self):
        lines = pathlib.Path(self.inputs).read_bytes()
        kept, results, _ = self.begin("log", inputs="-", input=lines)
        done = self.run_queue("--resume", *kept, inputs="-", input=lines)
        self.assertEqual(done.stderr, b"")
        self.assertEqual(results.read_bytes().count(b"\n"), 20)
        # A file that is standard input is known, and all of it is still read.
        with open(self.inputs, "rb") as whole:
            kept, results, _ = self.begin("log2", inputs="-", stdin=whole)
        with open(self.file("longer", lines + b"20\n"), "rb") as longer:
            done = self.run_queue("--resume", *kept, inputs="-", stdin=longer)
        self.expect_refused(results, ["--inputs"], done)
        with open(self.inputs, "rb") as same:
            self.assertEqual(self.run_queue("--resume", *kept, inputs="-", stdin=same).stderr, b"")
        self.assertEqual(results.read_bytes().count(b"\n"), 20)

    def test_results_that_say_nothing_of_their_job(self):
        for name in ("log", "log.npy"):
            kept, results, job = self.begin(name)
            job.unlink()
            done = self.run_queue("--resume", *kept, "--seed", 9)
            self.assertEqual(done.returncode, 2, "argc")
            self.assertRegex(done.stderr.decode(),
                             r"^myriarm: --resume: there is no .*\.job that [^\n]*not checked\n$")
            # Since then they do.
            self.assertEqual(json.loads(job.read_text())["--seed"], "9")
            for text in (b"", b"{", b"[]"):
                job.write_bytes(text)
                self.assert_refused("run", "--resume", *kept, "--inputs", self.inputs, self.program, "a",
                                    says=f"{job} does not say which job")

    def test_a_queue_that_begins_anew_has_another_job(self):
        kept, results, job = self.begin("log")
        self.begin("log", "--seed", 7)
        self.assertEqual(json.loads(job.read_text())["--seed"], "7")
        self.assertEqual(self.run_queue("--resume", *kept, "--seed", 7).stderr, b"")
        # There is nothing to mix, although it is another job.
        results.write_bytes(b"")
        self.assertEqual(self.run_queue("--resume", *kept, "--seed", 8).stderr, b"")
        self.assertEqual(json.loads(job.read_text())["--seed"], "8")

    def test_what_is_beside_the_results(self):
        """A link leads to the file that it is kept beside; what is no file has none."""
        link = self.folder / "link.npy"
        link.symlink_to("log.npy")
        (self.folder / "log.npy").touch()
        for name in (link, "/dev/null", "/dev/stdout"):
            self.assertEqual(self.run_queue("--results", name).stderr, b"")
        self.assertTrue((self.folder / "log.npy.job").exists())
        self.assertEqual([path for path in (f"{link}.job", "/dev/null.job", "/dev/stdout.job")
                          if os.path.exists(path)], [])
        self.assertEqual(list(self.folder.glob("*.new")), [])

    def test_a_folder_that_cannot_be_written(self):
        results = self.folder / "log"
        (self.folder / "log.job.new").mkdir()
        done = self.run_queue("--results", results)
        self.assertRegex(done.stderr.decode(),
                         r"^myriarm: .*log\.job cannot be written, so --resume [^\n]*\n$")
        self.assertEqual(results.read_bytes().count(b"\n"), 20)


if __name__ == "__main__":
    main()
