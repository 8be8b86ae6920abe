"""Edge servers between clients and cloud: whose clients, when what travels, who waits for whom."""

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from simfl.components.selectors.base import Probe
from simfl.sim.server.settings import Stop
from tests.sim.sim_world import ALWAYS, INF, FakeCoordinator, World, make, make_fleet

SAMPLES, BYTES = 16, 1000
BACKHAUL = {"downlink": "16 kbit/s", "uplink": "8 kbit/s", "latency": "250 ms"}
DOWN_S, UP_S = 0.25 + 8 * BYTES / 16e3, 0.25 + 8 * BYTES / 8e3


def hierarchical(**options: Any) -> dict[str, Any]:
    return {"name": "hierarchical", **options}


def chosen_at(world: World) -> dict[tuple[int, int], list[list[int]]]:
    """Return whom each edge asked, by round and edge."""
    asked: dict[tuple[int, int], list[list[int]]] = defaultdict(list)
    for _, kind, facts in world.events:
        if kind == "selected":
            asked[facts["round"], facts["edge"]].append(facts["clients"])
    return asked


@pytest.mark.parametrize("seed", range(12))
def test_a_round_lasts_as_long_as_its_slowest_edge(seed: int) -> None:
    """The closed form, by nothing but who was chosen."""
    rng = np.random.default_rng(seed)
    n, edges, edge_rounds = int(rng.integers(3, 14)), int(rng.integers(1, 4)), rng.integers(1, 5)
    rates, latencies = rng.uniform(1, 20, n), rng.uniform(0, 2, n)
    up_bps = rng.choice([INF, BYTES * 2.0, BYTES * 8.0], n)
    deadline_s = float(rng.choice([INF, 12.0, 5.0]))
    options = {} if deadline_s == INF else {"deadline": f"{deadline_s} s"}
    server_s = float(rng.choice([0.0, 1.5]))
    policy = hierarchical(
        edges=edges,
        edge_rounds=int(edge_rounds),
        server_time=f"{server_s} s",
        **options,
        **BACKHAUL,
    )
    world = make(
        make_fleet(n, rates, INF, up_bps, latencies, SAMPLES),
        policy,
        clients=int(rng.integers(1, n + 1)),
        stop=Stop(rounds=4),
        coordinator=FakeCoordinator(lambda view, _, k: sorted(rng.permutation(view.available)[:k])),
        model_bytes=BYTES,
    )
    alone_s = latencies + SAMPLES / rates + latencies + 8 * BYTES / up_bps
    asked, now_s = chosen_at(world), 0.0
    for row in world.rounds:
        ends_s = []
        for edge in range(edges):
            at_s, moved = now_s + DOWN_S, False
            cohorts = asked[row.round, edge]
            assert len(cohorts) == edge_rounds
            for cohort in cohorts:
                assert {client % edges for client in cohort} == {edge}
                at_s += min(alone_s[cohort].max(), deadline_s)
                moved |= alone_s[cohort].min() <= deadline_s
            ends_s.append(at_s + (UP_S if moved else 0.0))
        counted = row.arrived > 0
        assert math.isclose(row.end_s, max(ends_s) + server_s * counted, rel_tol=1e-12)
        now_s = row.end_s
    carried = world.times("backhaul")
    own = sum(row.download_bytes + row.upload_bytes for row in world.clients)
    assert world.server.accounting.total_bytes == own + BYTES * len(carried)
    assert {row.staleness for row in world.clients} == {0}


def test_an_edge_counts_with_all_that_its_clients_hold() -> None:
    samples = [1, 10, 100, 1000, 0]
    policy = hierarchical(edges=2, clients_per_edge=1)
    world = make(make_fleet(5, samples=samples), policy, stop=Stop(rounds=2))
    [first, second] = world.coordinator.merged
    assert [edge.samples for edge in first] == [101, 1010]
    assert len({edge.version for edge in first + second}) == 4
    assert all(edge.version < 0 for edge in first)


def test_updates_start_from_their_edges_model() -> None:
    world = make(make_fleet(2), hierarchical(edges=2, edge_rounds=3), stop=Stop(rounds=2))
    bases: dict[int, list[int]] = defaultdict(list)
    for [arrival] in world.coordinator.arrivals:
        bases[arrival.order.client].append(arrival.order.base)
    assert [base >= 0 for base in bases[0]] == [True, False, False] * 2
    assert [bases[0][0], bases[0][3]] == [0, 1]  # versions of the global model
    own = [base for each in bases.values() for base in each if base < 0]
    assert len(set(own)) == len(own) == 8


