#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A peer is asked again where a line differs, a bounded number of times, and only then.
import unittest

from peer import RUNS, Peer


class MadeUp:
    """Prints the next of some outputs at each run, and the last one from then on."""

    def __init__(self, *outputs):
        self.outputs, self.runs = outputs, 0

    def __call__(self):
        self.runs += 1
        return self.outputs[min(self.runs, len(self.outputs)) - 1].split(), 0, ""


class Differences(unittest.TestCase):
    def test_the_same_lines_need_one_run(self):
        linux = MadeUp("a b c")
        self.assertEqual(Peer(linux).differences(["a", "b", "c"]), [])
        self.assertEqual(linux.runs, 1)

    def test_a_line_that_no_run_has(self):
        linux = MadeUp("a b c")
        self.assertEqual(Peer(linux).differences(["a", "x", "c"]), [("b", "x")])
        self.assertEqual(linux.runs, RUNS)

    def test_a_line_that_was_late_once(self):
        linux = MadeUp("a late c", "a b late")
        peer = Peer(linux)
        self.assertEqual(peer.differences(["a", "b", "c"]), [])
        self.assertEqual(linux.runs, 2)
        self.assertEqual((peer.lines, peer.status), (["a", "late", "c"], 0))

    def test_lines_that_are_missing(self):
        peer = Peer(MadeUp("a b c"))
        self.assertEqual(peer.differences(["a", "b"]), [("c", "nothing")])
        self.assertEqual(peer.differences(["a", "b", "c", "d"]), [("nothing", "d")])

    def test_a_run_that_ends_early_says_nothing(self):
        linux = MadeUp("a b c", "a")
        self.assertEqual(Peer(linux).differences(["a"]), [("b", "nothing"), ("c", "nothing")])
        self.assertEqual(linux.runs, RUNS)
        answers = iter([(["a"], 0, "")] + [(["x"], 1, "")] * RUNS)
        self.assertEqual(Peer(lambda: next(answers)).differences(["x"]), [("a", "x")])

    def test_lines_that_may_differ(self):
        linux = MadeUp("a b c")
        self.assertEqual(Peer(linux).differences(["a", "x", "y"], lambda line: line == "b"), [("c", "y")])
        linux = MadeUp("a b c")
        self.assertEqual(Peer(linux).differences(["a", "x", "c"], lambda line: line == "b"), [])
        self.assertEqual(linux.runs, 1)

    def test_the_first_lines_alone(self):
        peer = Peer(MadeUp("a b c"))
        self.assertEqual(peer.differences(["a", "b", "x"], first=2), [])
        self.assertEqual(peer.differences(["a"], first=2), [("b", "nothing")])

    def test_two_peers(self):
        linux, qemu = MadeUp("a late c", "a b c"), MadeUp("a b late", "a x c")
        self.assertEqual(Peer(linux).differences(Peer(qemu)), [])
        self.assertEqual((linux.runs, qemu.runs), (2, 2))
        linux, qemu = MadeUp("a b"), MadeUp("a x")
        self.assertEqual(Peer(linux).differences(Peer(qemu)), [("b", "x")])
        self.assertEqual((linux.runs, qemu.runs), (RUNS, RUNS))


if __name__ == "__main__":
    unittest.main()
