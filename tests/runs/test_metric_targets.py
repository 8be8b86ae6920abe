"""Targets of other numbers than accuracy: first crossings, the end of runs, who never arrives."""

import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl import Options, RunResult, Scenario, compare, load
from simfl.cli import main
from simfl.core.target import MetricTarget
from simfl.errors import InputError, ScenarioError
from simfl.report.page.answer.headline import headline
from simfl.report.page.sections import learning
from simfl.runs.check import check
from simfl.runs.forks.fork import fork
from simfl.runs.job import Job
from simfl.runs.results.grouping import by_variant
from simfl.runs.results.several import all_targets
from simfl.runs.run import resume, run_one
from tests.run_folders import broken, computed, events
from tests.runs.doctored import in_log, put
from tests.runs.interruptions import EAGER
from tests.runs.regressions import REGRESSION, WILD
from tests.tiny import TINY, RunTiny

NUMBERS: dict[str, Any] = {**REGRESSION, "evaluation.metrics": ["mean_absolute_error"]}
OWN = """
from simfl.components.metrics.base import QualityMetric

class WorstError(QualityMetric):
    takes = ("numbers",)
    {says}
    def of(self, outputs, targets):
        return float(abs(outputs - targets.reshape(outputs.shape)).max())
"""


def first_at(run: RunResult, name: str, target: float, *, less: bool = True) -> int | None:
    """Return the round that reached a target, from the table alone."""
    column = run.rounds["loss"] ** 0.5 if name == "rmse" else run.rounds[name]
    hits = np.flatnonzero(column <= target if less else column >= target)
    return int(hits[0]) + 1 if len(hits) else None


@pytest.mark.parametrize("name", ["rmse", "loss", "mean_absolute_error"])
def test_less_is_better_of_errors(run_tiny: RunTiny, name: str) -> None:
    plain = run_tiny(NUMBERS)
    column = plain.judged_by(name)
    between, never = float(column[0] + column[1]) / 2, float(column.min()) / 2
    texts = [f"{name} {value!r}" for value in (between, never)]
    run = run_tiny({**NUMBERS, "evaluation.targets": texts})
    round_ = first_at(plain, name, between)
    assert round_ == 2
    told = run.summary["targets"]
    assert told[texts[0]]["round"] == round_
    assert told[texts[0]]["time_s"] == plain.rounds.end_s[round_ - 1]
    assert told[texts[1]] is None
    reached = run.reached(texts[0])
    assert reached is not None
    assert (reached.round, reached.bytes) == (round_, told[texts[0]]["bytes"])
    assert [event["metric"] for event in events(run.folder, "target")] == [name]
    assert broken(run.folder) == []
    assert run.rounds.equals(plain.rounds)  # who only looks changes nothing
    in_log(run.folder, "target", put("value", never))
    law = [str(f.violation) for f in check(run.folder) if f.law == "accuracy" and f.violation]
    assert any(f"the target {texts[1]} was not reached" in line for line in law), law


@pytest.mark.parametrize("name", ["macro_f1", "auc", "top_3"])
def test_more_is_better_of_shares(run_tiny: RunTiny, name: str) -> None:
    changes = {"evaluation.metrics": ["macro_f1", "auc", {"name": "top_k", "k": 3}]}
    plain = run_tiny(changes)
    best = float(plain.rounds[name].max())
    run = run_tiny({**changes, "evaluation.targets": ["1%", f"{name} {best!r}"]})
    round_ = first_at(plain, name, best, less=False)
    assert run.summary["targets"]["0.01"]["round"] == 1
    assert run.summary["targets"][f"{name} {best!r}"]["round"] == round_
    assert compare([run]).targets == [0.01, MetricTarget(best, name)]
    assert broken(run.folder) == []


def test_an_accuracy_and_another_number_alike_are_two_targets(run_tiny: RunTiny) -> None:
    """Both are floats: as keys one would have stood for the other."""
    run = run_tiny({"evaluation.targets": [0.01, "loss 0.01", "loss 9"]})
    told = {key: at and at["round"] for key, at in run.summary["targets"].items()}
    assert told == {"0.01": 1, "loss 0.01": None, "loss 9": 1}
    columns = [column.key for column in compare([run]).columns if column.key.startswith("round_")]
    assert columns == ["round_to_1%", "round_to_loss_9", "round_to_loss_0.01"]


