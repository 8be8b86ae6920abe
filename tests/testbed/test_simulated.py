"""How far a simulation moves when its devices are a little faster or slower."""

import pytest

from simfl import Scenario
from tests.tiny import TINY

pytest.importorskip("grpc", reason="the testbed needs grpcio: pip install simfl[testbed]")

from testbed.simulated import DRAWS, SHAKEN, shaken, simulate
from testbed.wire import GRPC, NOTHING, Overhead


@pytest.mark.parametrize("overhead", [NOTHING, GRPC])
def test_a_device_that_only_computes_moves_as_much_as_it_is_shaken(overhead: Overhead) -> None:
    device = {"count": 1, "compute": "100 samples/s"}
    rounds = {"clients": 1, "stop": {"rounds": 3}}
    scenario = Scenario.from_dict({**TINY, "fleet": [device], "rounds": rounds})
    moved = shaken(scenario, None, overhead, simulate(scenario, None, False, overhead))
    # The mean of a normal deviate's size is .8 of its standard deviation; of few draws, about that.
    assert 0.8 * SHAKEN / DRAWS < moved["mean_round"] < 3 * SHAKEN
    assert moved["orders"] == 1


def test_who_comes_first_hangs_on_it_where_two_are_nearly_alike() -> None:
    names = {"a": 100.0, "b": 100.1}
    fleet = [
        {"name": name, "count": 1, "compute": f"{rate} samples/s"} for name, rate in names.items()
    ]
    data = {**TINY["data"], "dataset": {**TINY["data"]["dataset"], "samples": 4000}}
    rounds = {"clients": 2, "stop": {"rounds": 3}}
    scenario = Scenario.from_dict({**TINY, "data": data, "fleet": fleet, "rounds": rounds})
    moved = shaken(scenario, None, NOTHING, simulate(scenario, None, False))
    assert 0 < moved["orders"] < 1


def test_devices_of_one_group_that_are_served_in_turn_move_each_by_itself() -> None:
    fleet = {"count": 4, "compute": "100 samples/s"}
    network = {"server_downlink": "10 kbit/s", "queue": "fifo", "initial_window": "14480 B"}
    data = {**TINY["data"], "dataset": {**TINY["data"]["dataset"], "samples": 4000}}
    rounds = {"clients": 4, "stop": {"rounds": 3}}
    changes = {"data": data, "fleet": fleet, "network": network, "rounds": rounds}
    scenario = Scenario.from_dict({**TINY, **changes})
    assert shaken(scenario, None, NOTHING, simulate(scenario, None, False))["orders"] < 1


def test_where_devices_ask_for_work_it_hangs_on_when_they_begin_to() -> None:
    # It trains for two seconds: who asks at once is done when the server looks, most others not.
    device = {"count": 1, "compute": "240 samples/s"}
    changes = {"fleet": device, "network": {"polling": "3 s"}}
    rounds = {"clients": 1, "stop": {"rounds": 1}}
    scenario = Scenario.from_dict({**TINY, **changes, "rounds": rounds})
    simulated = simulate(scenario, None, False)
    assert simulated.rounds.end_s.max() == pytest.approx(3)
    assert shaken(scenario, None, NOTHING, simulated)["mean_round"] > 0.2


def test_the_model_that_a_run_begins_with_is_no_round() -> None:
    scenario = Scenario.from_dict(TINY, overrides=["evaluation.initial=true"])
    simulated = simulate(scenario, None, True)
    assert simulated.rounds["round"].tolist() == [1, 2, 3, 4]
    assert len(simulated.accuracy) == 4
