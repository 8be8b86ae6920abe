"""Tuning: what is best within limits; what can't be is given up; resuming changes nothing."""

import csv
import io
import math
import re
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from simfl import run
from simfl.errors import InputError
from simfl.report.page.answer.tuning import answer, over_limits
from simfl.report.page.tuning import page
from simfl.runs.options import Options
from simfl.runs.results.find import find_runs
from simfl.runs.tuning.trials import TRIALS, Tuning
from simfl.runs.tuning.tune import tune
from simfl.scenario import Document, Scenario
from tests.runs.tuning.tuned import CLOCK, LEARNS, TO_TARGET, document, timed


@pytest.mark.slow
def test_the_clock_alone_finds_the_fewest_clients_on_the_fastest_links(tmp_path: Path) -> None:
    tuning = timed(tmp_path, {**CLOCK, "trials": 12}, seeds=[0])
    best = tuning.best
    assert best is not None
    assert best.parameters["fleet.uplink"] == "1 Mbit/s"
    assert best.cost == min(trial.cost for trial in tuning.trials)


@pytest.mark.slow
def test_a_value_is_the_median_of_the_runs_in_the_trials_folder(tmp_path: Path) -> None:
    for trial in timed(tmp_path).trials:
        runs = find_runs([tmp_path / trial.name])
        assert len(runs) == trial.seeds
        assert {run.provenance["variant"] for run in runs} == {trial.name}
        assert runs[0].provenance["factors"] == trial.parameters
        if trial.state == "done":
            assert [run.seed for run in runs] == [0, 1, 2]
            assert trial.cost == median(run.end_s for run in runs)


def test_nothing_is_tried_twice_and_in_the_end_there_is_nothing_left(tmp_path: Path) -> None:
    choices = {"rounds.clients": {"min": 2, "max": 4}, "fleet.uplink": ["1 Mbit/s", "2 Mbit/s"]}
    tuning = timed(tmp_path, {**CLOCK, "parameters": choices, "trials": 50}, seeds=[0])
    tried = [tuple(trial.parameters.values()) for trial in tuning.trials]
    assert sorted(tried) == sorted(product([2, 3, 4], ["1 Mbit/s", "2 Mbit/s"]))


@pytest.mark.slow
def test_giving_trials_up_changes_nothing_about_the_best(tmp_path: Path) -> None:
    spec = {**TO_TARGET, "parameters": {"rounds.clients": [1, 4, 8, 12]}}
    tuning = tune(document(spec | {"trials": 8}), tmp_path / "tuned", Options(jobs=1))
    best, tried = tuning.best, {t.parameters["rounds.clients"] for t in tuning.trials}
    assert best is not None
    assert "given up" in {trial.state for trial in tuning.trials}
    medians = {}
    for clients in tried:
        scenario = Scenario.from_dict(LEARNS, overrides=[f"rounds.clients={clients}"])
        reached = [r.reached(0.6) for r in run(scenario, tmp_path / str(clients))]
        medians[clients] = median(float("inf") if r is None else r.time_s for r in reached)
    assert best.cost == min(medians.values())
    assert medians[best.parameters["rounds.clients"]] == best.cost


@pytest.mark.slow
def test_trials_that_come_to_as_much_are_told(tmp_path: Path) -> None:
    """The first of them was said to be best, as if the others were behind."""
    choices = {"rounds.policy.deadline": ["800 s", "900 s"]}
    tuning = timed(tmp_path, {**CLOCK, "parameters": choices})
    first, second = (trial.name for trial in tuning.trials)
    assert answer(tuning)[0].endswith(f", by {first}; {second} came to as much.")
    assert answer(tuning)[1].startswith("The best of many is in part luck")


@pytest.mark.parametrize("every", [1, 3])
def test_it_is_told_how_seldom_targets_are_looked_for(tmp_path: Path, every: int) -> None:
    spec = {**TO_TARGET, "objective": "rounds to 20%", "trials": 1}
    tuning = tune(document(spec, seeds=[0], evaluation={"every": every}), tmp_path)
    told = "looked at every 3 rounds: 20% may have been reached up to 2 rounds before that was"
    assert (told in " ".join(answer(tuning))) == (every == 3)


