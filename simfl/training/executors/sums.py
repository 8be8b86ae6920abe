"""Sums of models, which are much smaller than the models: what an executor can be asked for."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from simfl.components.aggregators.weighting import GroupedSum
from simfl.core.types import Floats, OrderKey, Params
from simfl.core.work import NO_MODEL, OrderBatch, WorkResult

ROOM_BYTES = 256 * 2**20
"""Models that are kept until they are added up; of more, one part after the other is trained."""


@dataclass(frozen=True)
class Sum:
    """What came of orders.

    Attributes:
        total: `(p,)` the weighted sum of their models, float64; or that sum rounded to float32
            (None: all weights are zero, or some result is not sound).
        results: of all of them, without their models.
        discarded: keys of those that are not sound.
    """

    total: Floats | Params | None
    results: list[WorkResult]
    discarded: list[OrderKey]


def add_up(
    train: Callable[[OrderBatch], list[WorkResult]],
    batch: OrderBatch,
    weights: Floats,
    at_once: int,
) -> Sum:
    """Train a batch and add its models up, so many at a time; no total if one is not sound.

    Args:
        train: returns the results of a batch's orders, in their order.
        batch: its orders in canonical order.
        weights: `(r,)` what each model is multiplied by.
        at_once: models that may be there at the same time.
    """
    adding, places = Adding(), range(len(batch.orders))
    for first in places[::at_once]:
        part = slice(first, first + at_once)
        # No name for what was trained: it is to be gone when the next part is.
        adding.add(train(batch.part(places[part])), weights[part])
    return adding.sum()


class Adding:
    """A `Sum` that is being made, its terms in canonical order."""

    def __init__(self) -> None:
        self._total, self._results = GroupedSum(), list[WorkResult]()
        self._discarded = list[OrderKey]()

    @property
    def count(self) -> int:
        """How many orders' terms it has."""
        return len(self._results)

    def add(self, trained: Sequence[WorkResult], weights: Floats) -> None:
        """Add the next models, each times its weight, of `(r,)`."""
        for result, weight in zip(trained, weights, strict=True):
            if not is_sound(result):
                self._discarded.append(result.order.key)
            elif not self._discarded:
                self._total.add(weight, result.params)
            self._results.append(replace(result, params=NO_MODEL))

    def add_sum(self, part: Sum) -> None:
        """Add the sum of the next terms: a group of `GroupedSum`, or what one begins with."""
        self._results.extend(part.results)
        self._discarded.extend(part.discarded)
        if part.total is not None and not self._discarded:
            total = part.total.astype(np.float64, copy=False)
            self._total.add_group(total, len(part.results))

    def sum(self) -> Sum:
        """Return what came of them; no total if one is not sound."""
        total = None if self._discarded else self._total.value()
        return Sum(total, self._results, self._discarded)


def models_at_once(model_bytes: int, least: int = 1) -> int:
    """Return how many models there is room for, but `least` of them."""
    return max(ROOM_BYTES // model_bytes, least)


def is_sound(result: WorkResult) -> bool:
    """Whether the update and the loss are finite numbers still (docs/algorithms.md, 0.1)."""
    diverged = result.steps > 0 and not math.isfinite(result.loss)
    return bool(np.isfinite(result.params).all()) and not diverged
