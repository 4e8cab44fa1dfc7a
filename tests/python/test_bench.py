# SPDX-License-Identifier: Apache-2.0
"""`myriarm bench`: it measures what it reports, its files are complete, and mistakes give one sentence.

No figure is compared with anything: only counts, results and the shape of what is written.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import types
from pathlib import Path

import myriarm
import pytest
from myriarm.bench import guests, machine, peers, plot, reference, report, runs
from myriarm.bench.__main__ import main

DEVICE = os.environ.get("MYRIARM_TEST_DEVICE", "cpu")
# The time limit is so long that every row has all of its repeats on any machine.
QUICK = ["--quick", "--device", DEVICE, "--repeat", "2", "--max-lanes", "16", "--no-peers"]
QUICK += ["--time-limit", "1e9"]
# A `myriarm bench` whose second row never ends: the fourth measurement, after three of the first row, runs
# without a budget.
SECOND_ROW_IS_ENDLESS = """
import sys
from myriarm.bench import runs
from myriarm.bench.__main__ import main

measure, calls = runs.measure, []

def endless_from_the_fourth(fleet, *arguments):
    calls.append(arguments)
    if len(calls) == 4:
        fleet.run()
    return measure(fleet, *arguments)

runs.measure = endless_from_the_fourth
sys.exit(main(sys.argv[1:]))
"""


def bench(folder: Path, *arguments: str) -> int:
    return main([*QUICK, "--out", str(folder), *arguments])


def saved(folder: Path) -> dict:
    return json.loads((folder / "bench.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The JSON of one quick run without a plot."""
    folder = tmp_path_factory.mktemp("quick")
    assert bench(folder, "--no-plot") == 0
    return saved(folder)


def device_of(myriarm_id: str = "cuda:0", memory: int = 139 << 30, units: int = 132):
    return types.SimpleNamespace(id=myriarm_id, name="a device", memory_bytes=memory, units=units)


class TestQuickRun:
    def test_every_mode_with_every_loop(self, quick):
        measured = {(run["mode"], run["loop"]) for run in quick["runs"]}
        modes = [mode for mode in runs.ALL_MODES if mode != runs.TIERS]
        wanted = {(mode, loop.key) for mode in modes for loop in guests.LOOPS}
        assert measured == wanted - {("read-only", "store"), ("kvrm-v1", "store")}

    def test_counts_are_exact_and_times_are_there(self, quick):
        for run in quick["runs"]:
            assert "error" not in run
            assert run["instructions"] == run["instructions_per_lane"] * run["lanes"]
            if run["mode"] != "lanes":
                assert (run["instructions"], run["lanes"]) == (1_000_000, 1)
            assert len(run["seconds"]) == len(run["engine_seconds"]) == 2
            assert 0 < run["seconds_min"] <= run["seconds_median"] <= run["seconds_max"]
            assert run["ips"] == pytest.approx(run["instructions"] / run["seconds_median"])
            assert run["ips_min"] <= run["ips"] <= run["ips_max"]

    def test_a_wrong_count_is_seen(self):
        def run(fleet, instructions):
            result = fleet.run(instructions + 2)
            fleet.x[:, 0] = guests.LOOPS[0].expected_x0(instructions)
            return runs.Sample(1.0, result)

        program = myriarm.Program.raw(guests.LOOPS[0].code)
        with myriarm.Fleet(program, device=DEVICE) as fleet:
            with pytest.raises(runs.WrongResult, match="instructions is 102, not 100"):
                runs.measure(fleet, guests.LOOPS[0], run, 100)

    def test_the_engine_does_what_the_mode_says(self, quick):
        policies = {"read-only": "read-only", "transactional": "transactional", "standard": "shared"}
        policies.update({name: chosen.memory_policy for name, chosen in runs.KVRM.items()})
        for run in quick["runs"]:
            mode = run["mode"]
            assert run["batches"] == (10 if mode.endswith(("continuous", "self-dispatch")) else 1), mode
            assert run["memory_policy"] == policies.get(mode, "private")
            assert ("start_seconds" in run) == mode.endswith("async")
            if mode.endswith("async"):
                assert len(run["start_seconds"]) == len(run["polls"]) == 2
                assert all(start < whole for start, whole in zip(run["start_seconds"], run["seconds"]))

    def test_lanes_are_powers_of_four(self, quick):
        for loop in guests.LOOPS:
            rows = [run for run in quick["runs"] if (run["mode"], run["loop"]) == ("lanes", loop.key)]
            assert [run["lanes"] for run in rows] == [1, 4, 16]
            assert all(run["instructions_per_lane"] >= runs.LEAST_INSTRUCTIONS for run in rows)

    def test_what_it_ran_on(self, quick):
        assert quick["schema"] == report.SCHEMA
        assert quick["state"] == "finished"
        found = quick["machine"]
        assert found["myriarm"] == myriarm.__version__
        assert found["cpu_threads"] >= 1
        assert [device["id"] for device in found["devices"]] == [device.id for device in myriarm.devices()]
        used = quick["settings"]["devices"]
        assert {run["device"] for run in quick["runs"]} == set(used)
        assert used[0].startswith(DEVICE.split(":")[0])

    def test_published_figures_are_beside(self, quick):
        by_mode = {(run["mode"], run["loop"]): run.get("published_ips") for run in quick["runs"]}
        assert by_mode["standard", "add"] == 2.1e6
        assert by_mode["continuous", "store"] == 2.1e6
        assert by_mode["async", "add"] == 3.5e6
        assert by_mode["self-dispatch", "add"] is None
        assert {entry["key"] for entry in quick["reference"]} >= {"v1", "v2", "standard", "async", "mega"}


