# SPDX-License-Identifier: Apache-2.0
"""Guests that reach for what is not theirs: addresses, other lanes, the host; and guests that do anything."""

import json
import signal

from attack import DEVICE, OPTIONS, Attack

SEGMENTATION_FAULT = 128 + signal.SIGSEGV


class Wild(Attack):
    def setUp(self):
        super().setUp()
        self.guest = str(OPTIONS.work / "wild")

    def lanes_of(self, *words, device=DEVICE):
        """The results of the lanes, as JSON has them."""
        result = self.folder / "result"
        options = ["--device", device, "--quiet", "--ignore-unimplemented", "--json", result]
        self.attack("run", *options, *words)
        return json.loads(result.read_bytes())["lane_results"]

    def test_addresses(self):
        for attack in ("load", "load 16", "store", "zero a line", "jump", "stack"):
            for address in (0, 0x1000, 0xFFFF0000, 1 << 40, (1 << 47) - 16, 1 << 48, 1 << 55, (1 << 55) - 16):
                ended = self.run_guest("--quiet", self.guest, attack, f"{address:x}")
                self.assertEqual(ended.status, SEGMENTATION_FAULT, f"{attack} {address:x}: {ended.stderr}")

    def test_the_edges_of_the_window(self):
        window = 1 << 30
        for attack in ("load", "load 16", "store", "zero a line", "jump"):
            for offset in (-16, window - 1, window, window + 4096):
                address = 0x400000 + offset
                status = self.run_guest("--quiet", self.guest, attack, f"{address:x}").status
                if offset != window - 1 or attack == "load 16":  # where that is, a part is inside
                    self.assertEqual(status, SEGMENTATION_FAULT, f"{attack} {address:x}")

    def test_code_and_stacks_that_are_gone(self):
        for attack in ("jump to data", "map over all", "move the stack"):
            status = self.run_guest("--quiet", self.guest, attack).status
            self.assertIn(status, (SEGMENTATION_FAULT, 128 + signal.SIGILL), attack)

    def test_one_lane_overflows_its_stack(self):
        signals = [lane["signal"] for lane in self.lanes_of("--lanes", 3, self.guest, "recursion")]
        self.assertEqual(signals, [None, signal.SIGSEGV, None])

    def test_no_lane_sees_another(self):
        for lane in self.lanes_of("--lanes", 33, "--memory", "4M", self.guest, "other lanes"):
            self.assertEqual(lane["stdout"], "0 of others, two of its own\n")
        for lane in self.lanes_of("--lanes", 33, "--pool", "256M", self.guest, "old pages"):
            self.assertEqual(lane["stdout"], "clean\n")

    def test_the_host_is_out_of_reach(self):
        ended = self.run_guest("--quiet", "--ignore-unimplemented", self.guest, "escape")
        self.assertEqual((ended.status, ended.stdout), (0, b"0\n"), ended.stderr)

    def test_random_calls_have_the_same_results_each_time(self):
        for seed in (0, 1000):
            words = ["--lanes", 8, self.guest, "random calls", seed]
            lanes = self.lanes_of(*words)
            self.assertEqual(lanes, self.lanes_of("--threads", 1, *words, device="cpu"))
            self.assertGreater(sum(lane["exit_status"] == 0 for lane in lanes), 4, "most get to the end")

    def test_random_words_end_alike_on_both_engines(self):
        words = ["--registers", "--max-instructions", "200k", "--lanes", 200, self.guest, "random words"]
        lanes = self.lanes_of(*words)
        self.assertEqual(lanes, self.lanes_of("--engine", "stepper", *words))
        if DEVICE != "cpu":
            self.assertEqual(lanes, self.lanes_of(*words, device="cpu"))