def test_what_is_over_a_limit_is_not_best(tmp_path: Path) -> None:
    free = timed(tmp_path / "free")
    assert free.best is not None
    taken = min(
        sum(run.total_bytes for run in find_runs([tmp_path / "free" / t.name])) / 3
        for t in free.trials
        if t.seeds == 3
    )
    limited = timed(tmp_path / "limited", {**CLOCK, "under": {"bytes": f"{taken / 2:.0f} B"}})
    assert limited.best is None
    assert {trial.state for trial in limited.trials} == {"over a limit"}
    assert answer(limited)[0] == "No trial kept to all limits."  # each had reached its end
    legends = [re.findall(r"</i>([^<]*)</li>", page(tuning)) for tuning in (free, limited)]
    assert set(legends[0]) == {"the best so far", "within all limits"}
    assert set(legends[1]) == {"over a limit"}
    heard = timed(tmp_path / "heard", {**CLOCK, "under": {"never_heard": "0%"}})
    assert heard.best is None or heard.best.taken["never_heard"] == 0


def test_privacy_can_be_limited(tmp_path: Path) -> None:
    noise = [1e-2, 1.0, 8.0, 64.0]
    spec = {
        "parameters": {"aggregation.noise_multiplier": noise},
        "objective": "rounds",
        "under": {"epsilon": 5},
        "trials": 9,
    }
    private = {"name": "dp_fedavg", "clip": 1.0, "noise_multiplier": 1.0}
    tuning = timed(tmp_path, spec, aggregation=private, seeds=[0])
    assert {t.parameters["aggregation.noise_multiplier"] for t in tuning.trials} == set(noise)
    for trial in tuning.trials:
        [run] = find_runs([tmp_path / trial.name])
        spent = run.summary["privacy"]["epsilon"]
        assert trial.taken == pytest.approx({"epsilon": spent})
        assert trial.state == ("done" if spent <= 5 else "over a limit")
    assert {trial.state for trial in tuning.trials} == {"done", "over a limit"}
    assert "epsilon" in page(tuning)


@pytest.mark.slow
def test_a_loss_below_zero_is_not_given_up_for_what_may_come(tmp_path: Path) -> None:
    """Seeds yet to come were thought to bring 0 at best."""
    code = "from simfl.components.losses.cross_entropy import CrossEntropy\n"
    code += "class Shifted(CrossEntropy):\n    def rows(self, outputs, targets):\n"
    code += "        return super().rows(outputs, targets) - 5.0\n"
    (tmp_path / "shifted.py").write_text(code)
    lrs = [0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.06]
    data = {
        "name": "t", "fleet": {"count": 6}, "model": "logistic_regression", "seeds": [0, 1, 2],
        "data": {"dataset": {"name": "synthetic", "alpha": 1, "beta": 1},
                 "partition": "natural"},
        "training": {"epochs": 1, "batch_size": 16, "loss": "shifted:Shifted"},
        "rounds": {"clients": 1, "stop": {"rounds": 3}},
        "tune": {"parameters": {"training.optimizer.lr": lrs}, "objective": "loss",
                 "trials": len(lrs)},
    }  # fmt: skip
    tuning = tune(Document.of(data, folder=tmp_path), tmp_path / "out", Options(jobs=1))
    assert tuning.best is not None
    assert tuning.best.cost < -3
    for trial in tuning.trials:
        if trial.state == "given up":
            losses = [r.last_evaluation["loss"] for r in find_runs([tmp_path / "out" / trial.name])]
            assert min(losses) >= tuning.best.cost


