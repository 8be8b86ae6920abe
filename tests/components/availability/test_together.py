"""Devices that are there only while several things are so at once: online, and plugged in."""

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from simfl.components.availability.base import availabilities
from simfl.components.availability.together import Together, all_of
from simfl.core.seeds import Seeds

ON_OFF = {"name": "on_off", "on": "100 s", "off": "150 s"}
MARKOV = {"name": "markov", "step": "70 s", "p_stay_on": "60%", "p_become_on": "50%"}
OUTAGES = {"name": "outages", "between": "200 s", "lasting": "300 s", "base": ON_OFF}
"""Which can't be looked up for many devices at once."""
DEVICES = 3


def together(*options: Mapping[str, object]) -> Together:
    return Together(
        [(f"phones{i}", availabilities.parse({**own})) for i, own in enumerate(options)]
    )


@pytest.mark.parametrize("first", [ON_OFF, OUTAGES])
def test_one_is_there_while_all_are(first: Mapping[str, object], tmp_path: Path) -> None:
    parts = together(first, MARKOV).parts
    single = [part.schedule(DEVICES, name, Seeds(0), tmp_path) for name, part in parts]
    both = all_of(single, DEVICES)
    firsts_s = []
    for device in range(DEVICES):
        only, now_s, log = np.array([device]), 0.0, []
        for _ in range(10):  # of all changes of either, those that change both
            log.append((now_s, all(bool(own.online(only, now_s)[0]) for own in single)))
            now_s = min(own.next_change_s(device, now_s) for own in single)
        for at_s, there in reversed(log):  # questions come in any order
            assert bool(both.online(only, at_s)[0]) == there
            change_s = next((s for s, other in log if s > at_s and other != there), None)
            if change_s is not None:
                assert both.next_change_s(device, at_s) == change_s
        firsts_s.append(next(at_s for at_s, there in log if there))
    assert both.next_online_s(0.0) == min(firsts_s)


def test_who_is_never_there_at_the_same_time_is_never_there(tmp_path: Path) -> None:
    """They would have been looked for without an end."""
    (tmp_path / "trace.csv").write_text("device,start_s,end_s\na,0,10\n")
    (tmp_path / "other.csv").write_text("device,start_s,end_s\na,20,30\n")
    files = [
        {"name": "trace", "file": file, "period": "100 s", "shift": False}
        for file in ("trace.csv", "other.csv")
    ]
    schedule = together(*files).schedule(1, Seeds(0), tmp_path)
    assert schedule.next_online_s(0.0) == math.inf


def test_what_is_known_of_each_is_known_of_all(tmp_path: Path) -> None:
    plateau = {"name": "diurnal", "low": "0%", "high": "50%", "length": "8 h"}
    both = together(plateau, {**plateau, "length": "5 h"})
    assert both.longest_session_s(tmp_path) == 5 * 3600
    assert both.most_at_once(7, Seeds(0), tmp_path) == 7
    assert not together(plateau, {**plateau, "high": "0%"}).ever_online
