"""What TensorBoard, MLflow and Weights & Biases read back is what the run was."""

import ast
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from simfl import RunResult, Scenario, run
from simfl.components.trackers.base import trackers
from simfl.errors import InputError
from simfl.runs.explain import explain
from simfl.runs.tracking import tracked
from simfl.testing.contract import suites
from simfl.testing.trackers import TrackerContract, example_run, example_steps, record
from tests.tiny import TINY, RunTiny

# The packages warn of their own use of other packages.
pytestmark = pytest.mark.filterwarnings("ignore")
globals().update(suites(TrackerContract, trackers))


def needs(package: str) -> Any:
    missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(missing, reason=f"{package} is not installed")


@needs("tensorboard")
def test_tensorboard_reads_rounds_and_virtual_time(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    growing = trackers.parse("tensorboard").begin(example_run(tmp_path))
    growing.add(example_steps(2))
    events = EventAccumulator(str(tmp_path / "tensorboard" / "slow" / "seed-7")).Reload()
    assert [event.step for event in events.Scalars("accuracy")] == [1, 2]  # while it goes on
    for rounds in (5, 3):  # recorded again, it is there once
        record(trackers.parse("tensorboard"), tmp_path, rounds)
    events = EventAccumulator(str(tmp_path / "tensorboard" / "slow" / "seed-7")).Reload()
    assert [(e.step, e.wall_time, e.value) for e in events.Scalars("accuracy")] == [
        (1, 10.5, 0.25),
        (2, 21.0, 0.5),
        (3, 31.5, 0.75),
    ]


@pytest.mark.parametrize("folder", [".", "", "..", "../other", "logs/../..", "/logs"])
def test_tensorboard_replaces_nothing_but_its_own(folder: str) -> None:
    """The folder of the run itself stood there, and was removed."""
    with pytest.raises(ValueError, match="must name a folder within that of the runs"):
        trackers.get("tensorboard").model_validate({"folder": folder})
    assert trackers.parse({"name": "tensorboard", "folder": "logs/curves"})


@needs("mlflow")
def test_mlflow_finds_metrics_and_parameters(tmp_path: Path) -> None:
    import mlflow

    trackers.parse("mlflow").begin(example_run(tmp_path)).add(example_steps(2))  # and was killed
    record(trackers.parse("mlflow"), tmp_path)
    client = mlflow.MlflowClient((tmp_path / "mlflow").as_uri())
    [kept] = client.search_runs([client.get_experiment_by_name("example").experiment_id])
    assert (kept.info.run_name, kept.info.status) == ("slow seed 7", "FINISHED")
    assert kept.data.params["rounds.clients"] == "4"
    assert kept.data.metrics["accuracy"] == 0.75
    history = client.get_metric_history(kept.info.run_id, "accuracy")
    assert [(m.step, m.timestamp, m.value) for m in history] == [
        (1, 10500, 0.25),
        (2, 21000, 0.5),
        (3, 31500, 0.75),
    ]


@needs("wandb")
@pytest.mark.slow
def test_wandb_keeps_an_offline_run(tmp_path: Path) -> None:
    interrupted = trackers.parse("wandb").begin(example_run(tmp_path))
    interrupted.add(example_steps(2))
    interrupted.end(None)
    record(trackers.parse("wandb"), tmp_path)
    [folder] = (tmp_path / "wandb").glob("offline-run-*")
    [file] = folder.glob("*.wandb")
    content = file.read_bytes()
    for text in (b"slow seed 7", b"virtual_time_s", b"31.5", b"rounds.clients"):
        assert text in content, text


def test_a_run_is_the_same_whoever_keeps_it(run_tiny: RunTiny, tmp_path: Path) -> None:
    names = [name for name in ("tensorboard", "mlflow") if not missing(name)]
    plain = run_tiny()
    [kept] = run(Scenario.from_dict({**TINY, "log": names}), tmp_path / "kept")
    assert kept.summary == plain.summary
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {"default", *names}


def test_a_run_whose_folder_is_named_by_a_dot(run_tiny: RunTiny, monkeypatch: Any) -> None:
    result = run_tiny()
    monkeypatch.chdir(result.folder)
    run_ = tracked(RunResult(Path()))
    assert run_.top == result.folder.parents[1]
    assert run_.options["rounds.clients"] == 4


def missing(name: str) -> bool:
    return importlib.util.find_spec(trackers.get(name).package) is None


@pytest.mark.parametrize("name", [name for name in trackers.names() if missing(name)])
def test_what_is_not_installed_is_told_before_the_run(name: str, run_tiny: RunTiny) -> None:
    with pytest.raises(InputError, match=rf"log\[0\]: .*pip install 'simfl\[{name}\]'"):
        run_tiny({"log": [name]})


OWN = """\
from simfl.components.trackers.base import Record, Tracker

class Broken(Tracker):
    def begin(self, run):
        raise OSError("no room")

class Diary(Tracker):
    def begin(self, run):
        return Page(run.top / "diary.txt")

class Page(Record):
    def __init__(self, file):
        self.file = file
        file.write_text("")
    def write(self, text):
        self.file.write_text(self.file.read_text() + text + "\\n")
    def add(self, steps):
        for step in steps:
            self.write(f"{step.round} {step.time_s} {step.numbers}")
            if step.round == 2 and (self.file.parent / "stop").exists():
                raise KeyboardInterrupt
    def end(self, totals):
        self.write(f"end {totals}")
"""


@pytest.fixture
def own_trackers(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "own_trackers.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)


def test_a_tracker_that_fails_harms_no_run(
    run_tiny: RunTiny, own_trackers: None, caplog: Any
) -> None:
    result = run_tiny({"log": ["own_trackers:Broken"]})
    assert result.finished
    assert "keeps nothing more of" in caplog.text
    assert "no room" in caplog.text
    assert json.loads((result.folder / "summary.json").read_text())["rounds"] == 4


def test_what_would_have_shortened_a_run_is_not_tracked(
    run_tiny: RunTiny, own_trackers: None, caplog: Any
) -> None:
    """Each clock that `simfl explain` runs again was told to MLflow, say, as a run of its own."""
    result = run_tiny({"log": ["own_trackers:Broken"]})
    assert "no room" in caplog.text
    caplog.clear()
    assert explain(result).what_if.cases
    assert "no room" not in caplog.text


def test_rounds_are_told_while_the_run_goes_on_and_told_again_if_it_is_interrupted(
    own_trackers: None, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr("simfl.runs.tracking.EVERY_S", 0.0)
    changes = {"fleet": {**TINY["fleet"], "power": {"compute": "1 W"}}}
    data = {**TINY, **changes, "log": ["own_trackers:Diary"]}
    scenario, top = Scenario.from_dict(data), tmp_path / "runs"
    top.mkdir()
    (top / "stop").touch()
    with pytest.raises(KeyboardInterrupt):
        run(scenario, top)
    lines = (top / "diary.txt").read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["1", "2", "end"]
    assert lines[-1] == "end None"
    assert not (top / "default" / "seed-0" / "summary.json").exists()
    (top / "stop").unlink()
    [result] = run(scenario, top, go_on=True)
    *rounds, end = (top / "diary.txt").read_text().splitlines()
    assert [line.split()[0] for line in rounds] == ["1", "2", "3", "4"]
    assert rounds[:2] == lines[:2]
    last = ast.literal_eval(rounds[-1].split(" ", 2)[2])
    assert float(rounds[-1].split()[1]) == result.end_s
    assert last["bytes"] == result.total_bytes == ast.literal_eval(end[4:])["bytes"]
    assert last["accuracy"] == result.final_accuracy
    assert last["energy_j"] == result.spent_j[-1] > 0
