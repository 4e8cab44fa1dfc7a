# SPDX-License-Identifier: Apache-2.0
"""The notebooks of docs/ run, print the text that is in them, and have their plots."""

import os
import pathlib
import shutil

import pytest

nbformat = pytest.importorskip("nbformat", reason="pip install myriarm[test]")
nbclient = pytest.importorskip("nbclient", reason="pip install myriarm[test]")
pytest.importorskip("ipykernel", reason="pip install myriarm[test]")
pytest.importorskip("matplotlib", reason="pip install myriarm[bench]")

SOURCE = pathlib.Path(os.environ.get("MYRIARM_SOURCE", pathlib.Path(__file__).parents[2]))
DEVICE = os.environ.get("MYRIARM_TEST_DEVICE", "cpu")
NOTEBOOKS = sorted((SOURCE / "docs").glob("*.ipynb"))


def outputs(notebook):
    """What each cell shows: its text, and the kinds of its pictures."""
    shown = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            shown.append(output.get("text") or data.get("text/plain"))
            shown += [kind for kind in data if kind.startswith("image/")]
    return shown


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path, tmp_path):
    if shutil.which("aarch64-linux-gnu-as") is None:
        pytest.importorskip("keystone", reason="there is no assembler for AArch64")
    committed = nbformat.read(path, as_version=4)
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.source = cell.source.replace('DEVICE = "auto"', f'DEVICE = "{DEVICE}"')
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    assert outputs(notebook) == outputs(committed)
    assert "image/png" in outputs(committed)


def test_there_is_a_notebook_and_it_is_small():
    assert NOTEBOOKS
    assert all(path.stat().st_size < 100_000 for path in NOTEBOOKS)
