"""FedBuff, FedAsync, semi-synchronous windows and tiers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from simfl.components.selectors.base import Probe
from simfl.components.workloads.base import Workload
from simfl.sim.fleet import Power
from simfl.sim.policies.base import policies
from simfl.sim.policies.tiered import Tiered
from simfl.sim.server.settings import Stop
from tests.sim.sim_world import ALWAYS, INF, FakeCoordinator, make, make_fleet


def arrivals(world):
    """Return per round who arrived and how stale."""
    return [[(a.order.client, a.staleness) for a in each] for each in world.coordinator.arrivals]


class Nothing(Workload):
    """Nothing useful ever fits."""

    def plan(self, assignment):
        return None


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ("fedasync", "nobody finds anything useful to do"),
        ("fedbuff", "nobody finds anything useful to do"),
        ({"name": "tiered", "tiers": 2}, "nobody finds anything useful to do"),
        ({"name": "semi_synchronous", "period": "10 s"}, "rounds"),  # on the beat it tries again
    ],
)
def test_asking_in_vain_comes_to_an_end(policy, why):
    """Who is skipped takes no time, so asking on and on would never let any pass."""
    world = make(make_fleet(4), policy, workload=Nothing(), stop=Stop(rounds=3, time_s=1e6))
    assert world.server.why_finished == why
    assert {f["row"].outcome for _, kind, f in world.events if kind == "participation"} == {
        "skipped"
    }


# FedAsync and FedBuff --------------------------------------------------------------------------


def test_fedasync_aggregates_each_arrival():
    """Devices need 1 s and 3.5 s: the slow one is three versions behind."""
    world = make(make_fleet(2, [10, 10 / 3.5]), "fedasync", stop=Stop(rounds=5))
    assert [row.end_s for row in world.rounds] == [1, 2, 3, 3.5, 4]
    assert arrivals(world) == [[(0, 0)], [(0, 0)], [(0, 0)], [(1, 3)], [(0, 1)]]
    assert world.coordinator.asked == [2, 1, 1, 1, 1]  # replacements, one at a time
    assert [row.start_s for row in world.rounds] == [0, 1, 2, 3, 3.5]


@pytest.mark.parametrize(
    ("policy", "ends_s", "unfinished"),
    [
        ("fedasync", [10, 10, 10, 10, 20, 20, 20, 20], []),
        ({"name": "fedbuff", "buffer": 2}, [10, 10, 20, 20], []),
        ({"name": "fedbuff", "buffer": 3}, [10, 20], [2, 3]),
        ({"name": "tiered", "tiers": 2}, [10, 10, 20, 20], []),
    ],
)
def test_all_updates_of_the_instant_at_which_time_is_up_count(policy, ends_s, unfinished):
    """The first aggregation of that instant ended the run, and the others' updates were lost."""
    world = make(make_fleet(4), policy, stop=Stop(time_s=20.0))
    assert [row.end_s for row in world.rounds] == ends_s
    assert world.server.why_finished == "time"
    left = [row.client for row in world.clients if row.outcome == "unfinished"]
    assert left == unfinished
    sent_s = [at_s for at_s, kind, _ in world.events if kind in ("selected", "dispatched")]
    assert max(sent_s) == 10  # nobody is sent out as the run ends


def test_each_arrival_triggers_a_dispatch_with_the_newest_model():
    world = make(make_fleet(3, [1, 2.3, 4]), "fedasync", clients=2, stop=Stop(rounds=6))
    dispatched = [(t, f["round"]) for t, kind, f in world.events if kind == "dispatched"]
    ends = [row.end_s for row in world.rounds]
    assert [t for t, _ in dispatched[2:]] == ends[: len(dispatched) - 2]
    assert [round_ for _, round_ in dispatched[2:]] == list(range(2, len(dispatched)))


def test_those_who_arrive_together_are_taken_by_id():
    coordinator = FakeCoordinator(lambda view, reports, k: view.available[::-1][:k])
    world = make(make_fleet(3), "fedasync", coordinator=coordinator, stop=Stop(rounds=5))
    assert arrivals(world) == [[(0, 0)], [(1, 1)], [(2, 2)], [(0, 0)], [(1, 1)]]


def test_fedbuff_waits_for_a_full_buffer():
    world = make(make_fleet(2, [10, 2]), {"name": "fedbuff", "buffer": 3}, stop=Stop(rounds=4))
    # 0 comes every second, 1 every fifth; at 5 s both, 0 first.
    assert arrivals(world) == [
        [(0, 0), (0, 0), (0, 0)],
        [(0, 0), (0, 0), (1, 1)],
        [(0, 0), (0, 0), (0, 0)],
        [(0, 0), (0, 0), (1, 1)],
    ]
    assert [row.end_s for row in world.rounds] == [3, 5, 8, 10]
    assert [row.arrived for row in world.rounds] == [3] * 4


