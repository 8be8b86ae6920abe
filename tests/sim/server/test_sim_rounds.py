"""Rounds as such: who is there, when a run ends, what an empty round is."""

import numpy as np
import pytest

from simfl.components.selectors.base import Probe
from simfl.errors import InputError, RunError
from simfl.sim.fleet import DeviceGroup, Fleet, Power
from simfl.sim.server.candidates import Candidates
from simfl.sim.server.server import Server
from simfl.sim.server.settings import Stop
from tests.sim.sim_world import ALWAYS, INF, NEVER, FakeCoordinator, make, make_fleet

ASYNC = [
    {"name": "fedbuff", "buffer": 2},
    {"name": "fedasync"},
    {"name": "semi_synchronous", "period": "7 s"},
    {"name": "tiered", "tiers": 2},
]
SYNCHRONOUS = [
    "synchronous",
    {"name": "synchronous", "deadline": "15 s", "late": "carry"},
    {"name": "hierarchical", "edges": 1},
]
ALL = [*SYNCHRONOUS, *ASYNC]


def name(policy):
    return policy if isinstance(policy, str) else "-".join(str(v) for v in policy.values())


@pytest.mark.parametrize("policy", ALL, ids=name)
def test_the_clock_waits_for_the_first_device(policy):
    fleet = make_fleet(2, sessions=[[(50.0, INF)], [(60.0, INF)]])
    world = make(fleet, policy, min_clients=1)
    assert world.selections[0][0] == 50
    assert world.selections[0][1] == [0]


def test_a_run_says_what_it_waits_for():
    sessions = [ALWAYS] + [[(50.0, INF)]] * 4
    probe = Probe("loss", np.array([0, 1]))
    world = make(
        make_fleet(5, [1, 2, 1, 1, 1], sessions=sessions),
        {"name": "synchronous", "server_time": "5 s", "deadline": "30 s"},
        min_clients=5,
        coordinator=FakeCoordinator(probes=[lambda _: probe]),
        peek=[20.0, 51.0, 60.0, 66.0],
    )
    assert world.waits == [
        "round 1 waits for 5 clients to be available at once, 1 are; the next look is at 50 s",
        "round 1 waits for 2 who answer the selector",
        "round 1 waits for 4 at work: 0, 2, 3, ...; until 83.33333333 s at most",
        "round 1 waits for its updates to be computed and aggregated",
    ]


def test_it_says_until_when_of_those_edges_that_are_not_done():
    """Each has two rounds, edge 0 of 5 s, from 0 s and 5 s, and edge 1 of 25 s."""
    policy = {"name": "hierarchical", "edges": 2, "deadline": "30 s"}
    world = make(make_fleet(2, [2.0, 0.4]), policy, peek=[3.0, 7.0, 12.0, 27.0])
    assert world.waits == [
        "round 1 waits for 2 at work: 0, 1; until 30 s at most",
        "round 1 waits for 2 at work: 1, 0; until 35 s at most",
        "round 1 waits for 1 at work: 1; until 30 s at most",
        "round 1 waits for 1 at work: 1; until 55 s at most",
    ]


def test_it_says_so_too_while_it_looks_for_them_anew(monkeypatch):
    """Where looking takes long, whoever asks from another thread mostly finds it at that."""
    servers, told = [], []
    until_quorum, returns_s = Server.until_quorum, Candidates.returns_s

    def noting(self, asked):
        servers.append(self)
        return until_quorum(self, asked)

    def asked_meanwhile(self, among=None):
        told.append(servers[-1].waiting_for)
        return returns_s(self, among)

    monkeypatch.setattr(Server, "until_quorum", noting)
    monkeypatch.setattr(Candidates, "returns_s", asked_meanwhile)
    turns = [[(100.0 * i + 50 * j, 100.0 * i + 50 * (j + 1)) for i in range(2)] for j in (0, 1)]
    make(make_fleet(3, sessions=[ALWAYS, *turns]), clients=3, min_clients=3)
    present = "3 clients to be available at once, 2 are; the next look is at"
    assert told[:3] == [
        "round 1 waits for its updates to be computed and aggregated",
        f"round 1 waits for {present} 50 s",
        f"round 1 waits for {present} 100 s",
    ]


