"""Geometric median and centred clipping: by hand, against an exact minimum, and wrong clients."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from simfl.components.aggregators.base import Aggregator, Contribution
from simfl.components.aggregators.centered_clipping import CenteredClipping
from simfl.components.aggregators.geometric_median import GeometricMedian
from simfl.core.types import Params
from simfl.core.work import Plan, WorkOrder, WorkResult


def sent(update: object, client: int = 0, samples: int = 1, base: float = 0.0) -> Contribution:
    moved = np.atleast_1d(np.array(update, dtype=np.float32))
    start = np.full_like(moved, base)
    result = WorkResult(WorkOrder(client, 0, 1, 0, Plan(1), 0), start + moved, 0.0, 1, samples)
    return Contribution(result, start)


def step(aggregator: Aggregator, updates: object, samples: int = 1) -> Params:
    arrived = [sent(update, i, samples) for i, update in enumerate(np.array(updates))]
    return aggregator.aggregate(np.zeros_like(arrived[0].base), arrived)


def test_two_steps_of_weiszfeld_by_hand() -> None:
    """0, 0 and 9: from 3, which is 3 and 6 away, to (9/6) / (2/3 + 1/6) = 1.8, to 9/7.2 / (...)."""
    updates = [[0.0], [0.0], [9.0]]
    assert step(GeometricMedian(iterations=1), updates) == pytest.approx([1.8])
    second = (9 / 7.2) / (2 / 1.8 + 1 / 7.2)
    assert step(GeometricMedian(iterations=2), updates) == pytest.approx([second])


def test_it_ends_where_distances_are_least() -> None:
    rng = np.random.default_rng(0)
    updates = rng.normal(size=(7, 3))
    weights = rng.integers(1, 9, size=7)

    def far(point: np.ndarray) -> float:
        return sum(w * math.dist(point, u) for w, u in zip(weights, updates, strict=True))

    exact = minimize(far, updates.mean(axis=0), method="Nelder-Mead", options={"xatol": 1e-9})
    arrived = [sent(u, i, int(w)) for i, (u, w) in enumerate(zip(updates, weights, strict=True))]
    found = GeometricMedian(iterations=200).aggregate(np.zeros(3, np.float32), arrived)
    assert found == pytest.approx(exact.x, abs=1e-4)
    alike = GeometricMedian(iterations=200, weighting="uniform")
    assert step(alike, updates, samples=5) == pytest.approx(step(alike, updates), abs=1e-6)
    assert np.abs(alike.aggregate(np.zeros(3, np.float32), arrived) - found).max() > 1e-3


def test_where_an_update_is_the_median_no_distance_is_divided_by() -> None:
    updates = [[1.0, 2.0]] * 4 + [[50.0, -50.0]]
    assert step(GeometricMedian(iterations=30), updates) == pytest.approx([1, 2], abs=1e-4)


@pytest.mark.parametrize("far", [1e2, 1e4])
def test_a_minority_far_away_has_no_say(far: float) -> None:
    """Each step leaves behind a share of it; the mean is a fifth of it away."""
    honest = np.random.default_rng(1).normal(size=(8, 5))
    updates = [*honest, *np.full((2, 5), far)]
    assert np.abs(step(GeometricMedian(iterations=12), updates)).max() < 2
    clipping = CenteredClipping(clip=1)
    assert np.linalg.norm(step(clipping, updates) - step(clipping, honest)) < 0.5


def test_centred_clipping_by_hand() -> None:
    """(3, 4) counts as (.6, .8), then as what is 1 away from there towards it."""
    rule = CenteredClipping(clip=1)
    updates = [[3.0, 4.0], [0.0, 0.5]]
    assert step(rule, updates) == pytest.approx([0.3, 0.65])
    center = np.array([0.3, 0.65])
    towards = np.array(updates[0]) - center
    second = center + (towards / np.linalg.norm(towards) + (updates[1] - center)) / 2
    assert step(rule, updates) == pytest.approx(second)  # it remembers the last round
    assert step(CenteredClipping(clip=1, iterations=2), updates) == pytest.approx(second)
    assert step(CenteredClipping(clip=100), updates) == pytest.approx([1.5, 2.25])  # the mean


@pytest.mark.parametrize("rule", [GeometricMedian(), CenteredClipping(clip=2)])
def test_it_is_of_updates_whatever_they_began_at(rule: Aggregator) -> None:
    """Stale ones are added to the present model; over several blocks of columns, too."""
    updates = np.random.default_rng(2).normal(size=(3, 70_001)).astype(np.float32)
    fresh = step(rule.fresh(), updates)
    stale = [sent(update, i, base=0.5 * i) for i, update in enumerate(updates)]
    model = np.full(70_001, 10, dtype=np.float32)
    found = rule.fresh().aggregate(model, stale)
    np.testing.assert_allclose(found, fresh + 10, rtol=1e-5, atol=1e-5)
