"""Sweeps: every combination of values is a variant, with a name of its own."""

import re
from typing import Any

import numpy as np
import pytest

from simfl.errors import InputError, ScenarioError
from simfl.scenario import Document, Run, Scenario, expand
from simfl.scenario.parts.sweep import Sweep, points

BASE = """\
data: {dataset: synthetic}
model: logistic_regression
fleet: {count: 30}
rounds: {clients: 5}
"""
GRID = "sweep: {rounds.clients: [5, 10, 20], selection: [uniform, oort]}\n"
ZIP = (
    "sweep: {zip: {rounds.clients: [5, 10], training.epochs: [4, 2]}, training.proximal: [0, 1]}\n"
)


def runs(text: str, *changes: str, **options: Any) -> list[Run]:
    return expand(Document.parse(BASE + text, "s.yaml").set(*changes), **options)


def test_a_grid_is_every_combination() -> None:
    found = runs(GRID + "seeds: [3, 1]\n")
    assert [run.seed for run in found] == [3, 1] * 6
    assert [(run.scenario.rounds.clients, run.scenario.selection.name) for run in found[::2]] == [
        (clients, name) for clients in (5, 10, 20) for name in ("uniform", "oort")
    ]
    assert found[0].variant == "clients=5_selection=uniform"
    assert found[-1].factors == {"rounds.clients": 20, "selection": "oort"}
    assert all(run.scenario.sweep is None and run.scenario.seeds == () for run in found)


def test_paths_that_change_together() -> None:
    told = [
        (run.scenario.rounds.clients, run.scenario.training.epochs, run.scenario.training.proximal)
        for run in runs(ZIP)
    ]
    assert told == [(5, 4, 0), (10, 2, 0), (5, 4, 1), (10, 2, 1)]


def test_some_of_all_are_drawn_by_the_seed() -> None:
    every = [run.factors for run in runs(GRID)]
    some = [run.factors for run in runs(GRID.replace("}\n", ", random: 4}\n"))]
    assert len(some) == 4
    assert some == [factors for factors in every if factors in some]  # in their order, each once
    assert some == [run.factors for run in runs(GRID.replace("}\n", ", random: 4}\n"))]
    others = {
        str([run.factors for run in runs(GRID.replace("}\n", ", random: 4}\n"), f"seed={seed}")])
        for seed in range(8)
    }
    assert len(others) > 1
    assert [run.factors for run in runs(GRID.replace("}\n", ", random: 99}\n"))] == every


@pytest.mark.parametrize("values", [511, 512])  # 512^7 is 2^63
def test_some_of_more_combinations_than_an_integer_of_numpy_holds(values: int) -> None:
    axes = {f"path{n}": list(range(values)) for n in range(7)}
    sweep = Sweep.model_validate({**axes, "random": 300})
    drawn = [tuple(factor.value for factor in point) for point in points(sweep, 0)]
    assert drawn == sorted(set(drawn))
    assert len(drawn) == 300
    assert points(sweep, 0) == points(sweep, 0) != points(sweep, 1)
    means = np.mean(drawn, axis=0) / values
    assert np.abs(means - 0.5).max() < 4 / np.sqrt(12 * 300)


def test_with_variants_and_changes_from_outside() -> None:
    text = GRID + "variants: {near: {rounds.clients: 7}, far: {training.epochs: 3}}\n"
    found = runs(text, "training.batch_size=7")
    assert len(found) == 12
    assert found[0].variant == "near_clients=5_selection=uniform"
    assert found[-1].factors == {"variant": "far", "rounds.clients": 20, "selection": "oort"}
    assert {run.scenario.training.batch_size for run in found} == {7}
    assert [run.scenario.rounds.clients for run in found[:6:2]] == [5, 10, 20]


