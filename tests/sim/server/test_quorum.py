"""`rounds.min_clients`: a round begins once so many are available, or the run ends."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl.scenario.parts.rounds import Rounds
from simfl.sim.server.settings import Stop
from tests.sim.sim_world import ALWAYS, INF, FakeCoordinator, make, make_fleet

DAY = 1000.0
"""Of the tests' phones, seconds: the last tenth of it is the night, when they charge."""


def phones(n, awake):
    """Return the sessions of `n` phones, of which the first `awake` charge all day, for 50 days."""
    nights = [(DAY * (day + 0.9), DAY * (day + 1)) for day in range(50)]
    return [ALWAYS if i < awake else nights for i in range(n)]


def at_random(view, reports, k):
    rng = view.round
    return sorted(view.available.tolist(), key=lambda i: (i * 7919 + rng * 104729) % 1009)[:k]


def participants(world):
    return {row.client for row in world.clients if row.outcome == "arrived"}


def test_a_round_waits_for_as_many_as_are_asked():
    """Two of 50 phones are there by day: the same two would take part in all rounds."""
    fleet = make_fleet(50, sessions=phones(50, 2))
    world = make(fleet, clients=5, stop=Stop(rounds=30), coordinator=FakeCoordinator(at_random))
    assert world.rounds[0].start_s == 0.9 * DAY
    assert {row.missing for row in world.rounds} == {0}
    assert all(row.start_s % DAY >= 0.9 * DAY for row in world.rounds)
    assert len(participants(world)) > 40


def test_who_asks_for_no_quorum_is_told_that_rounds_ran_short():
    fleet = make_fleet(50, sessions=phones(50, 2))
    world = make(fleet, clients=5, min_clients=1, stop=Stop(rounds=30))
    assert world.rounds[0].start_s == 0.0
    assert [row.missing for row in world.rounds] == [3] * 30
    assert participants(world) == {0, 1}


def test_a_quorum_below_the_number_asked_is_enough():
    sessions = [ALWAYS, [(10.0, INF)], [(20.0, INF)], [(30.0, INF)]]
    world = make(make_fleet(4, sessions=sessions), clients=4, min_clients=3)
    assert world.selections == [(20.0, [0, 1, 2])]
    assert world.rounds[0].missing == 1


def test_the_default_makes_do_with_all_who_will_ever_be_there():
    sessions = [ALWAYS, [(10.0, INF)], [(0.0, 1.0)], [(0.0, 2.0)]]
    fleet = make_fleet(4, sessions=sessions)
    world = make(fleet, clients=4, stop=Stop(rounds=2))
    # At the start the second is waited for; when it comes the last two are gone for good.
    assert world.selections == [(10.0, [0, 1]), (20.0, [0, 1])]
    assert [row.missing for row in world.rounds] == [2, 2]


@pytest.mark.parametrize("awake", [0, 1, 2])
def test_a_quorum_that_can_never_be_met_again_ends_the_run(awake):
    sessions = [ALWAYS] * awake + [[(0.0, 15.0)]] * 3
    world = make(
        make_fleet(3 + awake, sessions=sessions), clients=3, min_clients=3, stop=Stop(rounds=9)
    )
    assert len(world.rounds) == 2  # 10 s each; at 20 s three are gone for good
    assert world.server.why_finished == (
        "fewer than 3 clients will be available again"
        if awake
        else "nobody will be available again"
    )


@pytest.mark.parametrize(
    ("written", "hint"),
    [({}, " (`rounds.min_clients` says how many are enough)"), ({"min_clients": 2}, "")],
)
def test_phones_that_never_meet_are_not_waited_for_for_ever(written, hint):
    """Two that come in turn, one hour each: a quorum of two is given up after 30 days."""
    turns = [[(7200.0 * i + 3600 * j, 7200.0 * i + 3600 * (j + 1)) for i in range(999)]
             for j in range(2)]  # fmt: skip
    world = make(make_fleet(2, sessions=turns), clients=2, **written)
    assert world.rounds == []
    reason = "fewer than 2 clients were available at once for 30 days"
    assert world.server.why_finished == reason + hint
    assert 30 <= world.server.timeline.now / 86_400 < 31


def test_a_long_absence_of_everybody_is_no_reason_to_give_up():
    years = 3 * 365 * 86_400.0
    world = make(make_fleet(2, sessions=[[(years, INF)], [(years + 60, INF)]]), clients=2)
    assert world.rounds[0].start_s == years + 60


def test_clients_at_work_are_no_part_of_the_quorum():
    """Carried over: the slow one works on through the next rounds."""
    policy = {"name": "synchronous", "deadline": "15 s", "late": "carry"}
    world = make(make_fleet(3, [1, 1, 0.2]), policy, stop=Stop(rounds=3))
    assert [clients for _, clients in world.selections] == [[0, 1, 2], [0, 1], [0, 1]]
    assert [start_s for start_s, _ in world.selections] == [0, 15, 25]
    assert [row.missing for row in world.rounds] == [0, 1, 1]


def test_active_clients_that_cannot_be_had_are_missing():
    policy = {"name": "fedbuff", "concurrency": 5, "buffer": 3}
    world = make(make_fleet(3), policy, stop=Stop(rounds=3))
    assert [row.missing for row in world.rounds] == [2, 2, 2]


def test_only_synchronous_rounds_have_a_quorum():
    assert Rounds.model_validate({"min_clients": 3}).min_clients == 3
    with pytest.raises(ValueError, match="waits for no quorum; its rounds begin with whoever"):
        Rounds.model_validate({"policy": "fedbuff", "min_clients": 3})


@settings(max_examples=60)
@given(data=st.data())
def test_no_round_begins_with_fewer(data):
    n = data.draw(st.integers(1, 6))
    least = data.draw(st.integers(1, n))
    sessions = []
    for _ in range(n):
        edges = sorted(data.draw(st.sets(st.integers(0, 90).map(float), max_size=8)))
        sessions.append(list(zip(edges[::2], edges[1::2], strict=False)))
    world = make(make_fleet(n, sessions=sessions), min_clients=least, stop=Stop(rounds=5))
    assert all(len(clients) >= least for _, clients in world.selections)
    together = any(
        sum(start <= now < end for each in sessions for start, end in each) >= least
        for now in range(91)
    )
    assert bool(world.rounds) == together
    assert [row.missing for row in world.rounds] == [n - len(c) for _, c in world.selections]
