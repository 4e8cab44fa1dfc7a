# SPDX-License-Identifier: Apache-2.0
"""Processes that fork() after myriarm has run: what the child may do, and what it is told. In processes of
their own; a child that hangs is ended by its alarm, and its parent then says so."""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

SOURCE = pathlib.Path(os.environ.get("MYRIARM_SOURCE", pathlib.Path(__file__).parents[2]))
PREBUILT = SOURCE / "examples" / "prebuilt"
HELLO = PREBUILT / "hello"

PRELUDE = """
    import gc, os, pathlib, signal, sys
    import myriarm
    from myriarm import Fleet, LinuxFleet, Machine

    COUNT = bytes.fromhex("00040091ffffff17")  # add x0, x0, #1; b .-4
    CALL = bytes.fromhex("010000d4000040d4")  # svc #0; hlt #0

    def fleet_of(lanes=64, program=COUNT, **options):
        return Fleet(program, lanes=lanes, device="cpu", threads=3, memory=1 << 16, **options)

    def child(work):
        \"\"\"The exit status of a child that does `work` and exits as a program does; negative: the signal
        that ended it, its alarm if it hung.\"\"\"
        pid = os.fork()
        if pid == 0:
            signal.alarm(60)
            work()
            sys.exit(7)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def refusal(call):
        try:
            return f"nothing was raised: {call()!r}"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
"""


def lines_of(script, **environment):
    text = textwrap.dedent(PRELUDE) + textwrap.dedent(script)
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", text],
        capture_output=True,
        text=True,
        timeout=180,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize("state", ["idle", "running", "waited for by a thread", "snapshot", "shared array"])
def test_a_child_exits_normally(state):
    script = f"""
        state = {state!r}
        import threading
        import numpy as np
        fleet = fleet_of(memory_policy="shared" if state == "shared array" else "private")
        fleet.run(100_000)
        if state == "snapshot":
            kept = fleet.snapshot()
        if state == "shared array":
            kept = np.asarray(fleet.memory)
        if state == "running":
            fleet.start()
        if "thread" in state:
            thread = threading.Thread(target=fleet.run)
            thread.start()
            while not fleet.is_running():
                os.sched_yield()
        print(child(lambda: None))
        if state == "running" or "thread" in state:
            fleet.cancel()
        if state == "running":
            fleet.wait()
        if "thread" in state:
            thread.join()
        print(fleet.run(1000).stops)
    """
    assert lines_of(script) == ["7", "{'budget': 64}"]


def test_a_child_may_drop_and_close_what_it_inherits():
    script = """
        fleet = fleet_of()
        fleet.run(100_000)
        kept = fleet.snapshot()

        def work():
            global fleet, kept
            with fleet:
                fleet.close()
            print(fleet, fleet.closed, flush=True)
            del kept, fleet
            gc.collect()

        print(child(work), fleet.run(1000).instructions)
    """
    assert lines_of(script) == ["<Fleet, made by the parent process> False", "7 64000"]


def test_every_use_of_an_inherited_fleet_is_refused_with_one_sentence():
    script = """
        fleet = fleet_of()
        fleet.run(100_000)
        kept = fleet.snapshot()
        hello = pathlib.Path(os.environ["HELLO"])
        process = LinuxFleet(hello, lanes=8, device="cpu", threads=3)
        process.run()
        machine = Machine(COUNT, device="cpu")
        machine.run(10)

        def work():
            calls = [
                fleet.run,
                fleet.start,
                fleet.wait,
                fleet.poll,
                fleet.poll_lanes,
                fleet.is_running,
                fleet.cancel,
                lambda: fleet.x[0, 0],
                lambda: fleet.x.__setitem__((0, 0), 1),
                lambda: fleet.fill("x0", 1),
                lambda: fleet.stops,
                fleet.resume,
                lambda: fleet.read(0, 4),
                lambda: fleet.write(0, b"abcd"),
                lambda: fleet.map(0, 4096),
                lambda: fleet.memory_begin,
                lambda: fleet.pool_used,
                fleet.snapshot,
                lambda: fleet.restore(kept),
                lambda: kept.lanes,
                lambda: fleet.fork(0, [1]),
                lambda: fleet.device,
                lambda: machine.pc,
                machine.run,
                process.run,
                process.cancel,
                process.stdout,
                lambda: process.outcomes,
                lambda: process.unimplemented,
                lambda: process.fleet.x[0, 0],
            ]
            for line in sorted({refusal(call) for call in calls}):
                print(line, flush=True)

        print(child(work))
    """
    refused = (
        "this fleet was made before fork() and stays with the parent process; make a new one in the child"
    )
    assert lines_of(script, HELLO=str(HELLO)) == [f"StateError: {refused}", "7"]


