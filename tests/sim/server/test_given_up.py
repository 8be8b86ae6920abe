"""Runs in which no update comes any more, or no time passes, and that no rule would ever end."""

import numpy as np
import pytest

from simfl.components.selectors.base import Probe
from simfl.sim.fleet import DeviceGroup, Fleet, Power
from simfl.sim.server.settings import Stop
from tests.sim.sim_world import ALWAYS, INF, FakeCoordinator, Sessions, make, make_fleet

LATE = {"name": "synchronous", "deadline": "45 s"}


@pytest.mark.parametrize(
    ("policy", "stop", "why"),
    [
        (
            {"name": "fedasync", "timeout": "45 s"},
            Stop(rounds=2),
            "no update counted for more than a day, ",
        ),
        (
            LATE,
            Stop(accuracy=0.9),
            "no update counted for more than a day, of 2,000 participations or more",
        ),
        (LATE, Stop(rounds=2_010), "rounds"),
        ({"name": "fedasync", "timeout": "45 s"}, Stop(rounds=2, time_s=90_500.0), "time"),
    ],
)
def test_a_run_in_which_nothing_comes_back_comes_to_an_end(policy, stop, why):
    """Work takes 10 s, but behind polling nobody is done in 45: the run went on for ever."""
    network = {"name": "shared", "polling": "50 s"}
    world = make(make_fleet(1), policy, stop=stop, network=network, evaluate_every=10**6)
    assert str(world.server.why_finished).startswith(why)
    assert not world.outcomes["arrived"]
    assert world.server.timeline.now > 86_400


@pytest.mark.parametrize(
    ("stop", "why"),
    [
        (Stop(accuracy=0.9), "no update counted for more than a day, of 50 participations"),
        (Stop(rounds=40), "rounds"),
        (Stop(accuracy=0.9, time_s=2_000.0), "time"),
    ],
)
def test_rounds_that_are_all_abandoned_come_to_an_end(monkeypatch, stop, why):
    """Two of three are always in time, which is too few: it went on for ever."""
    monkeypatch.setattr("simfl.sim.server.silence.IN_VAIN", 50)
    monkeypatch.setattr("simfl.sim.server.silence.DAY_S", 1_000.0)
    policy = {"name": "synchronous", "deadline": "45 s", "min_updates": 3}
    world = make(make_fleet(3, [1, 1, 0.1]), policy, stop=stop, clients=3, evaluate_every=10**6)
    assert str(world.server.why_finished).startswith(why)
    assert not world.outcomes["arrived"]


def test_many_short_works_in_vain_are_enough_where_one_time_is_like_another(monkeypatch):
    """A day of works that are called off after 0.1 s were 10 million: it took many minutes."""
    monkeypatch.setattr("simfl.sim.server.silence.MANY_IN_VAIN", 500)
    policy = {"name": "fedasync", "timeout": "0.1 s"}
    network = {"name": "shared", "polling": "2 s"}
    world = make(make_fleet(60, [1e4]), policy, stop=Stop(rounds=2), network=network)
    assert str(world.server.why_finished).startswith("no update counted of 500 participations")
    assert world.server.timeline.now == pytest.approx(1.0)  # 600 of them, 60 at once


def test_a_run_in_which_nobody_is_ever_sent_out_comes_to_an_end(monkeypatch):
    """No work fits the deadline, so nobody begins any: tiers chose, and waited, for ever."""
    monkeypatch.setattr("simfl.sim.server.silence.MANY_IN_VAIN", 500)
    policy = {"name": "tiered", "tiers": 2, "deadline": "1 s"}
    world = make(make_fleet(4), policy, stop=Stop(rounds=2), workload="partial_epochs")
    assert str(world.server.why_finished).startswith("no update counted of 500 participations")
    assert set(world.outcomes) == {"skipped"}


@pytest.mark.parametrize(
    ("returns_day", "why"), [(3, "rounds"), (9, "no update counted for more than a week")]
)
def test_where_devices_come_and_go_the_fast_ones_may_be_there_at_weekends_alone(returns_day, why):
    """The slow one is called off after 110 s each time, and a week of that is enough."""
    weekend = [(86_400.0 * returns_day, 86_400.0 * returns_day + 300)]
    fleet = make_fleet(2, [0.05, 1], sessions=[ALWAYS, weekend])
    world = make(fleet, {"name": "fedasync", "timeout": "110 s"}, stop=Stop(rounds=3))
    assert str(world.server.why_finished).startswith(why)


