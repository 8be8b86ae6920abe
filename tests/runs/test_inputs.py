"""What a scenario names is known by its contents: another selector, other data, other results."""

import json
import logging
import os
import shutil
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from simfl import Scenario, load, run
from simfl.errors import InputError
from simfl.report import write_report
from simfl.runs.folder.folder import PROVENANCE, SUMMARY
from simfl.runs.forks.fork import fork
from simfl.runs.inputs import contents
from simfl.runs.options import Options
from simfl.runs.results.find import find_runs
from simfl.runs.results.grouping import by_variant
from simfl.runs.run import resume
from tests.tiny import TINY

SELECTOR = """from simfl.components.selectors.base import Selector
import {helper}

class First(Selector):
    def select(self, view, reports, k, rng):
        return view.available[:k]
"""
SESSIONS = "device,start_s,end_s\na,0,90000\n"
CLOCK = Options(time_only=True)


@pytest.fixture
def scenario(tmp_path: Path) -> Iterator[Scenario]:
    """A scenario with a selector and sessions of the user's own; a module beside is not used."""
    name = f"first_{tmp_path.name}".replace("-", "_")
    for module, text in {
        name: SELECTOR.format(helper=f"{name}_helper"), f"{name}_helper": "", "plots": "",
    }.items():  # fmt: skip
        (tmp_path / f"{module}.py").write_text(text)
    (tmp_path / "sessions.csv").write_text(SESSIONS)
    availability = {"name": "trace", "file": "sessions.csv", "shift": False}
    fleet = {**TINY["fleet"], "availability": availability}
    data = TINY | {"fleet": fleet, "selection": f"{name}.py:First"}
    path = list(sys.path)
    yield Scenario.from_dict(data, folder=tmp_path)
    sys.path[:] = path
    for module in (name, f"{name}_helper"):
        sys.modules.pop(module, None)


@pytest.mark.parametrize("folder", [None, "here"])
def test_files_named_from_the_working_directory_are_found_from_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str | None
) -> None:
    """A run of plain data looked for them in its own folder when it was read again."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "rates.csv").write_text("rate\n20\n30\n")
    monkeypatch.chdir(tmp_path if folder else tmp_path / "here")
    measured = {"file": "rates.csv", "column": "rate", "unit": "samples/s"}
    compute = {"distribution": "empirical", **measured}
    data = TINY | {"fleet": {**TINY["fleet"], "compute": compute}, "folder": folder}
    [result] = run(data, tmp_path / "runs", CLOCK)
    monkeypatch.chdir(tmp_path / "runs")
    assert Scenario.load(result.folder / "scenario.yaml").devices == 8


def test_modules_on_the_path_are_known_by_their_contents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lab's own package was changed, and the old results were this very run's."""
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "labs_own_first.py").write_text(SELECTOR.format(helper="math"))
    monkeypatch.syspath_prepend(tmp_path / "lab")
    (tmp_path / "here").mkdir()
    data = TINY | {"selection": "labs_own_first:First"}
    named = Scenario.from_dict(data, folder=tmp_path / "here")
    [result] = run(named, tmp_path / "o", CLOCK)
    assert list(result.contents) == [str(tmp_path / "lab" / "labs_own_first.py")]
    sys.modules.pop("labs_own_first")


def test_classes_of_a_notebook_are_known_by_their_code(monkeypatch: pytest.MonkeyPatch) -> None:
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    seen = []
    for taken in ("[:k]", "[-k:]", "[:k]", "[[0, 1, 2, 3]]", "[[0, 1, 2, 4]]"):
        exec(SELECTOR.format(helper="math").replace("[:k]", taken), main.__dict__)
        main.First.__module__ = "__main__"
        named = Scenario.from_dict(TINY | {"selection": "__main__:First"})
        seen.append(contents(named))
    assert list(seen[0]) == ["__main__:First"]
    assert seen[0] == seen[2] != seen[1]
    assert seen[3] != seen[4]


def test_files_are_known_by_their_contents(scenario: Scenario, tmp_path: Path) -> None:
    [result] = run(scenario, tmp_path / "o", CLOCK)
    stem = next(tmp_path.glob("first_*_helper.py")).name.removesuffix("_helper.py")
    assert list(result.contents) == [f"{stem}.py", f"{stem}_helper.py", "sessions.csv"]
    assert all(len(digest) == 64 for digest in result.contents.values())
    forked = fork(result.folder, 1.0, ["rounds.clients=2"], None, overwrite=False)
    assert load(forked).contents == result.contents


