"""When a round may close, asked by a policy of one's own."""

import math

import pytest

from simfl.sim.policies.base import RoundPolicy
from tests.sim.sim_world import make, make_fleet


class Pausing(RoundPolicy):
    """Does something else until an instant, before it waits."""

    until_s: float
    enough: int | None

    def run(self, server):
        server.open_round()
        chosen = yield from server.select(server.settings.clients)
        parts = server.send_all(chosen)
        yield server.timeline.at(self.until_s)
        yield server.closing(parts, math.inf, self.enough)
        yield server.call_off(parts)
        yield from server.aggregate([part for part in parts if part.arrived], chosen)


@pytest.mark.parametrize("enough", [None, 1, 2, 3])
@pytest.mark.parametrize("until_s", [0.0, 1.5, 2.0, 9.0])
def test_who_was_over_before_it_was_asked_counts(until_s: float, enough: int | None) -> None:
    """Of three who take 1, 2 and 3 s."""
    fleet = make_fleet(3, rate=[10, 5, 10 / 3])
    world = make(fleet, Pausing(until_s=until_s, enough=enough))
    end_s = max(until_s, enough or 3)
    assert world.rounds[0].end_s == end_s
    assert world.outcomes["arrived"] == sum(took_s <= end_s for took_s in (1, 2, 3))
