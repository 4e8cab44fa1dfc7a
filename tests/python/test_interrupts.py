# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while a handler written in Python is at work and does not return. In processes of their own: one
that fails never ends."""

import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
    import os, signal, sys, threading
    import myriarm

    CALL = bytes.fromhex("010000d4ffffff17")  # svc #0; b .-4
    fleet = myriarm.Fleet(CALL, lanes=4, device="cpu", memory=1 << 16)

    def interrupt():
        os.kill(os.getpid(), signal.SIGINT)  # Python's main thread raises KeyboardInterrupt
"""


def lines_of(script):
    text = textwrap.dedent(PRELUDE) + textwrap.dedent(script)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout.split("\n")[:-1], done.stderr


@pytest.mark.parametrize(
    "run", ["run(on_syscall=endless)", "run_continuous(on_batch=endless, max_batches=9)"]
)
def test_a_handler_that_does_not_return_is_interrupted(run):
    script = f"""
        def endless(report):
            interrupt()
            try:
                while True:
                    pass
            except BaseException as error:
                print("handler:", type(error).__name__, flush=True)
                raise

        try:
            fleet.{run}
        except KeyboardInterrupt as error:
            print("caller: KeyboardInterrupt", error.__context__)
        print(fleet.is_running())
        print(fleet.stops["reason"].tolist())
    """
    status, lines, stderr = lines_of(script)
    assert (status, stderr) == (0, "")
    assert lines == ["handler: KeyboardInterrupt", "caller: KeyboardInterrupt None", "False", "[2, 2, 2, 2]"]


def test_a_handler_that_goes_on_is_interrupted_by_the_next_ctrl_c():
    script = """
        def endless(batch):
            for attempt in range(3):
                interrupt()
                try:
                    while True:
                        pass
                except KeyboardInterrupt:
                    print("attempt", attempt, flush=True)

        try:
            fleet.run(on_syscall=endless)
        except KeyboardInterrupt:
            print("caller")
    """
    assert lines_of(script) == (0, ["attempt 0", "attempt 1", "attempt 2", "caller"], "")


def test_an_interrupt_of_another_kind_reaches_the_handler_as_it_is():
    script = """
        class TimeIsUp(Exception):
            pass

        def stop(number, frame):
            raise TimeIsUp

        signal.signal(signal.SIGALRM, stop)

        def endless(batch):
            signal.raise_signal(signal.SIGALRM)
            try:
                while True:
                    pass
            except TimeIsUp:
                print("handler")
                raise

        try:
            fleet.run(on_syscall=endless)
        except TimeIsUp:
            print("caller")
    """
    assert lines_of(script) == (0, ["handler", "caller"], "")


def test_the_end_of_the_interpreter_waits_for_a_handler_until_ctrl_c():
    script = """
        inside = threading.Event()

        def endless(batch):
            inside.set()
            while not ended.is_set():
                pass
            interrupt()
            try:
                while True:
                    pass
            except KeyboardInterrupt:
                print("handler")
                raise

        import atexit
        ended = threading.Event()
        fleet.start(on_syscall=endless)
        inside.wait()
        atexit.register(ended.set)  # called before myriarm's, which closes the fleet
    """
    assert lines_of(script) == (0, ["handler"], "")
