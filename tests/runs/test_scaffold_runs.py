"""Whole runs with SCAFFOLD: what it costs, that it trains, and what it refuses."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from simfl import Options, Scenario
from simfl.components.aggregators.scaffold import Scaffold
from simfl.core.work import WorkResult
from simfl.errors import ScenarioError
from simfl.training.executors.inline import Inline
from tests.tiny import TINY, RunTiny

SCAFFOLD = {"aggregation": "scaffold"}
PLAIN = {"aggregation": {"name": "fedavg", "weighting": "uniform"}}
BYTES = ("download_bytes", "upload_bytes")


def total(result: Any, column: str) -> int:
    return int(result.clients[column].sum())


@pytest.mark.parametrize("compression", ["none", "float16"])
def test_bytes_are_doubled(run_tiny: RunTiny, compression: str) -> None:
    also = {"training.compression": compression}
    one, other = run_tiny({**PLAIN, **also}), run_tiny({**SCAFFOLD, **also})
    assert len(one.clients) == len(other.clients)
    for column in BYTES:
        assert total(other, column) == 2 * total(one, column) > 0


def test_who_holds_the_model_still_downloads_the_correction(run_tiny: RunTiny) -> None:
    """A loss poll brings the model, at a model's price, to those who are then selected."""
    polled = {"selection": "power_of_choice"}
    one, other = run_tiny({**PLAIN, **polled}), run_tiny({**SCAFFOLD, **polled})
    probes = [int(result.rounds["probe_bytes"].sum()) for result in (one, other)]
    assert probes[0] == probes[1]
    assert total(other, "download_bytes") - total(one, "download_bytes") == total(
        one, "upload_bytes"
    )


def test_it_learns_from_the_first_round_on_otherwise(run_tiny: RunTiny) -> None:
    one, other = run_tiny(PLAIN), run_tiny(SCAFFOLD)
    losses = [result.rounds["loss"].to_numpy() for result in (one, other)]
    assert losses[0][0] == losses[1][0]  # there is no correction yet
    assert not np.isclose(losses[0][1], losses[1][1], rtol=1e-4)
    assert losses[1][-1] < losses[1][0]


@pytest.mark.slow
def test_processes_change_no_byte(run_tiny: RunTiny) -> None:
    runs = [
        run_tiny(SCAFFOLD, options)
        for options in (Options(), Options(executor="processes", workers=2))
    ]
    for name in ("events.jsonl", "rounds.csv", "clients.csv", "model.pt"):
        assert len({(result.folder / name).read_bytes() for result in runs}) == 1


def test_a_broken_update_changes_no_control_variate(
    run_tiny: RunTiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken: list[int] = []
    heard: set[int] = set()
    seen: list[bool] = []
    train, aggregate = Inline.train, Scaffold.aggregate

    def breaking(self: Inline, *args: Any) -> list[WorkResult]:
        results = train(self, *args)
        broken.append(results[0].order.client)
        results[0].params[0] = np.nan
        return results

    def spying(self: Scaffold, model: Any, contributions: Any) -> Any:
        before = self.state_dict()["_controls"]
        model = aggregate(self, model, contributions)
        heard.update(one.result.order.client for one in contributions)
        after = self.state_dict()["_controls"]
        seen.append(after.get(broken[-1]) is before.get(broken[-1]))
        assert set(after) == heard
        return model

    monkeypatch.setattr(Inline, "train", breaking)
    monkeypatch.setattr(Scaffold, "aggregate", spying)
    run_tiny(SCAFFOLD)
    assert seen == [True] * 4


def refused(changes: Mapping[str, Any]) -> str:
    overrides = [f"{path}={json.dumps(value)}" for path, value in changes.items()]
    with pytest.raises(ScenarioError) as error:
        Scenario.from_dict(TINY, overrides=overrides)
    return str(error.value)


@pytest.mark.parametrize(
    "policy",
    ["fedbuff", "fedasync", "tiered", "semi_synchronous", {"name": "synchronous", "late": "carry"}],
    ids=str,
)
def test_policies_with_stale_updates_are_refused(policy: Any) -> None:
    options = {"rounds.policy": policy}
    if policy == "semi_synchronous":
        options = {"rounds.policy": {"name": policy, "period": "60 s"}}
    if policy == {"name": "synchronous", "late": "carry"}:
        options = {"rounds.policy": {**policy, "deadline": "60 s"}}
    assert "aggregation: aggregator 'scaffold' can't use stale updates" in refused(
        {**SCAFFOLD, **options}
    )


def test_local_training_that_does_not_go_with_the_aggregator_is_refused() -> None:
    momentum = {"training.optimizer.momentum": 0.9}
    assert "aggregation: aggregator 'scaffold' reads gradients off plain SGD" in refused(
        {**SCAFFOLD, **momentum}
    )
    both = {**momentum, "training.proximal": 0.1, "aggregation": "fednova"}
    assert "momentum and proximal can't both be above 0" in refused(both)


def test_fednova_is_told_of_momentum(run_tiny: RunTiny) -> None:
    momentum = {"training.optimizer.momentum": 0.5}
    ragged = {**momentum, "training.epochs": 3, "data.partition": {"name": "dirichlet"}}
    models = [
        (run_tiny({**ragged, "aggregation": aggregation}).folder / "model.pt").read_bytes()
        for aggregation in (
            "fednova",
            {"name": "fednova", "momentum": 0.5},
            {"name": "fednova", "momentum": 0},
        )
    ]
    assert models[0] == models[1] != models[2]