def test_bytes_and_joules_so_far_are_told_though_somebody_is_still_at_work():
    """1 s down, 1, 1.5 or 40 s of training at 3 W, 1 s up."""
    fleet = make_fleet(3, 10 / np.array([1, 1.5, 40]), 8e3, 8e3, power=Power(0, 1, 3, 2))
    world = make(fleet, {"name": "fedbuff", "buffer": 1}, stop=Stop(rounds=2))
    first, second = world.rounds
    assert (first.end_s, first.download_bytes, first.upload_bytes) == (3.0, 1000, 1000)
    # At 3 s both others have their models, and the second has trained.
    assert (first.in_flight_bytes, first.in_flight_energy_j) == (2000, 1 + 1.5 * 3 + 1)
    assert (second.end_s, second.download_bytes, second.upload_bytes) == (3.5, 1000, 1000)
    # At 3.5 s the first is in the middle of its next download.
    assert (second.in_flight_bytes, second.in_flight_energy_j) == (1000, 1)


def test_a_run_may_end_by_what_those_at_work_have_moved():
    fleet = make_fleet(3, 10 / np.array([1, 1.5, 40]), 8e3, 8e3)
    world = make(fleet, {"name": "fedbuff", "buffer": 1}, stop=Stop(size=4000))
    assert (world.server.why_finished, len(world.rounds)) == ("bytes", 1)


def test_concurrency_limits_who_is_at_work():
    policy = {"name": "fedbuff", "buffer": 2, "concurrency": 3}
    world = make(make_fleet(9, np.arange(1, 10)), policy, clients=9, stop=Stop(rounds=10))
    at_work = most = 0
    for _, kind, _ in world.events:
        at_work += (kind == "dispatched") - (kind == "uploaded")
        most = max(most, at_work)
    assert most == 3


def test_a_fleet_smaller_than_the_crew_is_all_at_work():
    world = make(
        make_fleet(2, [1, 1]), {"name": "fedasync", "concurrency": 50}, stop=Stop(rounds=4)
    )
    assert [row.end_s for row in world.rounds] == [10, 10, 20, 20]


def test_too_stale_updates_are_dropped_and_never_computed():
    policy = {"name": "fedasync", "max_staleness": 2}
    world = make(make_fleet(2, [10, 10 / 3.5]), policy, stop=Stop(rounds=5))
    assert arrivals(world) == [[(0, 0)]] * 5
    assert [row.late for row in world.rounds] == [0, 0, 0, 1, 0]
    assert (1, 0) not in world.coordinator.computed
    assert world.rounds[3].wasted_bytes == 2000
    assert [row.staleness for row in world.clients if row.outcome == "late"] == [3]


def test_who_takes_too_long_is_called_off_and_replaced():
    policy = {"name": "fedasync", "timeout": "10 s"}
    world = make(make_fleet(3, [0.5, 1, 2]), policy, clients=2, stop=Stop(rounds=3))
    assert world.outcomes["late"] >= 1
    (row, *_) = [row for row in world.clients if row.outcome == "late"]
    assert row.client == 0
    assert world.selections[1] == (10, [0, 1])  # 1 arrived at the very instant of its timeout
    assert arrivals(world)[0] == [(1, 0)]


def test_who_drops_out_is_replaced_at_once_by_whoever_is_there():
    sessions = [[(0.0, 4.0), (50.0, INF)], ALWAYS, ALWAYS]
    world = make(make_fleet(3, 0.1, sessions=sessions), "fedasync", clients=2, stop=Stop(rounds=2))
    assert world.selections == [(0, [0, 1]), (4, [2]), (100, [0])]


def test_a_returning_device_fills_a_vacancy_at_once():
    sessions = [ALWAYS, [(0.0, 1.0), (12.0, INF)]]
    world = make(make_fleet(2, 0.1, sessions=sessions), "fedasync", stop=Stop(rounds=2))
    assert world.selections[:2] == [(0, [0, 1]), (12, [1])]
    assert [row.end_s for row in world.rounds] == [100, 112]


def test_who_comes_back_as_the_server_is_done_is_replaced_with_the_others():
    """There were two selections at that instant, each of one client."""
    fleet = make_fleet(2, 10, latency=[0, 1])  # they take 1 s, and 1 s of each phase
    world = make(fleet, {"name": "fedasync", "server_time": "2 s"}, stop=Stop(rounds=2))
    assert [row.end_s for row in world.rounds] == [3, 5]
    assert world.selections[1] == (3, [0, 1])
    assert world.coordinator.asked == [2, 2]


