# SPDX-License-Identifier: Apache-2.0
"""Ten runs at a time share one translation cache, and are killed at random, again and again. What they wrote
until then is whole, what they find is right, and the size stays bounded. MYRIARM_TEST_KILLS=50 kills that
many rounds of ten."""
import json
import os
import random
import signal
import subprocess

import case
import guest

PROCESSES = 10
ROUNDS = int(os.environ.get("MYRIARM_TEST_KILLS", "2"))
LOOPS = 6
TURNS = 500  # of each loop, in 65,536: enough for it to be compiled while it runs
LIMIT = 8 << 10  # bytes of the cache: fewer than there are to keep


def program(variant):
    """Loops of which each is code of its own, and of its own in each variant; a byte is written behind each.
    Exits with exit_status(variant)."""
    code = [0xD2800000]  # mov x0, #0
    dots = []
    for loop in range(LOOPS):
        code += [
            0xD2A00001 | TURNS << 5,  # mov x1, #TURNS << 16
            0x91000000 | (1 + variant + 3 * loop) << 10,  # again: add x0, x0, #(1 + variant + 3 * loop)
            0xCA010042,  # eor x2, x2, x1
            0xD1000421,  # sub x1, x1, #1
            0xB5FFFFA1,  # cbnz x1, again
            0xAA0003F3,  # mov x19, x0
            0xD2800808,  # mov x8, #64
            0xD2800020,  # mov x0, #1
        ]
        dots.append(len(code))
        code += [0, 0xD2800022, 0xD4000001, 0xAA1303E0]  # adr x1, dot; mov x2, #1; svc #0; mov x0, x19
    # lsr x0, x0, #16; and x0, x0, #255; exit_group(x0)
    code += [0xD350FC00, 0x92401C00, 0xD2800BC8, 0xD4000001]
    for at in dots:
        code[at] = 0x10000001 | (len(code) - at) << 5
    return guest.elf(guest.words(*code) + b".\0\0\0")


def exit_status(variant):
    return TURNS * sum(1 + variant + 3 * loop for loop in range(LOOPS)) & 255


class SharedCacheTest(case.CliTest):
    def start(self, variant):
        environment = {**os.environ, "MYRIARM_CACHE_DIR": str(self.cache), "MYRIARM_CACHE_SIZE": str(LIMIT)}
        arguments = ["run", "--device", "cpu", "--quiet", "--engine", "translate", "--explain"]
        return subprocess.Popen(
            [case.MYRIARM, *arguments, self.programs[variant]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )

    def region_bytes(self):
        return sum(path.stat().st_size for path in self.cache.glob("*.region"))

    def verify(self):
        done = self.myriarm("cache", "verify", "--json")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(json.loads(done.stdout)["damaged"], 0)

    def end(self, process, variant):
        """Waits for a process that nobody kills."""
        written, said = process.communicate()
        self.assertEqual((process.returncode, written), (exit_status(variant), b"." * LOOPS), said)
        self.assertNotIn(b"ignored", said)
        return said

    def test_ten_processes_that_are_killed_at_random(self):
        self.programs = [self.file(f"guest{variant}", program(variant)) for variant in range(4)]
        if b"compiler  " in self.end(self.start(0), 0):
            self.skipTest("nothing is compiled here")
        chance = random.Random(12)
        ended = 0
        for _ in range(ROUNDS):
            running = [(self.start(each % 3), each % 3) for each in range(PROCESSES)]
            for number, (process, variant) in enumerate(running):
                # Somewhere behind so many loops; one of five runs to its end.
                loops = LOOPS if number % 5 == 4 else chance.randrange(LOOPS)
                seen = process.stdout.read(loops)
                self.assertEqual(seen, b"." * len(seen))
                if loops == LOOPS:
                    rest, said = process.communicate()
                    self.assertEqual((seen + rest, process.returncode), (b"." * LOOPS, exit_status(variant)))
                    self.assertNotIn(b"ignored", said)
                    ended += 1
                else:
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
                    self.assertIn(process.returncode, (-signal.SIGKILL, exit_status(variant)))
                # Now and then somebody clears the cache.
                if chance.randrange(12) == 0:
                    self.assertEqual(self.myriarm("cache", "clear").returncode, 0)
            self.verify()
        self.assertEqual(ended, 2 * ROUNDS)
        # Later runs find what there is, and one that adds a file makes room for it. A slow host may end a run
        # before the thread that compiles has done anything.
        for variant in range(3):
            self.end(self.start(variant), variant)
        before = set(self.cache.glob("*.region"))
        while not set(self.cache.glob("*.region")) - before:
            self.end(self.start(3), 3)
        self.verify()
        self.assertLessEqual(self.region_bytes(), LIMIT)


if __name__ == "__main__":
    case.main()
