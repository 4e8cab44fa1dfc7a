# SPDX-License-Identifier: Apache-2.0
"""What the lanes of a LinuxFleet have of their own: arguments, environment, standard input, a file."""

import hashlib
import itertools
import os
import pathlib
import struct

import numpy as np
import pytest
from myriarm import LinuxFleet

SOURCE = pathlib.Path(os.environ.get("MYRIARM_SOURCE", pathlib.Path(__file__).parents[2]))
PREBUILT = SOURCE / "examples" / "prebuilt"
TEXTS = [b"one", b"", b"three" * 1000, b"one"]


def digests(fleet):
    fleet.run()
    return [fleet.stdout(lane).split()[0].decode() for lane in range(fleet.lanes)]


def sha256(texts):
    return [hashlib.sha256(text).hexdigest() for text in texts]


@pytest.mark.parametrize("form", ("list", "tuple", "iterator", "arrays", "offsets", "small offsets"))
def test_an_input_for_each_lane(device, form):
    joined, ends = b"".join(TEXTS), np.cumsum([0, *map(len, TEXTS)])
    stdin = {
        "list": list(TEXTS),
        "tuple": tuple(TEXTS),
        "iterator": iter(TEXTS),
        "arrays": [np.frombuffer(text, np.uint8) for text in TEXTS],
        "offsets": (joined, ends),
        "small offsets": (np.frombuffer(joined, np.uint8), ends.astype(np.uint16)),
    }[form]
    with LinuxFleet(PREBUILT / "sha256", stdin=stdin, device=device) as fleet:
        assert fleet.lanes == 4
        assert digests(fleet) == sha256(TEXTS)


def test_rows_of_an_array(device):
    rows = np.random.default_rng(1).integers(0, 256, (40, 100), dtype=np.uint8)
    with LinuxFleet(PREBUILT / "sha256", stdin=rows, device=device) as fleet:
        rows[:] = 0  # the fleet has a copy
        rows = np.random.default_rng(1).integers(0, 256, (40, 100), dtype=np.uint8)
        assert digests(fleet) == sha256(row.tobytes() for row in rows)
    with LinuxFleet(PREBUILT / "sha256", stdin=rows[::2, ::2], device=device) as fleet:
        assert digests(fleet) == sha256(row.tobytes() for row in rows[::2, ::2])


def test_an_endless_iterator(device):
    numbers = (b"%d" % i for i in itertools.count())
    with LinuxFleet(PREBUILT / "sha256", stdin=numbers, lanes=5, device=device) as fleet:
        assert digests(fleet) == sha256(b"%d" % i for i in range(5))
    assert next(numbers) == b"5"


def words_of(fleet, lane):
    """argv of a process that has not run."""
    fleet = fleet.fleet
    count = fleet.read(fleet.sp[lane], 8, lanes=lane).view(np.uint64).item()
    addresses = fleet.read(fleet.sp[lane] + 8, 8 * count, lanes=lane).view(np.uint64).reshape(-1).tolist()
    return [fleet.read(address, 64, lanes=lane).tobytes().split(b"\0")[0] for address in addresses]


def test_arguments_and_environment_of_each_lane(device):
    environment = [{"N": str(lane)} if lane % 2 else [f"N={lane}", "M="] for lane in range(35)]
    arguments = [["x"] * (lane % 3) + [str(lane)] for lane in range(35)]
    with LinuxFleet(PREBUILT / "hello", arguments=arguments, environment=environment, device=device) as fleet:
        path = os.fsencode(PREBUILT / "hello")
        for lane in (0, 1, 2, 34):
            assert words_of(fleet, lane)[1:] == [word.encode() for word in arguments[lane]]
            assert words_of(fleet, lane)[0] == path[:64]
        fleet.run()
        assert [fleet.stdout(lane) for lane in (0, 34)] == [b"hello from lane 0\n", b"hello from lane 34\n"]


def test_a_sweep_by_arguments(device):
    boards = [["0", str(size)] for size in (4, 5, 6, 7)]
    with LinuxFleet(PREBUILT / "queens", arguments=boards, device=device) as fleet:
        fleet.run()
        assert [int(fleet.stdout(lane).split()[2]) for lane in range(4)] == [2, 10, 4, 40]


def program_of_files():
    """It opens the file that its last argument names, and copies it to standard output."""
    source = (SOURCE / "tests" / "cli" / "guest.py").read_text()
    guest = {"struct": struct}
    exec(source, guest)
    return guest["elf"](guest["CAT"])


def test_a_file_for_each_lane(device):
    program = program_of_files()
    with LinuxFleet(program, arguments=["-v", "@@"], file=TEXTS, device=device) as fleet:
        assert fleet.run().stops == {"exited": 4}
        assert [fleet.stdout(lane) for lane in range(4)] == TEXTS
        assert fleet.unimplemented == {}
    with LinuxFleet(program, arguments=["@@"], file=b"for all", lanes=3, device=device) as fleet:
        fleet.run()
        assert [fleet.stdout(lane) for lane in range(3)] == [b"for all"] * 3
    with LinuxFleet(program, arguments=["@@"], device=device, keep_memory=True) as fleet:
        fleet.run()
        assert fleet.outcomes[0].exit_status == 38, "ENOSYS: without a file there are no paths"
        (name, call), *others = fleet.unimplemented.items()
        assert (name, call.calls, call.lane, others) == ("openat", 1, 0, [])
        assert call.call == 'openat(AT_FDCWD, "@@", O_RDONLY) = -1 ENOSYS (Function not implemented)'
        assert fleet.fleet.read(call.pc, 4).tobytes().hex() == "010000d4", "svc #0"