def test_server_time_delays_aggregations_one_after_the_other():
    policy = {"name": "fedasync", "server_time": "4 s"}
    world = make(make_fleet(3), policy, stop=Stop(rounds=3))
    assert [row.end_s for row in world.rounds] == [14, 18, 22]
    assert [row.last_arrival_s for row in world.rounds] == [10, 10, 10]


def test_between_two_aggregations_clients_are_replaced():
    """Together or one a moment after the other: nobody waits for more than one aggregation."""
    policy = {"name": "fedasync", "server_time": "4 s"}
    for rate in ([1, 1, 1], [1, 1 / 1.01, 1 / 1.02]):
        world = make(make_fleet(3, rate), policy, stop=Stop(rounds=3))
        assert world.selections == [(0, [0, 1, 2]), (14, [0, 1, 2])]
        assert [row.end_s for row in world.rounds] == [14, 18, 22]


def test_a_full_crew_in_lockstep_is_a_synchronous_round():
    """Equal devices, a buffer as large as the crew: the same rounds as without asynchrony."""
    fleet = make_fleet(4, 2.0, 8000, 8000, 0.1)
    buffered = make(fleet, {"name": "fedbuff", "buffer": 4}, stop=Stop(rounds=5))
    lockstep = make(fleet, "synchronous", stop=Stop(rounds=5))
    assert [row.end_s for row in buffered.rounds] == [row.end_s for row in lockstep.rounds]
    assert arrivals(buffered) == arrivals(lockstep)


# Windows ---------------------------------------------------------------------------------------


def test_windows_aggregate_on_the_beat_whatever_has_arrived():
    policy = {"name": "semi_synchronous", "period": "8 s"}
    world = make(make_fleet(2, [2, 1]), policy, stop=Stop(rounds=4))
    assert [row.end_s for row in world.rounds] == [8, 16, 24, 32]
    # 1 needs 10 s: it arrives in the second window, stale, and starts again at its end.
    assert arrivals(world) == [[(0, 0)], [(0, 0), (1, 1)], [(0, 0)], [(0, 0), (1, 1)]]
    assert [row.deadline_s for row in world.rounds] == [8] * 4


def test_an_arrival_on_the_very_beat_counts():
    policy = {"name": "semi_synchronous", "period": "10 s"}
    assert arrivals(make(make_fleet(1), policy)) == [[(0, 0)]]


def test_a_window_may_be_as_long_as_most_of_the_fleet_needs():
    policy = {"name": "semi_synchronous", "period": {"stragglers": "50%"}}
    world = make(make_fleet(3, [1, 2, 5]), policy)
    assert (world.rounds[0].end_s, world.rounds[0].arrived) == (5, 2)


def test_empty_windows_are_rounds_but_the_beat_rests_while_nobody_is_there():
    policy = {"name": "semi_synchronous", "period": "4 s"}
    fleet = make_fleet(1, sessions=[[(0.0, 6.0), (30.0, INF)]])
    world = make(fleet, policy, stop=Stop(rounds=5))
    assert [(row.start_s, row.end_s, row.arrived) for row in world.rounds] == [
        (0, 4, 0), (4, 8, 0), (30, 34, 0), (34, 38, 0), (38, 42, 1),
    ]  # fmt: skip


def test_the_beat_does_not_rest_while_everybody_answers_the_selector():
    """A window of 4 s ends while both are asked, for 10 s; then both train for longer."""
    coordinator = FakeCoordinator(probes=[lambda _: Probe("update", np.array([0, 1]))])
    policy = {"name": "semi_synchronous", "period": "4 s"}
    world = make(make_fleet(2), policy, coordinator=coordinator, stop=Stop(rounds=6))
    assert [row.end_s for row in world.rounds] == [4, 8, 12, 16, 20, 24]


def test_windows_need_a_period():
    with pytest.raises(ValidationError):
        policies.get("semi_synchronous").model_validate({})
    with pytest.raises(ValidationError):
        policies.get("semi_synchronous").model_validate({"period": "none"})


# Tiers -----------------------------------------------------------------------------------------


