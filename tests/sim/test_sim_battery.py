"""Batteries: empty at the analytic instant, charged by schedule, energy the integral of power."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl.components.availability.on_off import Alternating
from simfl.components.availability.spells import Instants
from simfl.core.seeds import Seeds
from simfl.core.types import Flags, Floats, Ids
from simfl.sim.battery import Batteries
from simfl.testing.virtual_time.handmade import make_fleet
from simfl.testing.virtual_time.handmade import simulate as simulate_clock
from tests.sim.charging import ALWAYS, ONE, EveryDay, EveryOther, Windows, battery, level


def test_drains_in_proportion_to_power_and_time() -> None:
    found = battery(idle=0.5)
    assert level(found, 40) == 80
    found.draw(0, 40, 4.0)
    assert found.empties_s(0, 40, math.inf) == 60
    assert found.empties_s(0, 40, 59) == math.inf
    assert level(found, 50) == 40
    found.draw(0, 50, None)
    assert level(found, 54) == 38
    assert level(found, 1000) == 0


def test_charges_while_plugged_in_and_no_further_than_full() -> None:
    found = battery((10, 20), (50, 200), level=0.5, idle=1)
    assert [level(found, t) for t in (10, 20, 50, 60)] == [40, 100, 70, 100]
    found.draw(0, 60, 30.0)
    assert found.empties_s(0, 60, math.inf) == 65


def test_a_charger_may_come_in_time_or_too_late() -> None:
    found = battery((10, 20))
    found.draw(0, 0, 9.0)
    assert found.empties_s(0, 0, math.inf) == 20 + 20 / 9  # 10 J left, plus 10 s of 1 W
    found = battery((12, 20))
    found.draw(0, 0, 9.0)
    assert found.empties_s(0, 0, math.inf) == 100 / 9


def test_takes_work_again_when_charged_to_the_minimum() -> None:
    found = battery((30, 90), level=0.1)
    assert not found.able(ONE, 0)[0]
    assert found.returns_s(0, 0, ALWAYS) == pytest.approx(31)
    assert found.returns_s(0, 0, Windows((0, 5), (40, 50))) == 40
    assert found.returns_s(0, 0, Windows((0, 5))) == math.inf
    assert found.able(ONE, 31)[0]


def test_never_returns_without_a_charger() -> None:
    assert battery(level=0.1).returns_s(0, 0, ALWAYS) == math.inf
    weak = battery((0, math.inf), level=0.1, idle=1, charge=1)
    assert weak.returns_s(0, 0, ALWAYS) == math.inf


def test_never_returns_if_charged_too_seldom_or_never_online() -> None:
    """A search that looks ahead until the charge suffices would never end."""
    day = EveryDay()
    # An hour's 9 W, gone by the next day, are less than the reserve.
    seldom = Batteries(np.array([360e3]), np.zeros(1), 0.5, 10.0, 1.0, day)
    assert seldom.returns_s(0, 0, ALWAYS) == math.inf
    often = Batteries(np.array([360e3]), np.zeros(1), 0.05, 10.0, 1.0, day)
    assert often.returns_s(0, 0, ALWAYS) == pytest.approx(2000)
    assert often.returns_s(0, 0, Windows((0, 1))) == math.inf


def test_who_is_charged_returns_after_however_many_changes_of_its_charger() -> None:
    """A device that stays offline for longer than 1000 of them was taken to be gone for good."""
    found = Batteries(np.array([100.0]), np.ones(1), 0.2, 5.0, 1.0, EveryOther(10.0))
    assert found.returns_s(0, 0.0, Windows((28_800.0, 30_000.0))) == 28_800.0
    night = Batteries(np.array([100.0]), np.ones(1), 0.2, 5.0, 9.0, EveryOther(10.0))
    assert night.returns_s(0, 5.0, Windows((28_800.0, 30_000.0))) == math.inf  # soon empty


def test_who_is_charged_slowly_returns_all_the_same() -> None:
    """10 J every other second: 90% after 900 of them, or 1799 changes of the charger."""
    slow = Batteries(np.array([10_000.0]), np.zeros(1), 0.9, 10.0, 0.0, EveryOther(1.0))
    assert slow.returns_s(0, 0.0, ALWAYS) == pytest.approx(1799.0)


def test_is_there_only_until_its_idle_power_has_drained_it() -> None:
    found = battery(idle=1)
    assert found.returns_s(0, 0, Windows((50, 60))) == 50
    assert found.returns_s(0, 0, Windows((81, 90))) == math.inf


steps = st.lists(st.tuples(st.floats(0.1, 30), st.floats(0, 8)), min_size=1, max_size=12)


@settings(max_examples=60)
@given(steps=steps, edges=st.lists(st.floats(0.5, 200), min_size=2, max_size=8, unique=True))
def test_charge_is_the_integral_of_power(
    steps: Sequence[tuple[float, float]], edges: list[float]
) -> None:
    """Against a sum over all the instants at which anything changes."""
    edges = sorted(edges)[: len(edges) // 2 * 2]
    windows = tuple(zip(edges[::2], edges[1::2], strict=True))
    found, lazy = battery(*windows, level=0.6), battery(*windows, level=0.6)
    now, charge = 0.0, 60.0
    for lasting, watts in steps:
        found.draw(0, now, watts)
        lazy.draw(0, now, watts)
        end = now + lasting
        for t in [*[edge for edge in edges if now < edge < end], end]:
            plugged = any(a <= now < b for a, b in windows)
            charge = min(max(charge + (10 * plugged - watts) * (t - now), 0), 100)
            now = t
        assert level(found, now) == pytest.approx(charge, abs=1e-6)
    assert level(lazy, now) == pytest.approx(charge, abs=1e-6)


def test_when_a_battery_was_empty_first_since_its_draw_changed() -> None:
    found = battery((100, math.inf), idle=5, charge=10)
    assert found.emptied_s(0, 10) == math.inf
    assert found.emptied_s(0, 50) == 20
    assert found.emptied_s(0, 90) == 20
    assert found.emptied_s(0, 101) == 20
    found.draw(0, 101, 0.0)
    assert found.emptied_s(0, 102) == math.inf


def test_a_charger_that_is_plugged_in_all_the_time_anew_is_not_looked_at_for_a_day() -> None:
    """Of a transfer whose end is not known, which takes 8 s."""
    plugged, instants = Windows(*((t, t + 0.5) for t in range(2000))), set[float]()
    looked_up = plugged.next_change_s

    def watched(device: int, now_s: float) -> float:
        instants.add(now_s)
        return looked_up(device, now_s)

    plugged.next_change_s = watched  # type: ignore[method-assign]
    batteries = Batteries(np.array([100.0]), np.ones(1), 0.2, 10.0, 0.0, plugged)
    fleet = make_fleet(1, batteries=batteries)
    shared = {"name": "shared", "server_uplink": "1 kbit/s"}
    log = simulate_clock(fleet, size=1000, network=shared)
    assert log.first("downloaded") == 8.0
    assert max(instants) < 100.0


class Counted(Alternating):
    """A charger that comes and goes, which counts how often it is asked."""

    asked = 0

    def spells(self, devices: Ids, now_s: Instants) -> tuple[Flags, Floats]:
        self.asked += 1
        return super().spells(devices, now_s)


@pytest.mark.parametrize("watched", [False, True])
def test_devices_asked_about_at_once_are_as_each_alone(watched: bool) -> None:
    """A charger was asked anew for each change of each device: rounds late in a run were slow."""
    n, of_all = 30, np.arange(30)
    fleets = []
    for groups in ([of_all], [np.array([device]) for device in reversed(range(n))]):
        charger = Counted(n, 7200.0, 28_800.0, Seeds(1), ("plugged",))
        found = Batteries(np.linspace(100, 40e3, n), np.ones(n), 0.2, 5.0, 1.0, charger)
        if watched:
            found.watch()
        for now_s in (100.0, 2e5):
            for devices in groups:
                found.level_j(devices, now_s)
        fleets.append((found, charger.asked))
    (together, asked), (apart, one_by_one) = fleets
    assert asked < one_by_one / 10
    assert together.level_j(of_all, 2e5).tolist() == apart.level_j(of_all, 2e5).tolist()
    emptied_s = [[each.emptied_s(device, 2e5) for device in range(n)] for each in (together, apart)]
    assert emptied_s[0] == emptied_s[1]
    turns = [sorted(each.turns(of_all, 2e5)) for each in (together, apart)]
    assert turns[0] == turns[1]
    assert bool(turns[0]) == watched
