"""Tuning: what is best within limits; what can't be is given up; resuming changes nothing."""

import csv
import io
import json
import math
import re
import sys
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from simfl import run
from simfl.cli import main
from simfl.errors import InputError, ScenarioError
from simfl.report.page.answer.tuning import answer, over_limits
from simfl.report.page.tuning import page, write_page
from simfl.runs.options import Options
from simfl.runs.results.find import find_runs
from simfl.runs.tuning.trials import PAGE, TRIALS, Tuning
from simfl.runs.tuning.tune import tune
from simfl.scenario import Document, Scenario
from simfl.scenario.parts.tune import Range, parse_objective
from tests.tiny import TINY

LEARNS: dict[str, Any] = {
    **TINY,
    "fleet": {**TINY["fleet"], "count": 12},
    "training": {"epochs": 2, "batch_size": 8, "optimizer": {"name": "sgd", "lr": 0.1}},
    "rounds": {"clients": 4, "stop": {"rounds": 12}},
    "seeds": [0, 1, 2],
}
CLOCK: dict[str, Any] = {
    "parameters": {
        "rounds.clients": {"min": 2, "max": 8},
        "fleet.uplink": ["1 Mbit/s", "100 kbit/s"],
    },
    "objective": "time",
    "trials": 6,
}
TO_TARGET: dict[str, Any] = {
    "parameters": {"rounds.clients": {"min": 1, "max": 12}},
    "objective": "time to 60%",
    "trials": 6,
}


def document(spec: Mapping[str, Any], **changes: Any) -> Document:
    return Document.of({**LEARNS, **changes, "tune": dict(spec)})


def timed(top: Path, spec: Mapping[str, Any] = CLOCK, **changes: Any) -> Tuning:
    return tune(document(spec, **changes), top, Options(time_only=True, jobs=1))


class TestWhatIsBest:
    @pytest.mark.slow
    def test_the_clock_alone_finds_the_fewest_clients_on_the_fastest_links(
        self, tmp_path: Path
    ) -> None:
        tuning = timed(tmp_path, {**CLOCK, "trials": 12}, seeds=[0])
        best = tuning.best
        assert best is not None
        assert best.parameters["fleet.uplink"] == "1 Mbit/s"
        assert best.cost == min(trial.cost for trial in tuning.trials)

    @pytest.mark.slow
    def test_a_value_is_the_median_of_the_runs_in_the_trials_folder(self, tmp_path: Path) -> None:
        for trial in timed(tmp_path).trials:
            runs = find_runs([tmp_path / trial.name])
            assert len(runs) == trial.seeds
            assert {run.provenance["variant"] for run in runs} == {trial.name}
            assert runs[0].provenance["factors"] == trial.parameters
            if trial.state == "done":
                assert [run.seed for run in runs] == [0, 1, 2]
                assert trial.cost == median(run.end_s for run in runs)

    def test_nothing_is_tried_twice_and_in_the_end_there_is_nothing_left(
        self, tmp_path: Path
    ) -> None:
        choices = {"rounds.clients": {"min": 2, "max": 4}, "fleet.uplink": ["1 Mbit/s", "2 Mbit/s"]}
        tuning = timed(tmp_path, {**CLOCK, "parameters": choices, "trials": 50}, seeds=[0])
        tried = [tuple(trial.parameters.values()) for trial in tuning.trials]
        assert sorted(tried) == sorted(product([2, 3, 4], ["1 Mbit/s", "2 Mbit/s"]))

    @pytest.mark.slow
    def test_giving_trials_up_changes_nothing_about_the_best(self, tmp_path: Path) -> None:
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
    def test_trials_that_come_to_as_much_are_told(self, tmp_path: Path) -> None:
        """The first of them was said to be best, as if the others were behind."""
        choices = {"rounds.policy.deadline": ["800 s", "900 s"]}
        tuning = timed(tmp_path, {**CLOCK, "parameters": choices})
        first, second = (trial.name for trial in tuning.trials)
        assert answer(tuning)[0].endswith(f", by {first}; {second} came to as much.")
        assert answer(tuning)[1].startswith("The best of many is in part luck")

    def test_what_is_over_a_limit_is_not_best(self, tmp_path: Path) -> None:
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
        legends = [re.findall(r"</i>([^<]*)</li>", page(tuning)) for tuning in (free, limited)]
        assert set(legends[0]) == {"the best so far", "within all limits"}
        assert set(legends[1]) == {"over a limit"}
        heard = timed(tmp_path / "heard", {**CLOCK, "under": {"never_heard": "0%"}})
        assert heard.best is None or heard.best.taken["never_heard"] == 0

    @pytest.mark.slow
    def test_a_loss_below_zero_is_not_given_up_for_what_may_come(self, tmp_path: Path) -> None:
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
                losses = [
                    r.last_evaluation["loss"] for r in find_runs([tmp_path / "out" / trial.name])
                ]
                assert min(losses) >= tuning.best.cost

    def test_who_ends_by_the_scenarios_own_rule_is_not_cut_off(self, tmp_path: Path) -> None:
        """The first trial ended so, too, and was the best of those that took longer."""
        spec = {"parameters": {"rounds.clients": [4, 8, 12]}, "objective": "time to 50%"}
        own = {"rounds": {"clients": 4, "stop": {"rounds": 12}}, "evaluation": {"every": 7}}
        tuning = tune(document({**spec, "trials": 3}, seeds=[0], **own), tmp_path, Options(jobs=1))
        assert tuning.best is not None
        assert tuning.best.parameters["rounds.clients"] == 4

    def test_who_is_cut_off_is_not_looked_at_sooner_than_others(self, tmp_path: Path) -> None:
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
    def test_accuracy_is_as_high_as_possible(self, tmp_path: Path) -> None:
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

    def test_a_limit_holds_against_runs_that_were_not_cut_off(self, tmp_path: Path) -> None:
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


