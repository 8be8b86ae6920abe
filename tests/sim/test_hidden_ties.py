"""Who takes exactly as long as a deadline is in time, though sums of floats are some ulps apart."""

from typing import Any

import pytest

from simfl.sim.server.settings import Stop
from simfl.sim.timeline import Timeline
from tests.sim.sim_world import make, make_fleet

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


def test_a_deadline_waits_for_nothing_but_rounding() -> None:
    timeline = Timeline()
    seen: list[float] = []
    for at_s in (1.0, 1.0 + 2**-50, 1.0 + 2**-20):
        timeline.at(at_s).callbacks.append(lambda _: seen.append(timeline.now))
    timeline.run(until=timeline.time_up(1.0))
    assert seen == [1.0, 1.0 + 2**-50]
    assert timeline.now == 1.0 + 2**-50


def test_what_fits_a_deadline_exactly_is_planned_and_in_time() -> None:
    """Of seven samples, 0.7 a second, three epochs take 21 / 0.7 s: 30 s, and a hair as floats."""
    assert 21 / 0.7 > 30
    fleet = make_fleet(1, 0.7, samples=7)
    policy = {"name": "synchronous", "deadline": "30 s"}
    world = make(fleet, policy, stop=Stop(rounds=20), workload="partial_epochs", epochs=5)
    assert {(row.steps, row.outcome) for row in world.clients} == {(3 * 2, "arrived")}
