from typing import Any

import numpy as np
import pytest

from simfl.errors import InputError, ScenarioError
from simfl.scenario import Document, Scenario, expand

BASE = """\
data: {dataset: synthetic}
model: logistic_regression
fleet: {name: phones, count: 30}
training: {epochs: 10, proximal: 0.5}
rounds: {policy: {name: synchronous, deadline: {stragglers: 30%}}, clients: 5}
"""
VARIANTS = """\
variants:
  plain: {}
  patient: {rounds.policy.deadline: none}
  FedProx:
    training.workload: partial_epochs
    training: {proximal: 1}
  small: {fleet.count: 8, fleet.phones.uplink: 1 Mbit/s}
"""


def runs(text: str, *changes: str, **options: Any) -> dict[tuple[str, int], Scenario]:
    document = Document.parse(text, "s.yaml").set(*changes)
    return {(run.variant, run.seed): run.scenario for run in expand(document, **options)}


def test_without_variants_there_is_one() -> None:
    found = runs(BASE, "seed=4")
    assert list(found) == [("default", 4)]
    assert found["default", 4].seed == 4


def test_seeds_given_beside_a_scenario_are_held_to_what_it_may_have() -> None:
    """A seed of 0.5 made a run folder that nothing could read, numpy's numbers an odd error."""
    assert list(runs(BASE, seeds=np.arange(2))) == [("default", 0), ("default", 1)]
    assert all(type(seed) is int for _, seed in runs(BASE, seeds=[np.int64(3)]))
    for seeds, words in (
        ([0.5], "expected a whole number, got 0.5"),
        ([True], "expected a whole number, got true"),
        (["1"], "expected a whole number, got '1'"),
        ([-1], "must be at least 0, but got -1"),
        ([2**63], "must be below 9,223,372,036,854,775,808"),
        ([4, 4], "seed 4 is listed twice"),
        (range(10_001), "expected at most 10,000 of them"),
    ):
        with pytest.raises(InputError, match=f"seeds: {words}"):
            runs(BASE, seeds=seeds)


@pytest.mark.parametrize("text", [BASE, BASE + VARIANTS, BASE + "sweep: {fleet.count: [8, 9]}\n"])
def test_of_no_variants_there_are_no_runs(text: str) -> None:
    assert not runs(text, only=[])
    assert not runs(text, seeds=[])


def test_variants_differ_in_what_they_say() -> None:
    found = runs(BASE + VARIANTS)
    assert list(found) == [("plain", 0), ("patient", 0), ("FedProx", 0), ("small", 0)]
    plain, patient, prox, small = found.values()
    assert plain.rounds.policy.model_dump()["deadline"] == {"stragglers": "30%"}
    assert patient.rounds.policy.model_dump()["deadline"] == "none"
    assert patient.model_copy(update={"rounds": plain.rounds}) == plain
    assert (prox.training.workload.name, prox.training.proximal, prox.training.epochs) == (
        "partial_epochs", 1.0, 10
    )  # fmt: skip
    assert small.devices == 8
    assert all(run.variants == {} and run.seeds == () for run in found.values())


def test_every_variant_runs_with_every_seed() -> None:
    text = BASE + VARIANTS + "seeds: [3, 1]\n"
    assert list(runs(text))[:3] == [("plain", 3), ("plain", 1), ("patient", 3)]
    assert [seed for _, seed in runs(text, seeds=[7])] == [7] * 4
    assert all(run.seed == seed for (_, seed), run in runs(text).items())
    assert [seed for _, seed in runs(BASE, "seeds=0-2")] == [0, 1, 2]


def test_changes_from_outside_win_over_a_variants_own() -> None:
    found = runs(BASE + VARIANTS, "training.proximal=3", "fleet.count=20")
    assert {run.training.proximal for run in found.values()} == {3.0}
    assert {run.devices for run in found.values()} == {20}
    changed = runs(BASE + VARIANTS, "variants.plain={rounds.clients: 9}")
    assert changed["plain", 0].rounds.clients == 9


def test_one_change_of_a_variant_is_changed_from_outside() -> None:
    text = BASE + "variants: {near: {rounds.clients: 3}}\n"
    [run] = expand(Document.parse(text).set("variants.near.rounds.clients=4"))
    assert run.scenario.rounds.clients == 4


def test_a_change_within_a_variant_that_there_is_not_is_refused() -> None:
    """A typo made one more variant, and the one that was meant stayed as it was."""
    document = Document.parse(BASE + VARIANTS)
    with pytest.raises(ScenarioError, match=r"no variant 'plian'; did you mean 'plain'\?$"):
        document.set("variants.plian.rounds.clients=4")
    with pytest.raises(
        ScenarioError, match=r"new one is written `variants.b={rounds.clients: ...}`"
    ):
        Document.parse(BASE).set("variants.b.rounds.clients=4")
    assert len(document.set("variants.b={rounds.clients: 4}").data["variants"]) == 1 + len(
        document.data["variants"]
    )


