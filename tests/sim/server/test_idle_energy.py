"""`power.idle`: of those who take part and wait, and of everybody else."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl import Options, Scenario, run
from simfl.components.selectors.base import Probe
from simfl.core.seeds import Seeds
from simfl.sim.battery import Batteries
from simfl.sim.fleet import Power
from simfl.sim.server.settings import Stop
from tests.sim.sim_world import ALWAYS, INF, FakeCoordinator, Sessions, make, make_fleet
from tests.tiny import TINY

IDLE = Power(idle=0.5)
SAME = Power(idle=2.0, download=2.0, compute=2.0, upload=2.0)
"""A device that draws the same whatever it does."""


def test_who_has_delivered_waits_for_the_round_to_end():
    """Devices need 10 and 20 s, so the first waits for 10 s; two others sit by for 20 s."""
    world = make(make_fleet(4, [1, 0.5, 1, 1], power=IDLE), clients=2)
    assert [row.energy_j for row in world.clients] == [5.0, 0.0]
    assert world.rounds[0].energy_j == 5.0
    assert world.rounds[0].idle_energy_j == 2 * 0.5 * 20


def test_the_round_ends_with_the_aggregation():
    policy = {"name": "synchronous", "server_time": "4 s"}
    world = make(make_fleet(1, power=IDLE), policy)
    assert world.clients[0].energy_j == 0.5 * 4
    assert world.rounds[0].idle_energy_j == 0.0


@pytest.mark.parametrize("end_s", [5.0, 10.0, 15.0])
def test_what_is_idled_after_the_last_round_counts(end_s):
    world = make(make_fleet(3, power=IDLE), clients=1, stop=Stop(time_s=end_s))
    tail_j = sum(facts["energy_j"] for _, kind, facts in world.events if kind == "idled")
    idle_j = sum(row.idle_energy_j for row in world.rounds) + tail_j
    assert idle_j == pytest.approx(2 * 0.5 * end_s)


def test_where_all_take_part_nobody_idles():
    """Not even by what rounding leaves of the sums: 0.1 W and 10 / 2.3 s have no exact ones."""
    world = make(make_fleet(3, [3, 2.7, 2.3], power=Power(idle=0.1)), stop=Stop(rounds=40))
    assert [row.selected for row in world.rounds] == [3] * 40
    assert [row.idle_energy_j for row in world.rounds] == [0.0] * 40


def test_who_idles_draws_the_same_whatever_leaving_does_to_work():
    """To the last bit, though where work may be paused more is looked at."""
    sessions = [ALWAYS, *([(0.3 * n, 17.0 * n), (250.0 / n, 260.0)] for n in range(1, 8))]

    def idled(on_offline):
        fleet = make_fleet(8, 0.7, sessions=sessions, on_offline=on_offline, power=Power(idle=0.3))
        return [row.idle_energy_j for row in make(fleet, clients=1, stop=Stop(rounds=5)).rounds]

    assert idled("abort") == idled("pause")
    assert len(set(idled("abort"))) == 5


@pytest.mark.slow
def test_what_rounding_leaves_of_very_many_rounds_is_no_energy(tmp_path: Path) -> None:
    """A run in which everybody is always at work told of 5.4e-10 J."""
    power = {"idle": "1 W", "compute": "2 W"}
    fleet = {"count": 6, "compute": "8 samples/s", "uplink": "2 kbit/s", "power": power}
    rounds = {"clients": 6, "policy": {"deadline": "10 ms"}, "stop": {"time": "100 s"}}
    busy = Scenario.from_dict({**TINY, "fleet": fleet, "rounds": rounds})
    [result] = run(busy, tmp_path, Options(time_only=True, jobs=1))
    assert result.n_rounds > 9000
    assert result.idle_energy_j == 0


def test_who_leaves_after_delivering_waits_no_longer():
    sessions = [[(0.0, 13.0), (16.0, INF)], ALWAYS]
    world = make(make_fleet(2, [1, 0.5], sessions=sessions, power=IDLE))
    assert world.clients[0].energy_j == 0.5 * 3


def test_who_is_chosen_anew_no_longer_waits():
    """Of two a second and a fifth of it each, three make a buffer: nobody is ever idle."""
    world = make(make_fleet(2, [10, 2], power=IDLE), {"name": "fedbuff", "buffer": 3})
    assert [row.client for row in world.clients if row.outcome == "arrived"] == [0, 0, 0]
    assert [row.energy_j for row in world.clients] == [0.0] * 4
    assert world.rounds[0].idle_energy_j == 0.0


def test_who_has_answered_waits_for_the_others():
    coordinator = FakeCoordinator(probes=[lambda _: Probe("update", np.array([0, 1]))])
    world = make(make_fleet(2, [1, 0.5], power=IDLE), coordinator=coordinator)
    (facts,) = [facts for _, kind, facts in world.events if kind == "probed"]
    assert facts["energy_j"] == 0.5 * 10
    assert world.rounds[0].energy_j == 0.5 * 10 * 2


def test_who_comes_and_goes_is_counted_while_it_is_there():
    """Online from the 20th second on: half of them at the round's two ends, on average."""
    world = make(
        make_fleet(2, [0.25, 1], sessions=[ALWAYS, [(20.0, INF)]], power=IDLE),
        clients=1,
        min_clients=1,
    )
    assert world.rounds[0].end_s == 40.0
    assert world.rounds[0].idle_energy_j == 0.5 * 40 * (0 + 1) / 2