class TestResuming:
    @pytest.mark.slow
    def test_it_goes_on_where_it_stopped_and_ends_as_if_it_had_not(self, tmp_path: Path) -> None:
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
        assert (tmp_path / "cut" / TRIALS).read_bytes() == (
            tmp_path / "whole" / TRIALS
        ).read_bytes()

    @pytest.mark.slow
    def test_more_trials_begin_with_the_same(self, tmp_path: Path) -> None:
        few = timed(tmp_path, {**CLOCK, "trials": 3})
        more = timed(tmp_path, {**CLOCK, "trials": 5})
        assert more.trials[:3] == few.trials


class TestRefusals:
    @pytest.mark.parametrize(
        ("spec", "told"),
        [
            ({"objective": "speed"}, "expected time, rounds, bytes or energy"),
            ({"objective": "accuracy to 80%"}, "expected time, rounds, bytes or energy"),
            ({"parameters": {}}, "at least 1"),
            ({"parameters": {"rounds.clients": {"min": 5, "max": 5}}}, "min must be below max"),
            ({"parameters": {"rounds.clients": {"min": 1, "max": "5 s"}}}, "in the same unit"),
            ({"parameters": {"rounds.clients": {"min": 0, "max": 5, "log": True}}}, "above zero"),
            ({"parameters": {"rounds.clients": {"min": "x", "max": 5}}}, "expected a number"),
            ({"under": {"bytes": 5}}, "add a unit"),
            ({"under": {"people": 5}}, "people"),
            ({"trials": 0}, "trials"),
        ],
    )
    def test_a_wrong_section_is_told_with_its_place(self, spec: dict[str, Any], told: str) -> None:
        with pytest.raises(ScenarioError, match="tune") as error:
            Scenario.from_dict(LEARNS | {"tune": {**CLOCK, **spec}})
        assert told in str(error.value)
        assert "or expected a list" not in str(error.value)  # where a mapping was meant

    def test_what_no_trial_can_be_run_with_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"rounds\.clents"):
            timed(tmp_path, {**CLOCK, "parameters": {"rounds.clents": [1, 2]}})

    def test_a_path_that_leads_nowhere_is_told_by_validate(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "tiny.yaml"
        wrong = {**CLOCK, "parameters": {"rounds.clents": {"min": 1, "max": 5}}}
        for spec, code in ((CLOCK, 0), (wrong, 2)):
            path.write_text(json.dumps(LEARNS | {"tune": spec}, indent=1))
            assert main(["validate", str(path)]) == code
        line = path.read_text().splitlines().index('   "rounds.clents": {') + 1
        assert f"tiny.yaml:{line}:" in capsys.readouterr().err

    def test_a_path_that_leads_nowhere_is_told_before_anything_is_tried(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        scenario, out = tmp_path / "tiny.yaml", tmp_path / "out"
        scenario.write_text(json.dumps(LEARNS | {"variants": {"a": {}}}))
        asked = ["tune", str(scenario), "--objective", "time", "--out", str(out)]
        wrong = "rounds.clents=[1, 5]"
        assert main([*asked, "--variant", "a", "-p", wrong]) == 2
        told = "--parameter rounds.clents=[1, 5]: rounds.clents: unknown key 'clents'"
        assert f"{told}; did you mean 'clients'?" in capsys.readouterr().err
        assert main([*asked, "--variant", "b", "-p", wrong]) == 2
        assert "no variant 'b'" in capsys.readouterr().err
        undone = ["-p", "rounds.policy.deadline=[9 s]", "-p", "rounds.policy=[synchronous]"]
        assert main([*asked, "--variant", "a", *undone]) == 2
        assert "rounds.policy undoes rounds.policy.deadline" in capsys.readouterr().err
        twice = ["-p", "fleet[0].count=[9]", "-p", "fleet.count=[8]"]
        assert main([*asked, "--variant", "a", *twice]) == 2
        assert "undoes fleet[0].count, which is changed before it" in capsys.readouterr().err
        assert not out.exists()

    def test_what_is_tuned_wins_over_what_is_set(self, tmp_path: Path) -> None:
        spec = {**CLOCK, "parameters": {"rounds.clients": [3, 5]}, "trials": 3}
        tuned = document(spec, seeds=[0]).set("rounds.clients=4")
        tuning = tune(tuned, tmp_path, Options(time_only=True, jobs=1))
        for trial in tuning.trials:
            [result] = find_runs([tmp_path / trial.name])
            assert result.scenario["rounds"]["clients"] == trial.parameters["rounds.clients"]

    def test_two_that_go_only_together_are_tuned(self, tmp_path: Path) -> None:
        together = {"fleet.count": [30], "rounds.clients": [15, 20]}
        tuning = timed(tmp_path, {**CLOCK, "parameters": together, "trials": 1})
        assert tuning.trials[0].state == "done"

    @pytest.mark.slow
    def test_a_trial_that_can_not_be_run_does_not_stop_the_others(self, tmp_path: Path) -> None:
        tuning = timed(tmp_path, {**CLOCK, "parameters": {"rounds.clients": [2, 4, 99]}})
        assert {trial.state for trial in tuning.trials} >= {"done", "refused"}
        refused = next(trial for trial in tuning.trials if trial.state == "refused")
        assert refused.parameters == {"rounds.clients": 99}
        assert refused.why

    def test_variants_sweeps_and_targets_without_training(self, tmp_path: Path) -> None:
        """From Python each was told in options of the command line."""
        with pytest.raises(InputError, match="one variant is tuned; name it with variant, one of"):
            timed(tmp_path, variants={"a": {}, "b": {}})
        with pytest.raises(InputError, match=r"swept or tuned.*document\.set\('sweep=null'\)"):
            timed(tmp_path, sweep={"rounds.clients": [2, 3]})
        with pytest.raises(InputError, match="needs training, which time_only leaves out"):
            timed(tmp_path, TO_TARGET)
        with pytest.raises(InputError, match=r"no `tune` section$"):
            tune(Document.of(LEARNS), tmp_path)

    def test_energy_of_devices_that_spend_none(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"tune\.objective: no group of .* `power`"):
            timed(tmp_path, {**CLOCK, "objective": "energy"})
        with pytest.raises(InputError, match=r"tune\.under: no group of .* `power`"):
            timed(tmp_path, {**CLOCK, "under": {"energy": "1 kJ"}})

    def test_energy_is_known_by_variant_and_choice(self, tmp_path: Path) -> None:
        """Where a variant has power, a limit of energy on another was an internal error."""
        power: dict[str, Any] = {"fleet.power": {"compute": "1 W"}}
        spec = {**CLOCK, "under": {"energy": "1 MJ"}, "trials": 2}
        tuned = document(spec, variants={"bare": {}, "known": power}, seeds=[0])
        options = Options(time_only=True, jobs=1)
        with pytest.raises(InputError, match=r"tune\.under: no group of .* `power`"):
            tune(tuned, tmp_path / "bare", options, variant="bare")
        assert not (tmp_path / "bare").exists()
        tuning = tune(tuned, tmp_path / "known", options, variant="known")
        assert all(trial.state == "done" for trial in tuning.trials)
        chosen = {**spec, "parameters": {"fleet.power": [*power.values(), None]}}
        tuning = tune(document(chosen, seeds=[0]), tmp_path / "chosen", options)
        assert sorted(trial.state for trial in tuning.trials) == ["done", "refused"]

    def test_the_limit_that_a_trial_is_over_is_told(self, tmp_path: Path) -> None:
        tuning = timed(tmp_path, {**CLOCK, "under": {"rounds": 2}, "trials": 1})
        [trial] = tuning.trials
        assert trial.state == "over a limit"
        assert over_limits(tuning, trial) == ["rounds 12 > 2"]

    def test_an_accuracy_that_the_loss_has_not(self, tmp_path: Path) -> None:
        numbers = {"data.dataset": "synthetic_regression", "training.loss": "mean_squared_error"}
        spec = {"parameters": {"rounds.clients": [1, 2]}, "objective": "accuracy", "trials": 1}
        tuned = document(spec).set(*(f"{path}={value}" for path, value in numbers.items()))
        with pytest.raises(InputError, match="loss 'mean_squared_error' has no accuracy"):
            tune(tuned, tmp_path)

    def test_a_loss_is_as_low_as_possible(self, tmp_path: Path) -> None:
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

    @pytest.mark.slow
    def test_a_variant_is_tuned_by_name(self, tmp_path: Path) -> None:
        variants = {"slow": {"fleet.uplink": "1 kbit/s", "rounds.clients": 3}, "fast": {}}
        spec = {**CLOCK, "parameters": {"rounds.clients": [2, 4]}, "trials": 2}
        tuning = tune(
            document(spec, variants=variants), tmp_path, Options(time_only=True), variant="slow"
        )
        one = find_runs([tmp_path / tuning.trials[0].name])[0]
        assert one.scenario["fleet"][0]["uplink"] == "1 kbit/s"
        assert one.scenario["rounds"]["clients"] == tuning.trials[0].parameters["rounds.clients"]

    def test_what_only_the_variant_has_is_tuned(self, tmp_path: Path) -> None:
        """Every trial was refused: `buffer` is no option of the policy that it replaces."""
        fedbuff = {"rounds.policy": {"name": "fedbuff", "buffer": 4}, "aggregation": "fedbuff"}
        spec = {**CLOCK, "parameters": {"rounds.policy.buffer": [1, 2]}, "trials": 2}
        scenario = document(spec, variants={"waits": {}, "fedbuff": fedbuff}, seeds=[3])
        tuning = tune(scenario, tmp_path, Options(time_only=True), variant="fedbuff")
        for trial in tuning.trials:
            assert trial.state == "done"
            [one] = find_runs([tmp_path / trial.name])
            assert one.seed == 3
            policy = one.scenario["rounds"]["policy"]
            assert policy["buffer"] == trial.parameters["rounds.policy.buffer"]

    def test_it_is_told_how_to_get_optuna(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "optuna", None)
        with pytest.raises(InputError, match=r"pip install 'simfl\[tune\]'"):
            timed(tmp_path)


def test_runs_know_nothing_of_what_is_tuned(tmp_path: Path) -> None:
    result = run(Scenario.from_dict(LEARNS | {"tune": CLOCK, "seeds": [0]}), tmp_path)[0]
    assert "tune" not in result.scenario


@pytest.mark.parametrize(
    ("bounds", "value", "written"),
    [
        (("10 s", "2 min"), None, None),
        (("10 s", "60 s"), 37.12345, "37.12 s"),
        (("10%", "60%"), 33.333, "33.33%"),
        ((1, 5), 3.0, 3),
        ((0.1, 5), 0.123456, 0.1235),
        ((0.9, 0.99999), 0.99998, 0.99998),  # not 1, which no momentum may be
        ((10000.5, 12345.5), 12345.4, 12345.4),
        (("1 s", "12345.6 s"), 12345.6, "12345.6 s"),
    ],
)
def test_a_range_writes_numbers_as_its_bounds_are(
    bounds: tuple[Any, Any], value: float | None, written: Any
) -> None:
    if value is None:
        with pytest.raises(ValueError, match="same unit"):
            Range(min=bounds[0], max=bounds[1])
        return
    assert Range(min=bounds[0], max=bounds[1]).written(value) == written


@pytest.mark.parametrize(("least", "unit"), [("1 EFLOP/s", "EFLOP/s"), ("1e3 s", "s"), (3, "")])
def test_a_range_has_its_bounds_unit(least: Any, unit: str) -> None:
    assert Range(min=least, max=str(least).replace("1", "5", 1) if unit else 9).unit == unit


def test_objectives_name_a_measure_and_perhaps_a_target() -> None:
    assert parse_objective("time to 80%") == ("time", 0.8)
    assert parse_objective("energy") == ("energy", None)
    assert parse_objective("loss") == ("loss", None)
    with pytest.raises(ValueError, match="'time to 80%', or loss, or accuracy"):
        parse_objective("loss to 80%")


def test_the_page_says_what_to_set_and_no_other_page_is_written_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page of all trials, many of them cut off, called another the best."""
    spec = {**CLOCK, "parameters": {"rounds.clients": [2, 3]}, "trials": 2}
    tuning = timed(tmp_path, spec)
    best = tuning.best
    assert best is not None
    told = f"<code>--set &#39;rounds.clients={best.parameters['rounds.clients']}&#39;</code>"
    assert told in write_page(tuning).read_text(encoding="utf-8")
    assert main(["report", str(tmp_path)]) == 2
    assert f"whose report is {tmp_path / PAGE}; name one" in capsys.readouterr().err
    assert not list(tmp_path.rglob("report.html"))
    assert main(["report", str(tmp_path / best.name)]) == 0
    assert main(["report", str(tmp_path), "--out", str(tmp_path / "all.html")]) == 0


class TestCommand:
    @pytest.mark.slow
    def test_options_say_what_to_look_for(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "tiny.yaml"
        path.write_text(json.dumps(LEARNS))
        command = [
            "tune", str(path), "-p", "rounds.clients={min: 2, max: 8}", "--objective", "time",
            "--under", "never_heard=100%", "--trials", "3", "--time-only", "--out",
            str(tmp_path / "out"),
        ]  # fmt: skip
        assert main(command) == 0
        out, err = capsys.readouterr()
        assert "Least time: " in out
        assert "--set 'rounds.clients=" in out
        assert err.count("\n") == 3
        assert main([*command, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        rows = list(csv.DictReader(io.StringIO((tmp_path / "out" / TRIALS).read_text())))
        assert [row["trial"] for row in rows] == [trial["name"] for trial in told["trials"]]
        assert float(rows[0]["time"]) == told["trials"][0]["value"]
        html = (tmp_path / "out" / PAGE).read_text()
        assert all(f">{row['trial']}<" in html for row in rows)

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            ([], "no `tune` section"),
            (["-p", "rounds.clients"], "--parameter: expected NAME=VALUE"),
            (["-p", "rounds.clients=[1, 2"], "--parameter rounds.clients=[1, 2"),
            (
                ["-p", "rounds.clients=[1, 2]", "-p", "rounds.clients=[3]"],
                "--parameter rounds.clients=[3]: rounds.clients is given twice",
            ),
            (["-p", "rounds.clients=[1, 2]"], "tune: missing key 'objective'"),
            (["--seeds", "x"], "--seeds"),
        ],
    )
    def test_what_it_can_not_do_is_told(
        self, tmp_path: Path, options: list[str], told: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "tiny.yaml"
        path.write_text(json.dumps(LEARNS))
        assert main(["tune", str(path), *options, "--out", str(tmp_path / "out")]) == 2
        assert told in capsys.readouterr().err


def test_what_is_drawn_by_ratio_is_shown_by_ratio(tmp_path: Path) -> None:
    rate = {"min": 0.001, "max": 0.1, "log": True}
    spec = {**CLOCK, "parameters": {"training.optimizer.lr": rate}, "trials": 2}
    html = page(timed(tmp_path, spec))
    shown = html.split("<b>training.optimizer.lr</b>")[1].split("</figure>")[0]
    assert re.findall(r'<text class="tick (?:mid|end)" [^>]*>([^<]*)', shown)[:3] == [
        "0.001", "0.002", "0.005",
    ]  # fmt: skip


def test_there_are_no_halves_of_what_is_tuned_in_whole_numbers(tmp_path: Path) -> None:
    """Between two and four clients stood 2.5 and 3.5."""
    spec = {**CLOCK, "parameters": {"rounds.clients": {"min": 2, "max": 4}}, "trials": 2}
    html = page(timed(tmp_path, spec))
    shown = html.split("<b>rounds.clients</b>")[1].split("</figure>")[0]
    below = re.findall(r'<text class="tick mid" [^>]*>([^<]*)', shown)
    assert below == ["2", "3", "4"]


@pytest.mark.slow
def test_the_page_has_a_dot_for_every_value_and_a_row_for_every_trial(tmp_path: Path) -> None:
    spec = {**CLOCK, "parameters": {"rounds.clients": [2, 3, 99]}, "trials": 6}
    tuning = timed(tmp_path, spec)
    html = page(tuning)
    valued = sum(trial.state == "done" for trial in tuning.trials)
    assert valued
    assert html.count("<circle") == 2 * valued  # by trial, and by clients
    assert html.count('<th scope="row">trial-') == len(tuning.trials)
