"""FedAvg: the oracles of docs/algorithms.md, section C."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl.components.aggregators.base import Contribution, aggregators
from simfl.components.aggregators.weighting import GROUP, GroupedSum, sum_of
from tests.components.aggregators.by_hand import contribution


def mean(contributions: list[Contribution], weighting: str = "samples") -> np.ndarray:
    aggregator = aggregators.parse({"name": "fedavg", "weighting": weighting})
    start = np.full_like(contributions[0].base, 7)
    return aggregator.aggregate(start, contributions)


def test_by_samples_and_uniform() -> None:
    two = [contribution(1, 100), contribution(3, 300)]
    assert mean(two).tolist() == [2.5]
    assert mean(two, "uniform").tolist() == [2.0]
    assert mean(two).dtype == np.float32


def test_copies_count_repeatedly() -> None:
    assert mean([contribution(0, copies=3), contribution(4)], "uniform").tolist() == [1.0]


def test_stale_updates_are_added_to_the_present_model() -> None:
    """A stale client moved from 1 to 4, a fresh one from 7 (the model) to 5."""
    fresh, stale = contribution(5), contribution(4)
    fresh = Contribution(fresh.result, np.full(1, 7, np.float32))
    stale = Contribution(stale.result, np.full(1, 1, np.float32), staleness=2)
    assert mean([fresh, stale]).tolist() == [7 + (-2 + 3) / 2]
    assert mean([fresh]).tolist() == [5]


def test_nobody_with_samples_leaves_the_model() -> None:
    assert mean([contribution(3, 0), contribution(5, 0)]).tolist() == [7.0]
    assert mean([contribution(3, 0), contribution(5, 2)]).tolist() == [5.0]


@settings(max_examples=50)
@given(
    n=st.integers(1, 30),
    seed=st.integers(0, 10**6),
    weighting=st.sampled_from(["samples", "uniform"]),
)
def test_it_is_the_weighted_mean_in_any_order(n: int, seed: int, weighting: str) -> None:
    rng = np.random.default_rng(seed)
    models = rng.normal(size=(n, 5)).astype(np.float32)
    samples = rng.integers(1, 1000, n)
    arrived = [contribution(models[i], int(samples[i]), i) for i in range(n)]
    result = mean(arrived, weighting)
    assert (result >= models.min(axis=0)).all()  # convex hull
    assert (result <= models.max(axis=0)).all()
    shuffled = [arrived[i] for i in rng.permutation(n)]
    assert mean(shuffled, weighting) == pytest.approx(result, rel=1e-6, abs=1e-7)
    same = [contribution(models[0], int(samples[i]), i) for i in range(n)]
    assert np.array_equal(mean(same, weighting), models[0])  # idempotence
    weights = samples if weighting == "samples" else np.ones(n)
    expected = np.average(models.astype(np.float64), axis=0, weights=weights)
    assert result == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_sums_over_many_blocks_are_whole() -> None:
    p = 3 * (1 << 16) + 5
    two = [contribution(np.arange(p)), contribution(np.arange(p) * 2)]
    total = sum_of(two, np.array([1.0, 0.5]))
    assert np.array_equal(total, 2.0 * np.arange(p))
    updates = sum_of(two, np.array([1.0, -0.5]), "updates")
    assert not updates.any()


@given(n=st.integers(1, 70), seed=st.integers(0, 10**6))
def test_whoever_adds_up_the_groups_comes_to_the_same_bits(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    models, weights = rng.normal(size=(n, 5)).astype(np.float32), rng.random(n)
    apart, whole = GroupedSum(), GroupedSum()
    for first in range(0, n, GROUP):
        group = np.zeros(5)
        for model, weight in zip(models[first : first + GROUP], weights[first:], strict=False):
            group += weight * model.astype(np.float64)
            whole.add(weight, model)
        group.flags.writeable = False  # as what comes of another process
        apart.add_group(group)
    together = sum_of([contribution(model) for model in models], weights)
    for total in (apart.value(), whole.value()):
        assert total is not None
        assert total.tobytes() == together.tobytes()
    assert GroupedSum().value() is None