def test_who_ends_by_the_scenarios_own_rule_is_not_cut_off(tmp_path: Path) -> None:
    """The first trial ended so, too, and was the best of those that took longer."""
    spec = {"parameters": {"rounds.clients": [4, 8, 12]}, "objective": "time to 50%"}
    own = {"rounds": {"clients": 4, "stop": {"rounds": 12}}, "evaluation": {"every": 7}}
    tuning = tune(document({**spec, "trials": 3}, seeds=[0], **own), tmp_path, Options(jobs=1))
    assert tuning.best is not None
    assert tuning.best.parameters["rounds.clients"] == 4


@pytest.mark.parametrize("cost", ["rounds", "time", "bytes"])
def test_beside_a_best_that_begins_at_the_target_one_round_is_enough(
    tmp_path: Path, cost: str
) -> None:
    """Trials were to end after 0 rounds, which none ever did: they went on past their own end."""
    models = ["logistic_regression", {"name": "mlp", "hidden": [4]}]
    spec = {"parameters": {"model": models}, "objective": f"{cost} to 10%", "trials": 2}
    changes: dict[str, Any] = {
        "evaluation": {"initial": True, "every": 2},
        "training": {"optimizer": {"name": "sgd", "lr": 1e-9}},
        "rounds": {"clients": 4, "stop": {"rounds": 3, "time": "30 s"}},
    }
    tuning = tune(document(spec, **changes, seeds=[0]), tmp_path, Options(jobs=1))
    assert [trial.state for trial in tuning.trials] == ["done", "given up"]
    first, second = (find_runs([tmp_path / trial.name])[0] for trial in tuning.trials)
    assert (first.n_rounds, second.n_rounds) == (0, 1)
    assert "may have been reached" not in " ".join(answer(tuning))
    Scenario.load(second.folder / "scenario.yaml")


def test_who_is_cut_off_is_not_looked_at_sooner_than_others(tmp_path: Path) -> None:
    """A run that is cut off is judged then, between two evaluations."""
    spec = {"parameters": {"rounds.clients": [4, 8, 12]}, "objective": "time to 30%"}
    seldom = document({**spec, "trials": 3}, evaluation={"every": 6}, seeds=[0])
    tuning = tune(seldom, tmp_path, Options(jobs=1))
    for trial in tuning.trials:
        if math.isfinite(trial.cost):
            [result] = find_runs([tmp_path / trial.name])
            reached = result.reached("30%")
            assert reached is not None
            assert reached.round % 6 == 0
    assert "given up" in {trial.state for trial in tuning.trials}


@pytest.mark.slow
def test_accuracy_is_as_high_as_possible(tmp_path: Path) -> None:
    spec = {
        "parameters": {"training.optimizer.lr": {"min": 0.001, "max": 0.2, "log": True}},
        "objective": "accuracy",
        "trials": 4,
    }
    tuning = tune(document(spec, seeds=[0]), tmp_path)
    finals = [find_runs([tmp_path / t.name])[0].final_accuracy for t in tuning.trials]
    assert tuning.best is not None
    assert tuning.value(tuning.best) == max(finals)
    told = list(csv.DictReader(io.StringIO(tuning.as_csv())))
    assert [float(row["accuracy"]) for row in told] == finals


def test_a_limit_holds_against_runs_that_were_not_cut_off(tmp_path: Path) -> None:
    spec = {
        **TO_TARGET,
        "parameters": {"rounds.clients": [4, 8, 12]},
        "trials": 3,
        "under": {"never_heard": "50%"},
    }
    tuning = tune(document(spec, seeds=[0]), tmp_path, Options(jobs=1))
    assert {trial.parameters["rounds.clients"] for trial in tuning.trials} == {4, 8, 12}
    for trial in tuning.trials:
        [run] = find_runs([tmp_path / trial.name])
        assert run.reached(0.6) is not None or run.n_rounds == 12
        assert trial.taken == pytest.approx({"never_heard": (run.participations == 0).mean()})


