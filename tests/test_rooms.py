"""Where a folder's docstring leads through it, it names all that lives there, and nothing else."""

import ast
import re
from pathlib import Path

import pytest

import simfl

PACKAGE = Path(simfl.__file__).parent
ROOMS = [
    "build", "components/datasets/own", "coordinators", "core", "report", "report/page",
    "report/plot", "runs", "runs/folder", "runs/results", "scenario", "sim", "sim/networks",
    "sim/server", "training", "training/executors", "training/kernels",
]  # fmt: skip


@pytest.mark.parametrize("room", ROOMS)
def test_a_rooms_docstring_names_every_file_and_folder_in_it(room: str) -> None:
    folder = PACKAGE / room
    told = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    named = set(re.findall(r"`([a-z_0-9]+)(?:\.py)?`", told or ""))
    files = {file.stem for file in folder.glob("*.py")}
    folders = {file.parent.name for file in folder.glob("*/__init__.py")}
    there = (files | folders) - {"__init__"}
    told_in = f"the docstring of simfl/{room}/__init__.py"
    assert there <= named, f"{told_in} says nothing of {sorted(there - named)}"
    assert named <= there, f"{told_in} names {sorted(named - there)}, which are not there"