@pytest.mark.parametrize("policy", ALL, ids=name)
def test_the_run_ends_if_nobody_will_ever_come_back(policy):
    world = make(make_fleet(2, sessions=[[(0.0, 14.0)], NEVER]), policy, stop=Stop(rounds=9))
    assert world.server.why_finished == "nobody will be available again"
    assert world.times("participation")[-1] <= 14 + 7


@pytest.mark.parametrize("policy", ALL, ids=name)
def test_the_run_ends_at_once_if_nobody_is_ever_there(policy):
    world = make(make_fleet(2, sessions=[NEVER, NEVER]), policy, stop=Stop(rounds=9))
    assert world.server.why_finished == "nobody will be available again"
    assert world.selections == []


@pytest.mark.parametrize("policy", ALL, ids=name)
def test_devices_without_samples_are_nobody(policy):
    fleet = make_fleet(3, samples=[0, 10, 0], sessions=[ALWAYS, [(0.0, 5.0), (30.0, INF)], ALWAYS])
    world = make(fleet, policy, clients=3, stop=Stop(rounds=2))
    assert {row.client for row in world.clients} == {1}
    assert world.selections[1][0] >= 30


@pytest.mark.parametrize("policy", ALL, ids=name)
def test_a_run_may_end_by_time_in_the_middle_of_a_round(policy):
    world = make(make_fleet(3, [1.0, 0.5, 0.01]), policy, clients=3, stop=Stop(time_s=33.0))
    assert world.server.why_finished == "time"
    assert world.server.timeline.now == 33
    assert world.outcomes["unfinished"] >= 1
    assert all(row.end_s <= 33 for row in world.rounds)


@pytest.mark.parametrize("policy", ALL, ids=name)
def test_what_happens_at_the_very_end_of_time_has_happened(policy):
    """One device, 10 s an update: the seventh comes with the end, as does the tenth window of 7 s.

    The buffer of two that the seventh falls into is not full, and every other window has an update.
    """
    world = make(make_fleet(1, 1.0), policy, clients=1, stop=Stop(time_s=70.0))
    counted = {"fedbuff-2": 6, "semi_synchronous-7 s": 5}.get(name(policy), 7)
    assert world.outcomes["arrived"] == counted
    ends_s = {row.end_s for row in world.rounds} | {row.upload_end_s for row in world.clients}
    assert max(filter(None, ends_s)) == 70


@pytest.mark.parametrize("policy", ALL, ids=name)
def test_no_round_begins_at_the_instant_at_which_time_is_up(policy):
    """The only device comes back, or (asked by the selector) answers, just then."""
    back = make_fleet(1, sessions=[[(0.0, 5.0), (20.0, INF)]])
    world = make(back, policy, stop=Stop(time_s=20.0))
    assert world.server.why_finished == "time"
    asks = FakeCoordinator(probes=[lambda view: Probe("loss", view.available)])
    asked = make(make_fleet(1, samples=9), policy, stop=Stop(time_s=3.0), coordinator=asks)
    assert asked.times("probed") == [3.0]
    assert asked.selections == []
    for at_the_end in (world, asked):
        begun = {"round", "probe", "selected", "dispatched"}
        assert all(
            at_s < at_the_end.server.timeline.now
            for at_s, kind, _ in at_the_end.events
            if kind in begun
        )


def test_a_short_round_takes_everybody():
    world = make(make_fleet(5, sessions=[ALWAYS, NEVER, ALWAYS, NEVER, NEVER]), clients=4)
    assert world.coordinator.asked == [4]
    assert world.selections == [(0, [0, 2])]