def test_a_run_ends_at_its_target(run_tiny: RunTiny) -> None:
    whole = run_tiny({**NUMBERS, "evaluation.every": 2})
    value = float(whole.rounds["mean_absolute_error"][1])
    stop = {"rounds.stop.target": f"mean_absolute_error {value!r}", "evaluation.every": 2}
    run = run_tiny({**NUMBERS, **stop})
    assert run.summary["finished"] == "target"
    assert run.n_rounds == 2 < whole.n_rounds
    assert events(whole.folder)[: len(events(run.folder))] == events(run.folder)
    assert broken(run.folder) == []


def test_the_first_rule_that_is_met_ends_a_run(run_tiny: RunTiny) -> None:
    ends = {"rounds.stop.accuracy": "1%", "rounds.stop.target": "loss 99"}
    assert run_tiny(ends).summary["finished"] == "accuracy"
    assert run_tiny({"rounds.stop.target": "loss 0"}).summary["finished"] == "rounds"


def test_a_loss_that_is_no_number_reaches_nothing(run_tiny: RunTiny) -> None:
    run = run_tiny({**WILD, "evaluation.targets": ["loss 1e30", "rmse 1e-9"]})
    assert run.loss_is_lost
    assert run.summary["targets"] == {
        "loss 1e+30": {"time_s": run.rounds.end_s[0], "round": 1}
        | {key: run.summary["targets"]["loss 1e+30"][key] for key in ("bytes", "energy_j")},
        "rmse 1e-09": None,
    }
    assert run_tiny({**WILD, "rounds.stop.target": "rmse 1e-9"}).n_rounds == 4


def test_a_run_that_diverged_at_once_never_gets_there(run_tiny: RunTiny) -> None:
    """As if it had not been asked, its page did not say so, and tables said –."""
    noise = {"name": "dp_fedavg", "clip": 1, "noise_multiplier": 1e30}
    targets = {"evaluation.metrics": ["auc"], "evaluation.targets": ["loss 1", "auc 0.9", "99%"]}
    run = run_tiny({"aggregation": noise, **targets})
    assert run.loss_is_lost
    assert not np.isfinite(run.judged_by("loss")).any()
    assert headline(by_variant([run]))[0].startswith("It never reached 99%, auc 0.9 or loss 1;")
    told = compare([run])
    figures = [told.figure("default", column) for column in told.columns if column.target]
    assert [(figure.missing, figure.seeds) for figure in figures] == [(1, 1)] * len(figures)
    only_clock = run_tiny(targets, Options(time_only=True))
    assert not any("reached" in line for line in headline(by_variant([only_clock])))


