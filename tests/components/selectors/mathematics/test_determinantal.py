"""Exact k-DPP sampling: probabilities of small kernels, stability (docs/algorithms.md, A.7)."""

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from simfl.components.selectors.mathematics.determinantal import KDpp, similarity
from simfl.components.selectors.mathematics.intermediate import IntermediateKDpp
from simfl.components.selectors.mathematics.sketch import Sketch
from simfl.components.selectors.mathematics.vectors import distances
from simfl.core.types import Floats, Ids

Probabilities = dict[tuple[int, ...], float]

TRIDIAGONAL = np.array([[2.0, 1, 0], [1, 2, 1], [0, 1, 2]])
PROFILES = np.array([[0.0, 0], [0, 0], [3, 4], [6, 8]], dtype=np.float32)


def kernel(profiles: NDArray[np.float32]) -> Floats:
    S = similarity(distances(profiles, profiles, "L2"))
    return S.T @ S


def brute_force(L: Floats, k: int) -> Probabilities:
    minors = {Y: np.linalg.det(L[np.ix_(Y, Y)]) for Y in combinations(range(len(L)), k)}
    total = sum(minors.values())
    return {Y: max(minor, 0.0) / total for Y, minor in minors.items()}


def check(L: Floats, k: int, expected: Probabilities, draws: int = 20_000, seed: int = 0) -> None:
    """Every subset within 4 sigma of its probability."""
    dpp, rng = KDpp(L), np.random.default_rng(seed)
    compare([dpp.sample(k, rng) for _ in range(draws)], range(len(L)), expected)


def compare(drawn: Sequence[Ids], items: Iterable[int], expected: Probabilities) -> None:
    """Every subset of `items` within 4 sigma of its probability."""
    counts = dict.fromkeys(combinations(items, len(drawn[0])), 0)
    draws = len(drawn)
    for chosen in drawn:
        counts[tuple(chosen.tolist())] += 1
    for Y, count in counts.items():
        p = expected.get(Y, 0.0)
        sigma = np.sqrt(p * (1 - p) / draws)
        assert abs(count / draws - p) <= 4 * sigma + 1e-12, f"{Y}: {count / draws} instead of {p}"


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (1, {(0,): 1 / 3, (1,): 1 / 3, (2,): 1 / 3}),
        (2, {(0, 1): 0.3, (0, 2): 0.4, (1, 2): 0.3}),
        (3, {(0, 1, 2): 1.0}),
    ],
)
def test_three_clients_are_drawn_as_often_as_minors_say(k: int, expected: Probabilities) -> None:
    check(TRIDIAGONAL, k, expected, draws=20_000 if len(expected) > 1 else 10)


def test_four_profiles_have_the_kernel_and_the_odds_worked_out_by_hand() -> None:
    assert distances(PROFILES, PROFILES, "L2").max() == 10
    L = kernel(PROFILES)
    assert pytest.approx(L) == np.array(
        [
            [2.25, 2.25, 1.5, 0.25],
            [2.25, 2.25, 1.5, 0.25],
            [1.5, 1.5, 1.75, 1],
            [0.25, 0.25, 1, 1.25],
        ]
    )
    check(
        L,
        2,
        {
            (0, 2): 27 / 161,
            (1, 2): 27 / 161,
            (0, 3): 44 / 161,
            (1, 3): 44 / 161,
            (2, 3): 19 / 161,
        },
    )


def test_diagonal_kernels_draw_in_proportion_to_products() -> None:
    L = np.diag([1.0, 2, 3])
    check(L, 1, {(0,): 1 / 6, (1,): 1 / 3, (2,): 1 / 2}, draws=4000)
    check(L, 2, {(0, 1): 2 / 11, (0, 2): 3 / 11, (1, 2): 6 / 11}, draws=4000)
    check(np.eye(5), 2, dict.fromkeys(combinations(range(5), 2), 0.1), draws=4000)


@pytest.mark.slow
@pytest.mark.parametrize("n", [4, 6, 8])
@pytest.mark.parametrize("scale", [1.0, 1e12, 1e-12])
def test_against_all_subsets(n: int, scale: float) -> None:
    rng = np.random.default_rng(n)
    f = rng.normal(size=(n, 3)).astype(np.float32)
    L = kernel(f)
    check(scale * L, 3, brute_force(L, 3), draws=50_000)


def test_scale_and_renaming_do_not_matter() -> None:
    rng = np.random.default_rng(2)
    f = rng.normal(size=(6, 3)).astype(np.float32)
    L, order = kernel(f), rng.permutation(6)
    check(1e6 * L, 3, brute_force(L, 3), draws=5000)
    check(L[np.ix_(order, order)], 3, brute_force(L[np.ix_(order, order)], 3), draws=5000)
    inverse = np.argsort(order)
    for Y, p in brute_force(L, 3).items():
        renamed = tuple(sorted(int(inverse[i]) for i in Y))
        assert brute_force(L[np.ix_(order, order)], 3)[renamed] == pytest.approx(p)