@pytest.mark.parametrize(
    "change", ["rounds.clients=9", "rounds={clients: 9}", "selection={name: tifl}"]
)
def test_what_is_swept_is_not_changed_from_outside(change: str) -> None:
    """Points would be named after values that they don't have."""
    with pytest.raises(
        ScenarioError, match="is swept; change the sweep instead, `overrides=\\['sweep="
    ):
        runs(GRID, change)
    assert len(runs(GRID, "rounds={min_clients: 2}")) == 6
    deadlines = "sweep: {rounds.policy.deadline: [10 s, 20 s]}\n"
    with pytest.raises(ScenarioError, match="deadline is swept"):
        runs(deadlines, "rounds.policy={name: synchronous, over_select: 120%}")
    assert len(runs(deadlines, "rounds.policy={over_select: 120%}")) == 2


@pytest.mark.parametrize(
    ("swept", "told"),
    [
        ("rounds.policy.deadline: [10 s, 20 s], rounds.policy: [synchronous, tiered]",
         "rounds.policy undoes rounds.policy.deadline, which is changed before it; change "
         "rounds.policy first"),
        ("zip: {rounds.policy.deadline: [10 s], rounds.policy: [{name: tiered, tiers: 2}]}",
         "change rounds.policy first"),
        ("rounds.clients: [5, 6], rounds: [{clients: 7}]", "undoes rounds.clients.*change it once"),
        ("rounds: [{clients: 7}], rounds.clients: [5, 6]", "undoes rounds.clients.*change it once"),
    ],
)  # fmt: skip
def test_what_is_swept_is_not_undone_by_what_is_swept_after_it(swept: str, told: str) -> None:
    """Points would be named after values that they don't have."""
    with pytest.raises(ScenarioError, match=told):
        runs(f"sweep: {{{swept}}}\n")


def test_two_names_of_one_group_are_one_place() -> None:
    """Points were named after values that they didn't have."""
    by_number = "sweep: {'fleet[0].count': [11, 12]}\n"
    with pytest.raises(ScenarioError, match=r"fleet\[0\].count is swept"):
        runs(by_number, "fleet.count=13")
    both = "sweep: {'fleet[0].count': [11], fleet.group-0.count: [12]}\n"
    with pytest.raises(ScenarioError, match=r"fleet.group-0.count undoes fleet\[0\].count"):
        runs(both, "fleet.name=group-0")
    found = runs(f"variants: {{a: {{fleet.count: 30}}}}\n{by_number}")
    counts = [run.scenario.fleet[0].count for run in found]
    assert counts == [11, 12], "a sweep wins over a variant by any name"


def test_what_a_variant_changes_is_not_undone_by_a_sweep() -> None:
    variants = "variants: {quick: {rounds.policy.deadline: 10 s}}\n"
    told = "rounds.policy undoes .*deadline, .* or rounds.policy.deadline after it"
    with pytest.raises(ScenarioError, match=told):
        runs(f"{variants}sweep: {{rounds.policy: [synchronous, tiered]}}\n")
    [found] = runs(f"{variants}sweep: {{rounds.policy.deadline: [20 s]}}\n")
    assert found.scenario.rounds.policy.model_dump()["deadline"] == "20 s"


def test_options_are_swept_beside_what_they_are_of() -> None:
    found = runs("sweep: {rounds.policy: [synchronous, tiered], rounds.policy.deadline: [10 s]}\n")
    assert [run.scenario.rounds.policy.model_dump()["deadline"] for run in found] == ["10 s"] * 2
    found = runs("sweep: {rounds: [{min_clients: 2}], rounds.clients: [5, 6]}\n")
    assert [run.scenario.rounds.clients for run in found] == [5, 6]


def test_a_scenario_stands_for_the_same_runs_as_its_document() -> None:
    for text in (GRID, ZIP):
        scenario = Scenario.from_dict(Document.parse(BASE + text).data)
        assert expand(scenario) == expand(Document.parse(BASE + text))
        assert expand(Scenario.from_dict(scenario.to_dict())) == expand(scenario)


