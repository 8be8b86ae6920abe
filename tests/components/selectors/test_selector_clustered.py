"""Clustered sampling: unbiased urns, planted pairs, low variance (docs/algorithms.md, A.8)."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist, squareform

from simfl.components.selectors.clustered import Clustered
from simfl.components.selectors.mathematics.urns import Urn, cut, draw, fill
from simfl.components.selectors.mathematics.vectors import distances, row_distances
from simfl.components.selectors.mathematics.ward import Merges, ward
from simfl.core.types import Floats, Ids
from simfl.testing.fake_server import FakeServer

PAIRS = np.array([[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]], dtype=np.float32)


def linkage_of(points: Floats) -> Merges:
    return ward(squareform(pdist(points)), np.arange(len(points)))


def random_linkage(n: int, seed: int) -> Merges:
    return linkage_of(np.random.default_rng(seed).random((n, n)))


def table(urns: Sequence[Urn], n: int) -> Ids:
    """Return `(m, n)` masses of the clients in each urn."""
    masses = np.zeros((len(urns), n), dtype=np.int64)
    for row, urn in zip(masses, urns, strict=True):
        row[urn.clients] = urn.masses
    return masses


def check_unbiased(urns: Sequence[Urn], samples: Ids, m: int) -> None:
    assert all((urn.masses > 0).all() for urn in urns)
    r = table(urns, len(samples)) / samples.sum()
    assert r.sum(axis=1) == pytest.approx(np.ones(m), abs=1e-9)
    assert r.sum(axis=0) == pytest.approx(m * samples / samples.sum(), abs=1e-9)
    assert (r >= 0).all()
    p = samples / samples.sum()
    variance = (r * (1 - r)).sum(axis=0) / m**2  # of a client's weight in the mean of m draws
    assert np.all(variance <= p * (1 - p) / m + 1e-12)  # multinomial sampling's


@settings(max_examples=60)
@given(
    samples=st.lists(st.integers(1, 10**6), min_size=2, max_size=40),
    seed=st.integers(0, 10**6),
    data=st.data(),
)
def test_urns_are_unbiased(samples: list[int], seed: int, data: st.DataObject) -> None:
    n, rng = np.array(samples), np.random.default_rng(seed)
    m = data.draw(st.integers(1, len(samples) - 1))
    check_unbiased(fill(n, m, random_linkage(len(n), seed), rng), n, m)


def test_a_client_heavier_than_an_urn_gets_whole_ones() -> None:
    n = np.array([70, 10, 10, 5, 5])
    urns = fill(n, 4, random_linkage(5, 0), np.random.default_rng(0))
    check_unbiased(urns, n, 4)
    assert (table(urns, 5)[:, 0] == 100).sum() == 2


def test_what_is_left_is_poured_into_the_lightest_urn_first() -> None:
    """Clusters of 8, 6, 2 and 4 in two urns of 10: the 2 and half of the 4 join the 6."""
    merges = [(0, 1), (2, 4), (3, 5)]  # all too heavy
    urns = fill(np.array([4, 3, 1, 2]), 2, merges, np.random.default_rng(0))
    assert table(urns, 4).tolist() == [[0, 6, 2, 2], [8, 0, 0, 2]]


def test_clusters_fit_into_an_urn() -> None:
    for seed in range(10):
        clusters = cut(random_linkage(100, seed), np.full(100, 10), 100)
        assert max(len(cluster) for cluster in clusters) <= 10
        assert sorted(np.concatenate(clusters).tolist()) == list(range(100))


def test_subtrees_are_as_large_as_they_can_be() -> None:
    points = np.array([[0.0], [1], [10], [11], [30]])
    clusters = cut(linkage_of(points), np.array([1, 1, 1, 1, 1]), 2)
    assert [cluster.tolist() for cluster in clusters] == [[0, 1], [2, 3], [4]]
    clusters = cut(linkage_of(points), np.array([1, 1, 1, 1, 1]), 4)
    assert [cluster.tolist() for cluster in clusters] == [[0, 1, 2, 3], [4]]
    # The pair that is too heavy is not merged, and neither is anything above it.
    clusters = cut(linkage_of(points), np.array([2, 2, 1, 1, 1]), 3)
    assert [cluster.tolist() for cluster in clusters] == [[0], [1], [2, 3], [4]]


def test_one_of_each_planted_pair_is_drawn() -> None:
    angles = distances(PAIRS, PAIRS, "arccos")
    assert angles[0, 1] == angles[2, 3] == pytest.approx(0.110657, abs=1e-6)
    server, selector, rng = FakeServer.random(4), Clustered(), np.random.default_rng(0)
    server.samples[:], server.vectors = 10, PAIRS.astype(np.float64)
    server.choose(selector, 2, rng)
    server.finish(selector, np.arange(4))
    drawn = np.array([server.choose(selector, 2, rng) for _ in range(2000)])
    assert np.all(drawn // 2 == [0, 1])  # one of each pair
    rates = np.bincount(drawn.ravel(), minlength=4) / 2000
    assert np.all(np.abs(rates - 0.5) < 4 * np.sqrt(0.25 / 2000))


@pytest.mark.parametrize("similarity", ["arccos", "L2", "L1"])
@pytest.mark.parametrize("linkage_input", ["rows", "condensed"])
def test_choices_are_unbiased(similarity: str, linkage_input: str) -> None:
    server, rng = FakeServer.random(12, 4), np.random.default_rng(1)
    options = {"similarity": similarity, "linkage_input": linkage_input}
    selector = Clustered.model_validate(options)
    server.play(selector, 5, 3, rng)
    drawn = np.array([server.choose(selector, 3, rng) for _ in range(1500)])
    weight = (drawn[:, :, None] == np.arange(12)).mean(axis=1)
    p = server.samples / server.samples.sum()
    multinomial = p * (1 - p) / 3
    assert np.all(np.abs(weight.mean(axis=0) - p) <= 4.5 * np.sqrt(multinomial / 1500))


def test_before_the_first_updates_everything_is_alike() -> None:
    angles = distances(np.zeros((2, 3), dtype=np.float32), PAIRS[:, [0, 1, 1]], "arccos")
    assert not angles.any()
    server, selector, rng = FakeServer.random(20), Clustered(), np.random.default_rng(0)
    drawn = [server.choose(selector, 5, rng) for _ in range(2000)]
    p = server.samples / server.samples.sum()
    rates = np.bincount(np.concatenate(drawn), minlength=20) / 10_000
    assert np.all(np.abs(rates - p) < 4.5 * np.sqrt(p * (1 - p) / 10_000))


def test_identical_updates_are_at_distance_zero() -> None:
    same = np.full((2, 5), 0.1, dtype=np.float32)
    for metric in ("arccos", "squared_L2", "L1"):
        assert distances(same, same, metric) == pytest.approx(np.zeros((2, 2)), abs=1e-7)


def test_only_participants_rows_change() -> None:
    server, selector, rng = FakeServer.random(10), Clustered(), np.random.default_rng(0)
    for _ in range(6):
        server.finish(selector, np.unique(server.choose(selector, 3, rng)))
        server.vectors = server.vectors + rng.normal(size=server.vectors.shape)
        state = selector.state_dict()
        table = np.stack([np.zeros(6, dtype=np.float32), *state["_updates"].values()])
        expected = distances(table, table, "arccos")
        np.fill_diagonal(expected, 0)
        assert state["_distances"] == pytest.approx(expected, abs=1e-9)


@given(members=st.lists(st.integers(0, 5), min_size=2, max_size=30), seed=st.integers(0, 10**6))
def test_clients_that_are_alike_are_compared_once(members: list[int], seed: int) -> None:
    groups, group, sizes = np.unique(members, return_inverse=True, return_counts=True)
    between = squareform(pdist(np.random.default_rng(seed).random((len(groups), 3))))
    everybody = between[np.ix_(group, group)]
    found = row_distances(between, sizes)[np.ix_(group, group)]
    np.testing.assert_allclose(squareform(found), pdist(everybody), rtol=1e-12, atol=1e-12)


def clusters_of(merges: Merges) -> set[frozenset[int]]:
    n = len(merges) + 1
    clusters = [frozenset({point}) for point in range(n)]
    for one, other in merges:
        clusters.append(clusters[one] | clusters[other])
    return set(clusters)


@given(members=st.lists(st.integers(0, 25), min_size=2, max_size=60), seed=st.integers(0, 10**6))
def test_clusters_are_those_of_all_points_compared(members: list[int], seed: int) -> None:
    groups, group = np.unique(members, return_inverse=True)
    between = squareform(pdist(np.random.default_rng(seed).random((len(groups), 3))))
    everybody = linkage(squareform(between[np.ix_(group, group)]), "ward")
    pairs = [(int(one), int(other)) for one, other in everybody[:, :2]]
    assert clusters_of(ward(between, group)) == clusters_of(pairs)


def test_draws_follow_the_masses() -> None:
    urns = [Urn(np.array([0, 1]), np.array([1, 3])), Urn(np.array([2]), np.array([4]))]
    rng = np.random.default_rng(0)
    drawn = np.array([draw(urns, rng) for _ in range(2000)])
    assert (drawn[:, 1] == 2).all()
    assert abs(np.mean(drawn[:, 0] == 1) - 0.75) < 4 * np.sqrt(0.75 * 0.25 / 2000)
    assert set(drawn[:, 0].tolist()) == {0, 1}