def test_a_child_runs_fleets_of_its_own():
    script = """
        fleet = fleet_of()
        fleet.run(100_000)

        def work():
            own = fleet_of(200)
            result = own.run(5000)
            print(result.stops, result.instructions, int(own.x[199, 0]), flush=True)
            print(child(lambda: print(fleet_of().run(10).instructions, flush=True)), flush=True)
            print(own.run(1).instructions, flush=True)
            own.start()

        print(child(work))
        print(fleet.run(1000).stops)
    """
    assert lines_of(script) == ["{'budget': 200} 1000000 2500", "640", "7", "200", "7", "{'budget': 64}"]


@pytest.mark.parametrize("end, status", [("return", 0), ("sys.exit(5)", 5), ("raise ValueError", 1)])
def test_a_handler_that_forks_goes_on_in_the_parent_alone(end, status):
    script = f"""
        fleet = fleet_of(program=CALL)
        pids = []

        def serve(batch):
            pid = os.fork()
            if pid == 0:
                signal.alarm(60)
                os.close(2)
                {end}
            pids.append(pid)

        print(fleet.run(on_syscall=serve, timeout=1000).stops)
        print(len(pids), os.waitstatus_to_exitcode(os.waitpid(pids[0], 0)[1]))
    """
    assert lines_of(script) == ["{'halt': 64}", f"1 {status}"]


def test_a_signal_handler_that_forks_while_processes_run():
    """The child leaves run() with the error of a fleet that it inherited; the run of the parent goes on."""
    script = """
        import threading
        statuses = []

        def fork(number, frame):
            pid = os.fork()
            if pid == 0:
                signal.alarm(60)
                return
            statuses.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            process.cancel()

        signal.signal(signal.SIGUSR1, fork)
        process = LinuxFleet(os.environ["PI"], arguments=["1", str(10**15)], lanes=4, device="cpu")

        def wait_and_signal():
            while not process.is_running() or process.poll().instructions == 0:
                os.sched_yield()
            os.kill(os.getpid(), signal.SIGUSR1)

        threading.Thread(target=wait_and_signal).start()
        try:
            print(process.run().stops, statuses)
        except myriarm.StateError as error:
            os._exit(5 if "made before fork()" in str(error) else 6)
    """
    assert lines_of(script, PI=str(PREBUILT / "pi")) == ["{'cancelled': 4} [5]"]


POOL = """
    import concurrent.futures, multiprocessing, sys
    import myriarm

    COUNT = bytes.fromhex("00040091ffffff17")

    def work(steps):
        fleet = myriarm.Fleet(COUNT, lanes=40, device="cpu", threads=2, memory=1 << 16)
        return fleet.run(steps).instructions

    if __name__ == "__main__":
        here = work(30)
        context = multiprocessing.get_context(sys.argv[1])
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
            print(here, list(pool.map(work, [10, 20, 30])))
        process = context.Process(target=work, args=(5,))
        process.start()
        process.join()
        print(process.exitcode)
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pools_of_processes(method, tmp_path):
    # In a file: what is spawned imports it.
    file = tmp_path / "pool.py"
    file.write_text(textwrap.dedent(POOL))
    command = [sys.executable, "-W", "ignore::DeprecationWarning", str(file), method]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "1200 [400, 800, 1200]\n0\n"


def test_a_child_cannot_use_cuda(on_cuda):
    script = """
        fleet = Fleet(COUNT, device="auto", lanes=64)
        fleet.run(1000)

        def work():
            print(refusal(lambda: Fleet(COUNT, device="cuda")), flush=True)
            print(Fleet(COUNT).device.id, myriarm.devices()[0].id, len(myriarm.devices()), flush=True)

        print(child(work))
    """
    if not on_cuda:
        lines = lines_of(script.replace('device="auto"', 'device="cpu"'))
        assert lines[0].startswith("DeviceError: device cuda is not there: ")
    else:
        lines = lines_of(script)
        assert lines[0] == (
            "DeviceError: device cuda is not there: this process is a fork() of one that had begun to use"
            " CUDA, and CUDA works in the parent alone (in Python, begin processes with spawn); use cpu or"
            " auto"
        )
    assert lines[1:] == ["cpu cpu 1", "7"]
