"""Coresets: the oracles of docs/algorithms.md (B.3), brute force where that is possible."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from simfl.components.coresets.base import coresets
from simfl.components.coresets.k_medoids import KMedoids

LINE = np.array([0, 1, 2, 10, 11, 20.0])[:, None]


def choose(x: np.ndarray, b: int, labels: np.ndarray | None = None, seed: int = 0, **options):
    labels = np.zeros(len(x), dtype=np.int64) if labels is None else labels
    return KMedoids(**options).choose(x, labels, b, np.random.default_rng(seed))


def cost(x: np.ndarray, rows: np.ndarray) -> float:
    return float(cdist(x, x[rows]).min(axis=1).sum())


@pytest.mark.parametrize("seed", range(10))
def test_points_on_a_line(seed: int) -> None:
    rows, weights = choose(LINE, 1, seed=seed)
    assert rows.tolist() == [2]
    assert weights.tolist() == [6]
    assert cost(LINE, rows) == 38
    rows, weights = choose(LINE, 2, seed=seed)
    assert LINE[rows, 0].tolist() == [1, 11]
    assert weights.tolist() == [3, 3]
    assert cost(LINE, rows) == 12
    rows, weights = choose(LINE, 3, seed=seed)
    assert LINE[rows, 0].tolist() in ([1, 10, 20], [1, 11, 20])
    assert weights.tolist() == [3, 2, 1]
    assert cost(LINE, rows) == 3


@settings(max_examples=60)
@example(n=7, b=2, grid=True, seed=7)
@given(
    n=st.integers(1, 12),
    b=st.integers(1, 14),
    grid=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_no_single_swap_improves(n: int, b: int, grid: bool, seed: int) -> None:
    """On a coarse grid there are duplicates and ties."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, (n, 2)).astype(float) if grid else rng.normal(size=(n, 3))
    rows, weights = choose(x, b, seed=seed)
    assert len(rows) == min(b, n)
    assert (np.diff(rows) > 0).all()
    assert weights.sum() == n
    assert (weights >= 1).all()
    others = np.setdiff1d(np.arange(n), rows)
    for out, into in itertools.product(range(len(rows)), others):
        swapped = rows.copy()
        swapped[out] = into
        assert cost(x, swapped) >= cost(x, rows) - 1e-9


@settings(max_examples=60)
@given(m=st.integers(1, 60), classes=st.integers(1, 6), b=st.integers(1, 70), seed=st.integers(0))
def test_each_class_keeps_its_weight(m: int, classes: int, b: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, labels = rng.normal(size=(m, 4)), rng.integers(0, classes, m)
    rows, weights = choose(x, b, labels, seed, per_class=True)
    held, counts = np.unique(labels, return_counts=True)
    for label, count in zip(held, counts, strict=True) if b >= len(held) else ():
        assert weights[labels[rows] == label].sum() == count


@settings(max_examples=40)
@given(b=st.integers(1, 40), per_class=st.booleans(), seed=st.integers(0, 10**6))
def test_the_error_of_the_gradient_is_within_fedcores_bound(
    b: int, per_class: bool, seed: int
) -> None:
    """FedCore, Eq. 3-5: ||sum_j g_j - sum_k delta_k g_k|| <= sum_j min_k ||g_j - g_k||."""
    rng = np.random.default_rng(seed)
    gradients, labels = rng.normal(size=(40, 5)), rng.integers(0, 3, 40)
    rows, weights = choose(gradients, b, labels, seed, per_class=False)
    error = np.linalg.norm(gradients.sum(axis=0) - weights @ gradients[rows])
    assert error <= cost(gradients, rows) + 1e-9


def test_all_samples_are_the_full_gradient() -> None:
    gradients = np.random.default_rng(0).normal(size=(9, 3))
    rows, weights = choose(gradients, 9)
    assert rows.tolist() == list(range(9))
    assert weights.tolist() == [1] * 9
    assert cost(gradients, rows) == 0


@pytest.mark.parametrize("b", [1, 3, 7])
def test_identical_samples_leave_no_error(b: int) -> None:
    gradients = np.ones((8, 3))
    rows, weights = choose(gradients, b)
    assert np.array_equal(weights @ gradients[rows], gradients.sum(axis=0))


def test_cost_never_rises_with_the_budget() -> None:
    x = np.random.default_rng(1).normal(size=(40, 2))
    optimal_so_far = [min(cost(x, choose(x, b, seed=s)[0]) for s in range(5)) for b in range(1, 41)]
    assert (np.diff(optimal_so_far) <= 1e-12).all()


@pytest.mark.parametrize("b", [5, 150, 300])
def test_beyond_the_largest_matrix_samples_are_clustered(b: int) -> None:
    """Few medoids by CLARA, many by random parts: better than the best of 20 random choices."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(600, 2))
    rows, weights = choose(x, b, max_rows=200)
    assert len(np.unique(rows)) == b
    assert weights.sum() == 600
    by_chance = min(cost(x, rng.choice(600, b, replace=False)) for _ in range(20))
    assert cost(x, rows) < by_chance


@pytest.mark.parametrize("b", [2, 3, 60, 299])
def test_fewer_medoids_than_parts_that_fit_a_matrix(b: int) -> None:
    rows, weights = choose(np.random.default_rng(3).normal(size=(300, 2)), b, max_rows=3)
    assert len(np.unique(rows)) == b
    assert weights.sum() == 300


def test_convex_models_are_compared_by_inputs() -> None:
    method = KMedoids(feature="logit_gradient")
    assert (method.uses(convex=True), method.uses(convex=False)) == ("inputs", "logit_gradient")
    assert coresets.parse("random").uses(convex=False) == "none"


@pytest.mark.parametrize("shape", [(20,), (20, 1), (20, 3)], ids=str)
@pytest.mark.parametrize("name", coresets.names())
def test_targets_that_are_no_classes(name: str, shape: tuple[int, ...]) -> None:
    """Yes or no for several labels, or numbers of which some are equal: the run ended there."""
    rng = np.random.default_rng(0)
    targets: Any = rng.integers(0, 2, shape).astype(np.float32)
    rows, weights = coresets.parse(name).choose(rng.normal(size=(20, 2)), targets, 5, rng)
    assert len(set(rows.tolist())) == 5
    assert weights.sum() == pytest.approx(20)


def test_random_is_uniform_and_unbiased() -> None:
    """Every row is kept with probability b / m; 4 sigma on 2,000 draws."""
    method, rng = coresets.parse("random"), np.random.default_rng(0)
    counts, labels = np.zeros(10), np.zeros(10, dtype=np.int64)
    for _ in range(2000):
        rows, weights = method.choose(np.empty((10, 0)), labels, 3, rng)
        counts[rows] += 1
        assert weights.tolist() == [10 / 3] * 3
    assert np.abs(counts - 600).max() < 4 * np.sqrt(2000 * 0.3 * 0.7)


@pytest.mark.parametrize("width", [1, 2, 7, 60])
def test_weights_count_the_nearest_by_distances_taken_one_by_one(width: int) -> None:
    """The matrix that medoids are sought in says it too, to the last bit (so ties fall alike)."""
    x = np.random.default_rng(width).integers(0, 4, (80, width)) / 3.0
    rows, weights = choose(x, 30)
    nearest = cdist(x, x[rows]).argmin(axis=1)
    nearest[rows] = np.arange(30)
    assert weights.tolist() == np.bincount(nearest, minlength=30).tolist()
