"""The catalogue of device classes: usable, overridable, and anchored in what FLASH measured."""

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl.cli import main
from simfl.core.units import FLOP_RATE, parse_quantity
from simfl.errors import ScenarioError
from simfl.scenario import Document, Scenario
from simfl.scenario.parts.catalogue import catalogue, device_class
from simfl.scenario.parts.fleet import Group


def load(**group: Any) -> Scenario:
    return Scenario.from_dict(
        {
            "data": {"dataset": "synthetic"},
            "model": "logistic_regression",
            "fleet": {"count": 3, **group},
        }
    )


def number(group: Group, name: str) -> float:
    return float(getattr(group, name).values(np.array([0.5]), np.array([1]))[0])


@pytest.mark.parametrize("name", list(catalogue()))
def test_every_class_is_a_usable_group_with_sources(name: str) -> None:
    (group,) = load(device=name).fleet
    assert number(group, "compute") == parse_quantity(device_class(name).compute, FLOP_RATE)
    assert group.power is not None
    assert 0 < group.power.idle < group.power.download < group.power.compute
    assert group.battery is None
    assert set(device_class(name).source) >= {"compute", "memory", "power", "links"}


def test_a_groups_own_numbers_win_phase_by_phase() -> None:
    (group,) = load(device="raspberry-pi-4", uplink="1 Mbit/s", power={"idle": "1 W"}).fleet
    assert number(group, "uplink") == 1e6
    assert number(group, "downlink") == 56.4e6
    assert group.power is not None
    assert (group.power.idle, group.power.compute) == (1.0, 6.4)


def test_a_number_can_be_taken_away() -> None:
    (group,) = load(device="laptop", power=None, memory=None).fleet
    assert (group.power, group.memory) == (None, None)


def test_an_unknown_class_is_told() -> None:
    with pytest.raises(ScenarioError, match="unknown device class 'rasberry-pi-4'; did you mean"):
        load(device="rasberry-pi-4")


def test_written_out_and_read_again_it_is_the_same() -> None:
    scenario = load(device="phone-mid", latency="1 s")
    again = Scenario.from_dict(Document.parse(scenario.to_yaml()).data)
    assert again == scenario


def forward_flops() -> dict[str, float]:
    """LEAF's models layer by layer: two FLOPs a multiplication and addition."""
    femnist = 28**2 * 32 * 25 + 14**2 * 64 * 25 * 32 + 3136 * 2048 + 2048 * 62
    celeba = 84**2 * 32 * 27 + (42**2 + 21**2 + 10**2) * 32 * 9 * 32 + 5 * 5 * 32 * 2
    lstm = 80 * 4 * 256 * ((8 + 256) + (256 + 256)) + 256 * 80
    return {"femnist_cnn": 2.0 * femnist, "celeba_cnn": 2.0 * celeba, "shakespeare": 2.0 * lstm}


@pytest.mark.skipif("SIMFL_SHARED_DATA" not in os.environ, reason="needs SIMFL_SHARED_DATA")
@pytest.mark.parametrize("kind", ["low", "mid", "high"])
def test_phones_are_as_fast_as_flash_measured(kind: str) -> None:
    file = Path(os.environ["SIMFL_SHARED_DATA"]) / "traces" / "flash_train_time.csv"
    with file.open() as text:
        times = {
            row["workload"].removesuffix("_lstm_bs100"): float(row["mean_ms_per_batch"]) / 1000
            for row in csv.DictReader(text)
            if row["device_class"] == kind
        }
    batch = {"femnist_cnn": 10, "celeba_cnn": 10, "shakespeare": 100}
    rates = [3 * flops * batch[name] / times[name] for name, flops in forward_flops().items()]
    expected = float(np.exp(np.mean(np.log(rates))))
    stated = parse_quantity(device_class(f"phone-{kind}").compute, FLOP_RATE)
    assert stated == pytest.approx(expected, rel=0.03)


def test_list_and_describe(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "devices"]) == 0
    assert "raspberry-pi-4    Raspberry Pi 4 Model B" in capsys.readouterr().out
    assert main(["describe", "device", "phone-mid"]) == 0
    text = capsys.readouterr().out
    assert "compute (default 1.8 GFLOP/s)" in text
    assert "FLASH, measured on a Redmi Note 8" in text
    assert main(["describe", "devices", "phone-middle"]) == 2
    assert "did you mean 'phone-mid'" in capsys.readouterr().err


def test_without_a_trace_a_count_is_needed() -> None:
    with pytest.raises(ScenarioError, match="missing key 'count'"):
        Scenario.from_dict(
            {
                "data": {"dataset": "synthetic", "partition": "iid"},
                "model": "logistic_regression",
                "fleet": {"device": "laptop"},
            }
        )