@pytest.mark.parametrize(("session", "online_s"), [((0.0, 1.0), 1), ((1.0, 9.0), 8)])
def test_who_is_there_at_neither_or_at_both_ends_of_a_round(session, online_s):
    """A round of 16 s, which is looked at sixteen times."""
    sessions = [ALWAYS, [session, (16.0, INF)]]
    world = make(make_fleet(2, 10 / 16, sessions=sessions, power=IDLE), clients=1, min_clients=1)
    assert world.rounds[0].end_s == 16
    assert world.rounds[0].idle_energy_j == 0.5 * online_s


def test_who_comes_and_goes_in_step_with_rounds_is_counted_while_it_is_there():
    """A look in the middle of each sixteenth of 10 s never saw who is there for their first 0.3."""
    rounds = 100
    sessions = [ALWAYS, [(10.0 * k, 10.0 * k + 0.3) for k in range(rounds)]]
    fleet = make_fleet(2, sessions=sessions, power=IDLE)
    world = make(fleet, clients=1, min_clients=1, stop=Stop(rounds=rounds))
    assert world.rounds[-1].end_s == 10 * rounds
    idle_j = sum(row.idle_energy_j for row in world.rounds)
    assert idle_j == pytest.approx(0.5 * 0.3 * rounds, rel=0.03)


@pytest.mark.parametrize("battery", [None, {"capacity": "1 kWh", "charge": "10 W"}])
def test_rounds_that_begin_and_end_when_somebody_is_there_do_not_make_more_of_them(
    battery: dict[str, str] | None, tmp_path: Path
) -> None:
    """A fleet that is down half of the time, and rounds wait until it is up."""
    availability = {"name": "outages", "between": "1 h", "lasting": "1 h"}
    power = {"idle": "1 W"}
    fleet = {"count": 40, "compute": "10 samples/s", "power": power, "availability": availability}
    fleet |= {"battery": battery} if battery else {}
    beat = {"policy": {"name": "semi_synchronous", "period": "10 min"}, "stop": {"time": "10 d"}}
    scenario = Scenario.from_dict({**TINY, "fleet": fleet, "rounds": {"clients": 1, **beat}})
    schedule = scenario.fleet[0].availability.schedule(
        40, scenario.fleet[0].name, Seeds(scenario.seed), Path()
    )
    everybody = np.arange(40)
    looks = [schedule.online(everybody, 60.0 * minute).mean() for minute in range(14400)]
    [result] = run(scenario, tmp_path, Options(time_only=True, jobs=1))
    joules = result.idle_energy_j + result.total_energy_j
    idle_w = joules / result.end_s
    assert idle_w == pytest.approx(40 * float(np.mean(looks)), rel=0.02)


@pytest.mark.parametrize(("on_offline", "end_s"), [("pause", 10 + 3), ("salvage", 8)])
def test_whose_work_waits_for_it_is_none_of_the_others_while_it_is_away(on_offline, end_s):
    """The first needs 10 s, but is away from 5 to 8 s; what it has by then it may send after."""
    sessions = [[(0.0, 5.0), (8.0, INF)], ALWAYS]
    fleet = make_fleet(2, sessions=sessions, on_offline=on_offline, power=IDLE)
    world = make(fleet, clients=1)
    assert world.rounds[0].end_s == end_s
    assert world.rounds[0].idle_energy_j == 0.5 * end_s


def test_nor_where_rounds_end_meanwhile():
    """One of two is away in the middle of its work when the other's first and second come."""
    sessions = [[(0.0, 5.0), (30.0, INF)], ALWAYS]
    fleet = make_fleet(2, sessions=sessions, on_offline="pause", power=IDLE)
    world = make(fleet, {"name": "fedbuff", "buffer": 1}, stop=Stop(rounds=2))
    assert [row.end_s for row in world.rounds] == [10, 20]
    assert [row.idle_energy_j for row in world.rounds] == [0, 0]


