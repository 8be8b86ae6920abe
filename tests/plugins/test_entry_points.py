"""What a package advertises under a name goes by that name, or it is told why not."""

import json
import os
import subprocess
import sys
from pathlib import Path

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

ONE = "import sys; from simfl.cli import main; sys.exit(main())"
LISTS = "import sys; from simfl.cli import main; print(*(main(['list', k]) for k in sys.argv[1:]))"


def python(
    tmp_path: Path, points: str, program: str, *words: str
) -> "subprocess.CompletedProcess[str]":
    """Run a program beside an installed package with entry points."""
    (tmp_path / "mine_of_theirs.py").write_text(MINE)
    info = tmp_path / "mine_of_theirs-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine-of-theirs\nVersion: 1.2\n")
    (info / "top_level.txt").write_text("mine_of_theirs\n")
    (info / "entry_points.txt").write_text(points)
    (tmp_path / "s.yaml").write_text(SCENARIO)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )


def test_a_class_goes_by_its_entry_points_name_and_its_package_is_recorded(tmp_path: Path) -> None:
    point = "[simfl.selectors]\ndrawn = mine_of_theirs:Mine\n"
    done = python(tmp_path, point, ONE, "run", "s.yaml", "-q", "--no-report", "--time-only")
    assert done.returncode == 0, done.stderr
    [provenance] = tmp_path.rglob("provenance.json")
    assert json.loads(provenance.read_text())["versions"]["mine-of-theirs"] == "1.2"
    assert "{name: drawn" in (provenance.parent / "scenario.yaml").read_text()


MISTAKES = {
    "selectors": ("uniform = mine_of_theirs:Mine", "'uniform' is registered twice"),
    "aggregators": (
        "drawn = mine_of_theirs",
        "registers no aggregator; name the class in its entry point",
    ),
    "partitions": ("drawn = mine_of_theirs:Idle", "lacks `select`"),
    "compressors": (
        "drawn = mine_of_theirs:Nothing",
        "a class, but no class derived from simfl's Compressor",
    ),
    "availability": ("drawn = mine_of_theirs:Nobody", "has no attribute 'Nobody'"),
}
"""Kind of component -> an entry point of it, and what is wrong with that."""


def test_a_mistake_is_told(tmp_path: Path) -> None:
    """One process for all of them, since it takes longest to begin."""
    points = "".join(f"[simfl.{kind}]\n{entry}\n" for kind, (entry, _) in MISTAKES.items())
    done = python(tmp_path, points, LISTS, *MISTAKES)
    for kind, line, (_, told) in zip(
        MISTAKES, done.stderr.splitlines(), MISTAKES.values(), strict=True
    ):
        assert told in line
        assert line.count(f"installed for simfl.{kind}") == 1
    assert done.stdout.split() == ["2"] * len(MISTAKES)