def test_some_variants_only() -> None:
    text = GRID + "variants: {near: {}, far: {}}\n"
    assert len(runs(text, only=["near"])) == 6
    [run] = runs(text, only=["far_clients=5_selection=oort"])
    assert run.factors["variant"] == "far"
    assert len(runs("", only=["default"])) == 1
    assert len(runs(text, only=iter(["near"]))) == 6
    with pytest.raises(InputError, match="no variant 'naer'; did you mean 'near'"):
        runs(text, only=["naer"])


@pytest.mark.parametrize(
    ("sweep", "expected"),
    [
        ("{fleet.uplink: [1 Mbit/s, '10 Mbit/s']}", ["uplink=1Mbit-s", "uplink=10Mbit-s"]),
        ("{training.proximal: [0.5, 1e-3]}", ["proximal=0.5", "proximal=0.001"]),
        ("{rounds.policy: [fedbuff, {name: fedbuff, buffer: 3}]}",
         ["policy=fedbuff", "policy=fedbuff-buffer=3"]),
        ("{rounds.policy.deadline: [none, {stragglers: 30%}]}",
         ["deadline=none", "deadline=stragglers=30pct"]),
        ("{rounds.stop.rounds: [1], zip: {evaluation.every: [2]}}", ["rounds=1_every=2"]),
        ("{fleet.uplink: [1 Mbit/s, 1Mbit/s]}", ["uplink=1Mbit-s", r"uplink=1Mbit-s_\w{8}"]),
        ("{evaluation.targets: [[0.1, 0.2], []]}", ["targets=0.1-0.2", "targets=none"]),
        ("{model.frozen: [[layers.0.*, layers.1.*], ['*.bias'], []]}",
         ["frozen=layers.0-layers.1", "frozen=bias", "frozen=none"]),
    ],
)  # fmt: skip
def test_names_are_readable_and_different(sweep: str, expected: list[str]) -> None:
    found = [run.variant for run in runs(f"sweep: {sweep}\n")]
    assert len(found) == len(expected)
    for name, pattern in zip(found, expected, strict=True):
        assert name == pattern or re.fullmatch(pattern, name)


def test_names_that_would_be_too_long_are_cut() -> None:
    files = [f"{'x' * 200}{number}" for number in range(3)]
    names = [run.variant for run in runs(f"sweep: {{description: {files}}}\n")]
    assert len(set(names)) == 3
    assert max(map(len, names)) <= 80


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("sweep:\n  rounds.clients:\n    - 5\n    - 500\n", "s.yaml:8:7: rounds.clients",
         "only 30"),
        ("sweep:\n  rounds.cleints: [5]\n", "s.yaml:6:3: rounds.cleints", "mean 'clients'"),
        ("sweep:\n  fleet.x.y.z: [5]\n", "s.yaml:6:3: ", "fleet.x"),
        ("sweep:\n  seed: [1, 2]\n", "s.yaml:6:3: ", "'seed'"),
        ("sweep:\n  rounds.clients: 5\n", "s.yaml:6:19: sweep", "list"),
        ("sweep:\n  rounds.clients: []\n", "s.yaml:6:19: sweep", "at least 1"),
        ("sweep:\n  zip: {seed: [1], rounds.clients: [1, 2]}\n", "s.yaml:6:8: sweep.zip",
         "seed 1, rounds.clients 2"),
        ("sweep:\n  random: 0\n", "s.yaml:6:11: sweep.random", "at least 1"),
        (f"sweep: {{rounds.clients: {[*range(200)]}, training.epochs: {[*range(60)]}}}\n",
         "s.yaml:5:8: sweep: 12,000 combinations, at most 10,000", "`random: 100` draws some"),
        ("sweep:\n  rounds.clients: [5, 6, 5]\n", "s.yaml:6:26: sweep: clients=5", "listed twice"),
    ],
)  # fmt: skip
def test_a_bad_factor_is_told_with_its_line(text: str, place: str, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        runs(text)
    assert str(caught.value).startswith(place)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
