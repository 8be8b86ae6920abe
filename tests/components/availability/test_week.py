"""Who is online during a week: shares of half hours, exact where sessions can be listed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl.components.availability.base import availabilities
from simfl.components.availability.week import (
    HALF_HOURS,
    WEEK_S,
    Week,
    most_at_once,
    quorum,
    soon_there,
    week_of,
)
from simfl.core.seeds import Seeds

WALKED: list[dict[str, Any]] = [
    {"name": "on_off", "on": "20 min", "off": "50 min"},
    {"name": "markov", "step": "7 min"},
    {"name": "diurnal", "shape": "sine", "time_zones": "5 h"},
    {"name": "trace", "file": "t.csv", "period": "100 min"},
]
LOOKED: list[dict[str, Any]] = [
    {"name": "always"},
    {"name": "outages", "base": WALKED[0], "between": "2 h", "lasting": "3 h"},
    {"name": "trace", "file": "t.csv", "period": "10 s"},  # more sessions than are listed
]


def week(options: dict[str, Any], folder: Path, count: int = 20) -> Week:
    rows = ["device,start_s,end_s", "a,0.5,5.25", "b,1,8.75", "b,600,2000.125", "c,30,4000"]
    (folder / "t.csv").write_text("\n".join([*rows, ""]))
    schedule = availabilities.parse(options).schedule(count, "g", Seeds(3), folder)
    return week_of(schedule, count)


@pytest.mark.parametrize("options", WALKED, ids=lambda options: options["name"])
def test_shares_of_half_hours_are_the_time_online(options: dict[str, Any], tmp_path: Path) -> None:
    found = week(options, tmp_path)
    schedule = availabilities.parse(options).schedule(20, "g", Seeds(3), tmp_path)
    for half_hour in (0, 5, 100, HALF_HOURS - 1):
        passed_s = 0.0
        for device in range(20):
            now_s, end_s = 1800.0 * half_hour, 1800.0 * (half_hour + 1)
            while now_s < end_s:
                until_s = min(schedule.next_change_s(device, now_s), end_s)
                passed_s += (until_s - now_s) * bool(schedule.online(np.array([device]), now_s)[0])
                now_s = until_s
        assert found.share[half_hour] == pytest.approx(passed_s / 20 / 1800, abs=1e-9)


@pytest.mark.parametrize("options", [*WALKED, *LOOKED], ids=str)
def test_there_is_who_is_asked(options: dict[str, Any], tmp_path: Path) -> None:
    found = week(options, tmp_path)
    schedule = availabilities.parse(options).schedule(20, "g", Seeds(3), tmp_path)
    instants = found.changes_s[found.changes_s < WEEK_S][:: len(found.changes_s) // 15]
    online = [schedule.online(np.arange(20), now_s).sum() for now_s in instants.tolist()]
    np.testing.assert_allclose(found.at(instants), online)
    assert most_at_once([found]) == pytest.approx(max(found.there))


def test_sessions_in_step_with_half_hours_are_not_all_or_nothing(tmp_path: Path) -> None:
    """20 of 30 minutes; whoever looked in the middle of each saw everybody online, always."""
    for scale, within in ((1.0, 1e-9), (0.01, 0.03)):  # every 18 s there are too many to list
        sessions = f"a,0,{600 * scale}\na,{900 * scale},{1500 * scale}\n"
        (tmp_path / "t.csv").write_text(f"device,start_s,end_s\n{sessions}")
        options = {"name": "trace", "file": "t.csv", "shift": False, "period": f"{1800 * scale} s"}
        schedule = availabilities.parse(options).schedule(9, "g", Seeds(0), tmp_path)
        assert week_of(schedule, 9).share.mean() == pytest.approx(2 / 3, abs=within)


def test_groups_that_are_there_by_turns_are_never_there_at_once(tmp_path: Path) -> None:
    weeks, schedules = [], []
    for start in (0, 600):
        (tmp_path / f"{start}.csv").write_text(f"device,start_s,end_s\na,{start},{start + 600}\n")
        options = {"name": "trace", "file": f"{start}.csv", "period": "20 min", "shift": False}
        schedule = availabilities.parse(options).schedule(300, "g", Seeds(0), tmp_path)
        weeks.append(week_of(schedule, 300))
        schedules.append((schedule, 300))
    for some in (schedules, schedules[1:]):  # of whom 300 are there at once, or after ten minutes
        assert soon_there(some, 300)
        assert not soon_there(some, 301)
    assert most_at_once(weeks) == pytest.approx(300)
    np.testing.assert_allclose(weeks[0].share + weeks[1].share, 1.0)
    assert quorum(weeks, None, 700) == 600  # with all who ever come a round begins, if they do
    assert quorum(weeks, 450, 700) == 450


def test_a_group_without_any_session_soon_is_none_of_a_quorum(tmp_path: Path) -> None:
    """Phones offline all day, beside others: `simfl validate` ended in an internal error."""
    (tmp_path / "t.csv").write_text("device,start_s,end_s\na,0,600\n")
    night = {"name": "diurnal", "low": 0, "starts_at": "12 h", "time_zones": "0 s"}
    trace = {"name": "trace", "file": "t.csv", "period": "25 h", "shift": False}
    groups = [
        (availabilities.parse(options).schedule(2, "g", Seeds(0), tmp_path), 2)
        for options in (night, trace)
    ]
    assert soon_there(groups, 2)
    assert not soon_there(groups, 3)