def test_a_resumed_run_ends_where_it_would_have(run_tiny: RunTiny, tmp_path: Path) -> None:
    third = float(run_tiny(NUMBERS).judged_by("rmse")[2])
    changes = {"rounds.stop.target": f"rmse {third!r}", "evaluation.targets": [f"rmse {third!r}"]}
    whole = run_tiny({**NUMBERS, **changes})
    assert whole.summary["finished"] == "target"
    cut = Scenario.load(whole.folder / "scenario.yaml")
    folder = tmp_path / "cut"
    job = Job("default", cut, folder)
    expected = computed(run_one(job, EAGER).folder)
    log = (folder / "events.jsonl").read_text().splitlines(keepends=True)
    for name in ("summary.json", "model.pt"):
        (folder / name).unlink()
    (folder / "events.jsonl").write_text("".join(log[: len(log) // 2]))
    assert computed(resume(folder).folder) == expected


def test_a_fork_may_end_at_another_target(run_tiny: RunTiny) -> None:
    whole = run_tiny(NUMBERS)
    ends_s, rmse = whole.rounds.end_s, whole.judged_by("rmse")
    at_s = float(ends_s[0] + ends_s[1]) / 2
    forked = fork(whole.folder, at_s, [f"rounds.stop.target=rmse {float(rmse[1])!r}"])
    run = resume(forked)
    assert (run.n_rounds, run.summary["finished"]) == (2, "target")
    assert broken(forked) == []
    with pytest.raises(InputError, match=r"target: rmse 99 was reached before, in round 1"):
        fork(whole.folder, at_s, ["rounds.stop.target=rmse 99"], "another")


@pytest.mark.parametrize("log", ["rounds", "none"])
def test_the_log_may_leave_it_out(run_tiny: RunTiny, log: str) -> None:
    options = Options(log=log)  # type: ignore[arg-type]
    run = run_tiny({**NUMBERS, "evaluation.targets": ["rmse 99"]}, options)
    assert run.summary["targets"]["rmse 99"]["round"] == 1
    reached = run.reached("rmse 99")
    assert reached is not None
    assert reached.round == 1


def test_a_metric_of_the_users_own_says_what_is_better(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_tiny: RunTiny
) -> None:
    """Its folder tells it, for who reads that does not import their code."""
    (tmp_path / "says_less.py").write_text(OWN.format(says="better = 'less'"))
    (tmp_path / "says_nothing.py").write_text(OWN.format(says=""))
    (tmp_path / "says_high.py").write_text(OWN.format(says="better = 'higher'"))
    monkeypatch.syspath_prepend(tmp_path)
    own = {**REGRESSION, "evaluation.metrics": ["says_less:WorstError"]}
    run = run_tiny({**own, "evaluation.targets": ["worst_error 99", "worst_error 0"]})
    assert [at and at["round"] for at in run.summary["targets"].values()] == [1, None]
    [easy, hard] = all_targets([load(run.folder)])
    assert (easy, hard) == (MetricTarget(99, "worst_error"), MetricTarget(0, "worst_error"))
    assert [run.reached(target) is not None for target in (easy, hard)] == [True, False]
    assert broken(run.folder) == []
    silent = {**REGRESSION, "evaluation.metrics": ["says_nothing:WorstError"]}
    with pytest.raises(InputError, match="whether more or less of 'worst_error' is better is not"):
        run_tiny({**silent, "rounds.stop.target": "worst_error 3"})
    high = {**REGRESSION, "evaluation.metrics": ["says_high:WorstError"]}
    with pytest.raises(InputError, match='"less"`, or "more", and not \'higher\''):
        run_tiny({**high, "rounds.stop.target": "worst_error 3"})
    with pytest.raises(InputError, match="whether more or less of 'worst_error' is better is not"):
        compare([run_tiny(silent)], ["worst_error 3"])


@pytest.mark.parametrize("within", ["'0-1'", "1.0", "(1, 0)", "(0, '1')"])
def test_what_a_metric_can_not_be_within_is_told_at_its_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, within: str
) -> None:
    """It was an internal error as soon as a target was asked for, and nothing without one."""
    (tmp_path / "odd_range.py").write_text(OWN.format(says=f"within = {within}"))
    monkeypatch.delitem(sys.modules, "odd_range", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    told = re.escape(f"such as (0.0, 1.0), got {within} ({tmp_path / 'odd_range.py'}:")
    with pytest.raises(InputError, match=rf"WorstError.within: expected .*{told}"):
        Scenario.from_dict(TINY | {"evaluation": {"metrics": ["odd_range:WorstError"]}})


def test_pages_say_who_got_there(run_tiny: RunTiny) -> None:
    run = run_tiny({**NUMBERS, "evaluation.targets": ["rmse 99", "loss 0"]})
    groups = by_variant([run])
    told = headline(groups)
    assert told[0].startswith("Reached rmse 99 after")
    assert told[1] == "It never reached loss 0."
    assert told[2].startswith("The RMSE at the end is")
    drawing = learning(groups)
    assert drawing is not None
    assert drawing.data is not None
    marks = [(mark["y"], mark["value"], mark["text"]) for mark in drawing.data["marks"]]
    assert marks == [("loss", 0.0, "loss 0"), ("rmse", 99.0, "rmse 99")]
    heights = {y["key"]: (y["low"], y["high"]) for y in drawing.data["ys"]}
    assert all(heights[key][0] <= value <= heights[key][1] for key, value, _ in marks)


def test_variants_race_to_it_and_some_seeds_never_arrive(run_tiny: RunTiny) -> None:
    runs = [run_tiny({**NUMBERS, "seed": seed}) for seed in (0, 1, 2)]
    lows = sorted(float(run.judged_by("rmse").min()) for run in runs)
    comparison = compare(runs, [f"rmse {lows[1]!r}"])
    [column] = [column for column in comparison.columns if column.key.startswith("round_to")]
    figure = comparison.figure("default", column)
    assert (figure.missing, figure.seeds) == (1, 3)
    assert math.isfinite(figure.median)


def test_any_number_can_be_asked_for_afterwards(
    run_tiny: RunTiny, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_tiny(NUMBERS).folder
    asked = ["compare", str(folder), "--targets", "rmse 99,loss 0,99"]
    assert main([*asked, "--format", "csv"]) == 0
    head = capsys.readouterr().out.splitlines()[0].split(",")
    assert "time_s_to_rmse_99" in head
    assert head.count("time_s_to_rmse_99") == 1  # a number alone is one of the error
    assert "bytes_to_loss_0" in head
    assert main([*asked, "--columns", "time_s_to_rmse_9"]) == 2
    assert "not asked about; --targets 'rmse 9' asks" in capsys.readouterr().err
    assert main(["compare", str(folder), "--targets", "rsme 3"]) == 2
    assert "no run was judged by 'rsme'; did you mean 'rmse'?" in capsys.readouterr().err
    assert main(["compare", str(folder), "--targets", "rmse -3"]) == 2
    assert "--targets: rmse is at least 0, but got -3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"evaluation.targets": ["rsme 1"]}, r"evaluation\.targets\[0\]: .*did you mean 'rmse'"),
        ({"evaluation.targets": ["mae 1"]}, r"measure 'mae'; did you mean 'mean_absolute_error'"),
        ({"evaluation.targets": ["rmse -1"]}, r"rmse is at least 0, but got -1"),
        ({"rounds.stop.target": "auc 0.5"}, r"stop\.target: .*`evaluation\.metrics: \[auc\]`"),
        ({"rounds.stop.target": "80%"}, r"an accuracy is written `accuracy: 80%`"),
        ({"evaluation.targets": ["80%"]}, r"has no accuracy, .* such as 'rmse 0\.5'"),
    ],
)
def test_what_no_model_can_reach_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        Scenario.from_dict(TINY, overrides=[f"{k}={v}" for k, v in (NUMBERS | changes).items()])


@pytest.mark.parametrize(
    ("metrics", "name", "hint"),
    [
        ([], "top_k", r"; did you mean 'top_5'\?"),
        ([], "top_5", r"; `evaluation\.metrics: \[top_k\]` has them do"),
        (["top_k"], "top_k", r"; did you mean 'top_5'\?"),
        ([{"name": "top_k", "k": 3}], "top_k", r"; did you mean 'top_3'\?"),
    ],
)
def test_a_metric_that_goes_by_its_option_is_told_by_its_column(
    metrics: list[Any], name: str, hint: str
) -> None:
    """`evaluation.metrics: [top_k]` was said to measure top_k, and then said so again."""
    changes = [f"evaluation.metrics={metrics}", f"evaluation.targets=[{name} 0.5]"]
    with pytest.raises(ScenarioError, match=f"don't measure '{name}'{hint}"):
        Scenario.from_dict(TINY, overrides=changes)


def test_shares_end_at_one() -> None:
    changes = ["evaluation.metrics=[auc]", "evaluation.targets=[auc 90]"]
    with pytest.raises(ScenarioError, match="auc is at least 0 and at most 1, but got 90"):
        Scenario.from_dict(TINY, overrides=changes)
    with pytest.raises(ScenarioError, match="don't measure 'rmse'"):
        Scenario.from_dict(TINY, overrides=["evaluation.targets=[rmse 1]"])
