# SPDX-License-Identifier: Apache-2.0
"""A search that feeds results back as inputs: it climbs towards the secret that a program compares them with.

The program says only "wrong", but counts are exact: a guess with one more right character retires more
instructions. Each round tries all characters behind what is known, and makes the next inputs from the best.

python examples/python/search.py [DEVICE]
"""

import pathlib
import string
import sys

import myriarm

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "auto"
PROGRAM = pathlib.Path(__file__).parents[1] / "prebuilt" / "lock"
CHARACTERS = (string.ascii_letters + string.digits + string.punctuation + " ").encode()


class Climb:
    def __init__(self):
        self.known, self.opened, self.results = b"", False, []

    def inputs(self):
        """The inputs of round after round. None tells the queue that the next ones need results first."""
        while not self.opened:
            known = self.known
            for character in CHARACTERS:
                yield known + bytes([character])
            while self.known == known and not self.opened:
                yield None

    def take(self, result):
        self.results.append(result)
        if len(self.results) < len(CHARACTERS):
            return
        best = max(self.results, key=lambda result: (result.exit_status == 0, result.instructions))
        self.known += CHARACTERS[best.number % len(CHARACTERS)].to_bytes(1, "big")
        self.opened = best.exit_status == 0
        self.results.clear()
        if len(self.known) % 6 == 0 or self.opened:
            print(f"{best.number + 1:6,} {best.instructions:13,}  {self.known.decode()}")


def main():
    climb = Climb()
    print(f"{'guesses':>7}{'instructions':>13}  best guess")
    with myriarm.Queue(PROGRAM, lanes=len(CHARACTERS), device=DEVICE) as queue:
        for result in queue.run(climb.inputs()):
            climb.take(result)
        [last] = queue.run([climb.known])
    print(f"\n{last.stdout.decode().strip()}: one of 95**{len(climb.known)} lines of this length")


if __name__ == "__main__":
    main()
