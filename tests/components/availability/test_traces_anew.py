"""Recorded sessions second by second: the file read anew, and each device's start in its record."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from simfl.components.availability.base import OnlineSchedule, availabilities
from simfl.core.seeds import Seeds

TICK = 1 / 1024
Row = tuple[int, int, int]
"""First second, the one after the last, and state."""


def drawn_rows(rng: np.random.Generator) -> list[Row]:
    """Return rows of one device, some of them a gap apart; it is online at least once."""
    at, rows = int(rng.integers(0, 5)), list[Row]()
    for state in [*rng.choice([1, 0, -1], int(rng.integers(0, 6))).tolist(), 1]:
        end = at + int(rng.integers(1, 9))
        rows.append((at, end, state))
        at = end + int(rng.choice([0, 0, 4]))
    return rows


def seconds(rows: list[Row], length: int, skip: bool, period: int | None) -> list[bool]:
    """Return whether a record is online, second by second, until it repeats."""
    line = [0] * length
    for start, end, state in rows:
        line[start:end] = [state] * (end - start)
    on = [state == 1 for state in line if state != -1 or not skip]
    return on if period is None else (on + [False] * period)[:period]


def changes(one: OnlineSchedule, device: int, until_s: float) -> list[float]:
    found = [one.next_change_s(device, 0.0)]
    while found[-1] < until_s:
        found.append(one.next_change_s(device, found[-1]))
    return found[:-1]


def expected(on: list[bool], shift_s: float, until_s: float) -> list[float]:
    """Return when a device changes that starts `shift_s` into a record."""
    whole = int(until_s + shift_s) + 1
    edges = [at for at in range(1, whole) if on[at % len(on)] != on[(at - 1) % len(on)]]
    return [at - shift_s for at in edges if 0 < at - shift_s < until_s]


@pytest.mark.parametrize("seed", range(12))
def test_devices_go_through_their_records_from_wherever_they_start(
    tmp_path: Path, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    records = [drawn_rows(rng) for _ in range(int(rng.integers(1, 5)))]
    skip, shift = bool(rng.integers(2)), bool(seed % 2)
    period = int(rng.integers(3, 60)) if rng.random() < 0.5 else None
    rows = [f"{device},{a},{b},{s}" for device, own in enumerate(records) for a, b, s in own]
    (tmp_path / "t.csv").write_text("\n".join(["client_id,start_s,end_s,state", *rows, ""]))
    options: dict[str, Any] = {"file": "t.csv", "shuffle": False, "shift": shift}
    options |= {"unknown": "skip" if skip else "offline"}
    options |= {} if period is None else {"period": f"{period} s"}
    one = availabilities.parse({"name": "trace", **options}).schedule(9, "g", Seeds(seed), tmp_path)
    latest = max(end for own in records for _, end, _ in own)
    for device in range(9):
        on = seconds(records[device % len(records)], latest, skip, period)
        until_s = 2.5 * len(on)
        found = changes(one, device, until_s)
        starts = (
            {0.0} if not shift else {(at - found[0]) % len(on) for at in range(len(on)) if found}
        )
        if all(on) or not any(on):
            assert found == []
            continue
        fits = [at for at in starts if expected(on, at, until_s) == pytest.approx(found, abs=TICK)]
        assert fits
        assert all(0 <= at < len(on) for at in fits)
        middle = (found[0] + found[1]) / 2
        assert one.online(np.array([device]), middle)[0] == on[int(fits[0] + middle) % len(on)]


def test_starts_are_spread_evenly_over_what_is_known_of_a_record(tmp_path: Path) -> None:
    """As in FLASH the first day is unknown: of 130 s the record has 100, with one session."""
    (tmp_path / "t.csv").write_text(
        "client_id,start_s,end_s,state\n0,0,30,-1\n0,70,80,1\n0,80,130,0\n"
    )
    given = availabilities.parse({"name": "trace", "file": "t.csv"})
    fleet = given.schedule(800, "g", Seeds(4), tmp_path)
    comes_s = np.array([
        next(at for at in changes(fleet, d, 205.0) if fleet.online(np.array([d]), at)[0])
        for d in range(800)
    ])  # fmt: skip
    starts_s = (40 - comes_s) % 100
    assert stats.kstest(starts_s, stats.uniform(0, 100).cdf).pvalue > 1e-3
