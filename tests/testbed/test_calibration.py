"""A scenario whose devices are as the first rounds show them."""

from dataclasses import replace

import pytest

from simfl import Options, Scenario
from simfl.build.builder import Builder
from simfl.scenario.distributions.base import Constant
from testbed.calibration import calibrate
from testbed.simulated import simulate
from tests.tiny import TINY


def test_each_of_many_devices_is_calibrated_by_itself() -> None:
    rates = [20.0 + number for number in range(9)]
    links = {"count": 1, "downlink": "1 Mbit/s", "uplink": "1 Mbit/s"}
    fleet = [{"name": f"d{rate:g}", "compute": f"{rate} samples/s"} | links for rate in rates]
    rounds = {"clients": len(fleet), "stop": {"rounds": 2}}
    scenario = Scenario.from_dict({**TINY, "fleet": fleet, "rounds": rounds})
    builder = Builder(scenario, None, True, Options().make_executor())
    simulated = simulate(scenario, None, False)
    measured = simulated.rounds.assign(closed_s=simulated.rounds.end_s)
    found = calibrate(scenario, builder, replace(simulated, rounds=measured))
    assert found is not None
    drawn = [group.compute for group in found.fleet]
    values = [draw.value for draw in drawn if isinstance(draw, Constant)]
    assert values == pytest.approx(rates, rel=1e-3)
