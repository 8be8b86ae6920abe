"""Metrics of a scenario's own: measured, recorded, shown, the same however the run is computed."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from simfl import Options, RunResult, compare, resume
from simfl.errors import InputError, RunError
from simfl.report import write_report
from simfl.report.comparison.forms import render
from simfl.report.plot import plot
from simfl.report.timeline.timeline import trace
from simfl.runs.check import check
from simfl.runs.folder.eventlog import decode
from simfl.runs.folder.folder import event_lines
from simfl.runs.folder.summary import Summary
from simfl.runs.verify import verify
from tests.run_folders import broken
from tests.tiny import RunTiny

CHANGES = {
    "evaluation.metrics": ["macro_f1", "auc", {"name": "top_k", "k": 3}],
    "evaluation.every": 2,
}
REGRESSION: dict[str, Any] = {
    "data.dataset": {"name": "synthetic_regression", "clients": 8, "samples": 10},
    "model": "logistic_regression",
    "training.loss": "mean_squared_error",
    "evaluation.metrics": ["mean_absolute_error"],
}
LABELS = ["macro_f1", "auc", "top_3"]
"""As columns."""
OWN = """
from simfl.components.metrics.base import QualityMetric

class {name}(QualityMetric):
    def of(self, outputs, targets):
        return {value}
"""


@pytest.fixture
def judged(run_tiny: RunTiny) -> RunResult:
    return run_tiny(CHANGES)


def test_each_has_a_column_of_rounds(judged: RunResult) -> None:
    rounds = judged.rounds[LABELS]
    assert rounds.notna().to_numpy().tolist() == [[False] * 3, [True] * 3] * 2
    assert ((rounds.dropna() >= 0) & (rounds.dropna() <= 1)).all().all()
    assert (rounds["top_3"].dropna() >= judged.rounds["accuracy"].dropna()).all()
    assert judged.metrics == pytest.approx(dict(rounds.iloc[-1]))


def test_they_change_nothing_else(judged: RunResult, run_tiny: RunTiny) -> None:
    plain = run_tiny({"evaluation.every": 2})
    assert plain.rounds.equals(judged.rounds.drop(columns=LABELS))
    assert plain.metrics == {}


def test_the_folder_holds_together(judged: RunResult) -> None:
    assert broken(judged.folder) == []
    assert verify(judged.folder) is None


def test_comparisons_and_reports_show_them(judged: RunResult, tmp_path: Path) -> None:
    comparison = compare([judged])
    [row] = json.loads(render(comparison, "json"))
    assert row["auc"]["mean"] == judged.metrics["auc"]
    table = render(comparison, "table")
    assert all(head in table for head in ("macro f1", "AUC", "top 3"))
    page = write_report([judged], tmp_path / "report.html").read_text()
    assert f"{judged.metrics['macro_f1']:.4g}" in page
    assert "macro f1" in page
    axes = plot([judged], y="auc").axes[0]
    assert axes.get_ylabel() == "AUC"


def test_by_processes_and_gone_on_with_they_are_the_same(
    judged: RunResult, run_tiny: RunTiny
) -> None:
    other = run_tiny(CHANGES, Options(executor="processes", workers=2))
    assert other.rounds.equals(judged.rounds)
    (other.folder / "summary.json").unlink()
    assert resume(other.folder).rounds.equals(judged.rounds)


def test_one_that_gives_no_number_hides_no_other(run_tiny: RunTiny, tmp_path: Path) -> None:
    (tmp_path / "half_there.py").write_text(OWN.format(name="Nothing", value="float('nan')"))
    name = f"{tmp_path / 'half_there.py'}:Nothing"
    run = run_tiny({"evaluation.metrics": ["macro_f1", name]})
    assert run.metrics["macro_f1"] == run.of_rounds("macro_f1")[-1]
    assert math.isnan(run.metrics["nothing"])
    assert "macro f1" in render(compare([run]), "table")
    assert verify(run.folder) is None


@pytest.mark.parametrize("value", ["0.25", "outputs.dtype.type(0.25).astype('float32')"])
def test_code_of_the_users_own(value: str, run_tiny: RunTiny, tmp_path: Path) -> None:
    module = tmp_path / f"own_metrics_{len(value)}.py"
    module.write_text(OWN.format(name="Share", value=value))
    name = f"{module}:Share"
    run = run_tiny({"evaluation.metrics": [name]})
    assert run.of_rounds("share").tolist() == [0.25] * 4
    assert verify(run.folder) is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("float('inf')", "expected a finite number, or NaN, got inf"),
        ("outputs", "expected a finite number, or NaN, got array"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_what_users_code_does_wrong_is_told_as_its_own(
    value: str, message: str, run_tiny: RunTiny, tmp_path: Path
) -> None:
    module = f"metric_{abs(hash(value))}"
    (tmp_path / f"{module}.py").write_text(OWN.format(name="Wrong", value=value))
    with pytest.raises(RunError, match=rf"metric '.*Wrong', judging the model: {message}"):
        run_tiny({"evaluation.metrics": [f"{tmp_path / module}.py:Wrong"]})


def test_a_metric_may_be_called_as_energy_is(run_tiny: RunTiny, tmp_path: Path) -> None:
    """Where no device has `power`, what ended in energy_j was left empty."""
    text = OWN.format(name="SavedEnergyJ", value="0.25")
    (tmp_path / "metric_of_energy.py").write_text(text)
    run = run_tiny({"evaluation.metrics": [f"{tmp_path / 'metric_of_energy.py'}:SavedEnergyJ"]})
    assert run.of_rounds("saved_energy_j").tolist() == [0.25] * 4


def test_what_a_diverged_model_comes_to_is_no_number(run_tiny: RunTiny) -> None:
    """Infinite outputs were a fault of the metric's."""
    lost = run_tiny({**REGRESSION, "aggregation": {"name": "fedavgm", "lr": 3e38}})
    assert lost.loss_is_lost
    assert lost.rounds["mean_absolute_error"].isna().all()
    assert math.isnan(lost.metrics["mean_absolute_error"])


