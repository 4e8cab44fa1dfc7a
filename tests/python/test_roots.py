# SPDX-License-Identifier: Apache-2.0
"""Roots: programs that are in one, and mistakes. tests/roots has dynamic programs and files."""

import os
import pathlib
import shutil

import myriarm
import pytest
from myriarm import ArgumentError, LinuxFleet

SOURCE = pathlib.Path(os.environ.get("MYRIARM_SOURCE", pathlib.Path(__file__).parents[2]))
PREBUILT = SOURCE / "examples" / "prebuilt"


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    (folder / "bin").mkdir(parents=True)
    shutil.copy(PREBUILT / "sha256", folder / "bin" / "sha256")
    return folder


def outputs(program, **options):
    fleet = LinuxFleet(program, device="cpu", **options)
    fleet.run()
    return [fleet.stdout(lane) for lane in range(fleet.lanes)]


def test_a_program_of_the_root_is_found_by_path_or_name(root):
    expected = outputs(PREBUILT / "sha256", stdin=[b"one", b"two"])
    for program in ("/bin/sha256", "sha256", PREBUILT / "sha256"):
        assert outputs(program, root=root, stdin=[b"one", b"two"]) == expected
    assert outputs([("sha256", 1), ("/bin/sha256", 1)], root=str(root), stdin=[b"one", b"two"]) == expected


def test_a_queue_has_a_root(root):
    inputs = [b"one", b"two", b"three"]
    with myriarm.Queue("sha256", root=root, device="cpu", lanes=2) as queue:
        results = list(queue.run(inputs))
    assert [result.stdout for result in results] == outputs("sha256", root=root, stdin=inputs)


def test_mistakes(root):
    with pytest.raises(ArgumentError, match="there is no such program in the root"):
        LinuxFleet("nothing-of-this-name", root=root, device="cpu")
    with pytest.raises(ArgumentError, match="cannot be opened as a root"):
        LinuxFleet("sha256", root=root / "nowhere", device="cpu")
    with pytest.raises(ArgumentError, match="a path must be a str or a Path"):
        LinuxFleet("sha256", root=5, device="cpu")