def test_whose_work_may_pause_is_not_looked_at_anew_for_each_participation_of_another():
    """Nine tenths of 100 devices at work were asked about each time one began or ended."""

    class Counting(Sessions):
        asked = 0

        def online(self, devices, now_s):
            self.asked += len(devices) if devices.flags.writeable else 0  # not the group as such
            return super().online(devices, now_s)

    def asked(on_offline):
        fleet = make_fleet(100, np.linspace(1, 2, 100), on_offline=on_offline, power=IDLE)
        schedule = Counting([[(0.0, 7.0 + n % 10), (17.0, INF)] for n in range(100)])
        fleet = replace(fleet, groups=[replace(fleet.groups[0], schedule=schedule)])
        make(fleet, {"name": "fedbuff", "concurrency": 90, "buffer": 50}, stop=Stop(rounds=2))
        return schedule.asked

    assert asked("pause") < 2 * asked("abort")


@pytest.mark.parametrize("on_offline", ["abort", "pause", "salvage"])
@pytest.mark.parametrize("end_s", [20.0, 19.0])
def test_who_leaves_before_the_server_looks_for_its_update_idles_only_while_it_is_there(
    on_offline, end_s
):
    """It has sent all at 12 s, leaves at 13 s and is back at 15 s; the server looks at 20 s."""
    sessions = [[(0, 13), (15, INF)]]
    fleet = make_fleet(
        1, 1, 8000, 8000, sessions=sessions, on_offline=on_offline, power=Power(idle=0.5)
    )
    network = {"name": "shared", "polling": "20 s"}
    world = make(fleet, network=network, stop=Stop(rounds=1, time_s=end_s))
    tail_j = sum(facts["energy_j"] for _, kind, facts in world.events if kind == "idled")
    assert [row.energy_j for row in world.clients] == [0.5 * (13 - 12)]
    idle_j = sum(row.idle_energy_j for row in world.rounds) + tail_j
    assert idle_j == pytest.approx(0.5 * (end_s - 15), abs=0.5 * 20 / 16)  # a look each 1/16


def test_batteries_that_run_empty_while_nobody_looks_count_until_then():
    """Two of 16 J; both sit by for 40 s and draw 0.5 W each until they are empty, at 32 s.

    The second is away for a quarter of the time: of looks at 1.25, 3.75 ... s, those of 10 to 20 s.
    They were said to run empty evenly from 0 to 40 s.
    """
    sessions = [ALWAYS, ALWAYS, [(0.0, 10.0), (20.0, INF)]]
    fleet = make_fleet(3, [0.25, 1, 1], sessions=sessions, power=IDLE)
    batteries = Batteries(np.array([1000.0, 16.0, 16.0]), np.ones(3), 0.0, 0.0, 0.5, None)
    group = replace(fleet.groups[0], batteries=batteries)
    world = make(replace(fleet, groups=[group]), clients=1, min_clients=1)
    assert world.rounds[0].end_s == 40.0
    looks = [1.25 + 2.5 * look for look in range(16)]
    first, second = (sum(at_s < 32 and not away[0] < at_s < away[1] for at_s in looks)
                     for away in ((0, 0), (10, 20)))  # fmt: skip
    assert (first, second) == (13, 9)  # 32.5 and 22.5 s of 32 and 22
    assert world.rounds[0].idle_energy_j == pytest.approx(0.5 * 2.5 * (first + second))


def test_a_battery_that_is_charged_at_both_ends_of_a_round_alone_does_not_count_in_between():
    """Each 40 s it is plugged in for 8 s, charges by 16 J at most, and is empty 8 s later."""
    fleet = make_fleet(2, 0.125, power=Power(idle=2.0))
    plugged = Sessions([[(0.0, INF)], [(0.0, 8.0), (40.0, 48.0), (80.0, 88.0)]])
    batteries = Batteries(np.array([1e4, 1e4]), np.array([1.0, 0.0]), 0.5, 4.0, 2.0, plugged)
    group = replace(fleet.groups[0], batteries=batteries)
    world = make(replace(fleet, groups=[group]), clients=1)
    assert world.rounds[0].end_s == 80.0
    assert world.rounds[0].idle_energy_j == pytest.approx(2.0 * (16 + 16), abs=2.0 * 5)