class TestOutput:
    def test_the_table_is_aligned(self, tmp_path, capsys):
        assert bench(tmp_path, "--no-plot", "--modes", "run,mega,async,lanes") == 0
        captured = capsys.readouterr()
        assert captured.err == ""  # not a terminal: no progress
        lines = captured.out.splitlines()
        for heading in [n for n, line in enumerate(lines) if line.startswith("loop ")]:
            rows = lines[heading + 1 : lines.index("", heading)]
            assert rows
            for row in rows:
                assert re.search(r"\d [KMGT] IPS", row), row
                assert len(row) == len(lines[heading]), row
                for column in list(re.finditer(r"\S+(?: \S+)*", lines[heading]))[2:]:  # to the right
                    assert row[column.end() - 1] != " ", row
                    assert row[column.end() : column.end() + 1] in ("", " "), row
        assert any(line.startswith("async: start() returned after ") for line in lines)
        assert lines[-1] == f"wrote {tmp_path / 'bench.json'}"

    def test_json_on_stdout_is_the_file_and_nothing_else(self, tmp_path, capsys):
        assert bench(tmp_path, "--no-plot", "--json", "--modes", "run") == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        assert json.loads(captured.out) == saved(tmp_path)

    def test_plots_are_files_of_their_kind(self, tmp_path, capsys):
        pytest.importorskip("matplotlib")
        assert bench(tmp_path, "--modes", "run,async,lanes") == 0
        assert (tmp_path / "bench.png").read_bytes().startswith(b"\x89PNG")
        svg = (tmp_path / "bench.svg").read_text(encoding="utf-8")
        assert svg.startswith("<?xml")
        assert svg.rstrip().endswith("</svg>")
        assert "bench.svg" in capsys.readouterr().out

    def test_without_matplotlib_one_line_says_so(self, tmp_path, capsys, monkeypatch):
        for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        assert bench(tmp_path, "--modes", "run") == 0
        errors = capsys.readouterr().err
        assert "matplotlib is not installed" in errors
        assert errors.count("\n") == 1
        assert sorted(path.name for path in tmp_path.iterdir()) == ["bench.json"]

    def test_with_an_old_matplotlib_one_line_says_so(self, tmp_path, capsys, monkeypatch):
        matplotlib = pytest.importorskip("matplotlib")
        monkeypatch.setattr(matplotlib, "__version_info__", (3, 5, 9))
        assert bench(tmp_path, "--modes", "run") == 0
        errors = capsys.readouterr().err
        assert "older than 3.6" in errors
        assert errors.count("\n") == 1

    def test_a_plot_of_everything(self, tmp_path, quick):
        pytest.importorskip("matplotlib")
        for n, name in enumerate(plot.PEERS):
            for ips in (1e4 * 3**n, 1.1e4 * 3**n):  # close together, like the figures of two devices
                peer = peers.Peer(name, "1", "add", "", DEVICE, int(ips), [1.0])
                quick = {**quick, "peers": [*quick["peers"], peer.as_json()]}
        drawn = plot.draw(quick, tmp_path)
        assert [path.name for path in drawn] == ["bench.svg", "bench.png"]

    @pytest.mark.parametrize(
        "value, text",
        [
            (3.5e6, "3.50 M IPS"),
            (615.07e9, "615.07 G IPS"),
            (5e3, "5.00 K IPS"),
            (749.1, "749.10 IPS"),
            (None, "-"),
        ],
    )
    def test_ips_text(self, value, text):
        assert report.ips_text(value) == text

    @pytest.mark.parametrize(
        "value, text",
        [(10**6, "1 M"), (10**8, "100 M"), (12_345, "12,345"), (2_500_000, "2,500 K"), (6, "6")],
    )
    def test_count_text(self, value, text):
        assert report.count_text(value) == text

    @pytest.mark.parametrize(
        "value, text", [(9.0912, "9.091"), (0.00253211, "0.002532"), (123.456, "123.5"), (0, "0.000")]
    )
    def test_seconds_text(self, value, text):
        assert report.seconds_text(value) == text


