"""Who takes exactly as long as a deadline is in time, though sums of floats are some ulps apart."""

from typing import Any

import pytest

from simfl.sim.server.settings import Stop
from simfl.sim.timeline import LAST, Timeline
from tests.sim.sim_world import FakeCoordinator, make, make_fleet

HALF = {"stragglers": "50%"}
NETWORKS: dict[str, dict[str, Any]] = {
    "own links": {},
    "slow start": {"initial_window": "1448 B"},
    "a link that holds nobody back": {"server_uplink": "1 Gbit/s", "server_downlink": "1 Gbit/s"},
}
POLICIES: list[dict[str, Any]] = [
    {"name": "synchronous", "deadline": HALF},
    {"name": "synchronous", "deadline": HALF, "late": "carry"},
    {"name": "tiered", "tiers": 1, "deadline": HALF},
    {"name": "hierarchical", "edges": 1, "edge_rounds": 1, "deadline": HALF, "latency": "0.1 s"},
    {"name": "semi_synchronous", "period": HALF},
]


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: "-".join(map(str, policy.values())))
def test_whose_time_the_deadline_is_makes_it_in_every_round(
    policy: dict[str, Any], network: str
) -> None:
    """The third of five devices; where its clock stands when a round begins does not matter."""
    fleet = make_fleet(5, [11.3, 7.7, 19.1, 5.9, 13.7], 1e5, 3e4, 0.05)
    links = {"name": "shared", **NETWORKS[network]}
    world = make(fleet, policy, stop=Stop(rounds=300), network=links, model_bytes=5000)
    third = [row for row in world.clients if row.client == 0]
    assert len(third) == 300
    assert {(row.outcome, row.staleness) for row in third} == {("arrived", 0)}


@pytest.mark.parametrize(
    "policy", ["fedasync", {"name": "fedbuff", "buffer": 1}, {"name": "tiered", "tiers": 2}]
)
def test_updates_that_only_rounding_puts_beyond_the_end_are_aggregated_too(policy: Any) -> None:
    """30 samples, one a second, and 21 samples, 0.7 a second: the first ended the run."""
    fleet = make_fleet(2, [1.0, 0.7], samples=[30, 21])
    world = make(fleet, policy, stop=Stop(time_s=30.0))
    assert [row.end_s for row in world.rounds] == [30.0, 21 / 0.7]
    assert world.outcomes == {"arrived": 2}
    assert world.server.why_finished == "time"


def test_nothing_begins_a_hair_before_time_is_up() -> None:
    """Eight windows of 0.1 s end before 0.8 s as floats; a ninth began, as did more work."""
    fleet = make_fleet(1, 10.0, samples=1)
    policy = {"name": "semi_synchronous", "period": "0.1 s"}
    coordinator = FakeCoordinator(accuracy=lambda round_: 0.5)
    world = make(fleet, policy, stop=Stop(time_s=0.8), coordinator=coordinator, evaluate_every=100)
    assert world.rounds[-1].end_s < 0.8
    assert world.rounds[-1].accuracy == 0.5
    assert len(world.times("round")) == len(world.times("dispatched")) == 8
    assert world.server.why_finished == "time"


def test_a_deadline_waits_for_nothing_but_rounding() -> None:
    timeline = Timeline()
    seen: list[float] = []
    for at_s in (1.0, 1.0 + 2**-50, 1.0 + 2**-20):
        timeline.at(at_s).callbacks.append(lambda _: seen.append(timeline.now))
    timeline.run(until=timeline.time_up(1.0))
    assert seen == [1.0, 1.0 + 2**-50]
    assert timeline.now == 1.0 + 2**-50


def test_a_deadline_waits_no_longer_than_rounding_however_much_happens() -> None:
    """What came a hair later put it off, what came a hair after that again, and so on."""
    timeline = Timeline()
    for number in range(9):
        timeline.at(1.0 + number * 0.75e-12)
    timeline.run(until=timeline.time_up(1.0))
    assert timeline.now == 1.0 + 0.75e-12


def test_a_deadline_does_not_wait_for_another_nor_for_the_end() -> None:
    """When a run stops, or is to be forked, must not show in what happened before."""
    timeline = Timeline()
    timeline.deadline(1.0 + 2**-50)
    timeline.at(1.0 + 2**-49, LAST)
    timeline.run(until=timeline.time_up(1.0))
    assert timeline.now == 1.0


@pytest.mark.parametrize("network", [{}, {"initial_window": "1448 B"}])
def test_a_deadline_does_not_wait_for_who_was_called_off(network: dict[str, str]) -> None:
    """Called off after 10 s, the first would have been done with its upload a hair after 30 s."""
    fleet = make_fleet(1, 10, uplink=8 * 1000 / (29 * (1 + 5e-13)))
    policy = {"name": "synchronous", "deadline": "10 s"}
    world = make(fleet, policy, stop=Stop(rounds=6), network={"name": "shared", **network})
    assert [row.end_s for row in world.rounds] == [10, 20, 30, 40, 50, 60]


def test_what_fits_a_deadline_exactly_is_planned_and_in_time() -> None:
    """Of seven samples, 0.7 a second, three epochs take 21 / 0.7 s: 30 s, and a hair as floats."""
    assert 21 / 0.7 > 30
    fleet = make_fleet(1, 0.7, samples=7)
    policy = {"name": "synchronous", "deadline": "30 s"}
    world = make(fleet, policy, stop=Stop(rounds=20), workload="partial_epochs", epochs=5)
    assert {(row.steps, row.outcome) for row in world.clients} == {(3 * 2, "arrived")}


@pytest.mark.parametrize("late", ["drop", "carry"])
@pytest.mark.parametrize("first", [0, 1])
def test_of_those_who_arrive_last_together_but_for_rounding_the_lowest_id_is_wanted(
    late: str, first: int
) -> None:
    """30 samples, one a second, and 21 samples, 0.7 a second: 30 s, and a hair for the second."""
    assert 21 / 0.7 > 30 / 1.0
    places = [0, 1] if first == 0 else [1, 0]
    fleet = make_fleet(
        3,
        [*([1.0, 0.7][i] for i in places), 1.0],
        samples=[*([30, 21][i] for i in places), 29],
    )
    policy = {"name": "synchronous", "over_select": 1.5, "late": late}
    world = make(fleet, policy, clients=2)
    told = [(row.client, row.outcome) for row in world.clients]
    third = "late" if late == "drop" else "arrived"  # carried over, it would be back by now
    assert sorted(told) == [(0, "arrived"), (1, third), (2, "arrived")]


@pytest.mark.parametrize(
    ("policy", "stop_s", "rounds"),
    [
        ({"name": "semi_synchronous", "period": "1.1 s"}, 3.3, 3),
        ({"name": "synchronous", "deadline": "30 s"}, 3600.0, 120),
        ({"name": "fedasync", "timeout": "30 s"}, 3600.0, 120),
        ({"name": "fedbuff", "buffer": 1, "timeout": "30 s"}, 3600.0, 120),
    ],
)
def test_the_round_that_ends_when_the_run_does_is_counted(
    policy: dict[str, Any], stop_s: float, rounds: int
) -> None:
    """Of seven samples, 0.7 a second, three epochs take a hair more than 30 s."""
    assert 1.1 + 1.1 + 1.1 > 3.3
    fleet = make_fleet(2, [0.7, 0.1], samples=7)
    world = make(fleet, policy, stop=Stop(time_s=stop_s), epochs=3)
    assert len(world.rounds) == rounds
    assert world.server.why_finished == "time"
    assert world.rounds[-1].end_s == pytest.approx(stop_s, rel=1e-12)