def test_an_edge_that_no_update_reached_sends_and_counts_for_nothing() -> None:
    """Even clients are fast enough, odd ones never."""
    policy = hierarchical(edges=2, deadline="3 s", **BACKHAUL)
    fleet = make_fleet(4, [5, 1, 5, 1], samples=SAMPLES // 2)
    world = make(fleet, policy, stop=Stop(rounds=1))
    carried = [(f["edge"], f["direction"]) for _, kind, f in world.events if kind == "backhaul"]
    assert carried == [(0, "down"), (1, "down"), (0, "up")]
    assert len(world.coordinator.merged[0]) == 1
    [row] = world.rounds
    assert row.end_s == pytest.approx(DOWN_S + 2 * 3)  # edge 1 waits for its deadlines


def test_updates_that_are_not_finite_make_no_model_of_an_edge() -> None:
    broken = frozenset({(0, 0), (0, 1)})
    world = make(
        make_fleet(2),
        hierarchical(edges=2, edge_rounds=2),
        coordinator=FakeCoordinator(broken=broken),
        stop=Stop(rounds=2),
    )
    assert [len(models) for models in world.coordinator.merged] == [1, 2]
    assert [row.discarded for row in world.rounds] == [2, 0]


def test_an_edge_whose_clients_are_gone_for_good_keeps_nobody_waiting() -> None:
    sessions = [ALWAYS, [(0.0, 25.0)], ALWAYS, [(0.0, 25.0)]]
    fleet = make_fleet(4, sessions=sessions)
    world = make(fleet, hierarchical(edges=2, edge_rounds=2), stop=Stop(rounds=6))
    assert world.server.why_finished == "rounds"
    last = chosen_at(world)
    assert len(last[6, 0]) == 2
    assert (6, 1) not in last


def test_a_run_ends_once_no_edge_has_anybody() -> None:
    fleet = make_fleet(4, sessions=[[(0.0, 25.0)]] * 4)
    world = make(fleet, hierarchical(edges=2, edge_rounds=2), stop=Stop(rounds=60))
    assert world.server.why_finished == "nobody will be available again"


def test_an_edge_round_begins_once_as_many_are_there_as_are_asked() -> None:
    """Or all who ever come; `min_clients` is of each edge."""
    sessions = [ALWAYS, ALWAYS, [(40.0, INF)], [(70.0, INF)]]
    fleet = make_fleet(4, sessions=sessions)
    policy = hierarchical(edges=2, edge_rounds=1)
    first = {
        least: [t for t, kind, _ in make(fleet, policy, min_clients=least).events
                if kind == "selected"]
        for least in (None, 1)
    }  # fmt: skip
    assert first == {None: [40.0, 70.0], 1: [0.0, 0.0]}


@pytest.mark.parametrize(("edge_rounds", "rounds"), [(2, 1), (3, 0)])
def test_no_edge_sends_anybody_out_at_the_instant_at_which_time_is_up(
    edge_rounds: int, rounds: int
) -> None:
    """Whichever edge round ends then, that of the cloud ends only with the last of them."""
    policy = hierarchical(edges=2, edge_rounds=edge_rounds)
    world = make(make_fleet(4), policy, stop=Stop(time_s=20.0))
    assert world.server.why_finished == "time"
    assert len(world.rounds) == rounds
    assert world.times("dispatched") == [0.0] * 4 + [10.0] * 4


def test_a_run_given_up_in_the_midst_of_a_round_makes_no_model_of_it() -> None:
    """Edge 1 never has two again; edge 0 had one of its edge rounds, and sent nothing up."""
    sessions = [ALWAYS, [(0.0, 25.0)], ALWAYS, ALWAYS]
    policy = hierarchical(edges=2, edge_rounds=3, latency="1 s")
    fleet = make_fleet(4, sessions=sessions)
    world = make(fleet, policy, min_clients=2, stop=Stop(rounds=5))
    assert world.server.why_finished == "fewer than 2 clients will be available again"
    assert [row.end_s for row in world.rounds] == [32.0]
    assert len(world.coordinator.merged) == 1
    assert world.times("backhaul") == [1.0, 1.0, 32.0, 32.0, 33.0, 33.0]


def test_nobody_is_waited_for_who_left_for_good_while_being_asked() -> None:
    sessions = [ALWAYS, [(0.0, 2.0)]]
    asks = FakeCoordinator(probes=[lambda view: Probe("loss", view.available)])
    policy = hierarchical(edges=2, edge_rounds=1, deadline="50 s")
    world = make(make_fleet(2, sessions=sessions), policy, coordinator=asks)
    [row] = world.rounds
    assert row.end_s == pytest.approx(10 / 3 + 10)  # that of edge 0 is asked, and trains


def test_an_edge_asks_no_more_than_it_has() -> None:
    """Nor is more waited for: two edges are never there at once."""
    sessions = [[(0.0, 50.0), (100.0, INF)], [(50.0, 100.0)]] * 2
    policy = hierarchical(edges=2, edge_rounds=1, clients_per_edge=9)
    world = make(make_fleet(4, sessions=sessions), policy)
    assert world.selections == [(0.0, [0, 2]), (50.0, [1, 3])]


@pytest.mark.parametrize(("n", "edges"), [(10, 3), (5, 5), (7, 1)])
def test_devices_are_dealt_in_turn(n: int, edges: int) -> None:
    """Also those without samples, which no edge asks."""
    samples = [0, *[1] * (n - 1)]
    world = make(make_fleet(n, samples=samples), hierarchical(edges=edges, edge_rounds=1), n)
    told = {f["edge"]: f["clients"] for _, kind, f in world.events if kind == "selected"}
    dealt = {edge: [i for i in range(edge, n, edges) if i] for edge in range(edges)}
    fewest = math.ceil(n / edges)
    assert told == {edge: mine[:fewest] for edge, mine in dealt.items() if mine}