def test_equal_profiles_mean_uniform_sampling() -> None:
    f = np.ones((5, 3), dtype=np.float32)
    check(kernel(f), 2, dict.fromkeys(combinations(range(5), 2), 0.1))


def test_a_kernel_of_too_low_a_rank_still_gives_k() -> None:
    f = np.repeat(np.array([[0.0], [1.0]], dtype=np.float32), 4, axis=0)
    dpp, rng = KDpp(kernel(f)), np.random.default_rng(0)
    assert dpp.rank == 2
    drawn = [dpp.sample(4, rng) for _ in range(200)]
    assert all(len(set(sample.tolist())) == 4 for sample in drawn)
    assert all({0, 1} == set((sample // 4).tolist()) for sample in drawn)


def test_stable_for_a_thousand_clients() -> None:
    f = np.random.default_rng(0).normal(size=(1000, 20)).astype(np.float32)
    dpp, rng = KDpp(kernel(f)), np.random.default_rng(0)
    for k in (1, 10, 200, 1000):
        sample = dpp.sample(k, rng)
        assert len(np.unique(sample)) == k
        assert np.array_equal(sample, np.sort(sample))


def in_parts(profiles: NDArray[np.float32], rank: int, ends: Sequence[int]) -> Sketch:
    """Return what is known where profiles come part by part."""
    first, *others = np.split(profiles, ends)
    sketch = Sketch(first, rank)
    for part in others:
        sketch.extend(part)
    return sketch


@pytest.mark.parametrize(
    ("rank", "ends"), [pytest.param(2, [], marks=pytest.mark.slow), (9, []), (2, [4, 5])]
)
@pytest.mark.parametrize("k", [1, 3])
def test_what_is_known_of_a_large_kernel_does_not_change_what_is_drawn(
    rank: int, ends: list[int], k: int
) -> None:
    f = np.random.default_rng(3).normal(size=(9, 3)).astype(np.float32)
    S = similarity(distances(f, f, "L2"))
    ids = np.array([0, 2, 3, 4, 6, 7, 8])
    L = (S @ S)[np.ix_(ids, ids)]
    expected = {tuple(ids[list(Y)].tolist()): p for Y, p in brute_force(L, k).items()}
    dpp, rng = IntermediateKDpp(in_parts(f, rank, ends), ids, k), np.random.default_rng(0)
    drawn = [dpp.sample(rng, tries=10_000) for _ in range(1500)]
    compare([chosen for chosen in drawn if chosen is not None], ids.tolist(), expected)
    assert all(chosen is not None for chosen in drawn)


def test_a_large_kernel_is_chosen_from_as_a_decomposed_one() -> None:
    rng = np.random.default_rng(5)
    f = (np.eye(4)[np.arange(400) % 4] + 0.1 * rng.normal(size=(400, 4))).astype(np.float32)
    S = similarity(distances(f, f, "L2"))
    dpp, other = IntermediateKDpp(Sketch(f, 20), np.arange(400), 6), KDpp(S @ S)

    def groups(drawn: Sequence[Ids | None]) -> tuple[float, float]:
        counts = [
            np.bincount(chosen % 4, minlength=4).max() for chosen in drawn if chosen is not None
        ]
        return float(np.mean(counts)), float(np.std(counts) / np.sqrt(len(counts)))

    mean, error = groups([dpp.sample(rng, tries=10_000) for _ in range(1500)])
    mean_other, error_other = groups([other.sample(6, rng) for _ in range(1500)])
    assert abs(mean - mean_other) <= 4 * np.hypot(error, error_other)


def test_a_large_kernel_of_too_low_a_rank_is_known_by_what_a_draw_would_take() -> None:
    sketch = Sketch(np.repeat(np.eye(2, dtype=np.float32), 4, axis=0), 8)
    assert IntermediateKDpp(sketch, np.arange(8), 2).points < 10
    assert IntermediateKDpp(sketch, np.arange(8), 4).points > 1e4


@pytest.mark.parametrize("n", [9, 300, 1100])
def test_what_is_known_of_a_large_kernel_is_right(n: int) -> None:
    f = np.random.default_rng(0).normal(size=(n, 7)).astype(np.float32)
    f[1] = f[0]
    sketch, S = Sketch(f, n - 1), similarity(distances(f, f, "L2"))
    found = sketch.similarities(np.arange(n)[::-1])
    assert np.allclose(found, S[::-1], rtol=1e-9, atol=1e-7)
    assert sketch.diagonal == pytest.approx((S**2).sum(axis=1), rel=1e-5)
    assert (sketch.applied**2).sum(axis=1) == pytest.approx(sketch.diagonal, rel=1e-5)


def test_the_largest_distance_is_exact_where_single_precision_takes_another_for_it() -> None:
    f = np.random.default_rng(0).normal(size=(300, 7))
    f *= 1000 / np.linalg.norm(f, axis=1)[:, None]
    profiles = np.concatenate([f, -f]).astype(np.float32)  # each has one as far away as can be
    sketch = Sketch(profiles[:400], 3)
    sketch.extend(profiles[400:])
    far = distances(profiles, profiles, "L2")
    assert far.max() == pytest.approx(far.max(axis=1).min(), rel=1e-6)
    lowest = sketch.similarities(np.arange(600)).min(axis=1)
    assert lowest.min() == pytest.approx(0.0, abs=1e-14)
    assert sorted(lowest.argsort()[:2]) == sorted(np.unravel_index(far.argmax(), far.shape))


def test_what_a_draw_may_come_to_without_a_look_at_it_is_no_less_than_what_it_comes_to() -> None:
    rng = np.random.default_rng(0)
    f = (np.eye(4)[np.arange(300) % 4] + 0.1 * rng.normal(size=(300, 4))).astype(np.float32)
    sketch = Sketch(f, 12)
    dpp = IntermediateKDpp(sketch, np.arange(300), 6)
    gaps = []
    for _ in range(50):
        points, share = rng.integers(300, size=20), rng.uniform(0.5, 2.0, size=20)
        rows = sketch.similarities(points)
        kernel = dpp.scale * (rows @ rows.T) / np.outer(share, share)
        exact = np.linalg.slogdet(np.eye(20) + kernel).logabsdet
        gaps.append(dpp.log_at_most(points, share) - exact)
    assert min(gaps) >= 0
    assert max(gaps) < 0.2 * exact


def test_single_precision_does_not_blur_profiles_that_are_nearly_alike() -> None:
    rng = np.random.default_rng(0)
    f = (np.eye(4)[np.arange(600) % 4] + 1e-4 * rng.normal(size=(600, 4))).astype(np.float32)
    sketch, S = Sketch(f, 12), similarity(distances(f, f, "L2"))
    rest = (S**2).sum(axis=1) - (sketch.applied**2).sum(axis=1)
    assert sketch.diagonal == pytest.approx((S**2).sum(axis=1), rel=1e-6)
    assert np.abs(rest).max() < 1e-6 * sketch.diagonal.min()


def test_more_than_there_are_tight_groups_of_are_drawn_without_looking_at_most_items() -> None:
    rng = np.random.default_rng(0)
    f = rng.normal(size=(10, 64))[np.arange(600) % 10] + 0.01 * rng.normal(size=(600, 64))
    dpp = IntermediateKDpp(Sketch(f.astype(np.float32), 120), np.arange(600), 15)
    assert dpp.points < 200


@pytest.mark.parametrize("ends", [[1], [20, 21, 350, 390]])
@pytest.mark.parametrize("rank", [3, 12])
def test_however_profiles_come_as_much_is_known_of_their_kernel(rank: int, ends: list[int]) -> None:
    """Draws are exact where that is a part of the kernel, and few where it is most of it."""
    f = np.random.default_rng(0).normal(size=(400, 7)).astype(np.float32)
    sketch, S = in_parts(f, rank, ends), similarity(distances(f, f, "L2"))
    L = S @ S
    assert sketch.similarities(np.arange(400)[::-1]) == pytest.approx(S[::-1], rel=1e-9, abs=1e-7)
    assert sketch.diagonal == pytest.approx(np.diag(L), rel=1e-5)
    assert sketch.applied.shape == (400, rank + 1)
    rest = np.linalg.eigvalsh(L - sketch.applied @ sketch.applied.T)
    assert rest[0] > -1e-5 * np.trace(L)
    at_once = Sketch(f, rank).applied
    assert (sketch.applied**2).sum() > 0.98 * (at_once**2).sum()
    assert np.trace(L) - (sketch.applied**2).sum() < 1.3 * (np.trace(L) - (at_once**2).sum())


def test_profiles_that_come_later_may_be_the_first_that_differ() -> None:
    f = np.random.default_rng(0).normal(size=(9, 3)).astype(np.float32)
    f[:5] = f[0]
    sketch, S = in_parts(f, 9, [2, 5]), similarity(distances(f, f, "L2"))
    assert sketch.similarities(np.arange(9)) == pytest.approx(S, rel=1e-9, abs=1e-7)
    assert sketch.diagonal == pytest.approx((S**2).sum(axis=1), rel=1e-5)
    assert in_parts(f[:5], 5, [2]).diagonal.tolist() == [1.0] * 5


def test_of_a_large_fleet_with_equal_profiles_all_sets_are_equally_likely() -> None:
    sketch = Sketch(np.full((6, 3), 0.1, dtype=np.float32), 6)
    assert (sketch.similarities(np.array([4, 1])) == np.eye(6)[[4, 1]]).all()
    dpp, rng = IntermediateKDpp(sketch, np.arange(6), 2), np.random.default_rng(0)
    drawn = [dpp.sample(rng, tries=10_000) for _ in range(1500)]
    pairs: Probabilities = dict.fromkeys(combinations(range(6), 2), 1 / 15)
    compare([chosen for chosen in drawn if chosen is not None], range(6), pairs)