@pytest.mark.parametrize("policy", ["synchronous", "fedasync"])
def test_a_run_in_which_everybody_leaves_while_being_asked_comes_to_an_end(monkeypatch, policy):
    """The selector's question takes 10/3 s, of which a session has 2: it was asked for ever."""
    monkeypatch.setattr("simfl.sim.server.silence.IN_VAIN", 20)
    monkeypatch.setattr("simfl.sim.server.silence.WEEK_S", 90_000.0)
    hourly = [(3600.0 * hour, 3600.0 * hour + 2) for hour in range(40)]
    coordinator = FakeCoordinator(probes=[lambda view: Probe("loss", np.arange(1))])
    fleet = make_fleet(1, sessions=[hourly])
    world = make(fleet, policy, coordinator=coordinator, stop=Stop(rounds=2))
    assert str(world.server.why_finished).startswith("no update counted for more than a week")
    assert 90_000 <= world.server.timeline.now < 100_000


@pytest.mark.parametrize(
    ("rate", "why"),
    [(1e9, "time"), (1e16, "200 participations or more"), (1e18, "200 participations or more")],
)
@pytest.mark.parametrize("policy", ["synchronous", "fedasync"])
def test_a_run_whose_clock_hardly_moves_comes_to_an_end(monkeypatch, policy, rate, why):
    """Of rounds that take 1e-17 s none moves a clock of an hour: it went on for ever."""
    monkeypatch.setattr("simfl.sim.server.standstill.MANY", 200)
    world = make(make_fleet(2, [rate]), policy, stop=Stop(time_s=3e-6))
    assert str(world.server.why_finished).startswith(why)


@pytest.mark.parametrize(
    ("power", "stop", "rate", "why"),
    [
        ({"compute": 2.0}, Stop(energy_j=1e-5), 1e18, " the energy that is left"),
        ({"compute": 2.0}, Stop(energy_j=1e-5), 1e9, "energy"),
        ({"compute": 2.0}, Stop(energy_j=1e-5, time_s=3e-6), 1e18, " the time and of the energy"),
        ({"compute": 2.0}, Stop(energy_j=1e-5, time_s=1e-6), 1e9, "time"),
        ({"upload": 2.0}, Stop(energy_j=1.0), 1e-3, " the energy that is left"),
        ({"upload": 2.0}, Stop(energy_j=1.0, rounds=100), 1e-3, "rounds"),
    ],
)
def test_a_run_whose_devices_hardly_spend_energy_comes_to_an_end(
    monkeypatch, power, stop, rate, why
):
    """Of 1e-17 J a round none adds to a joule, nor do uploads that take no time."""
    monkeypatch.setattr("simfl.sim.server.standstill.MANY", 20)
    world = make(make_fleet(2, [rate], power=Power(**power)), stop=stop, evaluate_every=10**6)
    assert why in str(world.server.why_finished)
    assert (world.server.timeline.now > 7 * 86_400) == (rate < 1)


def test_who_spends_energy_may_be_there_at_weekends_alone(monkeypatch):
    monkeypatch.setattr("simfl.sim.server.standstill.MANY", 20)
    base = make_fleet(2, [1e-3, 1e-2])
    weekends = [(86_400.0 * 6, 86_400.0 * 7), (86_400.0 * 13, INF)]
    days = enumerate([([ALWAYS], Power()), ([weekends], Power(compute=1.0))])
    groups = [DeviceGroup(f"{i}", i, 1, Sessions(on), "abort", power) for i, (on, power) in days]
    links = base.rate, base.downlink_bps, base.uplink_bps, base.latency_s
    fleet = Fleet(groups, *links, base.samples, base.validation)
    world = make(fleet, "fedasync", stop=Stop(energy_j=100_000.0), evaluate_every=10**6)
    assert world.server.why_finished == "energy"


def test_a_large_fleet_may_all_be_done_at_one_instant(monkeypatch):
    """Each update is a round of its own, and no time passes between them."""
    monkeypatch.setattr("simfl.sim.server.standstill.MANY", 20)
    world = make(make_fleet(50, [1.0]), "fedasync", clients=50, stop=Stop(time_s=120.0))
    assert world.server.why_finished == "time"
