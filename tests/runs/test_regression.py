"""Data sets of numbers, and losses that know no right answer."""

import json
import math

import numpy as np
import pytest

from simfl import Scenario, compare
from simfl.core.target import MetricTarget
from simfl.errors import InputError, ScenarioError
from simfl.report.comparison.forms import render
from simfl.report.page.sections import learning
from simfl.report.plot import plot
from simfl.runs.results.result import RunResult
from tests.runs.regressions import REGRESSION, WILD
from tests.tiny import TINY, RunTiny


def test_the_error_falls_and_there_is_no_accuracy(run_tiny: RunTiny) -> None:
    result = run_tiny(REGRESSION)
    assert result.rounds.accuracy.isna().all()
    assert result.summary["final_accuracy"] is None
    losses = result.rounds.loss
    assert losses.iloc[-1] < losses.iloc[0] / 3
    assert losses.iloc[-1] >= 0.5 * 0.1**2  # the noise can't be learnt


def test_comparisons_show_the_root_of_the_mean_squared_error(run_tiny: RunTiny) -> None:
    result = run_tiny(REGRESSION)
    rmse = math.sqrt(result.rounds.loss.iloc[-1])
    assert result.error == ("rmse", rmse)
    comparison = compare([result])
    assert json.loads(render(comparison, "json"))[0]["rmse"]["mean"] == rmse
    table = render(comparison, "table")
    assert f"{rmse:.4g}" in table
    assert "RMSE" in table
    assert "accuracy" not in table
    assert run_tiny().error is None


def test_a_chart_has_the_error_that_the_table_tells(run_tiny: RunTiny) -> None:
    """There was only the loss, its square."""
    result = run_tiny(REGRESSION)
    for y in ("rmse", None):
        (line,) = plot([result], "rounds", y).axes[0].get_lines()
        drawn = np.asarray(line.get_ydata(), dtype=np.float64)
        assert result.error == ("rmse", drawn[-1])
        np.testing.assert_allclose(drawn**2, result.rounds.loss)
    drawing = learning({"default": [result]})
    assert drawing is not None
    assert drawing.data is not None
    assert [y["label"] for y in drawing.data["ys"]] == ["RMSE", "loss"]
    with pytest.raises(InputError, match="unknown 'rmse'"):
        plot([run_tiny()], y="rmse")


def test_errors_are_targets_where_there_is_no_accuracy(run_tiny: RunTiny) -> None:
    """`compare --targets` knew only accuracies."""
    often, seldom = run_tiny(REGRESSION), run_tiny({**REGRESSION, "evaluation.every": 4})
    errors = often.errors("rmse")
    easy, hard, never = float(errors.max()), float(errors.min()), float(errors.min()) / 2
    comparison = compare([often], [hard, f"{easy}", never])
    assert comparison.targets == [MetricTarget(value, "rmse") for value in (easy, hard, never)]
    [row] = json.loads(render(comparison, "json"))
    for target, n in ((easy, 1), (hard, 1 + int(errors.argmin()))):
        assert row[f"round_to_rmse_{target:.10g}"]["mean"] == n
        assert row[f"time_s_to_rmse_{target:.10g}"]["mean"] == often.rounds.end_s[n - 1]
    table = render(comparison, "table")
    assert f"to rmse {never:.10g}\n\n variant    time" in table
    assert "never" in table
    assert "%" not in table
    reached = [run.reached(MetricTarget(easy, "rmse")) for run in (often, seldom)]
    assert [None if at is None else at.round for at in reached] == [1, 4]
    assert often.reached(0.1) is None
    with pytest.raises(InputError, match=r"expected an error such as 0.5, a number \(rmse\), got"):
        compare([often], ["60%"])
    assert compare([often, run_tiny()], ["10%"]).targets == [0.1]  # of the one with accuracy


def test_other_partitions_of_numbers(run_tiny: RunTiny) -> None:
    assert len(run_tiny({**REGRESSION, "data.partition": "iid"}).rounds) == 4
    with pytest.raises(InputError, match=r"deals by classes, but the targets .* are numbers"):
        run_tiny({**REGRESSION, "data.partition": {"name": "shards", "per_client": 2}})


