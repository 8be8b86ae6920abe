"""Sums of models, which are much smaller than the models: what an executor can be asked for."""

import math
from collections.abc import Callable
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
    total, results, discarded = GroupedSum(), list[WorkResult](), list[OrderKey]()
    places = range(len(batch.orders))
    for first in places[::at_once]:
        part = slice(first, first + at_once)
        # No name for what was trained: it is to be gone when the next part is.
        for result, weight in zip(train(batch.part(places[part])), weights[part], strict=True):
            if not is_sound(result):
                discarded.append(result.order.key)
            elif not discarded:
                total.add(weight, result.params)
            results.append(replace(result, params=NO_MODEL))
    return Sum(None if discarded else total.value(), results, discarded)


def models_at_once(model_bytes: int, least: int = 1) -> int:
    """Return how many models there is room for, but `least` of them."""
    return max(ROOM_BYTES // model_bytes, least)


def is_sound(result: WorkResult) -> bool:
    """Whether the update and the loss are finite numbers still (docs/algorithms.md, 0.1)."""
    diverged = result.steps > 0 and not math.isfinite(result.loss)
    return bool(np.isfinite(result.params).all()) and not diverged
