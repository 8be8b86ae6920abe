"""What TensorBoard, MLflow and Weights & Biases read back is what the run was."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from simfl import RunResult, Scenario, run
from simfl.components.trackers.base import trackers
from simfl.errors import InputError
from simfl.runs.tracking import tracked
from simfl.testing.contract import suites
from simfl.testing.trackers import TrackerContract, example_run
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

    for rounds in (5, 3):  # recorded again, it is there once
        trackers.parse("tensorboard").record(example_run(tmp_path, rounds))
    events = EventAccumulator(str(tmp_path / "tensorboard" / "slow" / "seed-7")).Reload()
    assert [(e.step, e.wall_time, e.value) for e in events.Scalars("accuracy")] == [
        (1, 10.5, 0.25),
        (2, 21.0, 0.5),
        (3, 31.5, 0.75),
    ]


@needs("mlflow")
def test_mlflow_finds_metrics_and_parameters(tmp_path: Path) -> None:
    import mlflow

    trackers.parse("mlflow").record(example_run(tmp_path))
    client = mlflow.MlflowClient((tmp_path / "mlflow").as_uri())
    [record] = client.search_runs([client.get_experiment_by_name("example").experiment_id])
    assert record.info.run_name == "slow seed 7"
    assert record.data.params["rounds.clients"] == "4"
    assert record.data.metrics["accuracy"] == 0.75
    history = client.get_metric_history(record.info.run_id, "accuracy")
    assert [(m.step, m.timestamp, m.value) for m in history] == [
        (1, 10500, 0.25),
        (2, 21000, 0.5),
        (3, 31500, 0.75),
    ]


@needs("wandb")
@pytest.mark.slow
def test_wandb_keeps_an_offline_run(tmp_path: Path) -> None:
    trackers.parse("wandb").record(example_run(tmp_path))
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
    assert [step.round for step in run_.steps] == [1, 2, 3, 4]
    assert run_.options["rounds.clients"] == 4


def missing(name: str) -> bool:
    return importlib.util.find_spec(trackers.get(name).package) is None


@pytest.mark.parametrize("name", [name for name in trackers.names() if missing(name)])
def test_what_is_not_installed_is_told_before_the_run(name: str, run_tiny: RunTiny) -> None:
    with pytest.raises(InputError, match=rf"log\[0\]: .*pip install 'simfl\[{name}\]'"):
        run_tiny({"log": [name]})


BROKEN = """\
from simfl.components.trackers.base import Tracker

class Broken(Tracker):
    def record(self, run):
        raise OSError("no room")
"""


def test_a_tracker_that_fails_harms_no_run(
    run_tiny: RunTiny, tmp_path: Path, monkeypatch: Any, caplog: Any
) -> None:
    (tmp_path / "broken_tracker.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(tmp_path)
    result = run_tiny({"log": ["broken_tracker:Broken"]})
    assert result.finished
    assert "kept nothing of" in caplog.text
    assert "no room" in caplog.text
    assert json.loads((result.folder / "summary.json").read_text())["rounds"] == 4
