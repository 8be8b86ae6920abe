"""Rates that vary from transfer to transfer."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from simfl.build.fleet import draw_fleet
from simfl.core.seeds import Seeds
from simfl.scenario import Scenario
from simfl.sim.fleet import Fleet
from simfl.sim.networks.base import networks
from simfl.sim.occasions import Jitter, VaryingGroup
from simfl.sim.timeline import Timeline
from simfl.testing.virtual_time.handmade import make_fleet, simulate
from tests.tiny import TINY

GROUPS = [VaryingGroup("calm", 0, 0.0), VaryingGroup("phones", 3, 0.4)]


def test_the_factor_is_log_normal_with_median_one() -> None:
    jitter = Jitter(GROUPS, Seeds(0), "link")
    drawn = [jitter.factor(device, "up") for device in range(3, 43) for _ in range(50)]
    assert stats.kstest(np.log(drawn), stats.norm(0, 0.4).cdf).pvalue > 1e-3


def test_who_does_not_vary_has_the_nominal_rate_exactly() -> None:
    jitter = Jitter(GROUPS, Seeds(0), "link")
    assert not jitter.varies(2)
    assert jitter.varies(3)
    assert jitter.factor(2, "down") == 1.0


def test_a_draw_depends_on_group_place_direction_and_number_only() -> None:
    alone = Jitter([VaryingGroup("phones", 0, 0.4)], Seeds(0), "link")
    ups = [alone.factor(7, "up") for _ in range(3)]
    crowd = Jitter(GROUPS, Seeds(0), "link")
    mixed = []
    for _ in range(3):
        crowd.factor(5, "up"), crowd.factor(10, "down")
        mixed.append(crowd.factor(10, "up"))
    assert mixed == ups
    assert len({*ups, *(alone.factor(7, "down") for _ in range(3))}) == 6
    assert Jitter(GROUPS, Seeds(1), "link").factor(10, "up") != ups[0]


@pytest.mark.parametrize("options", [{}, {"server_uplink": "1 GB/s"}])
def test_transfers_take_latency_plus_bytes_over_the_rate_drawn(options: dict[str, str]) -> None:
    timeline = Timeline()
    rates, latency = np.full(5, 8000.0), np.full(5, 0.5)
    links = networks.parse({"name": "shared", **options}).bind(
        timeline, rates, rates, latency, variation=Jitter(GROUPS, Seeds(3), "link")
    )
    assert links.expected_s(4, "down", 1000) == 1.5  # planning knows nominal rates only
    assert links.duration_s(4, "down", 1000) is None
    assert links.duration_s(2, "up", 1000) == 1.5
    took = []
    for _ in range(3):
        began = timeline.now
        timeline.run(until=links.transfer(4, "down", 1000))
        took.append(timeline.now - began)
    again = Jitter(GROUPS, Seeds(3), "link")
    assert took == pytest.approx([0.5 + 1 / again.factor(4, "down") for _ in range(3)], rel=1e-12)
    assert len(set(took)) == 3


def _varying(n: int, **options: object) -> Fleet:
    jitter = Jitter([VaryingGroup("devices", 0, 0.4)], Seeds(3), "compute")
    return replace(make_fleet(n, seconds=10.0, **options), compute_jitter=jitter)  # type: ignore[arg-type]


def test_trainings_take_the_nominal_time_over_the_factor_drawn() -> None:
    log = simulate(_varying(3), rounds=5)
    took = [row.compute_end_s - row.selected_s for row in log.clients if row.compute_end_s]
    again = Jitter([VaryingGroup("devices", 0, 0.4)], Seeds(3), "compute")
    drawn = [10 / again.factor(row.client, "training") for row in log.clients]
    assert took == pytest.approx(drawn, rel=1e-12)
    assert len(set(took)) == 15


def test_a_training_that_is_paused_goes_on_as_fast_as_it_began() -> None:
    availability = {"name": "on_off", "on": "2 s", "off": "5 s"}
    fleet = _varying(1, availability=availability, on_offline="pause")
    (row,) = simulate(fleet).clients
    factor = Jitter([VaryingGroup("devices", 0, 0.4)], Seeds(3), "compute").factor(0, "training")
    now_s, online_s, ends_s = row.selected_s, 0.0, row.compute_end_s
    assert ends_s is not None
    while now_s < ends_s:
        leaves_s = min(fleet.leaves_s(0, now_s), ends_s)
        online_s += leaves_s - now_s
        now_s = fleet.returns_s(0, leaves_s)
    assert ends_s - row.selected_s > online_s + 1  # it was away
    assert online_s == pytest.approx(10 / factor, rel=1e-9)


def test_a_deadline_is_that_of_nominal_rates() -> None:
    log = simulate(_varying(9), {"name": "synchronous", "deadline": {"stragglers": "0%"}})
    assert log.rounds[0].deadline_s == 10
    assert {row.outcome for row in log.clients} == {"arrived", "late"}


def test_an_abort_counts_what_moved_at_the_rate_drawn() -> None:
    timeline, rates = Timeline(), np.full(5, 8000.0)
    jitter = Jitter(GROUPS, Seeds(3), "link")
    links = networks.parse("shared").bind(timeline, rates, rates, np.zeros(5), variation=jitter)
    transfer = links.transfer(4, "down", 10_000)
    timeline.run(until=2.0)
    factor = Jitter(GROUPS, Seeds(3), "link").factor(4, "down")
    assert transfer.abort() == math.floor(2000 * factor)


def test_a_group_with_a_law_of_its_own_draws_each_rate_anew() -> None:
    groups = [*GROUPS, VaryingGroup("anew", 5, 1.0, law=lambda uniform: 2 * uniform)]
    jitter = Jitter(groups, Seeds(0), "compute")
    rates = [jitter.rate(6, "training", nominal) for nominal in (1.0, 7.0)]
    again = Jitter(groups, Seeds(0), "compute")
    assert rates == [2 * again.uniform(6, "training") for _ in rates]
    assert jitter.rate(4, "training", 7.0) == 7.0 * again.factor(4, "training")
    assert jitter.rate(2, "training", 7.0) == 7.0


@pytest.mark.parametrize("unit", ["ms/sample", "samples/s"])
def test_the_delays_of_fedbuffs_experiments_are_half_normal(unit: str) -> None:
    """Drawn anew for each training (Nguyen et al., 2022); no scenario could say so."""
    half = {"distribution": "normal", "mean": f"0 {unit}", "std": f"20 {unit}"}
    drawn = {"count": 4, "compute_jitter": {"anew": {**half, "min": f"0.00001 {unit}"}}}
    scenario = Scenario.from_dict(TINY | {"fleet": drawn, "rounds": {"stop": {"rounds": 1}}})
    assert Scenario.from_dict(scenario.to_dict()) == scenario
    fleet = draw_fleet(scenario, Seeds(1), np.full(4, 30), np.zeros(4, dtype=np.int64), None)
    rates = np.array([fleet.draw_rate(device) for device in range(4) for _ in range(100)])
    values = 1000 / rates if unit == "ms/sample" else rates
    assert stats.kstest(values / 20, stats.halfnorm.cdf).pvalue > 1e-3
