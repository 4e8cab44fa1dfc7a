# SPDX-License-Identifier: Apache-2.0
"""The destruction of a fleet by a handler of its own run. Each test runs in a process of its own, because a
mistake there would end the process."""

import subprocess
import sys
import textwrap

PRELUDE = """
    import os, struct, threading
    import numpy as np
    import myriarm

    CODE = struct.pack("<II", 0xD4000001, 0xD4400000)  # svc #0; hlt #0
    inside, go = threading.Event(), threading.Event()

    def count_threads():
        return len(os.listdir("/proc/self/task"))  # with the threads of the library

    def until(condition):
        while not condition():
            os.sched_yield()

    others = count_threads()
"""


def lines_of(script: str) -> list:
    text = textwrap.dedent(PRELUDE) + textwrap.dedent(script)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_a_handler_drops_the_last_reference_to_its_fleet():
    script = """
        def serve(batch):
            inside.set()
            go.wait()

        fleet = myriarm.Fleet(CODE, lanes=4, device="cpu")
        fleet.start(on_syscall=serve)
        inside.wait()
        del fleet
        go.set()
        until(lambda: count_threads() == others)  # the fleet's threads have ended, and so has the fleet
        print("alive")
    """
    assert lines_of(script) == ["alive"]


def test_a_handler_drops_its_fleet_while_an_array_keeps_its_memory():
    script = """
        def serve(batch):
            inside.set()
            go.wait()

        fleet = myriarm.Fleet(CODE, lanes=4, device="cpu", memory_policy="shared")
        memory = np.asarray(fleet.memory)
        fleet.start(on_syscall=serve)
        inside.wait()
        running = count_threads()
        del fleet
        go.set()
        until(lambda: count_threads() == running - 1)  # the thread of the run has ended
        print(bytes(memory[3, :4]).hex())
        del memory
        until(lambda: count_threads() == others)
        print("alive")
    """
    assert lines_of(script) == ["010000d4", "alive"]


def test_a_handler_cannot_close_its_fleet():
    script = """
        def attempt(shared):
            fleet = myriarm.Fleet(CODE, lanes=4, device="cpu", memory_policy="shared")
            memory = np.asarray(fleet.memory) if shared else None

            def serve(batch):
                try:
                    fleet.close()
                except myriarm.StateError:
                    print("refused", fleet.closed)

            fleet.run(on_syscall=serve)
            fleet.close()
            print(fleet.closed)

        attempt(False)
        attempt(True)
    """
    assert lines_of(script) == ["refused False", "True"] * 2


def test_a_fleet_whose_handler_raised_is_collected_without_wait():
    script = """
        import gc, weakref

        def serve(batch):
            raise ValueError("raised")

        fleet = myriarm.Fleet(CODE, lanes=4, device="cpu")
        fleet.start(on_syscall=serve)
        until(lambda: not fleet.is_running())
        alive = weakref.ref(fleet._core)
        del fleet
        gc.collect()
        print(alive() is None)
    """
    assert lines_of(script) == ["True"]
