"""Epsilon as a cost: by round, to a target, along an axis, and as what ends a run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl import Options, RunResult, Scenario, compare
from simfl.core.epsilon import gaussian_epsilon, poisson_epsilon
from simfl.errors import InputError, ScenarioError
from simfl.report.comparison.forms import render
from simfl.report.plot import plot
from simfl.runs.forks.fork import fork
from simfl.runs.results.find import load
from simfl.runs.results.statistics import Figure
from simfl.runs.run import resume
from tests.run_folders import broken
from tests.tiny import TINY, RunTiny

PRIVATE: dict[str, Any] = {
    "aggregation": {"name": "dp_fedavg", "clip": 1, "noise_multiplier": 2},
    "evaluation": {"targets": ["5%"], "initial": True},
}
STOPS: dict[str, Any] = {**PRIVATE, "rounds.stop": {"rounds": 9}}


def most_heard(run: RunResult) -> list[int]:
    """Return, by round, how many updates had counted of the client of which most did."""
    part = run.clients
    by = (part[(part["round"] <= n) & (part.outcome == "arrived")] for n in run.rounds["round"])
    return [int(np.bincount(rows.client, minlength=1).max()) for rows in by]


def test_every_round_tells_what_was_spent_by_its_end(run_tiny: RunTiny) -> None:
    run = run_tiny(PRIVATE)
    rounds = run.rounds["round"].tolist()
    assert rounds == [0, 1, 2, 3, 4]
    exact = [gaussian_epsilon(2, most, 1e-5) for most in most_heard(run)]
    poisson = [poisson_epsilon(2, 4 / 8, n, 1e-5) for n in rounds]
    assert run.rounds.epsilon.tolist() == exact
    assert run.rounds.epsilon_poisson.tolist() == poisson
    assert run.summary["privacy"]["epsilon"] == exact[-1]
    assert run.metrics == {}
    clock = run_tiny(PRIVATE, Options(time_only=True))
    assert clock.rounds.epsilon.tolist() == exact[1:]
    assert broken(run.folder) == []


def test_a_target_costs_epsilon(run_tiny: RunTiny) -> None:
    start, later = run_tiny(PRIVATE), run_tiny({**PRIVATE, "evaluation.initial": False})
    for run in (start, later):
        reached, noted = run.reached(0.05), run.summary["targets"]["0.05"]
        assert reached is not None
        assert reached.epsilon == noted["epsilon"]
        assert reached.epsilon_poisson == noted["epsilon_poisson"]
    assert start.summary["targets"]["0.05"]["epsilon"] == 0
    spent = gaussian_epsilon(2, 2, 1e-5)
    comparison = compare([later], baseline=later.variant)
    cells = {c.key: comparison.cell(later.variant, c) for c in comparison.columns}
    told = cells["epsilon_to_5%"]
    assert isinstance(told, Figure)
    assert told.mean == spent
    assert {"epsilon_poisson_to_5%", "epsilon_speedup_to_5%"} < cells.keys()
    axes = plot([later], "epsilon", "rounds").axes[0]
    assert np.asarray(axes.lines[0].get_xdata()).tolist() == later.rounds.epsilon.tolist()


def test_other_runs_have_no_such_columns(run_tiny: RunTiny) -> None:
    run = run_tiny({"evaluation.targets": [0.05]})
    assert not {"epsilon", "epsilon_poisson"} & {*run.rounds}
    assert set(run.summary["targets"]["0.05"]) == {"time_s", "round", "bytes", "energy_j"}
    assert not any("epsilon" in column.key for column in compare([run]).columns)
    with pytest.raises(InputError, match=r"has any accuracy over epsilon.* protect privacy"):
        plot([run], x="epsilon")


def test_a_run_ends_before_a_client_has_spent_more(run_tiny: RunTiny) -> None:
    """A limit as it is printed is kept to, not gone below."""
    twice, thrice = (gaussian_epsilon(2, n, 1e-5) for n in (2, 3))
    for limit in (twice, thrice * 0.999):
        run = run_tiny({**STOPS, "rounds.stop.epsilon": limit})
        assert run.summary["finished"] == "epsilon"
        assert most_heard(run)[-1] == 2
        assert run.summary["privacy"]["epsilon"] == twice
        assert broken(run.folder) == []
    enough = run_tiny({**STOPS, "rounds.stop.epsilon": 100})
    assert enough.summary["finished"] == "rounds"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"aggregation": "fedavg"}, "no epsilon can be given: aggregator 'fedavg' adds no noise"),
        ({"selection": "power_of_choice"}, "no epsilon can be given: selector"),
        ({"rounds.stop.epsilon": 0.5}, r"must be at least 1\.994, which the first round spends"),
        ({"rounds.stop.epsilon": 0}, "must be above 0"),
    ],
)
def test_ends_that_nobody_would_know_of(
    run_tiny: RunTiny, changes: dict[str, Any], why: str
) -> None:
    with pytest.raises(ScenarioError, match=rf"rounds\.stop\.epsilon: {why}"):
        run_tiny({**STOPS, "rounds.stop.epsilon": 9, **changes})


def test_of_other_rules_nothing_is_told_from_the_fork_on(run_tiny: RunTiny) -> None:
    run = run_tiny(STOPS)
    at_s = float(run.rounds.end_s.iloc[4])
    louder = resume(fork(run.folder, at_s, ["aggregation.noise_multiplier=3"]))
    told = louder.rounds.epsilon.notna().tolist()
    assert told == [True] * 5 + [False] * (len(told) - 5)
    assert louder.summary["privacy"]["why_none"] == "the rules have changed on the way"
    for change, why in (
        (["aggregation.noise_multiplier=3"], "the rules have changed on the way"),
        ([], r"[0-9.]+ could be exceeded in the round that is under way, [0-9.]+ was spent before"),
    ):
        with pytest.raises(InputError, match=rf"rounds\.stop\.epsilon: .*{why}"):
            fork(run.folder, at_s, [*change, "rounds.stop.epsilon=4"], name="other")
    longer = resume(
        fork(run.folder, at_s, ["rounds.stop={epsilon: 9, rounds: null}"], name="longer")
    )
    assert longer.summary["finished"] == "epsilon"
    assert longer.summary["privacy"]["epsilon"] < 9


def test_tables_of_older_versions_tell_none(run_tiny: RunTiny, tmp_path: Path) -> None:
    run = run_tiny({**PRIVATE, "evaluation.initial": False})
    rows = run.folder / "rounds.csv"
    run.rounds.drop(columns=["epsilon", "epsilon_poisson"]).to_csv(rows, index=False)
    old = load(run.folder)
    reached = old.reached(0.05)
    assert reached is not None
    assert np.isnan(reached.epsilon)
    assert "never" not in render(compare([old]), "table")
    assert Scenario.from_dict(TINY).rounds.stop.epsilon is None
