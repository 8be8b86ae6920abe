"""What is tuned: of which variant, beside what is set, and where two settings go only together."""

from pathlib import Path

import pytest

from simfl import run
from simfl.errors import InputError
from simfl.runs.options import Options
from simfl.runs.results.find import find_runs
from simfl.runs.tuning.tune import tune
from simfl.scenario import Scenario
from tests.runs.tuning.tuned import CLOCK, LEARNS, document, timed


def test_what_is_tuned_wins_over_what_is_set(tmp_path: Path) -> None:
    spec = {**CLOCK, "parameters": {"rounds.clients": [3, 5]}, "trials": 3}
    tuned = document(spec, seeds=[0]).set("rounds.clients=4")
    tuning = tune(tuned, tmp_path, Options(time_only=True, jobs=1))
    assert tuning.trials
    for trial in tuning.trials:
        [result] = find_runs([tmp_path / trial.name])
        assert result.scenario["rounds"]["clients"] == trial.parameters["rounds.clients"]


def test_two_that_go_only_together_are_tuned(tmp_path: Path) -> None:
    together = {"fleet.count": [30], "rounds.clients": [15, 20]}
    tuning = timed(tmp_path, {**CLOCK, "parameters": together, "trials": 1})
    assert tuning.trials[0].state == "done"


@pytest.mark.slow
def test_a_trial_that_can_not_be_run_does_not_stop_the_others(tmp_path: Path) -> None:
    tuning = timed(tmp_path, {**CLOCK, "parameters": {"rounds.clients": [2, 4, 99]}})
    assert {trial.state for trial in tuning.trials} >= {"done", "refused"}
    refused = next(trial for trial in tuning.trials if trial.state == "refused")
    assert refused.parameters == {"rounds.clients": 99}
    assert refused.why


@pytest.mark.slow
def test_a_variant_is_tuned_by_name(tmp_path: Path) -> None:
    variants = {"slow": {"fleet.uplink": "1 kbit/s", "rounds.clients": 3}, "fast": {}}
    spec = {**CLOCK, "parameters": {"rounds.clients": [2, 4]}, "trials": 2}
    tuning = tune(
        document(spec, variants=variants), tmp_path, Options(time_only=True), variant="slow"
    )
    one = find_runs([tmp_path / tuning.trials[0].name])[0]
    assert one.scenario["fleet"][0]["uplink"] == "1 kbit/s"
    assert one.scenario["rounds"]["clients"] == tuning.trials[0].parameters["rounds.clients"]


def test_a_scenario_without_variants_may_be_named_as_where_it_is_run(tmp_path: Path) -> None:
    """`run` and `fleet` took ``--variant default``, `tune` did not."""
    asked = document({**CLOCK, "trials": 1}, seeds=[0])
    how = Options(time_only=True)
    named = tune(asked, tmp_path / "named", how, variant="default")
    assert named.trials == tune(asked, tmp_path / "plain", how).trials
    with pytest.raises(InputError, match="no variant 'defolt'; did you mean 'default'"):
        tune(asked, tmp_path / "named", how, variant="defolt")


def test_what_only_the_variant_has_is_tuned(tmp_path: Path) -> None:
    """Every trial was refused: `buffer` is no option of the policy that it replaces."""
    fedbuff = {"rounds.policy": {"name": "fedbuff", "buffer": 4}, "aggregation": "fedbuff"}
    spec = {**CLOCK, "parameters": {"rounds.policy.buffer": [1, 2]}, "trials": 2}
    scenario = document(spec, variants={"waits": {}, "fedbuff": fedbuff}, seeds=[3])
    tuning = tune(scenario, tmp_path, Options(time_only=True), variant="fedbuff")
    assert len(tuning.trials) == 2
    for trial in tuning.trials:
        assert trial.state == "done"
        [one] = find_runs([tmp_path / trial.name])
        assert one.seed == 3
        policy = one.scenario["rounds"]["policy"]
        assert policy["buffer"] == trial.parameters["rounds.policy.buffer"]


def test_runs_know_nothing_of_what_is_tuned(tmp_path: Path) -> None:
    result = run(Scenario.from_dict(LEARNS | {"tune": CLOCK, "seeds": [0]}), tmp_path)[0]
    assert "tune" not in result.scenario