def test_tiers_settle_by_observed_speed_and_run_at_their_own_pace():
    fleet = make_fleet(8, [8, 1, 8, 1, 8, 1, 8, 1])
    world = make(fleet, {"name": "tiered", "tiers": 2}, clients=8, stop=Stop(rounds=60))
    server = world.server
    tiered = Tiered(tiers=2)
    assert tiered.members(server, 0).tolist() == [0, 2, 4, 6]
    assert tiered.members(server, 1).tolist() == [1, 3, 5, 7]
    fast = [each for each in arrivals(world)[20:] if {client for client, _ in each} <= {0, 2, 4, 6}]
    slow = [each for each in arrivals(world)[20:] if {client for client, _ in each} <= {1, 3, 5, 7}]
    assert len(fast) + len(slow) == len(arrivals(world)[20:])
    assert len(fast) / len(slow) == pytest.approx(8, abs=2)
    # The fast tier's updates are fresh, the slow one's as stale as its rounds are long.
    assert max(stale for each in fast for _, stale in each) <= 1
    assert min(stale for each in slow for _, stale in each) >= 7


def test_tiers_come_from_what_the_server_has_seen_only():
    """Two fleets that differ in speed, not in what was observed, have equal first cohorts."""
    policy = {"name": "tiered", "tiers": 3}
    slow = make(make_fleet(9, np.arange(1, 10)), policy, clients=3)
    fast = make(make_fleet(9, np.arange(10, 1, -1)), policy, clients=3)
    assert [s for s in slow.selections if s[0] == 0] == [s for s in fast.selections if s[0] == 0]


def test_every_client_belongs_to_one_tier():
    world = make(
        make_fleet(7, np.arange(1, 8), samples=[5] * 6 + [0]), "fedasync", stop=Stop(rounds=4)
    )
    tiered = Tiered(tiers=3)
    found = np.concatenate([tiered.members(world.server, tier) for tier in range(3)])
    assert sorted(found.tolist()) == list(range(6))


def test_more_tiers_than_clients():
    world = make(make_fleet(2, [1, 2]), {"name": "tiered", "tiers": 6}, stop=Stop(rounds=8))
    assert len(world.rounds) == 8


def test_one_tier_is_synchronous():
    fleet = make_fleet(4, [1, 2, 3, 4], 1e4, 1e4)
    tier = make(fleet, {"name": "tiered", "tiers": 1}, stop=Stop(rounds=3))
    plain = make(fleet, stop=Stop(rounds=3))
    assert arrivals(tier) == arrivals(plain)
    assert [row.end_s for row in tier.rounds] == [row.end_s for row in plain.rounds]


def test_a_tier_s_deadline_calls_stragglers_off():
    policy = {"name": "tiered", "tiers": 1, "deadline": "5 s"}
    world = make(make_fleet(2, [2, 1]), policy, stop=Stop(rounds=2))
    assert [(row.arrived, row.late) for row in world.rounds] == [(1, 1), (1, 1)]


# All of them -----------------------------------------------------------------------------------


@settings(max_examples=60)
@given(data=st.data())
def test_any_policy_on_any_fleet_keeps_its_books(data):
    """`sim_world.check` holds whatever the fleet does."""
    n = data.draw(st.integers(1, 6))
    whole = st.integers(0, 40).map(float)
    sessions = []
    for _ in range(n):
        edges = sorted(data.draw(st.sets(whole, min_size=1, max_size=5)))
        sessions.append(list(zip(edges[::2], [*edges[1::2], INF], strict=False)))
    fleet = make_fleet(
        n,
        data.draw(st.lists(st.sampled_from([0.5, 1.0, 2.0, 10 / 3]), min_size=n, max_size=n)),
        data.draw(st.sampled_from([INF, 8000.0])),
        data.draw(st.sampled_from([INF, 4000.0])),
        data.draw(st.sampled_from([0.0, 0.5])),
        data.draw(st.lists(st.integers(0, 12), min_size=n, max_size=n).filter(any)),
        sessions=sessions,
        on_offline=data.draw(st.sampled_from(["abort", "pause", "salvage"])),
    )
    policy = data.draw(
        st.sampled_from(
            [
                "synchronous",
                {"name": "synchronous", "deadline": "6 s", "late": "carry", "server_time": "1 s"},
                {"name": "synchronous", "over_select": "150%"},
                {"name": "fedbuff", "buffer": 2, "concurrency": 3, "max_staleness": 1},
                {"name": "fedasync", "timeout": "7 s", "server_time": "1 s"},
                {"name": "semi_synchronous", "period": "5 s"},
                {"name": "tiered", "tiers": 2, "deadline": "9 s", "server_time": "1 s"},
            ]
        )
    )
    network = data.draw(
        st.sampled_from(["shared", {"server_uplink": "9 kbit/s", "server_downlink": "5 kbit/s"}])
    )
    world = make(
        fleet, policy, clients=data.draw(st.integers(1, n)), network=network,
        stop=Stop(rounds=8, time_s=120.0),
    )  # fmt: skip
    assert world.server.why_finished in ("rounds", "time", "nobody will be available again")