class TestMistakes:
    @pytest.mark.parametrize(
        "arguments, says",
        [
            (["--device", "tpu"], "no device 'tpu'"),
            (["--device", "cuda:99"], "no device 'cuda:99'"),
            (["--device", ""], "no device ''"),
            (["--repeat", "0"], "'0'"),
            (["--repeat", "many"], "'many'"),
            (["--time-limit", "nan"], "'nan'"),
            (["--time-limit", "-1"], "'-1'"),
            (["--max-lanes", "1.5"], "'1.5'"),
            (["--modes", "run,walk"], "'walk'"),
            (["--faster"], "--faster"),
            (["now"], "now"),
            (["--out"], "--out"),
        ],
    )
    def test_one_sentence_and_status_2(self, arguments, says, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert main(arguments) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("myriarm: ")
        assert captured.err.count("\n") == 1
        assert says in captured.err
        assert ";" in captured.err, "says not what to do"
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_that_cannot_be(self, tmp_path, capsys):
        (tmp_path / "file").write_text("")
        assert main(["--out", str(tmp_path / "file" / "folder"), "--device", "cpu"]) == 2
        errors = capsys.readouterr().err
        assert errors.count("\n") == 1
        assert "--out" in errors

    def test_help(self, capsys):
        with pytest.raises(SystemExit) as ended:
            main(["--help"])
        assert ended.value.code == 0
        assert "--time-limit" in capsys.readouterr().out


class TestFailures:
    def test_an_interrupted_run_keeps_what_it_has(self, tmp_path, capsys, monkeypatch):
        made = []

        def fleet(*arguments, original=myriarm.Fleet, **options):
            made.append(1)
            if len(made) == 3:
                raise KeyboardInterrupt
            return original(*arguments, **options)

        monkeypatch.setattr(myriarm, "Fleet", fleet)
        assert bench(tmp_path, "--no-plot") == 130
        found = saved(tmp_path)
        assert found["state"] == "interrupted"
        assert [run["mode"] for run in found["runs"]] == list(runs.MODES)[:2]
        captured = capsys.readouterr()
        assert captured.err.count("\n") == 1
        assert "interrupted" in captured.err
        assert "wrote" in captured.out

    def test_control_c(self, tmp_path):
        command = [sys.executable, "-c", SECOND_ROW_IS_ENDLESS, *QUICK, "--no-plot"]
        process = subprocess.Popen(
            [*command, "--modes", "run,continuous", "--out", str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            while not ((tmp_path / "bench.json").exists() and saved(tmp_path)["runs"]):
                assert process.poll() is None, process.communicate()
                os.sched_yield()
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate()
        finally:
            process.kill()
        assert process.returncode == 130, errors
        assert errors == "myriarm: interrupted; the rows that were measured are saved\n"
        found = saved(tmp_path)
        assert found["state"] == "interrupted"
        assert [(run["mode"], run["loop"]) for run in found["runs"]] == [("run", "add")]
        assert len(found["runs"][0]["seconds"]) == 2
        assert output.splitlines()[-1] == f"wrote {tmp_path / 'bench.json'}"

    @pytest.mark.parametrize("method", ["expected_x0", "expected_store"])
    def test_a_wrong_result_gives_no_figure(self, method, tmp_path, capsys, monkeypatch):
        right = getattr(guests.Loop, method)
        monkeypatch.setattr(guests.Loop, method, lambda loop, n: right(loop, n) + 1)
        assert bench(tmp_path, "--no-plot", "--modes", "mega,lanes") == 1
        stores = [run for run in saved(tmp_path)["runs"] if run["loop"] == "store"]
        assert [run["mode"] for run in stores] == ["mega", "lanes"]
        for run in stores:
            assert run["error"].startswith("wrong result: ")
            assert run["seconds"] == []
            assert "ips" not in run
        assert capsys.readouterr().out.count("no figure: wrong result") >= 2

    def test_a_later_wrong_result_takes_the_figures_before_it_away(self, tmp_path, monkeypatch):
        calls = []

        def expected(loop, instructions, right=guests.Loop.expected_x0):
            calls.append(instructions)
            return right(loop, instructions) + (len(calls) % 3 == 0)  # warm-up and first run are right

        monkeypatch.setattr(guests.Loop, "expected_x0", expected)
        assert bench(tmp_path, "--no-plot", "--modes", "async") == 1
        for run in saved(tmp_path)["runs"]:
            assert run["error"].startswith("wrong result: x0 is ")
            assert run["seconds"] == run["engine_seconds"] == []
            assert "ips" not in run

    def test_an_error_of_one_mode_is_a_row_and_the_others_go_on(self, tmp_path, capsys, monkeypatch):
        def run_mega(self, *arguments, **options):
            raise myriarm.DeviceError("the device fell off the bus")

        monkeypatch.setattr(myriarm.Fleet, "run_mega", run_mega)
        assert bench(tmp_path, "--no-plot", "--modes", "mega,async") == 1
        found = {(run["mode"], run["loop"]): run for run in saved(tmp_path)["runs"]}
        assert found["mega", "add"]["error"] == "the device fell off the bus"
        assert found["async", "store"]["seconds"]
        assert "no figure: the device fell off the bus" in capsys.readouterr().out

    def test_a_reader_that_leaves(self, tmp_path):
        command = [sys.executable, "-m", "myriarm.bench", *QUICK, "--no-plot", "--modes", "run"]
        process = subprocess.Popen(
            [*command, "--out", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        process.stdout.close()
        errors = process.stderr.read()
        process.stderr.close()
        assert process.wait(timeout=120) == 1
        assert errors == b""


class TestLimits:
    def test_rows_that_take_too_long_are_left_out_and_named(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr("myriarm.bench.__main__.QUICK_SIZES", (1_000_000, 10_000_000))
        assert bench(tmp_path, "--no-plot", "--modes", "run,lanes", "--time-limit", "1e-9") == 0
        found = saved(tmp_path)
        assert [(run["mode"], run["lanes"], run["instructions_per_lane"]) for run in found["runs"]][:2] == [
            ("run", 1, 1_000_000)
        ] * 2
        assert [run["lanes"] for run in found["runs"]] == [1] * 4
        assert all(len(run["seconds"]) == 1 for run in found["runs"])
        assert len(found["notes"]) == 4
        assert all("--time-limit" in note for note in found["notes"])
        assert found["notes"][0] in capsys.readouterr().out

    def test_lanes_up_to_what_the_device_holds(self):
        counts = runs.Bench(device_of(), runs.Settings()).lane_counts()
        assert counts[:4] == [1, 4, 16, 64]
        assert 270_336 in counts
        assert counts[-1] == 4**11
        small = runs.Bench(device_of("cpu", 1 << 20, 4), runs.Settings())
        assert small.lane_counts() == [1, 4, 16, 64]
        assert runs.Bench(device_of(), runs.Settings(most_lanes=5)).lane_counts() == [1, 4]
        assert runs.Bench(device_of("cpu", 0), runs.Settings()).lane_counts() == [1]

    def test_a_fleet_that_cannot_be_made_ends_the_lanes(self, tmp_path, monkeypatch):
        def fleet(*arguments, original=myriarm.Fleet, **options):
            if options["lanes"] > 1:
                raise myriarm.DeviceError("no memory; ask for fewer lanes")
            return original(*arguments, **options)

        monkeypatch.setattr(myriarm, "Fleet", fleet)
        assert bench(tmp_path, "--no-plot", "--modes", "lanes") == 0
        found = saved(tmp_path)
        assert [run["lanes"] for run in found["runs"]] == [1, 1]
        assert len(found["notes"]) == 2
        assert all("no fleet of 4 lanes: no memory" in note for note in found["notes"])

    @pytest.mark.parametrize(
        "wanted, given",
        [(0, 1_200), (1e12, 100_000_000), (12_345, 12_000), (1_299, 1_200), (98_765_432, 98_000_000)],
    )
    def test_instructions_are_round_and_within_bounds(self, wanted, given):
        assert runs._rounded(wanted) == given


class TestGuests:
    def test_words_are_what_they_say(self):
        texts = {
            loop.key: [myriarm.disassemble(word, 4 * n) for n, word in enumerate(loop.words)]
            for loop in guests.LOOPS
        }
        assert [re.split(r"\s+", text)[0] for text in texts["add"]] == ["add", "b"]
        assert [re.split(r"\s+", text)[0] for text in texts["store"]] == ["movz", "add", "str", "b"]
        assert texts["add"][1].endswith("0x0")
        assert texts["store"][3].endswith("0x4")

    @pytest.mark.parametrize("loop", guests.LOOPS, ids=lambda loop: loop.key)
    @pytest.mark.parametrize("instructions", range(9))
    def test_expected_results(self, loop, instructions):
        """Against a loop that executes one instruction after the other."""
        order = ["setup"] * loop.setup + ["add", "str", "b"][:: 1 if loop.stores else 2] * 4
        done = order[:instructions]
        assert loop.expected_x0(instructions) == done.count("add")
        if loop.stores:
            assert loop.expected_store(instructions) == done.count("str")

    @pytest.mark.parametrize("key", ["add", "store"])
    @pytest.mark.parametrize("iterations", [0, 1, 1000])
    def test_the_count_down_exits_with_0(self, key, iterations):
        """Runs the program for QEMU in myriarm: 18 instructions before and after the iterations."""
        process = myriarm.LinuxFleet(guests.countdown_elf(key, iterations), device=DEVICE)
        result = process.run()
        stop, status, signal_number = process.outcomes[0]
        assert (status, signal_number) == (0, 0)
        assert result.instructions == 18 + iterations * guests.COUNTDOWN_LENGTH[key]

    def test_a_count_down_that_is_wrong_exits_with_1(self):
        elf = bytearray(guests.countdown_elf("add", 1000))
        at = elf.index(guests.code([guests.add(0, 0, 1)]))
        elf[at : at + 4] = guests.code([guests.add(0, 0, 2)])
        process = myriarm.LinuxFleet(bytes(elf), device=DEVICE)
        process.run()
        assert process.outcomes[0].exit_status == 1


class TestPeers:
    def test_what_is_not_installed_is_left_out(self, monkeypatch):
        monkeypatch.setattr(peers.shutil, "which", lambda name: None)
        monkeypatch.setitem(sys.modules, "unicorn", None)
        monkeypatch.setattr(peers.importlib.util, "find_spec", lambda name: None)
        assert list(peers.measure_all([DEVICE], True, 1, lambda text: None)) == []

    @pytest.mark.skipif(not peers.shutil.which("qemu-aarch64"), reason="QEMU user mode is not installed")
    def test_qemu(self):
        found = list(peers._qemu(0.01, 2))
        assert [(peer.loop, peer.error, len(peer.seconds)) for peer in found] == [
            ("add", None, 2),
            ("store", None, 2),
        ]
        assert all("qemu" in peer.version.lower() and "SUBS" in peer.what for peer in found)
        assert all(peer.ips > 0 for peer in found)

    def test_a_qemu_that_fails_is_a_row_with_its_reason(self, tmp_path, monkeypatch):
        program = tmp_path / "qemu-aarch64"
        program.write_text("#!/bin/sh\nexit 3\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        found = list(peers._qemu(0.01, 1))
        assert [peer.seconds for peer in found] == [[], []]
        assert all("status 3" in peer.error for peer in found)
        assert all("status 3" in report.peer_line(peer) for peer in found)

    def test_unicorn(self):
        pytest.importorskip("unicorn")
        found = list(peers._unicorn(0.01, 1))
        assert [peer.name for peer in found] == ["unicorn", "unicorn-count"] * 2
        assert all(peer.error is None and peer.ips > 0 for peer in found)

    def test_a_unicorn_that_is_wrong_has_no_figure(self, monkeypatch):
        pytest.importorskip("unicorn")
        monkeypatch.setattr(guests.Loop, "expected_x0", lambda loop, n: 7)
        found = [peer for peer in peers._unicorn(0.01, 1) if peer.name == "unicorn-count"]
        assert [peer.seconds for peer in found] == [[], []]
        assert all("in x0, not 7" in peer.error for peer in found)

    def test_pytorch(self):
        pytest.importorskip("torch")
        from myriarm.bench import pytorch_baseline

        for kind in (pytorch_baseline.PerInstruction, pytorch_baseline.Batched):
            pytorch_baseline.check(kind, "cpu")
        found = list(peers._pytorch(0.01, 1, ["cpu"]))
        assert [peer.error for peer in found] == [None] * 4

    def test_peers_are_in_table_and_json(self, tmp_path, capsys, monkeypatch):
        there = peers.Peer("pytorch-512", "PyTorch 9", "add", "what", "cpu", 1000, [0.5, 0.25, 1.0])
        monkeypatch.setattr("myriarm.bench.__main__.measure_all", lambda *arguments: iter([there]))
        arguments = [argument for argument in QUICK if argument != "--no-peers"]
        assert main([*arguments, "--modes", "run", "--no-plot", "--out", str(tmp_path)]) == 0
        (entry,) = saved(tmp_path)["peers"]
        assert entry["ips"] == 2000
        assert re.search(r"pytorch-512 .* 2\.00 K IPS +120\.00 K IPS +0\.02 x\n", capsys.readouterr().out)


def command_line():
    """The command line of the wheel, or the one that MYRIARM_CLI names."""
    named = os.environ.get("MYRIARM_CLI")
    path = Path(named) if named else Path(myriarm.__file__).parent / "bin" / "myriarm"
    return str(path) if path.is_file() else None


@pytest.mark.skipif(
    not command_line(), reason="there is no command line in this package, and MYRIARM_CLI is not set"
)
class TestCommandLine:
    def run(self, path, *arguments):
        environment = {**os.environ, "PATH": str(path)}
        return subprocess.run(
            [command_line(), "bench", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def test_it_hands_over(self, tmp_path):
        os.symlink(sys.executable, tmp_path / "python3")
        environment = Path(sys.prefix)  # Python finds a virtual environment by the folder of the interpreter
        done = self.run(environment / "bin", "--device", "tpu", "--out", str(tmp_path / "out"))
        assert done.returncode == 2
        assert "no device 'tpu'" in done.stderr
        assert self.run(environment / "bin", "--help").stdout.startswith("usage: myriarm bench")

    def test_without_the_package_one_sentence(self, tmp_path):
        done = self.run(tmp_path)
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        assert "pip install" in done.stderr


def test_machine_never_fails(monkeypatch):
    monkeypatch.setenv("PATH", "")
    found = machine.describe("a commit")
    assert found["commit"] == "a commit"
    assert found["nvidia_driver"] is None
    json.dumps(found)


def test_every_mode_has_its_reference_or_is_new():
    without = [mode for mode in runs.ALL_MODES if mode not in reference.OF_MODE]
    assert without == ["self-dispatch", "lanes", "tiers"]
