# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while processes run, and while a handler written in Python is at work and does not return. In
processes of their own: one that fails never ends."""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

SOURCE = pathlib.Path(os.environ.get("MYRIARM_SOURCE", pathlib.Path(__file__).parents[2]))

PRELUDE = """
    import os, signal, sys, threading
    import myriarm

    CALL = bytes.fromhex("010000d4ffffff17")  # svc #0; b .-4
    fleet = myriarm.Fleet(CALL, lanes=4, device="cpu", memory=1 << 16)

    def interrupt():
        os.kill(os.getpid(), signal.SIGINT)  # Python's main thread raises KeyboardInterrupt
"""

# A process that computes for years.
PROCESS = """
    def process_of(**options):
        arguments = ["1", str(10**15)]
        return myriarm.LinuxFleet(os.environ["PI"], arguments=arguments, lanes=4, device="cpu", **options)

    def run_until_interrupted(process):
        try:
            process.run()
        except KeyboardInterrupt:
            print("caller")
        print(process.is_running())
"""


def lines_of(script):
    text = "".join(textwrap.dedent(part) for part in (PRELUDE, PROCESS, script))
    environment = {**os.environ, "PI": str(SOURCE / "examples" / "prebuilt" / "pi")}
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
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


def test_processes_are_interrupted_and_go_on():
    script = """
        process = process_of()

        def wait_and_interrupt():
            while not process.is_running() or process.poll().instructions == 0:
                pass
            interrupt()

        threading.Thread(target=wait_and_interrupt).start()
        run_until_interrupted(process)
        print(process.fleet.signals.tolist())
        before = process.fleet.instructions.sum()
        print(process.run(1000).stops, process.fleet.instructions.sum() - before)
    """
    assert lines_of(script) == (0, ["caller", "False", "[6, 6, 6, 6]", "{'budget': 4} 4000"], "")


def test_on_call_that_does_not_return_is_interrupted():
    script = """
        def endless(lane, text):
            interrupt()
            try:
                while True:
                    pass
            except KeyboardInterrupt:
                print("on_call")
                raise

        process = myriarm.LinuxFleet(os.environ["PI"], arguments=["1", "1"], device="cpu", on_call=endless)
        run_until_interrupted(process)
    """
    assert lines_of(script) == (0, ["on_call", "caller", "False"], "")
