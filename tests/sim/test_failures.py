"""Trainings that break off: how many, when, and what they cost."""

from dataclasses import replace

import pytest

from simfl.core.seeds import Seeds
from simfl.sim.fleet import Power
from simfl.sim.occasions import Failures, VaryingGroup
from simfl.sim.server.settings import Stop
from tests.sim.sim_world import make, make_fleet

GROUPS = [VaryingGroup("sound", 0, 0.0), VaryingGroup("phones", 2, 0.3)]


def test_the_share_that_fails_does_so_at_any_moment_alike() -> None:
    failures = Failures(GROUPS, Seeds(0), "failures")
    assert all(failures.breaks_off(0) is None for _ in range(50))
    drawn = [failures.breaks_off(5) for _ in range(4000)]
    failed = [share for share in drawn if share is not None]
    assert len(failed) / len(drawn) == pytest.approx(0.3, abs=4 * (0.3 * 0.7 / 4000) ** 0.5)
    assert 0 < min(failed) < 0.01
    assert 0.99 < max(failed) < 1
    assert sum(failed) / len(failed) == pytest.approx(0.5, abs=4 * (1 / 12 / len(failed)) ** 0.5)


def test_what_fails_costs_its_part_and_the_device_is_asked_again() -> None:
    """One device: a second down, ten of training, a second up; each watt-second counts."""
    drawn = Failures([VaryingGroup("g", 0, 0.5)], Seeds(0), "failures")
    shares = [drawn.breaks_off(0) for _ in range(12)]
    assert None in shares
    assert any(shares)
    fleet = make_fleet(1, 1, 8000, 8000, power=Power(download=1, compute=1, upload=1))
    fleet = replace(fleet, failures=Failures([VaryingGroup("g", 0, 0.5)], Seeds(0), "failures"))
    world = make(fleet, clients=1, stop=Stop(rounds=12))
    for row, share in zip(world.clients, shares, strict=True):
        lasts_s = 12.0 if share is None else 1 + 10 * share
        assert row.outcome == ("arrived" if share is None else "offline")
        assert world.rounds[row.round - 1].end_s - row.selected_s == pytest.approx(lasts_s)
        assert row.energy_j == pytest.approx(lasts_s)
        assert row.upload_bytes == (1000 if share is None else 0)
    assert len(world.coordinator.computed) == shares.count(None)
    assert [kind for _, kind, _ in world.events].count("failed") == 12 - shares.count(None)