def test_a_round_in_which_everybody_drops_out_keeps_the_model():
    fleet = make_fleet(2, sessions=[[(0.0, 3.0), (20.0, INF)], [(0.0, 4.0)]])
    world = make(fleet, stop=Stop(rounds=2))
    empty, full = world.rounds
    assert (empty.arrived, empty.offline, empty.end_s, empty.last_arrival_s) == (0, 2, 4, None)
    assert (full.arrived, full.start_s) == (1, 20)
    assert world.server.state.version == 1
    assert len(world.coordinator.arrivals) == 1


def test_a_round_in_which_everybody_is_late_keeps_the_model():
    world = make(make_fleet(2), {"name": "synchronous", "deadline": "5 s"}, stop=Stop(rounds=3))
    assert [row.end_s for row in world.rounds] == [5, 10, 15]
    assert world.outcomes == {"late": 6}
    assert world.server.state.version == 0


def test_nobody_sent_is_noticed_only_when_the_time_is_up():
    world = make(
        make_fleet(2),
        {"name": "synchronous", "deadline": "5 s"},
        workload="partial_epochs",
        stop=Stop(rounds=2),
    )
    assert [row.end_s for row in world.rounds] == [5, 10]
    assert world.outcomes == {"skipped": 4}


def test_a_group_that_comes_later_wakes_the_server():
    groups = [
        make_fleet(1, sessions=[NEVER]).groups[0],
        make_fleet(1, sessions=[[(9.0, INF)]]).groups[0],
    ]
    one = np.ones(2)
    fleet = Fleet(
        [
            DeviceGroup("a", 0, 1, groups[0].schedule),
            DeviceGroup("b", 1, 1, groups[1].schedule),
        ],
        one, one, one, one, one.astype(int), one.astype(int),
    )  # fmt: skip
    assert make(fleet).selections == [(9, [1])]


def test_stop_by_rounds_accuracy_and_bytes():
    rising = FakeCoordinator(accuracy=lambda round_: round_ / 10)
    world = make(
        make_fleet(1), stop=Stop(rounds=9, accuracy=0.35), coordinator=rising, targets=[0.15, 0.3]
    )
    assert (world.server.why_finished, len(world.rounds)) == ("accuracy", 4)
    targets = [facts for _, kind, facts in world.events if kind == "target"]
    assert [(t["accuracy"], t["round"], t["bytes"]) for t in targets] == [
        (0.15, 2, 4000),
        (0.3, 3, 6000),
    ]
    world = make(make_fleet(1), stop=Stop(rounds=9, size=6001))
    assert (world.server.why_finished, len(world.rounds)) == ("bytes", 4)
    world = make(make_fleet(1), stop=Stop(rounds=2, time_s=1e9))
    assert world.server.why_finished == "rounds"


def test_a_run_ends_at_its_energy_though_rounding_keeps_the_sum_below():
    """Eight rounds of 0.1 J are less than 0.8 J as floats: there was a ninth."""
    fleet = make_fleet(1, power=Power(compute=0.01))
    world = make(fleet, stop=Stop(energy_j=0.8))
    assert sum(row.energy_j for row in world.rounds) < 0.8
    assert (world.server.why_finished, len(world.rounds)) == ("energy", 8)


def test_the_last_model_is_always_judged():
    by_rounds = FakeCoordinator(accuracy=lambda round_: 0.5)
    make(make_fleet(1), stop=Stop(rounds=7), evaluate_every=3, coordinator=by_rounds)
    assert by_rounds.evaluations == [3, 6, 7]
    by_bytes = FakeCoordinator(accuracy=lambda round_: 0.5)
    make(make_fleet(1), stop=Stop(size=8000), evaluate_every=3, coordinator=by_bytes)
    assert by_bytes.evaluations == [3, 4]
    by_time = FakeCoordinator(accuracy=lambda round_: 0.5)
    make(make_fleet(1), stop=Stop(time_s=45.0), evaluate_every=3, coordinator=by_time)
    assert by_time.evaluations == [3, 4]
    in_time = FakeCoordinator(accuracy=lambda round_: 0.5)
    make(make_fleet(1), stop=Stop(time_s=35.0), evaluate_every=3, coordinator=in_time)
    assert in_time.evaluations == [3]


