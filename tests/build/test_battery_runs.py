"""Runs on batteries: work ends when one is empty, and goes on when it is charged."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl import run
from simfl.core.seeds import Seeds
from simfl.errors import ScenarioError
from simfl.runs.options import Options
from simfl.runs.results.result import RunResult
from simfl.scenario import Document, Scenario
from tests.run_folders import events

ALTERNATING = {"name": "on_off", "on": "1 s", "off": "1000 s"}
GROUP: dict[str, Any] = {
    "count": 1,
    "compute": "1 samples/s",
    "downlink": "8 kbit/s",
    "uplink": "8 kbit/s",
    "power": {"idle": "0 W", "download": "1 W", "compute": "2 W", "upload": "3 W"},
}


def scenario(battery: Any, rounds: int = 1, **group: Any) -> Scenario:
    return Scenario.from_dict(
        {
            "data": {"dataset": {"name": "synthetic", "clients": 1}},
            "model": "logistic_regression",
            "fleet": {**GROUP, "battery": battery, **group},
            "rounds": {"clients": 1, "stop": {"rounds": rounds, "time": "30 d"}},
        }
    )


def simulate(folder: Path, *args: Any, **options: Any) -> RunResult:
    return run(scenario(*args, **options), folder, Options(time_only=True))[0]


def test_work_ends_when_the_battery_is_empty(tmp_path: Path) -> None:
    whole = simulate(tmp_path / "whole", None).clients.iloc[0]
    download_s = whole.download_end_s
    compute_s = whole.compute_end_s - download_s
    capacity_j = download_s * 1 + compute_s  # half of what computing takes
    result = simulate(tmp_path / "half", f"{capacity_j} J")
    part = result.clients.iloc[0]
    (left,) = events(result.folder, "offline")
    assert part.outcome == "offline"
    assert left["t"] == pytest.approx(download_s + compute_s / 2, rel=1e-12)
    assert part.energy_j == pytest.approx(capacity_j, rel=1e-12)
    assert result.summary["virtual_time_s"] == left["t"]


def test_energy_is_the_integral_of_power(tmp_path: Path) -> None:
    part = simulate(tmp_path, "1 kWh").clients.iloc[0]
    ends = [part.selected_s, part.download_end_s, part.compute_end_s, part.upload_end_s]
    assert part.outcome == "arrived"
    assert part.energy_j == pytest.approx(np.diff(ends) @ [1, 2, 3], rel=1e-12)


def test_a_full_battery_changes_nothing(tmp_path: Path) -> None:
    plain = simulate(tmp_path / "plain", None, 20)
    ample = simulate(tmp_path / "ample", "1 kWh", 20)
    assert plain.summary["events_sha256"] == ample.summary["events_sha256"]


def test_who_pauses_goes_on_when_charged(tmp_path: Path) -> None:
    whole = simulate(tmp_path / "whole", None).clients.iloc[0]
    needs_j = whole.energy_j
    plugged = {"name": "on_off", "on": "1 h", "off": "3 h"}
    battery = {"capacity": f"{needs_j / 4} J", "charge": "5 W", "plugged": plugged}
    result = simulate(tmp_path / "pause", battery, 5, on_offline="pause")
    assert set(result.clients.outcome) == {"arrived"}
    assert result.clients.energy_j.tolist() == pytest.approx([needs_j] * 5, rel=1e-9)
    left, back = events(result.folder, "offline"), events(result.folder, "online")
    assert len(left) == len(back) > 0
    assert all(b["t"] > a["t"] for a, b in zip(left, back, strict=True))


def test_an_empty_fleet_waits_for_its_charger(tmp_path: Path) -> None:
    plugged = {"name": "on_off", "on": "1 h", "off": "3 h"}
    battery = {"capacity": "1 MJ", "start": "10%", "charge": "100 W", "plugged": plugged}
    result = simulate(tmp_path, battery, 1)
    first = result.clients.iloc[0]
    assert first.outcome == "arrived"
    assert first.selected_s >= 0.1 * 1e6 / 100


def test_shared_links_notice_an_empty_battery_too(tmp_path: Path) -> None:
    data = scenario("50 J").to_dict() | {"network": {"server_uplink": "80 bit/s"}}
    result = run(Scenario.from_dict(data), tmp_path, Options(time_only=True))[0]
    (left,) = events(result.folder, "offline")
    assert left["t"] == 50


def test_who_waits_with_an_empty_battery_draws_nothing(tmp_path: Path) -> None:
    """2.5 J last for a second of computing and 1.5 s of waiting."""
    watts = dict.fromkeys(("idle", "download", "compute", "upload"), "1 W")
    quick = {"name": "quick", "count": 1, "compute": "100 samples/s", "power": watts}
    store = {"capacity": "10 J", "start": "25%", "minimum": "20%"}
    one = {
        "data": {"dataset": {"name": "synthetic_images", "samples": 200, "size": 6}},
        "fleet": [
            {**quick, "battery": store},
            {"name": "slow", "count": 1, "compute": "1 samples/s"},
        ],
        "rounds": {"clients": 2, "stop": {"rounds": 3}},
    }
    [result] = run(Scenario.from_dict({**one, "model": "mlp"}), tmp_path, Options(time_only=True))
    assert result.clients.energy_j.tolist() == pytest.approx([2.5, 0, 0, 0])
    assert result.rounds.idle_energy_j[1:].tolist() == [0, 0]


def test_who_is_charged_again_has_not_waited_all_the_time(tmp_path: Path) -> None:
    """Empty after 2.5 s, and plugged in half a second later, long before the round ends."""
    watts = dict.fromkeys(("idle", "download", "compute", "upload"), "1 W")
    (tmp_path / "p.csv").write_text("device,start_s,end_s\na,3,1000\n")
    plugged = {"name": "trace", "file": "p.csv", "shift": False}
    store = {"capacity": "10 J", "start": "25%", "minimum": "20%", "plugged": plugged}
    quick = {"name": "quick", "count": 1, "compute": "100 samples/s", "power": watts}
    one = {
        "data": {"dataset": {"name": "synthetic_images", "samples": 200, "size": 6}},
        "model": "mlp",
        "fleet": [
            {**quick, "battery": store},
            {"name": "slow", "count": 1, "compute": "1 samples/s"},
        ],
        "rounds": {"clients": 2, "stop": {"rounds": 1}},
    }
    file = tmp_path / "s.yaml"
    file.write_text(json.dumps(one))
    [result] = run(Scenario.load(file), tmp_path / "o", Options(time_only=True))
    assert result.clients.energy_j.tolist() == pytest.approx([2.5, 0])


def test_who_pauses_with_an_empty_battery_takes_nothing_from_the_others(tmp_path: Path) -> None:
    """Three that sit by draw 1 W each; the fourth works, on mains, until the end."""
    pausing = {"name": "pausing", "count": 1, "compute": "1 samples/s", "on_offline": "pause"}
    store = {"capacity": "20 J", "charge": "5 W", "plugged": ALTERNATING}
    watts = dict.fromkeys(("idle", "download", "compute", "upload"), "1 W")
    others = {"name": "others", "count": 3, "compute": "1 samples/s", "power": watts}
    fleet = [{**pausing, "power": watts, "battery": store}, others]
    data = {"dataset": {"name": "synthetic_images", "samples": 400, "size": 6}}
    rounds = {"clients": 4, "policy": "fedasync", "stop": {"time": "95 s"}}
    made = Scenario.from_dict({"data": data, "model": "mlp", "fleet": fleet, "rounds": rounds})
    [result] = run(made, tmp_path, Options(time_only=True))
    assert events(result.folder, "offline")
    # Everybody is at work all the time, or away: nobody else idles.
    assert result.summary["totals"]["idle_energy_j"] == pytest.approx(0, abs=1e-6)


def test_who_was_busy_while_it_was_away_is_looked_up_anew(tmp_path: Path) -> None:
    """Its phases drew less than idling, so it is back sooner than was foreseen while it worked."""
    (tmp_path / "a.csv").write_text("device,start_s,end_s\na,0,9.875\n")
    gone = {"name": "trace", "file": "a.csv", "period": "10000 s", "shift": False}
    store = {"capacity": "100 J", "start": "52%", "minimum": "50%", "charge": "2.1 W"}
    fleet = [
        {"name": "A", "count": 1, "compute": "1 samples/s", "availability": gone},
        {"name": "C", "count": 1, "compute": "0.05 samples/s"},
        {
            "name": "B",
            "count": 1,
            "compute": "10 samples/s",
            "uplink": "2438.4 bit/s",
            "power": {"idle": "2 W", "compute": "6 W", "download": "0 W", "upload": "0 W"},
            "battery": {**store, "plugged": "always"},
        },
    ]
    rounds = {"clients": 3, "policy": "fedasync", "stop": {"rounds": 2, "time": "1000 s"}}
    data = {"dataset": {"name": "synthetic_images", "samples": 300, "size": 6}}
    model = {"name": "mlp", "hidden": [16]}
    file = tmp_path / "s.yaml"
    file.write_text(json.dumps({"data": data, "model": model, "fleet": fleet, "rounds": rounds}))
    [result] = run(Scenario.load(file), tmp_path, Options(time_only=True))
    mine = result.clients[result.clients.group == "B"]
    assert mine.selected_s.tolist()[:2] == pytest.approx([0, 180])


def test_capacities_and_starts_are_drawn(tmp_path: Path) -> None:
    battery = {
        "capacity": {"distribution": "uniform", "min": "10 Wh", "max": "20 Wh"},
        "start": {"min": "30%", "max": "90%"},
    }
    found = scenario(battery)
    again = Scenario.from_dict(Document.parse(found.to_yaml()).data)
    assert again == found


@pytest.mark.parametrize(
    ("battery", "message"),
    [
        ("15", "expected an energy"),
        ("0 Wh", "must be above zero"),
        ({"capacity": "15 Wh", "minimum": 0}, "minimum: must be above 0"),
        (
            {"capacity": "15 Wh", "start": {"min": "90%", "max": "30%"}},
            "start: `min` must be below",
        ),
        (
            {"capacity": "15 Wh", "start": {"distribution": "uniform", "min": "2%", "max": "9%"}},
            r"start: a charge at the start has no distribution; .* \{min: 25%, max: 100%\}$",
        ),
        ({"capacity": "15 Wh", "charge": "5 J"}, "expected a power"),
        ({"capacity": "15 Wh", "plugged": "nights"}, "unknown availability 'nights'"),
        ({"charge": "5 W"}, "missing key 'capacity'"),
    ],
)
def test_mistakes_are_told(battery: Any, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        scenario(battery)


PLUGGED = {"name": "on_off", "on": "300 s", "off": "900 s"}


def test_only_while_plugged_in_no_work_is_done_unplugged(tmp_path: Path) -> None:
    """It is offline while unplugged, and while its group's availability says so."""
    battery = {"capacity": "1 kWh", "plugged": PLUGGED, "only_plugged": True}
    online = {"name": "on_off", "on": "400 s", "off": "400 s"}
    given = scenario(battery, 12, availability=online, count=1)
    result = run(given, tmp_path / "both", Options(time_only=True))[0]
    [group] = given.fleet
    schedules = [
        part.schedule(1, name, Seeds(given.seed), tmp_path) for name, part in group.presence.parts
    ]
    assert len(schedules) == 2
    only = np.array([0])
    work = result.clients
    assert len(work) >= 12
    assert (work.outcome == "offline").any()
    for began_s in work.selected_s:
        assert all(own.online(only, began_s)[0] for own in schedules)
    for left in events(result.folder, "offline"):
        assert not all(own.online(only, left["t"])[0] for own in schedules)
    free = simulate(tmp_path / "free", {**battery, "only_plugged": False}, 12, availability=online)
    assert any(not schedules[1].online(only, began_s)[0] for began_s in free.clients.selected_s)


def test_devices_that_stay_for_less_than_work_takes_are_refused(tmp_path: Path) -> None:
    """Both limits count: that of the charger as that of availability."""
    short = {"name": "diurnal", "low": "0%", "length": "1 s"}
    battery = {"capacity": "1 kWh", "plugged": short, "only_plugged": True}
    given = Scenario.from_dict(
        {
            "data": {"dataset": {"name": "synthetic", "clients": 1}},
            "model": "logistic_regression",
            "fleet": {**GROUP, "battery": battery},
            "rounds": {"clients": 1, "policy": "fedbuff", "stop": {"rounds": 1}},
        }
    )
    with pytest.raises(ScenarioError, match="no device is online for longer than 1 s"):
        run(given, tmp_path, Options(time_only=True))


@pytest.mark.parametrize(
    ("battery", "told"),
    [
        ({"only_plugged": True}, "only_plugged needs `plugged`: when chargers are plugged in"),
        (
            {"only_plugged": True, "plugged": {"name": "diurnal", "low": "0%", "high": "0%"}},
            "no device is ever online",
        ),
    ],
)
def test_who_is_never_plugged_in_never_takes_part(battery: dict[str, Any], told: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(told)):
        scenario({"capacity": "15 Wh", **battery})
