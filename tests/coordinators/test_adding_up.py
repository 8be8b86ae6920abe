"""A cohort whose models are added up part after part ends where all of them at once would."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simfl
from simfl.components.aggregators.base import Contribution
from simfl.components.aggregators.fedavg import FedAvg
from simfl.coordinators import training
from simfl.coordinators.adding_up import added_up
from simfl.core.work import Plan, WorkOrder, WorkResult
from simfl.training.executors.inline import Inline
from tests.tiny import TINY

P = 70_000
"""Parameters: more than a block of the sum."""


def trained(order: WorkOrder, diverges: Sequence[int] = ()) -> WorkResult:
    params = np.random.default_rng(order.seed).normal(size=P).astype(np.float32)
    if order.client in diverges:
        params[-1] = np.nan
    return WorkResult(order, params, 0.5, 1, 3 + order.client)


@settings(deadline=None, max_examples=50)
@given(
    n=st.integers(1, 7), at_once=st.integers(1, 8), diverges=st.lists(st.integers(0, 6), max_size=3)
)
def test_the_sum_is_the_same_to_the_last_bit(n: int, at_once: int, diverges: list[int]) -> None:
    orders = [WorkOrder(client, 0, 1, 0, Plan(1), client) for client in range(n)]
    most = 0

    def execute(some: Sequence[WorkOrder]) -> list[WorkResult]:
        nonlocal most
        most = max(most, len(some))
        return [trained(order, diverges) for order in some]

    def weigh(some: Sequence[WorkOrder]) -> Any:
        return FedAvg().weigh([3 + order.client for order in some], [1] * len(some))

    found = added_up(execute, orders, weigh, at_once)
    sound = [order for order in orders if order.client not in diverges]
    assert [result.order for result in found.results] == sound
    assert found.discarded == [order.key for order in orders if order not in sound]
    assert most <= at_once
    if sound:
        base = np.zeros(P, dtype=np.float32)
        contributions = [Contribution(trained(order), base) for order in sound]
        assert found.total is not None
        expected = FedAvg().aggregate(base, contributions)
        assert found.total.astype(np.float32).tobytes() == expected.tobytes()
    else:
        assert found.total is None


def test_weights_of_nobody_with_samples_make_no_sum() -> None:
    order = WorkOrder(0, 0, 1, 0, Plan(1), 0)
    found = added_up(lambda some: [trained(o) for o in some], [order], lambda _: np.zeros(1), 1)
    assert found.total is None
    assert [result.order for result in found.results] == [order]


class Mine(FedAvg):
    """Does something else than its base."""

    def aggregate(self, model, contributions):
        return super().aggregate(model, contributions) / np.float32(2)


def test_who_builds_on_fedavg_is_asked_itself() -> None:
    assert Mine().weigh([1], [1]) is None


def files(folder: Path, changes: dict[str, Any]) -> dict[str, bytes]:
    [result] = simfl.run(simfl.Scenario.from_dict({**TINY, **changes}), folder)
    return {name: (result.folder / name).read_bytes() for name in ("events.jsonl", "model.pt")}


DIVERGES = {"training": {**TINY["training"], "optimizer": {"name": "sgd", "lr": 1e25}}}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        DIVERGES,
        {"selection": "weighted", "aggregation": {"name": "fedavg", "weighting": "uniform"}},
        {"rounds": {**TINY["rounds"], "policy": {"name": "fedbuff", "buffer": 2}}},
    ],
    ids=["plain", "diverging", "drawn-repeatedly", "stale"],
)
def test_runs_are_the_same_however_much_room_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    plain = files(tmp_path / "plain", changes)
    asked = []
    train = Inline.train

    def count(self: Inline, batch: Any) -> list[WorkResult]:
        asked.append(len(batch.orders))
        return train(self, batch)

    monkeypatch.setattr(Inline, "train", count)
    monkeypatch.setattr(training, "ROOM_BYTES", 1)
    assert files(tmp_path / "scarce", changes) == plain
    assert asked
    if "rounds" not in changes:
        assert set(asked) == {1}