@pytest.mark.parametrize(
    ("policy", "rates"),
    [({"name": "fedbuff", "buffer": 2}, [1.0, 1.0, 1.0]), (ASYNC[-1], [1.0, 1.0, 0.01])],
)
def test_the_last_round_is_judged_though_an_update_is_left_over_as_time_is_up(policy, rates):
    """The third update fills no buffer; of two in a tier, the other does not come in time."""
    coordinator = FakeCoordinator(accuracy=lambda round_: 0.5)
    world = make(
        make_fleet(3, rates),
        policy,
        stop=Stop(time_s=10.0),
        evaluate_every=5,
        coordinator=coordinator,
    )
    assert [(row.round, row.end_s, row.accuracy) for row in world.rounds] == [(1, 10, 0.5)]
    assert world.outcomes["unfinished"] > 0
    assert coordinator.evaluations == [1]


def test_updates_that_are_not_finite_are_discarded():
    coordinator = FakeCoordinator(broken=frozenset({(1, 0), (0, 1), (1, 1)}))
    world = make(make_fleet(2), stop=Stop(rounds=3), coordinator=coordinator)
    assert [(row.arrived, row.discarded) for row in world.rounds] == [(1, 1), (0, 2), (2, 0)]
    assert world.server.state.version == 2
    assert world.server.history.participations.tolist() == [2, 1]
    assert world.rounds[1].last_arrival_s is None
    assert world.rounds[1].wasted_bytes == 4000


def test_a_client_drawn_twice_works_once_and_counts_twice():
    coordinator = FakeCoordinator(lambda view, reports, k: [1, 0, 1])
    world = make(make_fleet(2), coordinator=coordinator)
    assert [(a.order.client, a.copies) for a in coordinator.arrivals[0]] == [(0, 1), (1, 2)]
    assert world.rounds[0].selected == 2


@pytest.mark.parametrize(
    ("ids", "told"),
    [
        ([], "it chose nobody"),
        ([1], r"these can't take part now: \[1\]"),
        ([0, 2], r"these can't take part now: \[2\]"),
    ],
)
def test_a_selector_that_chooses_badly_is_told_so(ids, told):
    fleet = make_fleet(3, samples=[5, 0, 5], sessions=[ALWAYS, ALWAYS, NEVER])
    with pytest.raises(RunError, match=rf"selector 'fake', choosing clients in round 1: {told}"):
        make(fleet, coordinator=FakeCoordinator(lambda view, reports, k: ids))


def test_a_fleet_without_samples_is_refused():
    with pytest.raises(InputError, match="holds any training sample"):
        make(make_fleet(2, samples=0))


@pytest.mark.parametrize("policy", ALL, ids=name)
def test_everybody_leaves_while_being_asked(policy):
    """The selector's probe takes 10/3 s; the only device leaves at 2 s and comes back at 30 s."""
    fleet = make_fleet(1, sessions=[[(0.0, 2.0), (30.0, INF)]])
    coordinator = FakeCoordinator(probes=[lambda view: Probe("loss", np.arange(1))])
    world = make(fleet, policy, coordinator=coordinator, stop=Stop(time_s=60.0))
    assert [len(reports.clients) for reports in coordinator.answers[:2]] == [0, 1]
    assert world.selections[0][0] == 30 + 10 / 3


@pytest.mark.parametrize("policy", ASYNC, ids=name)
def test_everybody_leaves_for_good_while_being_asked(policy):
    fleet = make_fleet(2, sessions=[[(0.0, 2.0)], [(0.0, 2.0)]])
    coordinator = FakeCoordinator(probes=[lambda view: Probe("loss", view.available)])
    world = make(fleet, policy, coordinator=coordinator, stop=Stop(rounds=3))
    assert world.server.why_finished == "nobody will be available again"
