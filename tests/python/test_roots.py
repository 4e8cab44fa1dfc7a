# SPDX-License-Identifier: Apache-2.0
"""Roots: programs that are in one, and mistakes. tests/roots has dynamic programs and files."""

import os
import pathlib
import shutil
import stat

import a64
import myriarm
import pytest
from myriarm import ArgumentError, LinuxFleet, StateError

SOURCE = pathlib.Path(os.environ.get("MYRIARM_SOURCE", pathlib.Path(__file__).parents[2]))
PREBUILT = SOURCE / "examples" / "prebuilt"


BUFFER, NAME = a64.ELF_BASE + 0x10000, a64.ELF_BASE + 0x11000


def call(number, *arguments):
    """The instructions of a system call; an argument is a number, or None for what is in its register."""
    words = []
    for register, value in enumerate(arguments):
        words += a64.mov64(register, value & (1 << 64) - 1) if value is not None else []
    return [*words, a64.movz(8, number), a64.svc()]


def writer(path):
    """A program that writes its standard input, at most 64 bytes, to a file of a path of 8 letters. It exits
    with the error of open(), or 0."""
    name = int.from_bytes(path.encode(), "little")
    openat, read, write, leave = 56, 63, 64, 94
    return a64.elf(
        *a64.mov64(1, NAME),
        *a64.mov64(0, name),
        a64.str_(0, 1),
        *call(read, 0, BUFFER, 64),
        a64.orr(9, a64.XZR, 0),
        *call(openat, -100, NAME, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o640),
        a64.subs_imm(a64.XZR, 0, 100),
        a64.b_cond(a64.HI, 4 * 14),
        a64.orr(2, a64.XZR, 9),
        *call(write, None, BUFFER),
        *call(leave, 0),
        a64.sub(0, a64.XZR, 0),
        *call(leave),
    )


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    (folder / "bin").mkdir(parents=True)
    shutil.copy(PREBUILT / "sha256", folder / "bin" / "sha256")
    return folder


def outputs(program, device, **options):
    fleet = LinuxFleet(program, device=device, **options)
    fleet.run()
    return [fleet.stdout(lane) for lane in range(fleet.lanes)]


def test_a_program_of_the_root_is_found_by_path_or_name(root, device):
    expected = outputs(PREBUILT / "sha256", device, stdin=[b"one", b"two"])
    for program in ("/bin/sha256", "sha256", PREBUILT / "sha256"):
        assert outputs(program, device, root=root, stdin=[b"one", b"two"]) == expected
    if device == "cpu":  # elsewhere each program but the last has whole teams
        programs = [("sha256", 1), ("/bin/sha256", 1)]
        assert outputs(programs, device, root=str(root), stdin=[b"one", b"two"]) == expected


def test_a_script_of_the_root_begins_with_its_interpreter(root, device):
    words = [b"/bin/show", b"-a b", b"/bin/script", b"one"]
    size = sum(len(word) + 1 for word in words)
    (root / "bin" / "show").write_bytes(a64.elf(a64.ldr(1, 31, 8), *call(64, 1, None, size), *call(94, 0)))
    (root / "bin" / "script").write_text("#!/bin/show -a b \necho\n")
    for name in ("show", "script"):
        (root / "bin" / name).chmod(0o755)
    expected = b"".join(word + bytes(1) for word in words)
    assert outputs("/bin/script", device, root=root, arguments=["one"]) == [expected]
    assert outputs("/bin/script", device, root=root, arguments=[["one"], ["one"]]) == [expected] * 2
    with pytest.raises(ArgumentError):  # without a root there is no interpreter
        outputs(root / "bin" / "script", device, arguments=["one"])
    with myriarm.Queue("script", root=root, device=device, lanes=2, arguments=["one"]) as queue:
        results = list(queue.run([b"", {"arguments": ["one"]}]))
    assert [result.stdout for result in results] == [expected] * 2
    with myriarm.MultiDeviceQueue("script", root=root, devices=[device], arguments=["one"]) as queue:
        assert [result.stdout for result in queue.run([b""])] == [expected]


def test_a_queue_has_a_root(root, device):
    inputs = [b"one", b"two", b"three"]
    with myriarm.Queue("sha256", root=root, device=device, lanes=2) as queue:
        results = list(queue.run(inputs))
    assert [result.stdout for result in results] == outputs("sha256", device, root=root, stdin=inputs)


def test_each_lane_has_the_files_that_it_writes(root, device):
    inputs = [b"one", b"two"]
    with LinuxFleet(writer("/tmp/out"), root=root, device=device, stdin=inputs, keep_files=True) as fleet:
        fleet.run()
        assert [outcome.exit_status for outcome in fleet.outcomes] == [0, 0]
        for lane, data in enumerate(inputs):
            (file,) = fleet.collect(lane, "/tmp/out")
            assert (file.path, file.data, stat.S_IMODE(file.mode)) == ("/tmp/out", data, 0o640)
            assert [found.path for found in fleet.collect(lane, "/tmp")] == ["/tmp", "/tmp/out"]
        assert fleet.collect(0, "/tmp/out", most_bytes=2)[0].data is None
        assert fleet.collect(0, "/none") == []
        with pytest.raises(ArgumentError):
            fleet.collect(2, "/")
    assert not (root / "tmp").exists()
    with LinuxFleet(writer("/tmp/out"), device=device) as fleet, pytest.raises(StateError):
        fleet.collect(0, "/")


def test_a_queue_gives_files_with_results(root, device):
    with myriarm.Queue(writer("/tmp/out"), root=root, device=device, lanes=2, collect=["/tmp/out"]) as queue:
        results = list(queue.run([b"one", b"two", b"three"]))
    assert [[file.data for file in result.files] for result in results] == [[b"one"], [b"two"], [b"three"]]


def test_where_a_program_may_write(root, tmp_path, device):
    bound = tmp_path / "bound"
    bound.mkdir()
    read_only, denied = 30, 13
    for options, path, status in (
        ({"binds": [(bound, "/w", "rw")]}, "/w/./new", 0),
        ({"binds": [(bound, "/w")]}, "/w/./new", denied),
        ({"binds": [(bound, "/w", "rw")], "cwd": "/w"}, "./././f", 0),
        ({"binds": [(bound, "/w", "rw")], "file_bytes": 0}, "/w/./new", read_only),
    ):
        with LinuxFleet(writer(path), root=root, device=device, stdin=b"x", **options) as fleet:
            fleet.run()
            assert fleet.outcomes[0].exit_status == status, (options, path)
    assert list(bound.iterdir()) == [], "nothing is written to the host"


def test_mistakes(root, device):
    with pytest.raises(ArgumentError, match="there is no such program in the root"):
        LinuxFleet("nothing-of-this-name", root=root, device=device)
    with pytest.raises(ArgumentError, match="cannot be opened as a root"):
        LinuxFleet("sha256", root=root / "nowhere", device=device)
    with pytest.raises(ArgumentError, match="a path must be a str or a Path"):
        LinuxFleet("sha256", root=5, device=device)
    with pytest.raises(ArgumentError):
        LinuxFleet("sha256", root=root, binds=[(root, "/w", "rx")], device=device)
    with pytest.raises(ArgumentError):
        LinuxFleet("sha256", root=root, cwd="/nowhere", device=device)
