"""Tuning for other numbers than accuracy: the cost until one is reached, or one itself."""

from pathlib import Path
from typing import Any

import pytest

from simfl.errors import InputError, ScenarioError
from simfl.report.page.answer.tuning import answer
from simfl.runs.options import Options
from simfl.runs.results.find import find_runs
from simfl.runs.tuning.tune import tune
from simfl.scenario import Document, Scenario
from tests.tiny import TINY

LEARNS: dict[str, Any] = {
    **TINY,
    "data": {"dataset": {"name": "synthetic_regression", "clients": 8, "samples": 10}},
    "model": "logistic_regression",
    "training": {"loss": "mean_squared_error"},
    "evaluation": {"metrics": ["mean_absolute_error"]},
    "seeds": [0],
}
RATES: dict[str, Any] = {"parameters": {"training.optimizer.lr": [0.001, 0.2]}, "trials": 2}


def document(objective: str, **changes: Any) -> Document:
    return Document.of({**LEARNS, **changes, "tune": {**RATES, "objective": objective}})


def test_the_least_time_to_an_error(tmp_path: Path) -> None:
    tuning = tune(document("rounds to rmse 0.7"), tmp_path, Options(jobs=1))
    states = {t.parameters["training.optimizer.lr"]: t.state for t in tuning.trials}
    assert states[0.2] == "done"
    assert states[0.001] in ("never", "given up")
    assert tuning.best is not None
    [run] = find_runs([tmp_path / tuning.best.name])
    assert run.summary["finished"] == "target"
    assert run.judged_by("rmse")[-1] <= 0.7
    assert tuning.value(tuning.best) == run.n_rounds
    assert answer(tuning)[0].startswith(f"Least rounds to rmse 0.7: {run.n_rounds}")


@pytest.mark.parametrize(
    ("objective", "more", "changes"),
    [
        ("mean_absolute_error", False, {}),
        ("rmse", False, {}),
        (
            "macro_f1",
            True,
            {
                "data": TINY["data"], "model": TINY["model"], "training": TINY["training"],
                "evaluation": {"metrics": ["macro_f1"]},
            },
        ),
    ],
)  # fmt: skip
def test_the_best_of_a_metric_whichever_way_that_is(
    tmp_path: Path, objective: str, more: bool, changes: dict[str, Any]
) -> None:
    tuning = tune(document(objective, **changes), tmp_path, Options(jobs=1))
    finals = [find_runs([tmp_path / t.name])[0].judged_by(objective)[-1] for t in tuning.trials]
    assert len(set(finals)) == 2
    assert tuning.best is not None
    assert tuning.value(tuning.best) == (max(finals) if more else min(finals))
    assert answer(tuning)[0].startswith(f"{'Most' if more else 'Least'} {objective}: ")


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        ("time to rsme 1", r"tune\.objective: evaluations don't measure 'rsme'; .* 'rmse'"),
        ("time to 80%", r"no accuracy; the objective may be a target such as 'rmse 0\.5'"),
        ("auc", r"`evaluation\.metrics: \[auc\]` has them do"),
        ("mean_absolut_error", r"expected time, .* did you mean 'mean_absolute_error'"),
        ("rmse to 3", "or accuracy, or a metric, got 'rmse to 3'"),
    ],
)
def test_what_no_run_will_tell_is_refused_with_its_place(objective: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        Scenario.from_dict({**LEARNS, "tune": {**RATES, "objective": objective}})


def test_it_needs_training(tmp_path: Path) -> None:
    for objective in ("time to rmse 3", "mean_absolute_error"):
        with pytest.raises(InputError, match="needs training, which time_only leaves out"):
            tune(document(objective), tmp_path, Options(time_only=True))
