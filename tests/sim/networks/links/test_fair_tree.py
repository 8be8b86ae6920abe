"""Links on two floors against hand computations, the definition of max-min and a slow filling."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl.sim.networks.links.fair_link import Flow
from simfl.sim.networks.links.fair_tree import FairTree
from tests.counting import calls
from tests.sim.networks.flows import played, slow_ends

INF = math.inf


def fill(capacity: float, cells: list[float], flows: list[tuple[int, float]]) -> list[float]:
    """Progressive filling, the obvious way: raise all rates together, freeze who is held back."""
    links = [(capacity, set(range(len(flows))))] + [
        (bps, {i for i, (mine, _) in enumerate(flows) if mine == cell})
        for cell, bps in enumerate(cells)
    ]
    links += [(limit, {i}) for i, (_, limit) in enumerate(flows)]
    rates, rising = [0.0] * len(flows), set(range(len(flows)))
    while rising:
        room = [
            ((bps - sum(rates[i] for i in users)) / len(users & rising), users)
            for bps, users in links
            if users & rising
        ]
        step = min(more for more, _ in room)
        for i in rising:
            rates[i] += step
        full = [users for more, users in room if more <= step * (1 + 1e-12) + 1e-12]
        rising -= set().union(*full)
    return rates


def check_max_min(
    capacity: float, cells: list[float], rates: list[tuple[int, float, float]]
) -> None:
    """Assert that every flow is held back by its limit or by a full link on which none is faster.

    That is max-min fairness: nobody can be raised without lowering somebody no faster.
    """
    links = [(capacity, [rate for _, _, rate in rates])] + [
        (bps, [rate for mine, _, rate in rates if mine == cell]) for cell, bps in enumerate(cells)
    ]
    for bps, users in links:
        assert math.fsum(users) <= bps * (1 + 1e-9)
    for cell, limit, rate in rates:
        assert rate > 0
        crossed = [links[0]] + ([links[1 + cell]] if cell >= 0 else [])
        assert rate == limit or any(
            math.fsum(users) >= bps * (1 - 1e-9) and rate >= max(users) * (1 - 1e-9)
            for bps, users in crossed
        )


def play(
    capacity: float,
    cells: list[float],
    starts: list[tuple[float, float, float, int]],
    aborts: dict[int, float] | None = None,
) -> tuple[list[float], dict[int, float]]:
    """Return when each flow (start, bits, limit, cell) ends, and the bits that aborted ones moved.

    At every event the rates must be max-min fair.
    """
    tree = FairTree(capacity, cells)
    return played(tree, starts, aborts or {}, lambda: check_max_min(capacity, cells, tree.rates()))


def ends_brute(
    capacity: float,
    cells: list[float],
    starts: list[tuple[float, float, float, int]],
    aborts: dict[int, float],
) -> tuple[list[float], dict[int, float]]:
    """The same by `fill`, updating everything at each event."""

    def rates(ids: list[int]) -> list[float]:
        return fill(capacity, cells, [(starts[i][3], starts[i][2]) for i in ids])

    return slow_ends(starts, aborts, rates)


@settings(max_examples=60)
@given(n=st.integers(1, 20), n_cells=st.integers(1, 5), seed=st.integers(0, 10**6))
def test_agrees_with_the_slow_simulation(n: int, n_cells: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = [float(bps) for bps in rng.choice([2.0, 7.0, 20.0, INF], n_cells)]
    few = rng.random() < 0.5
    limits = rng.choice([2.0, 5.0, INF], n) if few else rng.uniform(0.5, 20, n)
    at, bits = np.sort(rng.uniform(0, 20, n)), rng.uniform(1, 60, n)
    where = rng.integers(-1, n_cells, n)
    starts = [(float(at[i]), float(bits[i]), float(limits[i]), int(where[i])) for i in range(n)]
    aborts = {i: float(at[i] + rng.uniform(0, 10)) for i in range(n) if rng.random() < 0.3}
    capacity = float(rng.uniform(1, 40))
    expected_ends, expected_moved = ends_brute(capacity, cells, starts, aborts)
    found_ends, found_moved = play(capacity, cells, starts, aborts)
    assert found_ends == pytest.approx(expected_ends, rel=1e-9)
    assert found_moved.keys() == expected_moved.keys()
    for i, expected in expected_moved.items():
        assert found_moved[i] == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_the_server_is_the_bottleneck_by_hand() -> None:
    """Three flows at 2 bit/s each; a cell of 5 bit/s would give its two 2.5."""
    starts = [(0.0, 20.0, INF, 0)] * 2 + [(0.0, 20.0, INF, -1)]
    assert play(6.0, [5.0], starts)[0] == [10, 10, 10]


def test_staggered_starts_by_hand() -> None:
    """A flow of 100 bits has its cell (10 bit/s) alone until 5 s, then shares it with another.

    It ends at 15 s; the other has 50 bits left then, and ends at 20 s.
    """
    assert play(100.0, [10.0], [(0, 100, INF, 0), (5, 100, INF, 0)])[0] == [15, 20]


def test_an_abort_frees_the_cell_and_counts_what_moved() -> None:
    ends, moved = play(100.0, [10.0], [(0, 100, INF, 0), (0, 100, INF, 0)], {1: 10.0})
    assert ends[0] == 15
    assert moved == {1: 50}


def test_what_others_do_leaves_the_end_of_a_limited_flow_alone_to_the_last_bit() -> None:
    rng = np.random.default_rng(0)
    starts = [(0.1, 7.0, 0.3, 0)]
    starts += [(float(at), 1.0, 9.0, 1) for at in rng.uniform(0.2, 20, 200)]
    assert play(10.0, [5.0, 3.0], starts)[0][0] == 0.1 + 7.0 / 0.3


def test_who_is_beside_all_cells_has_the_servers_link_to_itself_by_hand() -> None:
    assert play(12.0, [], [(0.0, 24.0, 2.0, -1), (0.0, 100.0, INF, -1)])[0] == [12, 10]


@settings(max_examples=60)
@given(n=st.integers(1, 30), n_cells=st.integers(1, 5), seed=st.integers(0, 10**6))
def test_rates_are_fair_whatever_the_capacities_become(n: int, n_cells: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = FairTree(10.0, [5.0] * n_cells)
    for i in range(n):
        now = i / 100
        tree.join(now, 1e6, float(rng.choice([0.3, 2.0, INF])), i, int(rng.integers(-1, n_cells)))
        capacities = rng.choice([0.5, 3.0, 40.0], n_cells + 1).tolist()
        tree.resize(now, *capacities)
        check_max_min(capacities[0], capacities[1:], tree.rates())


def churn(n: int) -> None:
    """Let `n` flows run over twenty cells, each replaced as it ends until 2 n have ended."""
    rng = np.random.default_rng(0)
    bits, limits = rng.uniform(1, 100, 3 * n).tolist(), rng.lognormal(1.6, 1, 3 * n).tolist()
    tree = FairTree(2.0 * n, [0.1 * n] * 20)
    flows: list[Flow] = [tree.join(0.0, bits[i], limits[i], cell=i % 20) for i in range(n)]
    ended = 0
    while ended < 2 * n:
        now = tree.next_end()
        for flow in tree.finish(now):
            ended += 1
            tree.join(now, bits[flow.number % n], limits[flow.number % n], cell=ended % 20)
    assert len(flows) == len(tree) == n


def test_an_event_costs_little_more_among_many_flows() -> None:
    """It is O(log n) for each group that a level crosses; O(n) would be ten times as much."""
    few, many = (calls(partial(churn, n)) / n for n in (200, 2000))
    assert many < 2 * few


def test_what_has_left_leaves_no_rounding_behind() -> None:
    """Else the level is never right where it is a flow's own limit, and is sought for ever."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        capacity = float(rng.uniform(60e3, 90e3))
        tree = FairTree(capacity, [INF, capacity / 4])
        tree.join(0.0, 1e9, INF, cell=0)
        shares = rng.choice([2.0, 3.0, 5.0], 12)
        flows = [
            tree.join(0.0, 1e9, capacity / share, cell=n % 3 - 1) for n, share in enumerate(shares)
        ]
        for place in rng.permutation(len(flows)):
            tree.leave(1.0, flows[place])
        assert tree.rates() == [(0, INF, capacity)]


def test_a_level_that_is_the_limit_of_a_flow_is_found() -> None:
    capacity = 85049.44891506026
    tree = FairTree(capacity, [INF, capacity / 4])
    tree.leave(1.0, tree.join(0.0, 1e9, capacity / 2, cell=0))
    for limit, cell in ((capacity / 3, -1), (INF, 0), (INF, 1), (capacity / 5, -1)):
        tree.join(1.0, 1e9, limit, cell=cell)
    tree.join(2.0, 1e9, capacity / 5, cell=-1)
    check_max_min(capacity, [INF, capacity / 4], tree.rates())
