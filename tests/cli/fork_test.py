#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--fork-after: what lanes have in common is run once. fork_test.py MYRIARM [unittest options]"""
import json

import guest
from case import CliTest, main

# Prints "go\n" on standard output, calls `part`, which copies standard input there, and exits with 3.
GUEST = guest.words(
    0xD2800020,  #        mov  x0, #1
    0x10000241,  #        adr  x1, text
    0xD2800062,  #        mov  x2, #3
    0xD2800808,  #        mov  x8, #64        write
    0xD4000001,  #        svc  #0
    0xD10203FF,  # part:  sub  sp, sp, #128
    0xD2800000,  #        mov  x0, #0
    0x910003E1,  #        mov  x1, sp
    0xD2801002,  #        mov  x2, #128
    0xD28007E8,  #        mov  x8, #63        read
    0xD4000001,  #        svc  #0
    0xB40000A0,  #        cbz  x0, end
    0xAA0003E2,  #        mov  x2, x0
    0xD2800020,  #        mov  x0, #1
    0xD2800808,  #        mov  x8, #64        write
    0xD4000001,  #        svc  #0
    0xD2800060,  # end:   mov  x0, #3
    0xD2800BA8,  #        mov  x8, #93        exit
    0xD4000001,  #        svc  #0
    0x000A6F67,  # text:  "go\n"
)
PART, END, BEFORE_READ = 5 * 4, 16 * 4, 10
POINTS = ("start", "part", hex(guest.BASE + guest.HEADERS + PART), "read")


class ForkAfter(CliTest):
    def setUp(self):
        super().setUp()
        self.guest = self.file("guest", guest.elf_with_symbols(GUEST, {"part": PART, "end": END}))
        self.lines = self.file("lines", b"one\n\nthree")

    def test_lanes_have_the_same_results(self):
        expected, status = self.run_json("--inputs", self.lines, self.guest)
        self.assertEqual(status, 3)
        outputs = [lane["stdout"] for lane in expected["lane_results"]]
        self.assertEqual(outputs, ["go\none\n", "go\n\n", "go\nthree"])
        for point, common in zip(POINTS, (0, 5, 5, BEFORE_READ)):
            result, status = self.run_json("--fork-after", point, "--inputs", self.lines, self.guest)
            self.assertEqual((result["lane_results"], status), (expected["lane_results"], 3), point)
            alone = expected["instructions"] - 3 * common
            self.assertEqual(result["instructions"], alone, "of the run alone")

    def test_a_queue_has_the_same_results(self):
        options = ["--quiet", "--inputs", self.lines, "--lanes", 2, "--timeout-instructions", 18]
        expected = self.run_guest(*options, self.guest)
        stops = [json.loads(line)["stop"] for line in expected.stdout.splitlines()]
        self.assertEqual(stops, ["budget"] * 3, "the limit counts from the start of the process")
        for limit in (18, 19, 1000):
            options[-1] = limit
            expected = self.run_guest(*options, self.guest)
            for point in POINTS:
                done = self.run_guest("--fork-after", point, *options, self.guest)
                self.assertEqual(done.stdout, expected.stdout, point)
                self.assertEqual(done.returncode, expected.returncode, point)

    def test_a_file_is_not_opened_before(self):
        cat = self.elf(guest.CAT)
        expected, _ = self.run_json("--inputs", self.lines, cat, "@@")
        found, _ = self.run_json("--inputs", self.lines, "--fork-after", "read", cat, "@@")
        self.assertEqual(found["lane_results"], expected["lane_results"])
        once = ("--fork-after", "read", "--quiet")
        queue = self.run_guest("--inputs", self.lines, "--lanes", 1, *once, cat, "@@")
        outputs = [json.loads(line)["stdout"] for line in queue.stdout.splitlines()]
        self.assertEqual(outputs, ["one\n", "\n", "three"])

    def test_one_lane_passes_on_what_was_written_before(self):
        stdin = self.file("stdin", b"x")
        for point in POINTS:
            done = self.run_guest("--quiet", "--fork-after", point, "--stdin", stdin, self.guest)
            self.assertEqual((done.stdout, done.stderr, done.returncode), (b"go\nx", b"", 3), point)
            nothing = self.run_guest("--quiet", "--fork-after", point, self.guest)
            self.assertEqual((nothing.stdout, nothing.returncode), (b"go\n", 3), point)

    def test_calls_are_printed_once(self):
        options = ("--quiet", "--fork-after", "part", "--strace", "2", "--inputs", self.lines)
        done = self.run_guest(*options, self.guest)
        self.assertEqual(done.stderr.decode().splitlines(), [
            '[lane 0] write(1, "go\\n", 3) = 3',
            '[lane 2] read(0, "three", 128) = 5',
            '[lane 2] write(1, "three", 5) = 5',
            "[lane 2] exit(3) = ?",
        ])

    def test_what_is_refused(self):
        def refused(point, says, *options):
            self.assert_refused("run", *options, "--fork-after", point, self.guest, says=says)

        refused("nowhere", "it has no symbol 'nowhere'")
        refused("0x4", "0x4 is no address of an instruction")
        refused("12z", "'12z' is no address")
        refused("end", "asks for its input before it comes to end")
        refused("end", "does not come to end in 5 instructions", "--max-instructions", 5)
        refused("part", "bare program", "--raw", 0)
        refused("part", "the arguments and the environment", "--args-file", self.lines)
        without = self.file("exits", guest.elf(guest.EXIT_7))
        self.assert_refused("run", "--fork-after", "read", without, says="exits with 7 before it comes to")
        twice = guest.elf_with_symbols(guest.EXIT_7, {"ab": 8, "ac": 4})
        twice = self.file("twice", twice.replace(b"\0ab\0ac\0", b"\0ab\0ab\0"))
        self.assert_refused("run", "--fork-after", "ab", twice, says="is the name of 0x40007c and 0x400080")
        bare = self.elf(GUEST)
        self.assert_refused("run", "--fork-after", "part", bare, says="it has no symbols")


if __name__ == "__main__":
    main()