def test_of_a_run_that_diverged_no_earlier_error_is_told(run_tiny: RunTiny) -> None:
    """A comparison had the last finite one, as if that were the run's."""
    lost = run_tiny({**REGRESSION, "aggregation": {"name": "fedavgm", "lr": 1e15}})
    assert math.isfinite(lost.of_rounds("loss")[0])
    assert lost.loss_is_lost
    assert lost.error is not None
    assert math.isnan(lost.error[1])


def test_metrics_of_a_diverged_classifier_raise_no_warning(run_tiny: RunTiny) -> None:
    """Warnings are errors here."""
    changes = {**CHANGES, "aggregation": {"name": "fedavgm", "lr": 1e37}}
    assert run_tiny(changes).loss_is_lost


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        (["macro_f2"], "unknown metric 'macro_f2'; did you mean 'macro_f1'"),
        (["auc", "auc"], "there is a column 'auc' already"),
        (["mean_absolute_error"], "is for numbers, but the targets .* are classes"),
    ],
)
def test_what_does_not_fit_is_refused(metrics: list[str], message: str, run_tiny: RunTiny) -> None:
    with pytest.raises(InputError, match=message):
        run_tiny({"evaluation.metrics": metrics})


def test_regression_has_no_right_answers(run_tiny: RunTiny) -> None:
    changes = {
        "data.dataset": {"name": "synthetic_regression", "clients": 8},
        "training.loss": "mean_squared_error",
    }
    run = run_tiny({**changes, "evaluation.metrics": ["mean_absolute_error"]})
    assert run.metrics["mean_absolute_error"] > 0
    with pytest.raises(InputError, match="is for classes or labels"):
        run_tiny({**changes, "evaluation.metrics": ["macro_f1"]})


def test_a_model_that_is_judged_when_the_run_ends_is_that_of_the_last_round(
    run_tiny: RunTiny,
) -> None:
    """A run that is out of time between two evaluations: every reader has the same numbers."""
    whole = run_tiny({"evaluation.every": 1})
    end_s = float(whole.rounds.end_s.iloc[1]) + 0.1
    result = run_tiny({"evaluation.every": 100, "rounds.stop": {"time": f"{end_s} s"}})
    assert result.n_rounds == 2
    assert not result.judged_in_time[-1]
    row = result.rounds.iloc[-1]
    assert row["accuracy"] == whole.rounds.accuracy[1]
    assert row["loss"] == whole.rounds.loss[1]
    assert result.final_accuracy == result.best_accuracy == result.terminal_accuracy
    assert result.final_accuracy == result.summary["final_accuracy"] == row["accuracy"]
    reached = result.reached(row["accuracy"])
    assert reached is not None
    assert (reached.time_s, reached.round) == (whole.of_rounds("end_s")[1], 2)
    sooner = whole.reached(row["accuracy"])
    assert sooner is not None
    assert reached.bytes == sooner.bytes
    late = run_tiny(
        {
            "evaluation.every": 100,
            "evaluation.targets": [float(row["accuracy"])],
            "rounds.stop": {"time": f"{end_s} s"},
        }
    )
    [told] = late.summary["targets"].values()
    assert (told["time_s"], told["round"]) == (reached.time_s, 2)
    assert late.end_s > reached.time_s
    assert told["bytes"] == reached.bytes < late.total_bytes
    events = json.loads(trace(late))["traceEvents"]
    [mark] = [event for event in events if event["name"].startswith("target")]
    assert mark["ts"] == pytest.approx(1e6 * reached.time_s)
    assert broken(late.folder) == []
    log = late.folder / "events.jsonl"
    own = f'"time_s":{json.dumps(told["time_s"])}'
    assert own in log.read_text()
    log.write_text(log.read_text().replace(own, '"time_s":0.5'))
    assert any("a target is reached at 0.5 s" in str(f.violation) for f in check(late.folder))
    log.write_text(log.read_text().replace('"round":2,"bytes"', '"round":9,"bytes"'))
    assert any("when round 9 did not end" in str(f.violation) for f in check(late.folder))
    assert broken(result.folder) == []


def test_a_loss_that_is_no_number_is_null_in_the_summary() -> None:
    summary = Summary()
    summary.listen(1.0, "evaluated", {"round": 1, "accuracy": 0.1, "loss": math.inf, "auc": None})
    told = summary.as_dict(1.0)["last_evaluation"]
    assert told == {"round": 1, "accuracy": 0.1, "loss": None, "auc": None}


def test_what_an_accuracy_has_cost_is_all_that_had_moved_by_then(run_tiny: RunTiny) -> None:
    """In asynchronous rounds some are at work when a model is judged: they have cost something."""
    changes = {"rounds.policy": {"name": "fedbuff", "buffer": 1}, "aggregation": "fedbuff"}
    best = run_tiny(changes).best_accuracy
    result = run_tiny({**changes, "evaluation.targets": [best]})
    log = [decode(line) for line in event_lines(result.folder)]
    [at] = [number for number, event in enumerate(log) if event["event"] == "target"]
    moved = sum(e["bytes"] for e in log[:at] if e["event"] in ("downloaded", "uploaded"))
    booked = sum(
        e["download_bytes"] + e["upload_bytes"] for e in log[:at] if e["event"] == "participation"
    )
    reached = result.reached(best)
    assert reached is not None
    assert reached.bytes == result.summary["targets"][f"{best:g}"]["bytes"] == moved > booked
    assert reached.bytes <= result.total_bytes
