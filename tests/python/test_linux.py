# SPDX-License-Identifier: Apache-2.0
"""Linux processes in the lanes: what the prebuilt programs of examples/ print, and how they end."""

import hashlib
import os
import pathlib

import myriarm
import numpy as np
import pytest
from myriarm import ArgumentError, FaultKind, LinuxFleet, StateError, StopReason

SOURCE = pathlib.Path(os.environ.get("MYRIARM_SOURCE", pathlib.Path(__file__).parents[2]))
PREBUILT = SOURCE / "examples" / "prebuilt"


@pytest.fixture
def process(device):
    made = []

    def make(name, **options):
        options.setdefault("device", device)
        made.append(LinuxFleet(PREBUILT / name if isinstance(name, str) else name, **options))
        return made[-1]

    yield make
    for fleet in made:
        fleet.close()


def steps_of(number):
    steps = 0
    while number != 1:
        number = 3 * number + 1 if number & 1 else number // 2
        steps += 1
    return steps


def test_every_lane_prints_its_number(process):
    fleet = process("hello", lanes=40)
    result = fleet.run()
    assert result.stops == {"exited": 40}
    assert (result.signal_name, result.stopped, result.lanes_left) == ("HALT", 40, 0)
    assert result.instructions == fleet.fleet.instructions.sum() > 0
    assert [fleet.stdout(lane) for lane in range(40)] == [
        b"hello from lane %d\n" % lane for lane in range(40)
    ]
    assert fleet.stdout() == fleet.stdout(0)
    assert not any(fleet.stderr(lane) for lane in range(40))
    assert len(fleet) == fleet.lanes == 40
    for stop, status, signal in fleet.outcomes:
        assert (stop.reason, status, signal) == (StopReason.exited, 0, 0)
    assert fleet.unimplemented == {}


def test_lanes_compute_different_things(process):
    fleet = process("collatz", lanes=5)
    fleet.run()
    for lane in range(5):
        steps, start = max((steps_of(n), -n) for n in range(lane * 500 + 1, (lane + 1) * 500 + 1))
        assert fleet.stdout(lane).startswith(b"lane %d: %d takes %d steps," % (lane, -start, steps))


def test_arguments(process):
    fleet = process("queens", arguments=("0", "6"), lanes=2)
    fleet.run()
    assert fleet.stdout(1) == b"6 queens: 4 solutions\n"


def test_arguments_are_bytes_of_the_system(process):
    """As in sys.argv and subprocess: what is not UTF-8 is a lone surrogate in a str."""
    fleet = process("hello", arguments=["a\udcffb", "ü"], environment={"N": "\udcfe"}).fleet
    stack = fleet.sp[0]
    count, _, first, second, end, name = fleet.read(stack, 48).view(np.uint64)[0].tolist()
    assert (count, end) == (3, 0)
    for address, text in ((first, b"a\xffb\0"), (second, "ü\0".encode()), (name, b"N=\xfe\0")):
        assert fleet.read(address, len(text)).tobytes() == text


def test_a_program_whose_path_is_not_text(process, tmp_path):
    path = os.fsencode(tmp_path) + b"/hello\xff"
    with open(path, "wb") as file:
        file.write((PREBUILT / "hello").read_bytes())
    fleet = process(os.fsdecode(path))
    fleet.run()
    assert fleet.stdout() == b"hello from lane 0\n"


def test_environment_of_the_caller(process):
    """MYRIARM_LANE of the caller's environment does not replace the lane's own."""
    for environment in (["MYRIARM_LANE=77", "A=b"], {"PATH": "/bin", "EMPTY": "", "MYRIARM_LANE": "77"}):
        fleet = process("hello", environment=environment, lanes=2)
        fleet.run()
        assert fleet.stdout(1) == b"hello from lane 1\n"


@pytest.mark.parametrize("stdin", (b"", b"abc", bytes(range(256)) * 40), ids=len)
def test_every_lane_reads_stdin(process, stdin):
    for data in (stdin, bytearray(stdin), np.frombuffer(stdin, np.uint8)):
        fleet = process("sha256", stdin=data, lanes=3)
        fleet.run()
        for lane in range(3):
            assert fleet.stdout(lane).split()[0].decode() == hashlib.sha256(stdin).hexdigest()


@pytest.mark.parametrize(
    ("kind", "reason", "signal"),
    (
        ("null", StopReason.fault, 11),
        ("readonly", StopReason.fault, 11),
        ("undefined", StopReason.undefined, 4),
    ),
)
def test_processes_that_die(process, kind, reason, signal):
    fleet = process("fault", arguments=[kind], lanes=2)
    result = fleet.run()
    assert result.stops == {reason.name: 2}
    for lane, outcome in enumerate(fleet.outcomes):
        assert (outcome.stop.reason, outcome.exit_status, outcome.signal) == (reason, -1, signal)
        assert fleet.stdout(lane) == b"lane %d: %s\n" % (lane, kind.encode())


def test_some_lanes_die(process):
    fleet = process("fault", arguments=["some"], lanes=16)
    assert fleet.run().stops == {"exited": 14, "fault": 2}
    assert [outcome.signal for outcome in fleet.outcomes] == ([0] * 7 + [11]) * 2
    assert [outcome.exit_status for outcome in fleet.outcomes] == ([0] * 7 + [-1]) * 2


def test_bytes_of_an_elf_file(process):
    fleet = process((PREBUILT / "hello").read_bytes())
    fleet.run()
    assert fleet.stdout() == b"hello from lane 0\n"


