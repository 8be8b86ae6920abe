"""A run folder from a stranger: nothing in it runs here, nor any cell of it in a spreadsheet."""

import csv
import io
import json
import os
import pickle
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from simfl import Options, Scenario, run
from simfl.cli import main
from simfl.errors import ScenarioError
from simfl.runs.job import Job
from simfl.runs.run import run_one
from tests.reliability.soak import Cut
from tests.tiny import TINY

EVIL = """
from pathlib import Path

from simfl.components.selectors.uniform import Uniform

Path(__file__).with_name("imported").touch()


class Evil(Uniform):
    pass
"""
READERS = (
    ["check"], ["resume"], ["verify"], ["fork", "--at", "1 s"], ["report"], ["compare"],
    ["compare", "--format", "csv"], ["explain"], ["export"], ["plot", "--out", "p.svg"],
)  # fmt: skip


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.mark),)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run, `whole`, and what a kill left of it, `cut`."""
    top = tmp_path_factory.mktemp("made")
    scenario = Scenario.from_dict({**TINY, "rounds": {"clients": 2, "stop": {"rounds": 2}}})
    cut = Cut(top / "whole", 20, top / "cut")
    run_one(Job("default", scenario, top / "whole"), Options(), [cut.listen])
    return top


@pytest.fixture(scope="module")
def eager(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what a kill left of a run with a checkpoint."""
    top = tmp_path_factory.mktemp("eager")
    cut = Cut(top / "whole", 40, top / "run")
    options = Options(checkpoint_every_s=0.0)
    run_one(Job("default", Scenario.from_dict(TINY), top / "whole"), options, [cut.listen])
    return top / "run"


def folder(made: Path, top: Path, finished: bool) -> Path:
    """Return a run folder whose scenario names a module that lies beside everything it could."""
    there = Path(shutil.copytree(made / ("whole" if finished else "cut"), top / "run"))
    file = there / "scenario.yaml"
    text = re.sub(r"\nselection: .*", "\nselection: evil_code:Evil", file.read_text())
    file.write_text(f"folder: {there}\n{text}")
    return there


@pytest.mark.parametrize("words", READERS, ids=" ".join)
@pytest.mark.parametrize("finished", [True, False])
def test_no_module_that_it_names_is_imported(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], finished: bool
) -> None:
    there = folder(made, tmp_path, finished)
    monkeypatch.setattr(sys, "path", [*sys.path, str(there)])
    monkeypatch.chdir(there.parent)
    for place in (there, there.parent):
        (place / "evil_code.py").write_text(EVIL)
    main([*words, str(there)])
    assert "evil_code" not in sys.modules
    assert not list(tmp_path.rglob("imported"))


def test_what_runs_it_asks_for_consent(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    for command, finished in (("resume", False), ("verify", True), ("fork --at 50ms", True)):
        there = folder(made, tmp_path / command, finished)
        (there / "evil_code.py").write_text(EVIL)
        assert main([*command.split(), str(there)]) == 2
        assert "--allow-code" in capsys.readouterr().err
        assert not (there / "imported").exists()


PREVIEWS = (
    ["fleet"], ["partition"], ["validate"], ["validate", "--time-only"], ["run", "--dry-run"],
    ["run", "-q"], ["run", "-q", "--set", "sweep={seed: [1, 2]}"],
    ["tune", "--objective", "time", "-p", "rounds.clients=[1, 2]", "--trials", "1"],
)  # fmt: skip


@pytest.mark.parametrize("place", ["beside", "elsewhere"])
@pytest.mark.parametrize("words", PREVIEWS, ids=" ".join)
def test_no_command_imports_code_without_a_word(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
    words: list[str],
    place: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    elsewhere = tmp_path if place == "beside" else tmp_path / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    (elsewhere / "evil_code.py").write_text(EVIL)
    monkeypatch.setattr(sys, "path", [*sys.path, str(elsewhere)])
    file = tmp_path / "s.yaml"
    file.write_text(Scenario.from_dict(TINY).to_yaml() + "\n")
    text = re.sub(r"\nselection: .*", "\nselection: evil_code:Evil", file.read_text())
    file.write_text(text)
    assert main([words[0], str(file), *words[1:]]) == 2
    assert "--allow-code" in capsys.readouterr().err
    assert not (elsewhere / "imported").exists()


@pytest.mark.parametrize(
    "name",
    [
        "model.pt",
        pytest.param("checkpoint/state.pt", marks=pytest.mark.slow),
        pytest.param("checkpoint/previous.pt", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_no_pickle_is_loaded(
    eager: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    there, mark = Path(shutil.copytree(eager, tmp_path / "run")), tmp_path / "mark"
    (there / "checkpoint").mkdir(exist_ok=True)
    (there / name).write_bytes(pickle.dumps(Bomb(mark)))
    main([*words, str(there)])
    assert not mark.exists()


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t"])
def test_no_cell_runs_in_a_spreadsheet(
    tmp_path: Path, capsys: pytest.CaptureFixture, start: str
) -> None:
    [result] = run(Scenario.from_dict(TINY), tmp_path, Options(time_only=True))
    provenance = json.loads((result.folder / "provenance.json").read_text())
    name = f"{start}HYPERLINK(1)"
    (result.folder / "provenance.json").write_text(json.dumps({**provenance, "variant": name}))
    assert main(["compare", "--format", "csv", str(result.folder)]) == 0
    [row] = csv.DictReader(io.StringIO(capsys.readouterr().out, newline=""))
    assert row["variant"] == f"'{name}"


@pytest.mark.parametrize("start", ["=", "+", "-", "@"])
@pytest.mark.parametrize("where", ["name", "fleet.name"])
def test_no_name_of_a_scenario_starts_as_a_formula_does(start: str, where: str) -> None:
    with pytest.raises(ScenarioError, match=where):
        Scenario.from_dict(TINY, overrides=[f"{where}='{start}1'"])
