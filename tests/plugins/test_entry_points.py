"""What a package advertises under a name goes by that name, or it is told why not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MINE = """
from simfl.components.selectors.base import Selector

class Mine(Selector):
    def select(self, view, reports, k, rng):
        return view.draw(k, rng)

class Idle(Selector):
    pass

class Nothing:
    pass
"""
SCENARIO = """
data: {dataset: {name: synthetic_images, samples: 200, test_samples: 50, size: 4}}
model: logistic_regression
fleet: {count: 8}
selection: drawn
rounds: {clients: 3, stop: {rounds: 2}}
"""


def simfl(tmp_path: Path, entry: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """Call simfl beside an installed package with one entry point."""
    (tmp_path / "mine_of_theirs.py").write_text(MINE)
    info = tmp_path / "mine_of_theirs-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine-of-theirs\nVersion: 1.2\n")
    (info / "top_level.txt").write_text("mine_of_theirs\n")
    (info / "entry_points.txt").write_text(f"[simfl.selectors]\n{entry}\n")
    (tmp_path / "s.yaml").write_text(SCENARIO)
    command = [sys.executable, "-c", "import sys; from simfl.cli import main; sys.exit(main())"]
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [*command, *words], env=environment, cwd=tmp_path, capture_output=True, text=True
    )


def test_a_class_goes_by_its_entry_points_name_and_its_package_is_recorded(tmp_path: Path) -> None:
    done = simfl(tmp_path, "drawn = mine_of_theirs:Mine", "run", "s.yaml", "-q", "--no-report")
    assert done.returncode == 0, done.stderr
    [provenance] = tmp_path.rglob("provenance.json")
    assert json.loads(provenance.read_text())["versions"]["mine-of-theirs"] == "1.2"
    assert "{name: drawn" in (provenance.parent / "scenario.yaml").read_text()


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("uniform = mine_of_theirs:Mine", "'uniform' is registered twice"),
        ("drawn = mine_of_theirs", "registers no selector; name the class in its entry point"),
        ("drawn = mine_of_theirs:Idle", "lacks `select`"),
        ("drawn = mine_of_theirs:Nothing", "a class, but no class derived from simfl's Selector"),
        ("drawn = mine_of_theirs:Nobody", "has no attribute 'Nobody'"),
    ],
)
def test_a_mistake_is_told(tmp_path: Path, entry: str, told: str) -> None:
    done = simfl(tmp_path, entry, "list", "selectors")
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stderr.count("installed for simfl.selectors") == 1