def test_folders_are_known_by_the_contents_of_their_files(tmp_path: Path) -> None:
    """Of a picture that was painted over the size alone was looked at."""
    for name in ("a", "b"):
        (tmp_path / "pictures" / name).mkdir(parents=True)
        (tmp_path / "pictures" / name / "1.pgm").write_bytes(b"P5 1 1 255 " + b"\0")
    dataset = {"name": "image_folder", "path": "pictures", "size": 1, "test_share": 0.5}
    data = TINY | {"data": {"dataset": dataset}}
    named = Scenario.from_dict(data, folder=tmp_path)
    before = contents(named)
    (tmp_path / "pictures").rename(tmp_path / "elsewhere")
    shutil.copytree(tmp_path / "elsewhere", tmp_path / "pictures", copy_function=shutil.copyfile)
    assert contents(named) == before
    (tmp_path / "pictures" / "a" / "1.pgm").write_bytes(b"P5 1 1 255 " + b"\1")
    os.utime(tmp_path / "pictures" / "a" / "1.pgm", (0, 0))
    assert contents(named).keys() == before.keys() == {"pictures"}
    assert contents(named) != before


@pytest.mark.parametrize("what", ["sessions.csv", "first_*_helper.py"])
def test_results_of_other_contents_are_not_reused(
    scenario: Scenario, tmp_path: Path, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A selector was changed and run again: the old results came back, as "this very run"."""
    run(scenario, tmp_path / "o", CLOCK)
    run(scenario, tmp_path / "o", CLOCK)
    assert "this very run is there already" in caplog.text
    [file] = tmp_path.glob(what)
    file.write_text(file.read_text() + "\n")
    with pytest.raises(
        InputError, match=rf"{file.name}: other contents there than now\ngive overwrite=True"
    ):
        run(scenario, tmp_path / "o", CLOCK)
    run(scenario, tmp_path / "o", CLOCK, overwrite=True)
    run(scenario, tmp_path / "o", CLOCK)


def test_a_run_that_goes_on_with_other_contents_says_so(
    scenario: Scenario, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    [result] = run(scenario, tmp_path / "o", CLOCK)
    before = result.contents["sessions.csv"]
    (result.folder / SUMMARY).unlink()
    (tmp_path / "sessions.csv").write_text(SESSIONS + "\n")
    with caplog.at_level(logging.WARNING):
        again = resume(result.folder)
    assert "default seed 0: changed since it was begun: sessions.csv; what is" in caplog.text
    assert again.contents["sessions.csv"] != before
    run(scenario, tmp_path / "o", CLOCK)


def test_a_fork_says_what_has_changed_since(
    scenario: Scenario, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It shares the past that the older contents made, and said that the new ones had."""
    [result] = run(scenario, tmp_path / "o", CLOCK)
    (tmp_path / "sessions.csv").write_text(SESSIONS + "\n")
    forked = fork(result.folder, 1.0, ["rounds.clients=2"], None, overwrite=False)
    assert load(forked).contents == result.contents
    with caplog.at_level(logging.WARNING):
        again = resume(forked)
    assert "changed since it was begun: sessions.csv; what is" in caplog.text
    assert again.contents != result.contents


def test_runs_of_other_contents_are_told_apart(scenario: Scenario, tmp_path: Path) -> None:
    """Seeds of the old selector and of the new one were one variant."""
    run(scenario, tmp_path / "o", CLOCK, seeds=[0])
    (tmp_path / "sessions.csv").write_text(SESSIONS + "b,0,9000\n")
    run(scenario, tmp_path / "o", CLOCK, seeds=[1])
    runs = find_runs([tmp_path / "o"])
    groups = by_variant(runs)
    assert len(groups) == 2
    assert all(name.startswith("default (contents of sessions.csv ") for name in groups)
    page = write_report(runs, tmp_path / "page.html").read_text().replace("<wbr>", "")
    assert "<code>contents of sessions.csv</code>" in page
    provenance = runs[0].folder / PROVENANCE
    older = {k: v for k, v in json.loads(provenance.read_text()).items() if k != "files"}
    provenance.write_text(json.dumps(older))
    assert list(by_variant(find_runs([tmp_path / "o"]))) == ["default"]
    run(scenario, tmp_path / "o", CLOCK, seeds=[0])  # of an older run nothing is known