@pytest.mark.slow
def test_it_goes_on_where_it_stopped_and_ends_as_if_it_had_not(tmp_path: Path) -> None:
    whole = timed(tmp_path / "whole")

    class Stopped(Exception):
        pass

    def stop(tuning: Tuning) -> None:
        if len(tuning.trials) == 3:
            raise Stopped

    with pytest.raises(Stopped):
        tune(document(CLOCK), tmp_path / "cut", Options(time_only=True), tell=stop)
    first = find_runs([tmp_path / "cut" / "trial-000"])[0].provenance["started"]
    again = tune(document(CLOCK), tmp_path / "cut", Options(time_only=True, jobs=1))
    assert again.trials == whole.trials
    assert find_runs([tmp_path / "cut" / "trial-000"])[0].provenance["started"] == first
    assert (tmp_path / "cut" / TRIALS).read_bytes() == (tmp_path / "whole" / TRIALS).read_bytes()


def test_trials_of_another_end_are_not_to_be_forked(tmp_path: Path) -> None:
    """It was told how to run a trial for longer, which no tuning would find."""
    spec = {"parameters": {"fleet.uplink": ["1 Mbit/s"]}, "objective": "time", "trials": 1}
    timed(tmp_path, spec, seeds=[0], rounds={"clients": 4, "stop": {"rounds": 2}})
    with pytest.raises(InputError, match=r"rounds: 2 there, 3 now\ngive .* or name$"):
        timed(tmp_path, spec, seeds=[0], rounds={"clients": 4, "stop": {"rounds": 3}})


def test_one_in_place_of_another_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """The other's trials stopped it, or with `overwrite` its own were run once more."""
    links = {"parameters": {"fleet.uplink": ["1 Mbit/s", "2 Mbit/s"]}, "objective": "time"}
    short = {"seeds": [0], "rounds": {"clients": 4, "stop": {"rounds": 2}}}
    timed(tmp_path, {**links, "trials": 2}, **short)
    asked, how = {**short, "training": {"epochs": 3}}, Options(time_only=True)
    tune(document({**links, "trials": 1}, **asked), tmp_path, how, overwrite=True)  # is stopped
    first = find_runs([tmp_path / "trial-000"])[0].provenance["started"]
    wanted = document({**links, "trials": 2}, **asked)
    tuning = tune(wanted, tmp_path, how, overwrite=True, go_on=True)
    runs = find_runs([tmp_path])
    assert [run.scenario["training"]["epochs"] for run in runs] == [3, 3]
    assert runs[0].provenance["started"] == first
    assert [trial.state for trial in tuning.trials] == ["done", "done"]


@pytest.mark.slow
def test_more_trials_begin_with_the_same(tmp_path: Path) -> None:
    few = timed(tmp_path, {**CLOCK, "trials": 3})
    more = timed(tmp_path, {**CLOCK, "trials": 5})
    assert more.trials[:3] == few.trials


def test_the_limit_that_a_trial_is_over_is_told(tmp_path: Path) -> None:
    tuning = timed(tmp_path, {**CLOCK, "under": {"rounds": 2}, "trials": 1})
    [trial] = tuning.trials
    assert trial.state == "over a limit"
    assert over_limits(tuning, trial) == ["rounds 12 > 2"]


def test_a_loss_is_as_low_as_possible(tmp_path: Path) -> None:
    """Where there is no accuracy nothing that is learnt could be looked for."""
    rates = [1e-3, 3e-2, 1e30]  # the last of which is too high
    training = {"loss": "mean_squared_error", "optimizer": "sgd"}
    spec = {"parameters": {"training.optimizer.lr": rates}, "objective": "loss", "trials": 3}
    data = {"dataset": {"name": "synthetic_regression"}, "partition": "natural"}
    tuning = tune(document(spec, data=data, training=training, seeds=[0]), tmp_path)
    assert tuning.best is not None
    assert tuning.best.parameters["training.optimizer.lr"] == 3e-2
    [learnt] = find_runs([tmp_path / tuning.best.name])
    assert tuning.value(tuning.best) == learnt.last_evaluation["loss"]
