# SPDX-License-Identifier: Apache-2.0
"""The installed package: its version, its script, and that its names and enumerations are those of the C++
library."""

import importlib.metadata
import os
import pathlib
import subprocess
import sys

import myriarm
import pytest
from myriarm import _core

SOURCE = pathlib.Path(os.environ.get("MYRIARM_SOURCE", pathlib.Path(__file__).parents[2]))
DEVICE = os.environ.get("MYRIARM_TEST_DEVICE", "cpu")
SCRIPT = pathlib.Path(sys.executable).parent / "myriarm"


def script(*arguments):
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, timeout=300)


def test_version_is_that_of_the_header():
    header = (SOURCE / "include" / "myriarm" / "version.h").read_text()
    assert f'"{myriarm.__version__}"' in header
    assert importlib.metadata.version("myriarm") == myriarm.__version__


def test_enums_are_those_of_the_library():
    assert _core.STOP_REASONS == tuple(reason.name for reason in myriarm.StopReason)
    assert _core.FAULT_KINDS == tuple(fault.name for fault in myriarm.FaultKind)
    assert _core.SIGNALS == tuple(signal.name for signal in myriarm.Signal)


def test_types_travel_with_the_package():
    folder = pathlib.Path(myriarm.__file__).parent
    assert (folder / "py.typed").is_file()
    assert (folder / "_core.pyi").is_file()


def test_the_wheel_has_the_package_and_no_more():
    # `cmake --install` installs headers and libraries too; the wheel takes the component `python` alone.
    files = [str(file) for file in importlib.metadata.files("myriarm") if "__pycache__" not in str(file)]
    assert "myriarm/__init__.py" in files
    foreign = [
        name
        for name in files
        if not name.startswith(("myriarm/", "myriarm-")) and name != "../../../bin/myriarm"
    ]
    assert foreign == []
    libraries = [name for name in files if name.endswith((".h", ".a", ".cmake", ".pc")) or ".so." in name]
    assert libraries == []


def test_stub_has_every_name_of_the_module():
    stub = (pathlib.Path(myriarm.__file__).parent / "_core.pyi").read_text()
    for holder in (_core, _core.Fleet, _core.Program, _core.Snapshot):
        for name in vars(holder):
            if not name.startswith("_"):
                assert f" {name}(" in stub or f"\n{name}: " in stub or f"class {name}:" in stub, name


def test_devices_begin_with_the_cpu():
    first = myriarm.devices()[0]
    assert (first.id, first.units > 0, first.memory_bytes > 0) == ("cpu", True, True)
    assert (first.kind, first.ordinal, first.team_lanes) == ("cpu", 0, 1)
    assert myriarm.find_device("cpu").id == "cpu"
    assert myriarm.why_unusable("cpu") == myriarm.why_unusable("auto") == ""
    assert "unknown" in myriarm.why_unusable("nonsense")
    assert "cuda:7654 is not there" in myriarm.why_unusable("cuda:7654")
    with pytest.raises(myriarm.DeviceError, match="cuda:7654 is not there"):
        myriarm.find_device("cuda:7654")
    for call in (myriarm.find_device, myriarm.why_unusable):
        with pytest.raises(myriarm.ArgumentError, match="not int"):
            call(0)


def test_disassemble():
    assert myriarm.disassemble(0x91000400) == "add x0, x0, #0x1"
    assert myriarm.disassemble(0x14000000, pc=0x1000).endswith("0x1000")
    with pytest.raises(myriarm.ArgumentError, match="word"):
        myriarm.disassemble(2**32)


def test_errors_are_what_python_expects():
    assert issubclass(myriarm.ArgumentError, (myriarm.Error, ValueError))
    for name, base in (
        ("ArgumentError", ValueError),
        ("DeviceError", RuntimeError),
        ("StateError", RuntimeError),
    ):
        error = getattr(myriarm, name)
        assert issubclass(error, base) and issubclass(error, myriarm.Error)


def test_script_is_the_command_line():
    ran = script("--version")
    assert ran.returncode == 0, ran.stderr
    assert myriarm.__version__ in ran.stdout


def test_script_runs_a_program():
    program = SOURCE / "examples" / "prebuilt" / "hello"
    ran = script("run", "--device", DEVICE, "--quiet", str(program))
    assert (ran.returncode, ran.stdout) == (0, "hello from lane 0\n"), ran.stderr


@pytest.mark.skipif(
    not (pathlib.Path(myriarm.__file__).parent / "myriarm_translator.so").is_file(),
    reason="built without LLVM",
)
def test_script_finds_the_compiler_of_the_package():
    guest = SOURCE / "examples" / "prebuilt" / "mixed"
    ran = script(
        "run", "--device", "cpu", "--engine", "translate", "--no-cache", "--explain", guest, "7", "1000"
    )
    lines = ran.stderr.splitlines()
    assert any(line.startswith("in compiled code ") for line in lines), ran.stderr
    assert [line for line in lines if line.startswith("compiler ")] == []  # it would say why there is none


def test_module_runs_as_the_script_does():
    ran = subprocess.run(
        [sys.executable, "-m", "myriarm", "--version"], capture_output=True, text=True, timeout=300
    )
    assert (ran.returncode, ran.stdout) == (0, script("--version").stdout)


def test_interpreter_ends_while_a_run_is_in_progress():
    program = (
        "import myriarm\n"
        f"fleet = myriarm.Fleet(b'\\0\\0\\0\\x14', device={DEVICE!r})\n"
        "fleet.start(mode='continuous', instructions_per_batch=1000, on_batch=lambda report: None)\n"
        "assert fleet.is_running()\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert (ran.returncode, ran.stderr) == (0, "")
