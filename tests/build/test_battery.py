"""Batteries: empty at the analytic instant, charged by schedule, energy the integral of power."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl import run
from simfl.errors import ScenarioError
from simfl.runs.options import Options
from simfl.runs.results.result import RunResult
from simfl.scenario import Document, Scenario
from simfl.sim.battery import Batteries
from simfl.testing.virtual_time.handmade import make_fleet
from simfl.testing.virtual_time.handmade import simulate as simulate_clock
from tests.run_folders import events

ONE = np.array([0])


class Windows:
    """Plugged in, or online, during given windows."""

    def __init__(self, *windows: tuple[float, float]) -> None:
        self.windows = windows

    def online(self, devices: Any, now_s: float) -> Any:
        return np.full(len(devices), any(a <= now_s < b for a, b in self.windows))

    def next_change_s(self, device: int, now_s: float) -> float:
        return min((t for window in self.windows for t in window if t > now_s), default=math.inf)

    def next_online_s(self, now_s: float) -> float:
        if self.online(ONE, now_s)[0]:
            return now_s
        return min((a for a, _ in self.windows if a > now_s), default=math.inf)


ALWAYS = Windows((0, math.inf))


def battery(
    *windows: tuple[float, float], level: float = 1.0, idle: float = 0.0, charge: float = 10.0
) -> Batteries:
    """A battery of 100 J with a reserve of 20%."""
    plugged = Windows(*windows) if windows else None
    return Batteries(np.array([100.0]), np.array([level]), 0.2, charge, idle, plugged)


def level(of: Batteries, now_s: float) -> float:
    return float(of.level_j(ONE, now_s)[0])


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


class EveryDay(Windows):
    """Plugged in, or online, for the first hour of every day."""

    def __init__(self) -> None:
        super().__init__((0, 3600))

    def online(self, devices: Any, now_s: float) -> Any:
        return super().online(devices, now_s % 86_400)

    def next_change_s(self, device: int, now_s: float) -> float:
        day = now_s // 86_400 * 86_400
        return day + (3600 if now_s - day < 3600 else 86_400)


def test_never_returns_if_charged_too_seldom_or_never_online() -> None:
    """A search that looks ahead until the charge suffices would never end."""
    day = EveryDay()
    # An hour's 9 W, gone by the next day, are less than the reserve.
    seldom = Batteries(np.array([360e3]), np.zeros(1), 0.5, 10.0, 1.0, day)
    assert seldom.returns_s(0, 0, ALWAYS) == math.inf
    often = Batteries(np.array([360e3]), np.zeros(1), 0.05, 10.0, 1.0, day)
    assert often.returns_s(0, 0, ALWAYS) == pytest.approx(2000)
    assert often.returns_s(0, 0, Windows((0, 1))) == math.inf


class EveryOther(Windows):
    """Plugged in every other stretch of so many seconds, for ever."""

    def __init__(self, length_s: float) -> None:
        self.length_s = length_s

    def online(self, devices: Any, now_s: float) -> Any:
        return np.full(len(devices), now_s // self.length_s % 2 == 0)

    def next_change_s(self, device: int, now_s: float) -> float:
        return (now_s // self.length_s + 1) * self.length_s


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


@settings(deadline=None, max_examples=60)
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


# In a run -------------------------------------------------------------------------------------

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


def test_when_a_battery_was_empty_first_since_its_draw_changed() -> None:
    found = battery((100, math.inf), idle=5, charge=10)
    assert found.emptied_s(0, 10) == math.inf
    assert found.emptied_s(0, 50) == 20
    assert found.emptied_s(0, 90) == 20
    assert found.emptied_s(0, 101) == 20
    found.draw(0, 101, 0.0)
    assert found.emptied_s(0, 102) == math.inf


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
        ({"capacity": "15 Wh", "start": {"min": "90%", "max": "30%"}}, "`min` must be below `max`"),
        ({"capacity": "15 Wh", "charge": "5 J"}, "expected a power"),
        ({"capacity": "15 Wh", "plugged": "nights"}, "unknown availability 'nights'"),
        ({"charge": "5 W"}, "missing key 'capacity'"),
    ],
)
def test_mistakes_are_told(battery: Any, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        scenario(battery)


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
