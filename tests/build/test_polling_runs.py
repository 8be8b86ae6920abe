"""Behind polling: what waiting costs, and who may leave while the server has not looked yet."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from simfl import Options, Scenario, run
from tests.run_folders import broken

SPEC: dict[str, Any] = {
    "data": {"dataset": {"name": "synthetic_images", "samples": 20, "size": 6}},
    "model": {"name": "mlp", "hidden": [16]},  # 3048 B
    "fleet": {
        "count": 1,
        "compute": "10 samples/s",
        "downlink": "24384 bit/s",
        "uplink": "243840 bit/s",
        "power": {"idle": "1 W", "download": "10 W", "compute": "2 W", "upload": "20 W"},
    },
    "network": {"polling": "30 s"},
    "training": {"batch_size": 10},
    "rounds": {"clients": 1, "stop": {"rounds": 2}},
}


def simulated(folder: Path, changes: Sequence[str] = (), **fleet: Any) -> Any:
    file = folder / "s.yaml"
    file.write_text(json.dumps({**SPEC, "fleet": {**SPEC["fleet"], **fleet}}))
    [result] = run(Scenario.load(file, changes), folder / "runs", Options(time_only=True))
    assert broken(result.folder) == []
    return result


def test_waiting_to_be_asked_or_looked_for_is_idling(tmp_path: Path) -> None:
    """Down 1 s, 2 s of computing, up 0.1 s; the rest of 30 s, and of the 30 s after them, idles."""
    result = simulated(tmp_path)
    assert result.clients.upload_end_s.tolist() == pytest.approx([30, 60])
    at_work_j = 1 * 10 + 2 * 2 + 0.1 * 20
    assert result.clients.energy_j.tolist() == pytest.approx([at_work_j + 26.9] * 2)


def test_an_update_that_is_asked_for_again_on_the_very_deadline_counts(tmp_path: Path) -> None:
    """It is on its way from 29 s to 32 s: the look at 30 s asks again after 1 s and after 3 s."""
    policy = "rounds.policy={name: synchronous, deadline: 33 s}"
    rates = {"downlink": "24384 bit/s", "compute": "0.7142857142857143 samples/s"}
    result = simulated(tmp_path, [policy], uplink="8128 bit/s", **rates)
    first = result.clients.iloc[0]
    assert (first.outcome, first.upload_end_s) == ("arrived", 33)


def test_an_update_that_comes_at_the_very_look_is_found_whole(tmp_path: Path) -> None:
    """From 3 s on half of it takes 8 s; then the link is half as fast: it has come at 27 s."""
    (tmp_path / "rates.csv").write_text("time_s,factor\n0,1\n11,0.5\n")
    links = "network={polling: 27 s, server_downlink: 1524 bit/s, rates: {file: rates.csv}}"
    result = simulated(tmp_path, [links], uplink="unlimited")
    assert result.clients.upload_end_s[0] == 27


@pytest.mark.parametrize("on_offline", ["abort", "pause", "salvage"])
def test_an_update_that_has_left_its_device_counts_though_the_device_leaves(
    tmp_path: Path, on_offline: str
) -> None:
    (tmp_path / "t.csv").write_text("device,start_s,end_s\na,0,10\na,200,10000\n")
    trace = {"name": "trace", "file": "t.csv", "period": "100000 s", "shift": False}
    result = simulated(tmp_path, availability=trace, on_offline=on_offline)
    first = result.clients.iloc[0]
    assert (first.outcome, first.upload_end_s, first.upload_bytes) == ("arrived", 30, 3048)
    assert first.energy_j == pytest.approx(1 * 10 + 2 * 2 + 0.1 * 20 + 6.9)  # until it leaves


def test_a_battery_that_is_empty_before_the_look_does_not_take_the_update_with_it(
    tmp_path: Path,
) -> None:
    store = {"capacity": "100 J", "start": "20 %", "minimum": "10 %"}  # 4 J are left
    result = simulated(tmp_path, battery={**store, "charge": "10 W"})
    first = result.clients.iloc[0]
    assert (first.outcome, first.upload_end_s) == ("arrived", 30)
    assert first.energy_j == pytest.approx(20)
