"""Modules that scenarios name: found beside them, imported only if that is allowed."""

import sys
from pathlib import Path

import pytest

from simfl import Scenario
from simfl.cli import main
from simfl.core.code import importing
from simfl.errors import ScenarioError

MINE = """
from pathlib import Path

from simfl.components.selectors.uniform import Uniform

Path(__file__).with_name("imported").touch()

class Mine(Uniform):
    pass
"""
TEXT = """
data: {{dataset: synthetic}}
model: logistic_regression
fleet: {{count: 3}}
rounds: {{stop: {{rounds: 1}}}}
selection: {}
"""


@pytest.fixture(params=["strangers_code:Mine", "strangers_code.py:Mine"])
def scenario(request: pytest.FixtureRequest, tmp_path: Path,
             monkeypatch: pytest.MonkeyPatch) -> Path:  # fmt: skip
    """A scenario with a module beside it, far from the working directory."""
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "project"
    elsewhere.mkdir()
    folder.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "strangers_code", raising=False)
    (folder / "strangers_code.py").write_text(MINE)
    (folder / "s.yaml").write_text(TEXT.format(request.param))
    return folder / "s.yaml"


def was_imported(scenario: Path) -> bool:
    return (scenario.parent / "imported").exists()


def test_from_python_it_is_found_beside_the_scenario(scenario: Path) -> None:
    read = Scenario.load(scenario)
    assert type(read.selection).__name__ == "Mine"
    assert Scenario.from_dict(read.to_dict()) == read, "wherever that is read"


def test_validate_imports_nothing(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(scenario)]) == 2
    assert "s.yaml:6:12: selection: selector" in (told := capsys.readouterr().err)
    assert "--allow-code" in told
    assert not was_imported(scenario)
    assert main(["validate", "--allow-code", str(scenario)]) == 0
    assert was_imported(scenario)


def test_describe_imports_nothing(
    scenario: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(scenario.parent)
    words = ["describe", "selectors", "strangers_code:Mine"]
    assert main(words) == 2
    assert "--allow-code" in capsys.readouterr().err
    assert not was_imported(scenario)
    assert main([*words, "--allow-code"]) == 0


def test_run_imports_what_lies_beside_the_scenario(scenario: Path) -> None:
    words = ["run", str(scenario), "--time-only", "--quiet", "--no-report"]
    assert main([*words, "--out", "out"]) == 0


def test_modules_from_elsewhere_need_permission(scenario: Path) -> None:
    text = scenario.read_text().replace("strangers_code.py:", "strangers_code:")
    moved = scenario.parents[1] / "elsewhere" / "s.yaml"
    moved.write_text(text)
    sys.path.append(str(scenario.parent))
    with importing("beside"), pytest.raises(ScenarioError, match="--allow-code"):
        Scenario.load(moved)
    assert not was_imported(scenario)
    with importing("anything"):
        assert type(Scenario.load(moved).selection).__name__ == "Mine"
