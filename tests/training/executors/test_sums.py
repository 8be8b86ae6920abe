"""Models added up part after part, wherever, make the sum that all of them at once would."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from simfl.components.aggregators.base import Contribution
from simfl.components.aggregators.fedavg import FedAvg
from simfl.core.work import OrderBatch, Plan, WorkOrder, WorkResult
from simfl.training.executors import sums
from simfl.training.executors.base import Executor

P = 70_000
"""Parameters: more than a block of the sum."""


def trained(order: WorkOrder, diverges: Sequence[int] = ()) -> WorkResult:
    params = np.random.default_rng(order.seed).normal(size=P).astype(np.float32)
    if order.client in diverges:
        params[-1] = np.nan
    return WorkResult(order, params, 0.5, 1, 3 + order.client)


class Draws(Executor):
    """Draws models instead of training, and notes how many at a time."""

    diverges: tuple[int, ...] = ()
    workers: int = 1
    noted: list[int] = Field(default_factory=list)

    @property
    def side_by_side(self) -> int:
        return self.workers

    def train(self, batch):
        self.noted.append(len(batch.orders))
        return [trained(order, self.diverges) for order in batch.orders]


def batch_of(n: int) -> OrderBatch:
    orders = [WorkOrder(client, 0, 1, 0, Plan(1), client) for client in range(n)]
    return OrderBatch({0: np.zeros(P, dtype=np.float32)}, orders)


def weigh(some: Sequence[WorkOrder]) -> Any:
    return FedAvg().weigh([3 + order.client for order in some], [1] * len(some))


@settings(max_examples=50)
@given(
    n=st.integers(1, 40),
    at_once=st.integers(1, 40),
    diverges=st.sets(st.integers(0, 39), max_size=3),
)
def test_the_sum_is_the_same_to_the_last_bit(n: int, at_once: int, diverges: set[int]) -> None:
    batch = batch_of(n)
    executor = Draws(diverges=tuple(diverges), workers=at_once)
    with pytest.MonkeyPatch.context() as scarce:
        scarce.setattr(sums, "ROOM_BYTES", 1)
        found = executor.add_up(batch, weigh)
        assert executor.worth_adding_up(n, 4 * P) == (n > at_once)
    assert max(executor.noted) <= at_once
    sound = [order for order in batch.orders if order.client not in diverges]
    assert [result.order for result in found.results] == sound
    assert found.discarded == [order.key for order in batch.orders if order not in sound]
    if sound:
        contributions = [Contribution(trained(order), batch.bases[0]) for order in sound]
        assert found.total is not None
        expected = FedAvg().aggregate(batch.bases[0], contributions)
        assert found.total.astype(np.float32).tobytes() == expected.tobytes()
    else:
        assert found.total is None


def test_weights_of_nobody_with_samples_make_no_sum() -> None:
    batch = batch_of(1)
    found = Draws().add_up(batch, lambda some: np.zeros(len(some)))
    assert found.total is None
    assert [result.order for result in found.results] == batch.orders
