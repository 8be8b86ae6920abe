"""Synchronous rounds: over-selection, carried updates, ties."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from simfl.sim.fleet import Power
from simfl.sim.policies.base import policies
from simfl.sim.server.settings import Stop
from tests.sim.sim_world import INF, FakeCoordinator, make, make_fleet


def over(share="150%", **options):
    return {"name": "synchronous", "over_select": share, **options}


def test_over_selection_keeps_the_first_and_calls_the_rest_off():
    fleet = make_fleet(6, [1, 2, 3, 4, 5, 6], 8000, 8000)
    world = make(fleet, over(), clients=4, stop=Stop(rounds=2))
    assert world.coordinator.asked == [6, 6]
    assert [row.end_s for row in world.rounds] == [2 + 10 / 3, 2 * (2 + 10 / 3)]
    for round_ in (1, 2):
        rows = [row for row in world.clients if row.round == round_]
        assert {row.client for row in rows if row.outcome == "arrived"} == {2, 3, 4, 5}
        assert {row.client for row in rows if row.outcome == "late"} == {0, 1}
    assert world.rounds[0].wasted_bytes == 2 * 1000


@pytest.mark.parametrize(
    ("share", "clients", "asked"), [("130%", 10, 13), ("110%", 10, 11), ("101%", 3, 4)]
)
def test_how_many_are_asked(share, clients, asked):
    assert make(make_fleet(20), over(share), clients=clients).coordinator.asked == [asked]


def test_of_those_who_tie_for_the_last_place_the_lowest_ids_are_kept():
    coordinator = FakeCoordinator(lambda view, reports, k: view.available[::-1][:k])
    world = make(make_fleet(6), over(), clients=4, coordinator=coordinator)
    assert {row.client for row in world.clients if row.outcome == "arrived"} == {0, 1, 2, 3}
    # They did arrive, so their bytes moved; but nobody computes what they trained.
    late = [row for row in world.clients if row.outcome == "late"]
    assert [(row.client, row.upload_bytes) for row in late] == [(4, 1000), (5, 1000)]


def test_over_selection_under_a_deadline_closes_at_whichever_comes_first():
    fleet = make_fleet(4, [1, 2, 4, 8])
    world = make(fleet, over("200%", deadline="4 s"), clients=2)
    assert world.rounds[0].end_s == 2.5
    world = make(fleet, over("200%", deadline="2 s"), clients=2)
    assert (world.rounds[0].end_s, world.rounds[0].arrived) == (2, 1)


def test_over_selection_survives_dropouts():
    sessions = [[(0.0, 1.0)], [(0.0, INF)], [(0.0, 1.0)], [(0.0, INF)]]
    world = make(make_fleet(4, sessions=sessions), over("200%"), clients=2)
    assert world.outcomes == {"offline": 2, "arrived": 2}
    sessions = [[(0.0, 1.0)], [(0.0, INF)], [(0.0, 1.0)], [(0.0, 2.0)]]
    world = make(make_fleet(4, sessions=sessions), over("200%"), clients=2)
    assert world.rounds[0].end_s == 10  # the last one left is waited for


def test_a_round_with_too_few_updates_is_abandoned():
    """Devices need 3 s, 4 s, 6 s and 10 s, of which 7 s are too few for the last."""
    fleet = make_fleet(4, [10, 5, 2.5, 1.25], 8000, 8000, power=Power(1, 1, 1, 1))
    world = make(fleet, {"name": "synchronous", "deadline": "7 s", "min_updates": 4}, clients=4)
    [row] = world.rounds
    assert (row.energy_j, row.idle_energy_j) == (28, 0)  # who waits in vain waits all the same
    assert (row.end_s, row.arrived, row.late) == (7, 0, 4)
    assert world.coordinator.computed == []
    assert row.upload_bytes == 3 * 1000  # they did arrive, in vain
    assert row.wasted_bytes == row.upload_bytes + row.download_bytes
    world = make(fleet, {"name": "synchronous", "deadline": "7 s", "min_updates": 3}, clients=4)
    assert (world.rounds[0].arrived, world.rounds[0].late) == (3, 1)


def carry(**options):
    return {"name": "synchronous", "deadline": "12 s", "late": "carry", **options}


def test_a_carried_update_counts_in_the_round_in_which_it_arrives():
    """Devices need 10 s, 30 s and 100 s; rounds last 12 s at most."""
    fleet = make_fleet(3, [1.0, 1 / 3, 0.1], power=None)
    world = make(fleet, carry(), stop=Stop(rounds=10))
    assert [ids for _, ids in world.selections] == [
        [0, 1, 2], [0], [0], [0, 1], [0], [0], [0, 1], [0], [0], [0, 1],
    ]  # fmt: skip
    stale = {(row.client, row.round): row.staleness for row in world.clients if row.staleness}
    assert stale == {(1, 1): 2, (1, 4): 2, (1, 7): 2, (2, 1): 9}
    assert world.outcomes["late"] == 0
    assert world.coordinator.arrivals[2][1].order.base == 0


def test_in_a_small_fleet_the_next_round_waits_for_who_is_carried():
    world = make(make_fleet(1, 0.1), carry(), stop=Stop(rounds=3))
    first, second, third = world.rounds
    assert (first.arrived, first.end_s) == (0, 12)
    assert (second.start_s, second.arrived) == (100, 1)
    assert (third.start_s, third.arrived) == (200, 1)


def test_who_drops_out_while_carried_is_booked():
    fleet = make_fleet(2, [1.0, 0.1], sessions=[[(0.0, INF)], [(0.0, 20.0)]])
    world = make(fleet, carry(), stop=Stop(rounds=3))
    assert [(row.arrived, row.offline) for row in world.rounds] == [(1, 0), (1, 1), (1, 0)]


def test_without_a_deadline_carrying_changes_nothing():
    fleet = make_fleet(3, [1, 2, 3], 1e4, 1e4)
    plain = make(fleet, stop=Stop(rounds=3))
    carried = make(fleet, {"name": "synchronous", "late": "carry"}, stop=Stop(rounds=3))
    assert plain.events == carried.events


@settings(max_examples=40)
@given(
    rates=st.lists(st.floats(0.05, 10), min_size=3, max_size=10),
    late=st.sampled_from(["drop", "carry"]),
    share=st.sampled_from(["100%", "150%"]),
    deadline=st.sampled_from(["none", "9 s", {"stragglers": "30%"}]),
    server_time=st.sampled_from(["0 s", "3 s"]),
)
def test_no_update_is_lost_or_counted_twice(rates, late, share, deadline, server_time):
    policy = over(share, late=late, deadline=deadline, server_time=server_time)
    world = make(
        make_fleet(len(rates), rates, 1e4, 1e4, 0.1), policy, clients=3, stop=Stop(rounds=6)
    )
    keys = [arrival.order.key for each in world.coordinator.arrivals for arrival in each]
    assert len(keys) == len(set(keys)) == world.outcomes["arrived"]
    assert len(world.rounds) == 6
    if late == "drop":
        assert all(row.staleness == 0 for row in world.clients)
        assert all(row.arrived <= 3 for row in world.rounds)


@pytest.mark.parametrize(
    "bad",
    [
        {"over_select": "90%"},
        {"deadline": "0 s"},
        {"deadline": "-3 s"},
        {"late": "keep"},
        {"server_time": "-1 s"},
        {"min_updates": 0},
        {"min_updates": 2, "late": "carry"},
    ],
)
def test_bad_options_are_refused(bad):
    with pytest.raises((ValidationError, ValueError)):
        policies.get("synchronous").model_validate(bad)