@pytest.mark.parametrize("on_offline", ["abort", "pause", "salvage"])
def test_who_has_left_before_the_server_looks_idles_again_in_the_round_in_which_it_is_back(
    on_offline,
):
    """It leaves at 13 s and is back at 15 s; a round ends at 18 s, and the server looks at 20 s."""
    fleet = make_fleet(
        1, 1, 8000, 8000, sessions=[[(0, 13), (15, INF)]], on_offline=on_offline, power=IDLE
    )
    policy = {"name": "synchronous", "deadline": "18 s", "late": "carry"}
    network = {"name": "shared", "polling": "20 s"}
    world = make(fleet, policy, network=network, stop=Stop(rounds=2), clients=1)
    assert [row.end_s for row in world.rounds] == [18, 20 + 18]  # it is sent out anew at 20 s
    idle_j = [row.idle_energy_j for row in world.rounds]
    assert idle_j == pytest.approx([0.5 * 3, 0.5 * 2], abs=0.5 * 18 / 16)


def test_large_groups_are_looked_at_by_sample():
    n = 3001
    sessions = [ALWAYS if i % 2 else [] for i in range(n)]
    world = make(make_fleet(n, sessions=sessions, power=IDLE), clients=1)
    assert world.rounds[0].idle_energy_j / (0.5 * 10) == pytest.approx(n / 2, rel=0.05)


POLICIES = [
    "synchronous",
    {"name": "synchronous", "deadline": "9 s", "late": "carry", "server_time": "1 s"},
    {"name": "synchronous", "over_select": "150%"},
    {"name": "fedbuff", "buffer": 3, "concurrency": 3, "max_staleness": 1},
    {"name": "fedasync", "timeout": "7 s", "server_time": "1 s"},
    {"name": "semi_synchronous", "period": "5 s"},
    {"name": "tiered", "tiers": 2, "deadline": "9 s"},
]


@settings(max_examples=80)
@given(data=st.data())
def test_every_joule_of_a_fleet_that_is_always_on_is_in_one_column(data):
    n = data.draw(st.integers(1, 6))
    rates = data.draw(st.lists(st.sampled_from([0.5, 1.0, 2.0, 10 / 3]), min_size=n, max_size=n))
    policy = data.draw(st.sampled_from(POLICIES))
    asks = policy in POLICIES[:3] and data.draw(st.booleans())  # rounds that wait for answers
    probes = [lambda _: Probe("loss", np.arange(n))] if asks else []
    world = make(
        make_fleet(n, rates, 8000.0, 4000.0, 0.5, power=SAME),
        policy,
        clients=data.draw(st.integers(1, n)),
        coordinator=FakeCoordinator(probes=probes),
        stop=Stop(rounds=6, time_s=80.0),
    )
    if not world.rounds:
        return
    end_s = world.rounds[-1].end_s
    told_j = math.fsum(row.energy_j + row.idle_energy_j for row in world.rounds)
    # Not booked by then: who is at work still, or has delivered what is not yet aggregated.
    booked = next(i for i, (_, kind, facts) in reversed(list(enumerate(world.events)))
                  if kind == "round_end")  # fmt: skip
    open_j = open_energy_j(world.events[booked:], end_s)
    assert told_j + open_j == pytest.approx(n * SAME.idle * end_s, rel=1e-9)


def open_energy_j(events, end_s):
    """Return what those who are booked after `end_s` have spent by then."""
    spans: dict[int, list[float]] = {}
    for _, kind, facts in events:
        if kind == "participation" and facts["row"].outcome != "skipped":
            spans.setdefault(facts["row"].client, []).append(facts["row"].selected_s)
    return SAME.idle * sum(max(end_s - min(starts), 0.0) for starts in spans.values())


def test_who_charges_below_the_minimum_idles_though_it_takes_no_work():
    """Its battery is empty from 10 to 20 s, then charges at 1 W, never to the 50 J it needs."""
    fleet = make_fleet(2, power=Power(idle=1.0, compute=1.0))
    plugged = Sessions([[(0.0, INF)], [(20.0, 60.0)]])
    batteries = Batteries(np.array([100.0, 100.0]), np.array([1.0, 0.1]), 0.5, 2.0, 1.0, plugged)
    group = replace(fleet.groups[0], batteries=batteries)
    world = make(replace(fleet, groups=[group]), clients=1, stop=Stop(rounds=6))
    assert world.outcomes == {"arrived": 6}  # 10 s each, all of device 0
    assert [row.idle_energy_j for row in world.rounds] == pytest.approx([10, 0, 10, 10, 10, 10])


def test_a_run_that_ends_at_the_first_instant_there_is_idles():
    """It divided by a thousandth of that instant, which is 0."""
    fleet = make_fleet(2, sessions=[ALWAYS, [(0.0, 1.0)]], power=IDLE)
    world = make(fleet, clients=1, stop=Stop(time_s=5e-324))
    assert world.server.why_finished == "time"
