"""Modules that scenarios name: found beside them, imported only if that is allowed."""

import importlib
import os
import sys
from pathlib import Path
from select import select

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
NET = """
from torch import nn

def make(width, shape, classes):
    return nn.Sequential(
        nn.Flatten(), nn.Linear(shape[0], width), nn.ReLU(), nn.Linear(width, classes)
    )
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


def test_a_module_that_is_a_link_is_no_other_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/linked_code.py").write_text(MINE)
    (tmp_path / "here").mkdir()
    (tmp_path / "here/linked_code.py").symlink_to(tmp_path / "elsewhere/linked_code.py")
    (tmp_path / "here/s.yaml").write_text(TEXT.format("linked_code:Mine"))
    assert type(Scenario.load(tmp_path / "here/s.yaml").selection).__name__ == "Mine"


def test_a_module_that_was_changed_since_its_import_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a notebook the old selector ran, whatever its file said by then."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "edited_code", raising=False)
    (tmp_path / "edited_code.py").write_text(MINE)
    (tmp_path / "s.yaml").write_text(TEXT.format("edited_code.py:Mine"))
    before = Scenario.load(tmp_path / "s.yaml").selection
    (tmp_path / "edited_code.py").write_text(f"{MINE}    def late(self):\n        return True\n")
    with pytest.raises(
        ScenarioError, match=r"imported before .*edited_code\.py was changed.*reload"
    ):
        Scenario.load(tmp_path / "s.yaml")
    importlib.reload(sys.modules["edited_code"])
    after = Scenario.load(tmp_path / "s.yaml").selection
    assert (hasattr(before, "late"), hasattr(after, "late")) == (False, True)


def test_another_module_of_that_name_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "twice_there.py").write_text(MINE)
        (tmp_path / name / "s.yaml").write_text(TEXT.format("twice_there:Mine"))
    Scenario.load(tmp_path / "one/s.yaml")
    with pytest.raises(ScenarioError, match=r"another module is called 'twice_there'"):
        Scenario.load(tmp_path / "other/s.yaml")


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


def test_what_lies_beside_is_allowed_once_for_all_commands(scenario: Path) -> None:
    words = ["run", str(scenario), "--time-only", "--quiet", "--no-report", "--out"]
    run = Path("out/default/seed-0").resolve()
    assert main([*words, "out"]) == 2
    assert not was_imported(scenario)
    assert main([*words, "out", "--allow-code"]) == 0
    assert main([*words, "again"]) == 0
    assert main(["validate", str(scenario)]) == 0
    (run / "summary.json").unlink()
    assert main(["resume", str(run), "-q", "--no-report"]) == 0
    assert main(["verify", str(run)]) == 0


@pytest.mark.parametrize("changed", ["strangers_code.py", "another.py", "package/inner.py"])
def test_other_code_is_another_question(scenario: Path, changed: str) -> None:
    package = scenario.parent / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    assert main(["validate", str(scenario), "--allow-code"]) == 0
    assert main(["validate", str(scenario)]) == 0
    with (scenario.parent / changed).open("a") as file:
        file.write("\n# something else\n")
    assert main(["validate", str(scenario)]) == 2
    (scenario.parent / changed).write_text(MINE)
    (scenario.parent / "notes.txt").write_text("no code")
    assert main(["validate", str(scenario), "--allow-code"]) == 0
    assert main(["validate", str(scenario)]) == 0


def test_a_home_where_nobody_may_write_forgets(
    scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (scenario.parent / "file").touch()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(scenario.parent / "file"))
    assert main(["validate", str(scenario), "--allow-code"]) == 0
    assert main(["validate", str(scenario)]) == 2


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 2), ("", 2)])
def test_at_a_terminal_it_is_asked(
    scenario: Path, monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    near, far = os.openpty()
    with (
        open(near, "r+b", buffering=0) as person,
        open(far) as reads,
        open(os.dup(far), "w") as said,
    ):
        monkeypatch.setattr(sys, "stdin", reads)
        monkeypatch.setattr(sys, "stderr", said)
        person.write(f"{answer}\n".encode())
        assert main(["validate", str(scenario)]) == code
        question, shown = f"imports code from {scenario.parent / 'strangers_code.py'}", ""
        while question not in shown and select([person], [], [], 5)[0]:  # it comes in parts
            shown += person.read(4096).decode()
    assert question in shown
    assert was_imported(scenario) == (code == 0)


def test_what_looks_like_simfl_brings_no_folder_along(scenario: Path) -> None:
    """Whatever is imported later would be looked for there."""
    (scenario.parent / "simfl").mkdir()
    (scenario.parent / "simfl/evil.py").write_text(MINE)
    text = scenario.read_text().split("selection:")[0]
    scenario.write_text(text + "selection: simfl.evil:Mine\n")
    assert main(["validate", str(scenario)]) == 2
    assert str(scenario.parent) not in sys.path


@pytest.fixture
def with_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scenario whose model a function makes, in a file in a folder beside it."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "strangers_net", raising=False)
    (tmp_path / "project/nets").mkdir(parents=True)
    (tmp_path / "project/nets/strangers_net.py").write_text(NET)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    file = tmp_path / "project/s.yaml"
    model = '{name: "nets/strangers_net.py:make", width: 5}'
    file.write_text(TEXT.format("uniform").replace("logistic_regression", model))
    return file


@pytest.mark.parametrize("workers", [[], ["--workers", "2"]], ids=["inline", "workers"])
def test_a_model_beside_the_scenario_is_trained_from_anywhere(
    with_model: Path, monkeypatch: pytest.MonkeyPatch, workers: list[str]
) -> None:
    words = ["run", str(with_model), "--out", "out", "-q", "--no-report", "--allow-code"]
    assert main([*words, *workers]) == 0
    run = Path("out/default/seed-0").resolve()
    before = (run / "model.pt").read_bytes()
    for file in ("summary.json", "model.pt"):
        (run / file).unlink()
    monkeypatch.chdir(with_model.parent.parent)
    assert main(["resume", str(run), "-q", "--no-report", "--allow-code", *workers]) == 0
    assert (run / "model.pt").read_bytes() == before
    assert main(["verify", str(run), "--allow-code"]) == 0


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("strangers_code.py:Mina", "no 'Mina'; did you mean 'Mine'?"),
        ("strangers_code:fun", "'strangers_code' has no 'fun'; expected one of: Mine"),
        ("strange_code.py:Mine", "strange_code.py; did you mean 'strangers_code.py'?"),
        ("elsewhere/strangers_code.py:Mine", "there is no file"),
        ("torch:tenso", "'torch' has no 'tenso'; did you mean 'tensor'?"),
        ("torch:qqqqq", "'torch' has no 'qqqqq'"),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(named: str, told: str, scenario: Path) -> None:
    Scenario.load(scenario)
    scenario.write_text(TEXT.format(named))
    with pytest.raises(ScenarioError) as error:
        Scenario.load(scenario)
    assert f"s.yaml:6:12: selection: selector {named!r} can't be imported: " in str(error.value)
    assert told in str(error.value)
    assert "accelerator" not in str(error.value), "names that nobody can have meant"


def test_a_file_is_never_taken_for_another_module(
    with_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (with_model.parent / "random.py").write_text(NET)
    with_model.write_text(with_model.read_text().replace("nets/strangers_net.py", "random.py"))
    assert main(["validate", str(with_model), "--allow-code"]) == 2
    assert "another module is called 'random'; rename" in capsys.readouterr().err


def elsewhere(scenario: Path) -> Path:
    """Return the scenario moved away from its module, which Python finds all the same."""
    moved = scenario.parents[1] / "elsewhere" / "s.yaml"
    moved.write_text(scenario.read_text().replace("strangers_code.py:", "strangers_code:"))
    sys.path.append(str(scenario.parent))
    return moved


@pytest.mark.parametrize("command", ["fleet", "partition", "run", "resume", "verify"])
def test_every_command_wants_permission(
    scenario: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = elsewhere(scenario)
    words = [command, str(moved)]
    if command == "run":
        words += ["--out", "again", "-q", "--no-report"]
    if command in ("resume", "verify"):
        assert main(["run", str(moved), "--out", "o", "-q", "--allow-code", "--no-report"]) == 0
        words = [command, "o/default/seed-0"]
        if command == "resume":
            Path("o/default/seed-0/summary.json").unlink()
            words += ["-q", "--no-report"]
    (scenario.parent / "imported").unlink(missing_ok=True)
    sys.modules.pop("strangers_code", None)
    assert main(words) == 2
    assert "--allow-code" in capsys.readouterr().err
    assert not was_imported(scenario)
    assert main([*words, "--allow-code"]) == 0
    assert was_imported(scenario)


def test_modules_from_elsewhere_need_permission(scenario: Path) -> None:
    moved = elsewhere(scenario)
    asked = list[object]()

    def allows(_folder: Path, file: Path | None) -> bool:
        asked.append(file)
        return len(asked) > 1

    with importing(allows):
        with pytest.raises(ScenarioError, match="--allow-code"):
            Scenario.load(moved)
        assert not was_imported(scenario)
        assert type(Scenario.load(moved).selection).__name__ == "Mine"
    assert asked == [None, None]
