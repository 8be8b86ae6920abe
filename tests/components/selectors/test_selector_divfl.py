"""DivFL: greedy facility location by hand, and against brute force (docs/algorithms.md, A.14)."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from simfl.components.selectors.divfl import DivFl, cover
from simfl.core.types import Floats
from simfl.testing.fake_server import FakeServer

LINE = np.array([0.0, 1, 2, 10, 11, 20])


def on_a_line(points: Floats) -> Floats:
    return np.abs(points[:, None] - points[None, :])


def cost(distance: Floats, chosen: list[int]) -> float:
    return float(distance[:, chosen].min(axis=1).sum())


def test_greedy_choice_on_a_line() -> None:
    distance = on_a_line(LINE)
    chosen = cover(distance, 3, np.arange(6))
    assert [LINE[i] for i in chosen] == [2, 11, 20]
    assert [cost(distance, chosen[:j]) for j in (1, 2, 3)] == [38, 13, 4]
    assert min(cost(distance, list(S)) for S in combinations(range(6), 3)) == 3


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 12), data=st.data())
def test_lazy_equals_plain_greedy(seed: int, n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, n))
    distance = on_a_line(np.random.default_rng(seed).integers(0, 9, size=n).astype(np.float64))
    plain: list[int] = []
    for _ in range(k):
        left = [i for i in range(n) if i not in plain]
        plain.append(min(left, key=lambda i: (cost(distance, [*plain, i]), i)))
    lazy = cover(distance, k, np.arange(n))
    assert lazy == plain
    known = np.flatnonzero(np.arange(2 * n) % 3 != 2)[:n]  # with strangers in between
    wide = np.zeros((2 * n, 2 * n))
    wide[np.ix_(known, known)] = distance
    assert cover(wide, k, known, known) == known[lazy].tolist()
    optimum = min(cost(distance, list(S)) for S in combinations(range(n), k))
    far = n * float(distance.max())
    assert far - cost(distance, lazy) >= (1 - 1 / np.e) * (far - optimum) - 1e-9


def test_no_distance_is_too_large() -> None:
    server = FakeServer.random(6)
    server.vectors = np.where(np.arange(6) < 4, 3e38, -3e38)[:, None] * np.ones((6, 3))
    assert server.choose(DivFl(), 2, np.random.default_rng(0)).tolist() == [0, 4]


def test_duplicates_are_chosen_last() -> None:
    distance = on_a_line(np.array([5.0, 5, 5, 1, 9, 5]))
    assert sorted(cover(distance, 3, np.arange(6))) == [0, 3, 4]


def test_those_away_are_stood_for() -> None:
    # Clients 3, 4 and 5 are away; 2 is the closest to them.
    assert cover(on_a_line(np.array([0.0, 1, 2, 9, 9, 9])), 1, np.arange(3)) == [2]


def test_an_edges_choice_stands_for_its_own_clients_alone() -> None:
    """Clients 3 to 5 are another edge's: there 2 was chosen, who is the closest to them."""
    server = FakeServer.random(6)
    server.vectors = np.array([0.0, 1, 2, 9, 9, 9])[:, None]
    selector, rng = DivFl(), np.random.default_rng(0)
    assert server.choose(selector, 1, rng).tolist() == [2]
    server.available = server.members = np.arange(3)
    assert server.choose(selector, 1, rng).tolist() == [1]


@pytest.mark.parametrize(
    ("vectors", "refresh", "asked", "wants", "updates"),
    [
        ("gradient", "participants", [8], ("gradient",), False),
        ("update", "participants", [8], (), True),
        ("gradient", "everybody", [8, 8, 8], (), False),
        ("update", "everybody", [8, 8, 8], (), False),
    ],
)
def test_who_is_asked_for_what(
    vectors: str, refresh: str, asked: list[int], wants: tuple[str, ...], updates: bool
) -> None:
    server = FakeServer.random(8)
    selector = DivFl.model_validate({"vectors": vectors, "refresh": refresh})
    server.play(selector, 3, 2, np.random.default_rng(0))
    assert [len(probe.clients) for probe in server.asked] == asked
    assert {probe.report for probe in server.asked} == {vectors}
    assert selector.wants == wants
    assert selector.needs_updates is updates


def test_participants_renew_their_vectors() -> None:
    server, selector, rng = FakeServer.random(8), DivFl(), np.random.default_rng(0)
    old = server.vectors.copy()
    chosen = server.choose(selector, 2, rng)
    server.vectors = server.vectors + 1
    server.finish(selector, chosen)
    expected = np.where(np.isin(np.arange(8), chosen)[:, None], old + 1, old)
    state = selector.state_dict()
    assert state["_vectors"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("away", [[], [1, 5]])
@pytest.mark.parametrize("clients", [30, 300])  # of 300, not all are measured at once
def test_distances_kept_up_are_those_measured_anew(clients: int, away: list[int]) -> None:
    """Vectors that no longer fit the distances would be covered by others."""
    server = FakeServer.random(clients, dimension=4)
    selector, rng = DivFl(), np.random.default_rng(0)
    server.silent = frozenset(away)
    for _ in range(6):
        server.finish(selector, server.choose(selector, 3, rng))
        server.vectors = rng.normal(size=server.vectors.shape)
        again = DivFl()
        again.load_state_dict(selector.state_dict())
        chosen, anew = (
            server.choose(each, 5, np.random.default_rng(1)) for each in (selector, again)
        )
        assert chosen.tolist() == anew.tolist()


def test_many_are_covered_as_by_the_distances_of_all_pairs() -> None:
    server = FakeServer.random(300, dimension=4)
    chosen = server.choose(DivFl(), 5, np.random.default_rng(1))
    distance = cdist(server.vectors, server.vectors)
    assert chosen.tolist() == sorted(cover(distance, 5, np.arange(300)))