def test_instructions_by_pieces(process):
    whole = process("collatz", lanes=3)
    total = whole.run()
    fleet = process("collatz", lanes=3)
    pieces = [fleet.run(100_000)]
    assert (pieces[0].stops, pieces[0].lanes_left) == ({"budget": 3}, 3)
    assert fleet.fleet.instructions.tolist() == [100_000] * 3
    assert fleet.outcomes[0].exit_status == -1
    while pieces[-1].lanes_left:
        pieces.append(fleet.run(100_000))
        assert len(pieces) < 1000
    assert [piece.lanes_left for piece in pieces] == [3, 3, 2, 0]
    assert sum(piece.instructions for piece in pieces) == total.instructions
    np.testing.assert_array_equal(fleet.fleet.instructions, whole.fleet.instructions)
    np.testing.assert_array_equal(fleet.fleet.x, whole.fleet.x)
    assert [fleet.stdout(lane) for lane in range(3)] == [whole.stdout(lane) for lane in range(3)]


def test_budget_of_one_run_is_not_that_of_the_next(process):
    fleet = process("hello", lanes=3)
    assert fleet.run(100).stops == {"budget": 3}
    assert fleet.fleet.limit.tolist() == [2**64 - 1] * 3
    fleet.fleet.limit[1] = 150
    result = fleet.run(100)
    assert fleet.fleet.instructions.tolist() == [200, 150, 200]
    assert (result.instructions, result.lanes_left) == (250, 2)
    assert fleet.run().stops == {"exited": 2, "budget": 1}
    assert fleet.fleet.instructions[1] == 150
    fleet.fleet.limit[1] = 10**9
    assert fleet.run().stops == {"exited": 1}
    with pytest.raises(ArgumentError, match="-1"):
        fleet.run(-1)


def test_cancel_ends_the_next_run_only(process):
    fleet = process("hello", lanes=2)
    fleet.cancel()
    assert fleet.run().stops == {"cancelled": 2}
    assert fleet.run().stops == {"exited": 2}


def test_runs_are_the_same_again(process):
    runs = []
    for _ in range(2):
        fleet = process("mandelbrot", lanes=33, seed=5)
        runs.append((fleet.run().instructions, [fleet.stdout(lane) for lane in range(33)]))
    assert runs[0] == runs[1]


def test_lanes_that_are_not_there(process):
    fleet = process("hello", lanes=2)
    for lane in (-1, 2):
        with pytest.raises(ArgumentError, match=str(lane)):
            fleet.stdout(lane)
        with pytest.raises(ArgumentError, match=str(lane)):
            fleet.stderr(lane)


def test_use_after_close(process):
    with process("hello") as fleet:
        fleet.run()
    assert fleet.closed and "closed" in repr(fleet)
    for call in (
        fleet.run,
        fleet.cancel,
        fleet.__enter__,
        lambda: fleet.outcomes,
        fleet.stdout,
        fleet.stderr,
    ):
        with pytest.raises(StateError, match="closed"):
            call()


def test_no_process_in_a_plain_fleet(make_fleet):
    fleet = make_fleet(myriarm.Program.elf(PREBUILT / "hello"), lanes=2)
    # It has no stack: the first push is outside the window.
    assert fleet.run(10_000).stops == {"fault": 2}
    assert (fleet.stops["fault"] == FaultKind.unmapped).all()


def test_programs_side_by_side(process):
    """Each lane is as in a fleet of its program alone."""
    placed = [(PREBUILT / "hello", 64), (PREBUILT / "sha256", 3), (PREBUILT / "queens", 2)]
    texts = [b"%d" % lane for lane in range(69)]
    both = process(placed, stdin=texts, seed=4)
    assert both.run().stops == {"exited": 69}
    for program, lanes in (("hello", range(64)), ("sha256", range(64, 67)), ("queens", range(67, 69))):
        alone = process(program, stdin=texts, seed=4)
        alone.run()
        for lane in lanes:
            assert both.stdout(lane) == alone.stdout(lane)
            assert both.outcomes[lane] == alone.outcomes[lane]
            assert both.fleet.instructions[lane] == alone.fleet.instructions[lane]
    assert both.stdout(65) == hashlib.sha256(b"65").hexdigest().encode() + b"  -\n"
    words = [[]] * 64 + [[]] * 3 + [["0", "6"], ["0", "5"]]
    each = process(placed, arguments=words, stdin=b"abc", lanes=69)
    each.run()
    assert each.stdout(67) == b"6 queens: 4 solutions\n"
    assert each.stdout(66).startswith(b"ba7816bf")
    given = process([((PREBUILT / "hello").read_bytes(), 1)])
    given.run()
    assert given.stdout() == b"hello from lane 0\n"


@pytest.mark.parametrize(
    ("program", "options", "says"),
    (
        ([], {}, "program is an empty list"),
        ([PREBUILT / "hello"], {}, r"program\[0\] must be a pair \(program, lanes\), not"),
        ([(PREBUILT / "hello", 0)], {}, r"the lanes of program\[0\]"),
        ([(PREBUILT / "hello", 64)], {"lanes": 32}, "program is for 64 lanes and lanes for 32"),
        ([(PREBUILT / "hello", 64)], {"stdin": [b"a"]}, "stdin is for 1 lanes and program for 64"),
        ([(PREBUILT / "hello", 64)] * 2, {"fork_after": "read"}, "several programs have no part in common"),
    ),
)
def test_mistakes_of_several_programs(process, program, options, says):
    with pytest.raises(ArgumentError, match=says):
        process(program, **options)