@pytest.mark.parametrize("partition", ["dirichlet", "shards", "power_law_two_digits"])
def test_partitions_by_class_are_told_before_a_run(partition: str) -> None:
    data = {"dataset": "synthetic_regression", "partition": partition}
    training = {"loss": "mean_squared_error"}
    with pytest.raises(ScenarioError, match=r"data\.partition: .*the targets .* are numbers"):
        Scenario.from_dict({**TINY, "data": data, "training": training})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"training.loss": "cross_entropy"}, r"for classes, but the targets .* are numbers"),
        ({"evaluation.targets": [0.5]}, "has no accuracy"),
        ({"rounds.stop.accuracy": 0.5}, "has no accuracy"),
    ],
)
def test_what_does_not_fit_is_refused(
    run_tiny: RunTiny, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        run_tiny({**REGRESSION, **changes})


def test_a_binary_loss_needs_two_classes(run_tiny: RunTiny) -> None:
    two = {"data.dataset.classes": 2, "training.loss": "binary_cross_entropy"}
    assert run_tiny(two).rounds.accuracy.iloc[-1] > 0.5
    with pytest.raises(InputError, match="tells two classes apart, but there are 10"):
        run_tiny({"training.loss": "binary_cross_entropy"})


def test_a_run_that_diverged_has_no_error(run_tiny: RunTiny) -> None:
    """It was the last finite one, of a round long before."""
    result = run_tiny(WILD)
    assert result.loss_is_lost
    assert math.isfinite(result.rounds.loss.iloc[0])
    assert result.error is not None
    assert result.error[0] == "rmse"
    assert math.isnan(result.error[1])
    assert result.metrics["mean_absolute_error"] > 1e20  # a number still
    table = render(compare([result]), "table")
    assert "RMSE" in table
    assert "training diverged" in table


def test_a_run_that_goes_on_has_diverged_as_one_that_ended(run_tiny: RunTiny) -> None:
    """It was told as sound, with the error of the last evaluation that had one."""
    whole = run_tiny(WILD)
    assert whole.loss_is_lost
    (whole.folder / "summary.json").unlink()
    going_on = RunResult(whole.folder)
    assert not going_on.finished
    assert going_on.loss_is_lost
    assert going_on.last_evaluation.keys() == whole.last_evaluation.keys()
    assert math.isnan(going_on.last_evaluation["loss"])
    assert going_on.error is not None
    assert math.isnan(going_on.error[1])


def test_a_round_without_an_evaluation_is_no_divergence(run_tiny: RunTiny) -> None:
    whole = run_tiny({**REGRESSION, "evaluation.every": 2})
    (whole.folder / "summary.json").unlink()
    half = whole.folder / "rounds.csv"
    half.write_text("".join(half.read_text().splitlines(keepends=True)[:4]) + "4,")
    going_on = RunResult(whole.folder)
    assert not going_on.loss_is_lost
    assert going_on.n_rounds == 3
    assert going_on.last_evaluation["loss"] == going_on.rounds.loss.iloc[1]


@pytest.mark.parametrize("hidden", [[], [4]])
def test_a_rate_beyond_float32_only_diverges(run_tiny: RunTiny, hidden: list[int]) -> None:
    """It put a warning on the terminal; here a warning is an error."""
    wild = {
        **{key: value for key, value in REGRESSION.items() if "schedule" not in key},
        "model.hidden": hidden,
        "training.optimizer": {"name": "sgd", "lr": 1e150},
    }
    assert run_tiny(wild).rounds.discarded.tolist() == [4] * 4


@pytest.mark.parametrize(
    "training",
    [
        {"proximal": 1e39},
        {"optimizer": {"name": "sgd", "lr": 0.1, "weight_decay": 1e39}},
        {"optimizer": {"name": "adam", "eps": 1e39}},
        {"optimizer": {"name": "adamw", "eps": 1e-50}},
    ],
)
def test_what_float32_does_not_hold_is_refused(training: dict[str, object]) -> None:
    """It ended in an internal error of a kernel; an `eps` became nothing, or hid all gradients."""
    with pytest.raises(ScenarioError, match=r"must be at (most 1e\+38|least 1e-38)"):
        Scenario.from_dict({**TINY, "training": training})
