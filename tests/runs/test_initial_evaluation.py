"""`evaluation.initial`: how good the model is that a run begins with, as its round 0."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest

from simfl import Options, RunResult, Scenario, compare, run
from simfl.report.caveats.cadence import seen_late
from simfl.report.caveats.mishaps import roundless
from simfl.report.page.answer.headline import headline
from simfl.report.page.sections import learning
from simfl.report.timeline.timeline import trace
from simfl.runs.check import check
from simfl.runs.forks.fork import fork
from simfl.runs.run import resume
from simfl.runs.verify import verify
from tests.run_folders import broken, computed, events
from tests.runs.doctored import in_log, put
from tests.runs.interruptions import EAGER, resumed
from tests.runs.regressions import REGRESSION
from tests.tiny import TINY, RunTiny

INITIAL = {"evaluation.initial": True}
POWER = {"fleet.power": {"idle": "1 W", "compute": "2 W"}}


def test_it_is_as_good_as_the_run_that_made_it_says(run_tiny: RunTiny, tmp_path: Path) -> None:
    """The one number that another evaluation of the same model on the same samples gives."""
    metrics = {"evaluation.metrics": ["macro_f1"]}
    first = run_tiny(metrics)
    shutil.copy(first.folder / "model.pt", tmp_path / "given.pt")
    given = {"model.weights_file": str(tmp_path / "given.pt"), "rounds.stop.rounds": 1}
    tuned = run_tiny({**metrics, **given, **INITIAL})
    assert tuned.initial_evaluation == first.last_evaluation
    assert tuned.rounds["macro_f1"].iloc[0] == first.metrics["macro_f1"]


@pytest.mark.parametrize("policy", ["synchronous", "fedasync"])
def test_it_takes_nothing_and_changes_nothing(run_tiny: RunTiny, policy: str) -> None:
    rules = {**POWER, "rounds.policy": policy, "evaluation.every": 3}
    plain, run = run_tiny(rules), run_tiny({**rules, **INITIAL})
    assert run.rounds["round"].tolist() == [0, *plain.rounds["round"]]
    first = run.rounds.iloc[0].drop(["accuracy", "loss"])
    assert (first.dropna() == 0).all()
    assert run.round_rows.equals(plain.rounds)
    assert run.n_rounds == plain.n_rounds == run.summary["rounds"]
    assert run.terminal_accuracy == plain.terminal_accuracy
    assert [event for event in events(run.folder) if event.get("round") != 0] == events(
        plain.folder
    )
    assert broken(run.folder) == []
    assert plain.initial_evaluation == {}


def test_a_target_that_it_is_at_takes_no_time(run_tiny: RunTiny) -> None:
    plain = run_tiny({**POWER, **INITIAL})
    began = plain.initial_evaluation["accuracy"]
    later = float(plain.rounds.accuracy.max())
    run = run_tiny({**POWER, **INITIAL, "evaluation.targets": [began, later]})
    at_once, then = run.summary["targets"].values()
    assert at_once == {"time_s": 0.0, "round": 0, "bytes": 0, "energy_j": 0.0}
    assert then["round"] == 1 + int(np.argmax(run.round_rows.accuracy == later))
    reached = run.reached(began)
    assert reached is not None
    assert vars(reached) == {**at_once, "epsilon": math.nan, "epsilon_poisson": math.nan}
    [told] = headline({"tiny": [run_tiny({**INITIAL, "evaluation.targets": ["1%"]})]})
    assert told == "Reached 1% after 0 s of virtual time, 0 rounds and 0 B moved."
    table = compare([run])
    [time] = [c for c in table.columns if c.target == began and c.metric.name == "time_s"]
    assert table.figure("default", time).mean == 0.0
    in_log(run.folder, "target", put("accuracy", began + 0.01))
    assert next(f.law for f in check(run.folder) if f.violation) == "accuracy"


def test_variants_that_begin_at_a_target_are_equally_soon(tmp_path: Path) -> None:
    changes = ["evaluation.initial=true", "evaluation.targets=[1%]"]
    scenario = Scenario.from_dict(
        {**TINY, "variants": {"a": {}, "b": {"training.epochs": 1}}}, overrides=changes
    )
    groups = {result.variant: [result] for result in run(scenario, tmp_path)}
    told = "a and b reached 1% equally soon: after 0 s of virtual time, 0 rounds and 0 B moved."
    assert headline(groups)[0] == told


def test_a_run_that_begins_where_it_is_to_end_has_no_round(run_tiny: RunTiny) -> None:
    for stop in ({"rounds.stop.accuracy": 0.01}, {"rounds.stop.target": "loss 99"}):
        run = run_tiny({**INITIAL, **stop, "evaluation.targets": [0.01], "evaluation.every": 2})
        assert (run.n_rounds, run.end_s, run.total_bytes) == (0, 0.0, 0)
        assert run.final_accuracy == run.best_accuracy == run.initial_evaluation["accuracy"]
        assert broken(run.folder) == []
        assert "as good as `rounds.stop` asks" in roundless({"tiny": [run]})[0]
        assert seen_late({"tiny": [run]}) == []
        assert headline({"tiny": [run]})[0].startswith("Reached 1% after 0 s")


@pytest.mark.parametrize("name", ["accuracy", "rmse"])
def test_curves_begin_where_training_does(run_tiny: RunTiny, name: str) -> None:
    result = run_tiny(INITIAL if name == "accuracy" else {**REGRESSION, **INITIAL})
    drawing = learning({"tiny": [result]})
    assert drawing is not None
    assert drawing.data is not None
    [points] = drawing.data["series"][0]["runs"]
    began = result.initial_evaluation
    value = began["accuracy"] if name == "accuracy" else began["loss"] ** 0.5
    assert points["time"][0] == points["round"][0] == points["bytes"][0] == 0
    assert points[name][0] == pytest.approx(value, rel=1e-3)
    assert len(points["time"]) == result.n_rounds + 1
    slices = [e for e in json.loads(trace(result))["traceEvents"] if e["ph"] == "X"]
    assert "round 0" not in [e["name"] for e in slices]


def test_without_training_there_is_none(run_tiny: RunTiny) -> None:
    clock = Options(time_only=True)
    assert run_tiny(INITIAL, clock).rounds.equals(run_tiny(options=clock).rounds)


def test_it_is_resumed_forked_and_verified(tmp_path: Path) -> None:
    scenario = Scenario.from_dict({**TINY, "rounds": {"clients": 2, "stop": {"rounds": 2}}})
    scenario = Scenario.from_dict(scenario.to_dict(), overrides=["evaluation.initial=true"])
    for expected, got in resumed(scenario, tmp_path, keep=lambda number: number % 16 == 1):
        assert got == expected
    there = fork(tmp_path / "whole", np.inf, ["rounds.stop.rounds=3"], name="longer")
    longer = resume(there, EAGER)
    assert longer.rounds["round"].tolist() == [0, 1, 2, 3]
    assert computed(there)["rounds.csv"].startswith(computed(tmp_path / "whole")["rounds.csv"])
    assert verify(there) is None


def test_a_table_that_is_behind_the_log_breaks_no_law(run_tiny: RunTiny) -> None:
    """As where a run was killed between the two: round 0 was told to be one too few."""
    folder = run_tiny(INITIAL).folder
    (folder / "summary.json").unlink()
    table = folder / "rounds.csv"
    table.write_text(table.read_text().partition("\n")[0] + "\n")
    assert broken(folder) == []
    assert RunResult(folder).initial_evaluation == {}


def test_short_logs_have_it(run_tiny: RunTiny) -> None:
    whole, short = run_tiny(INITIAL), run_tiny(INITIAL, Options(log="none"))
    assert short.rounds.equals(whole.rounds)
    assert short.initial_evaluation == whole.initial_evaluation != {}