def test_a_scenario_stands_for_the_same_runs_as_its_document() -> None:
    document = Document.parse(BASE + VARIANTS + "seeds: 0-1\n")
    scenario = Scenario.from_dict(document.data)
    assert expand(scenario) == expand(document)
    assert expand(Scenario.from_dict(scenario.to_dict())) == expand(document)
    assert [run.seed for run in expand(scenario.model_copy(update={"seeds": (5,)}))] == [5] * 4
    quick = scenario.model_copy(update={"name": "quick"})
    assert {run.scenario.name for run in expand(quick)} == {"quick"}


def test_default_clients_follow_the_variants_fleet() -> None:
    text = BASE.replace(", clients: 5", "") + VARIANTS
    assert [run.rounds.clients for run in runs(text).values()] == [10, 10, 10, 8]
    assert [run.scenario.rounds.clients for run in expand(Scenario.from_dict(
        Document.parse(text).data
    ))] == [10, 10, 10, 8]  # fmt: skip


def test_all_variants_are_checked_and_told_of_with_their_lines() -> None:
    text = BASE + VARIANTS.replace("proximal: 1", "proximal: x").replace("8,", "4,")
    with pytest.raises(ScenarioError) as told:
        runs(text)
    assert str(told.value).splitlines() == [
        "s.yaml:11:26: training.proximal: expected a number, got 'x' (in variant 'FedProx')",
        "s.yaml:5:77: rounds.clients: 5 clients per round, but the fleet has only 4 devices "
        "(in variant 'small')",
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("  x: {training.workloud: full}", "s.yaml:7:7: training.workloud: unknown key"),
        ("  x: {trainin.workload: full}", "did you mean 'training'?"),
        ("  x: {model.layers: 3}", "s.yaml:7:7: model.layers: unknown key 'layers'"),
        ("  x: {a..b: 3}", "s.yaml:7:7: 'a..b' is no path"),
        ("  x/y: {}", "variants"),
        ("  x: 3", "s.yaml:7:6: variants.x: expected a mapping, got 3"),
        ("  x: {variants: {y: {}}}", "a variant can't change 'variants'"),
        ("  x: {seed: 3}", "s.yaml:7:7: a variant can't change 'seed'"),
        (
            "  x: {rounds.policy.deadline: 9 s, rounds.policy: synchronous}",
            "s.yaml:7:36: rounds.policy undoes rounds.policy.deadline, which is changed before it",
        ),
        (
            "  x: {fleet.count: 9, 'fleet[0].count': 8}",
            "s.yaml:7:23: fleet[0].count undoes fleet.count, which is changed before it; change it",
        ),
    ],
)
def test_variants_that_are_none(line: str, words: str) -> None:
    with pytest.raises(ScenarioError) as told:
        runs(f"{BASE}variants:\n{line}\n")
    assert words in str(told.value)
    assert str(told.value).startswith("s.yaml:7:")


def test_what_only_a_variant_asked_for_has_can_be_set() -> None:
    """What tune advised, `--set rounds.policy.buffer=2` of the variant fedbuff, was refused."""
    fedbuff = "  fedbuff: {rounds.policy: {name: fedbuff, buffer: 3}, aggregation: fedbuff}\n"
    text, change = BASE + "seeds: [4, 5]\n" + VARIANTS + fedbuff, "rounds.policy.buffer=2"
    found = runs(text, change, only=["fedbuff"])
    assert list(found) == [("fedbuff", 4), ("fedbuff", 5)]
    assert {one.rounds.policy.model_dump()["buffer"] for one in found.values()} == {2}
    for only in (None, ["plain"], ["fedbuff", "plain"]):
        with pytest.raises(ScenarioError, match=r"policy\.buffer: unknown key 'buffer'"):
            runs(text, change, only=only)
    for only in (None, ["plain"]):
        with pytest.raises(ScenarioError, match=r"'fedbuff'\nwith \S+ fedbuff it can be set$"):
            runs(text, change, only=only)
    with pytest.raises(ScenarioError, match=r"did you mean 'deadline'\?$"):
        runs(text, "rounds.policy.deadlin=2 s")
    broken = BASE.replace("logistic_regression", "7") + "variants: {own: {model: mlp}}\n"
    with pytest.raises(ScenarioError, match=r"model: "):  # which is not for what was set
        runs(broken, only=["own"])
