"""What each availability promises about the fleet: duty cycles and lengths of sessions."""

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from simfl.components.availability.base import OnlineSchedule, availabilities
from simfl.components.availability.trace import Trace
from simfl.core.seeds import Seeds
from simfl.errors import InputError

DAY = 86400.0


def schedule(
    name: str, devices: int, folder: Path = Path(), seed: int = 0, **options: object
) -> OnlineSchedule:
    component = availabilities.parse({"name": name, **options})
    return component.schedule(devices, "phones", Seeds(seed), folder)


def sessions(one: OnlineSchedule, devices: int, horizon: float) -> tuple[list[float], list[float]]:
    """Return the lengths of all spells online and offline that lie within ``[0, horizon)``."""
    lengths: tuple[list[float], list[float]] = ([], [])
    for device in range(devices):
        now = one.next_change_s(device, 0.0)
        while now < horizon:
            nxt = one.next_change_s(device, now)
            if nxt < horizon:
                lengths[0 if one.online(np.array([device]), now)[0] else 1].append(nxt - now)
            now = nxt
    return lengths


def share(one: OnlineSchedule, devices: int, now: float) -> float:
    return float(one.online(np.arange(devices), now).mean())


@pytest.mark.parametrize("now", [0.0, 1.0, 500.0, 1e7])
def test_on_off_is_in_equilibrium_at_any_instant(now: float) -> None:
    n = 20_000
    fleet = schedule("on_off", n, on="100 s", off="300 s")
    assert abs(share(fleet, n, now) - 0.25) < 4 * np.sqrt(0.25 * 0.75 / n)


def test_on_off_times_are_exponential() -> None:
    """By Kolmogorov and Smirnov's test; the first change is too, by lack of memory."""
    from scipy import stats

    fleet = schedule("on_off", 300, on="100 s", off="300 s")
    first = [fleet.next_change_s(d, 0.0) for d in range(300) if fleet.online(np.array([d]), 0.0)[0]]
    online, offline = sessions(schedule("on_off", 10, on="100 s", off="300 s"), 10, 5e4)
    assert len(online) > 1000
    for lengths, mean in [(online, 100.0), (offline, 300.0), (first, 100.0)]:
        assert stats.kstest(lengths, stats.expon(scale=mean).cdf).pvalue > 1e-3


def test_markov_has_the_stationary_share_and_geometric_sessions() -> None:
    n, step = 20_000, 1800.0
    fleet = schedule("markov", n)
    expected = 0.021 / (1 - 0.761 + 0.021)
    for now in (0.0, 1e6):
        assert abs(share(fleet, n, now) - expected) < 4 * np.sqrt(expected * (1 - expected) / n)
    online, offline = sessions(schedule("markov", 20), 20, 100 * DAY)
    for lengths, leave in [(online, 1 - 0.761), (offline, 0.021)]:
        steps = np.array(lengths) / step
        assert np.abs(steps - np.rint(steps)).max() < 1e-6
        sigma = np.sqrt(1 - leave) / leave / np.sqrt(len(steps))
        assert abs(steps.mean() - 1 / leave) < 4 * sigma + 0.01 / leave  # long ones are cut off


def test_markov_steps_can_be_aligned() -> None:
    fleet = schedule("markov", 50, step="10 min", aligned=True)
    assert all(fleet.next_change_s(device, 0.0) % 600 == 0 for device in range(50))


def test_a_chain_that_alternates_nearly_always() -> None:
    """The coupling must flip, not keep, where becoming is likelier than staying."""
    online, offline = sessions(
        schedule("markov", 10, step="1 s", p_stay_on=0.05, p_become_on=0.95), 5, 400.0
    )
    assert np.mean(online) == pytest.approx(1 / 0.95, rel=0.02)
    assert np.mean(offline) == pytest.approx(1 / 0.95, rel=0.02)


@pytest.mark.parametrize("hour", [0, 2, 5, 7, 12, 20])
@pytest.mark.parametrize("day", [0, 30])
def test_diurnal_share_at_each_hour(hour: int, day: int) -> None:
    n, now = 20_000, day * DAY + hour * 3600.0
    plateau = schedule("diurnal", n)  # 0.8 from 22 to 6 h, else 0.1
    expected = 0.8 if hour in (0, 2, 5) else 0.1
    assert abs(share(plateau, n, now) - expected) < 4 * np.sqrt(expected * (1 - expected) / n)
    sine = schedule("diurnal", n, shape="sine", peak="4 h", low="5.7%", high="12%")
    expected = 0.057 + 0.063 * (1 + np.cos(2 * np.pi * (hour - 4) / 24)) / 2
    assert abs(share(sine, n, now) - expected) < 4 * np.sqrt(expected * (1 - expected) / n)


def test_diurnal_over_all_time_zones_is_flat() -> None:
    n = 20_000
    fleet = schedule("diurnal", n, time_zones="24 h")
    mean = 0.8 * 8 / 24 + 0.1 * 16 / 24
    for hour in (0, 6, 12, 18):
        assert abs(share(fleet, n, hour * 3600.0) - mean) < 4 * np.sqrt(mean * (1 - mean) / n)


@pytest.mark.parametrize(("length", "there"), [("24 h", True), ("0 s", False)])
def test_diurnal_that_never_changes(length: str, there: bool) -> None:
    """A day's session may last all day, every day; nobody then waits for the end of it."""
    fleet = schedule("diurnal", 3, high="100%", low="0%", length=length)
    for now in (0.0, 1e6):
        assert fleet.online(np.arange(3), now).tolist() == [there] * 3
        assert fleet.next_change_s(1, now) == np.inf


def test_diurnal_clock_starts_when_told() -> None:
    early = schedule("diurnal", 100)
    late = schedule("diurnal", 100, starts_at="4 h")
    assert share(early, 100, 5.9 * 3600) == share(late, 100, 1.9 * 3600)
    assert share(early, 100, 6.0 * 3600) == share(late, 100, 2.0 * 3600)


def test_diurnal_sessions_are_plateaus_or_days() -> None:
    online, _ = sessions(schedule("diurnal", 60), 60, 20 * DAY)
    hours = np.array(online) / 3600
    # 8 h; or whole days, which begin and end at 14 h, joined to the plateaus beside them
    lengths = np.unique(np.round(hours, 6))
    assert 8 in lengths
    assert np.allclose(lengths % 24 % 8, 0)


def test_outages_hit_everybody_at_once() -> None:
    n = 50
    fleet = schedule("outages", n, between="1 h", lasting="20 min")
    states = np.array([fleet.online(np.arange(n), now) for now in np.arange(0, 3e6, 600.0)])
    assert (states.all(axis=1) | ~states.any(axis=1)).all()
    # 5,000 looks at a process that forgets at rate 1/3600 + 1/1200: about 2,000 independent ones
    assert abs(states[:, 0].mean() - 0.75) < 4 * np.sqrt(0.75 * 0.25 / 2000)


def test_outages_on_top_of_outages_are_others() -> None:
    """They were the very same, so that one of the two did nothing."""
    below = {"name": "outages", "between": "1 h", "lasting": "20 min"}
    fleet = schedule("outages", 1, between="1 h", lasting="20 min", base=below)
    one = np.zeros(1, dtype=int)
    states = [bool(fleet.online(one, now)[0]) for now in np.arange(0, 3e6, 600.0)]
    assert abs(np.mean(states) - 0.75**2) < 4 * np.sqrt(0.75**2 * (1 - 0.75**2) / 2000)


def test_outages_and_base_together() -> None:
    n = 20_000
    fleet = schedule(
        "outages",
        n,
        between="3 h",
        lasting="1 s",
        base={"name": "on_off", "on": "1 h", "off": "1 h"},
    )
    assert abs(share(fleet, n, 5000.0) - 0.5) < 4 * np.sqrt(0.25 / n)


CSV = """device,start_s,end_s,state
b,0,10,0
b,10,20.25,1
b,20.25,40,-1
a,5,10,1
a,30,40,1
c,0,20,-1
c,20,25,1
c,25,40,0
d,0,40,1
"""


def replay(folder: Path, device: int, **options: Any) -> list[float]:
    (folder / "t.csv").write_text(CSV)
    one = schedule("trace", 8, folder, file="t.csv", shuffle=False, shift=False, **options)
    times, now = [], 0.0
    while now < 90:
        now = one.next_change_s(device, now)
        times.append(now)
    return times


def test_a_trace_is_replayed_by_hand(tmp_path: Path) -> None:
    """Device 0 replays `a` of period 40 and 1 `b`, of which 20.25 s are known; 4 is `a` again."""
    assert replay(tmp_path, 0) == [5, 10, 30, 40, 45, 50, 70, 80, 85, 90]
    assert replay(tmp_path, 1) == [10, 20.25, 30.25, 40.5, 50.5, 60.75, 70.75, 81, 91]
    assert replay(tmp_path, 2) == [5, 20, 25, 40, 45, 60, 65, 80, 85, 100]
    assert replay(tmp_path, 3) == [np.inf]
    assert replay(tmp_path, 4) == replay(tmp_path, 0)


def test_time_that_no_row_covers_is_offline_though_unknown_rows_are_cut_out(
    tmp_path: Path,
) -> None:
    """Device `b`'s second from 8 s is unknown; from 5 to 8 s of the 11 s left it is offline."""
    (tmp_path / "t.csv").write_text("device,start_s,end_s,state\nb,0,5,1\nb,8,9,-1\nb,9,12,1\n")
    one = schedule("trace", 1, tmp_path, file="t.csv", shuffle=False, shift=False)
    times, now = [], 0.0
    while now < 30:
        now = one.next_change_s(0, now)
        times.append(now)
    assert times == [5, 8, 16, 19, 27, 30]
    assert [one.online(np.array([0]), now)[0] for now in (0.0, 6.0, 9.0, 12.0, 17.0)] == [
        True,
        False,
        True,
        True,
        False,
    ]


def test_online_and_unknown_rows_alone_do_not_make_a_device_always_online(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("device,start_s,end_s,state\na,2,4,1\na,6,8,-1\nb,0,10,1\n")
    two = schedule("trace", 2, tmp_path, file="t.csv", shuffle=False, shift=False)
    assert [two.next_change_s(0, now) for now in (0.0, 2.0, 4.0)] == [2, 4, 10]  # 8 s a period


def test_unknown_stretches_can_count_as_offline(tmp_path: Path) -> None:
    assert replay(tmp_path, 1, unknown="offline") == [10, 20.25, 50, 60.25, 90]
    assert replay(tmp_path, 2, unknown="offline") == [20, 25, 60, 65, 100]


def test_a_trace_can_repeat_early_or_late(tmp_path: Path) -> None:
    early = [5, 10, 30, 35, 40, 45, 65, 70, 75, 80, 100]
    assert replay(tmp_path, 0, period="35 s") == early
    assert replay(tmp_path, 3, period="50 s") == [40, 50, 90]


@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_as_many_at_once_as_there_are_at_some_instant(
    tmp_path: Path, seed: int, shift: bool
) -> None:
    """Looked at every second of two repeats; sessions of whole seconds."""
    rng, rows = np.random.default_rng(seed), ["device,start_s,end_s"]
    for device in range(5):
        edges = np.sort(rng.choice(41, 2 * int(rng.integers(1, 6)), replace=False)).tolist()
        rows += [f"{device},{a},{b}" for a, b in zip(edges[::2], edges[1::2], strict=True)]
    (tmp_path / "t.csv").write_text("\n".join([*rows, "5,39,41", ""]))
    given = Trace(file=Path("t.csv"), shift=shift)
    one = given.schedule(13, "phones", Seeds(seed), tmp_path)
    # A record shifted by a part of a second changes between two looks: 1/1024 s apart.
    looks = np.arange(0, 82, 1 / 1024 if shift else 1)
    most = max(int(one.online(np.arange(13), float(now)).sum()) for now in looks)
    assert given.most_at_once(13, "phones", Seeds(seed), tmp_path) == most


def test_records_that_repeat_after_different_times_may_all_meet(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "device,start_s,end_s,state\n0,0,1,1\n0,1,3,0\n1,0,1,0\n1,1,2,1\n1,2,3,-1\n"
    )
    given = Trace(file=Path("t.csv"), shift=False)
    assert given.most_at_once(2, "phones", Seeds(0), tmp_path) == 2
    assert given.schedule(2, "phones", Seeds(0), tmp_path).online(np.arange(2), 3.0).all()


@pytest.mark.parametrize(
    ("options", "longest_s"),
    [
        ({"low": 0, "length": "4 h"}, 4 * 3600),
        ({"low": 0, "shape": "sine"}, DAY),
        ({"low": "1%"}, np.inf),
        ({"low": 0, "length": "24 h"}, np.inf),
    ],
)
def test_no_day_is_longer(options: dict[str, Any], longest_s: float) -> None:
    given = availabilities.parse({"name": "diurnal", **options})
    assert given.longest_session_s(Path()) == longest_s
    if longest_s < np.inf:
        lengths, _ = sessions(given.schedule(50, "phones", Seeds(0), Path()), 50, 20 * DAY)
        assert 0.9 * longest_s < max(lengths) <= longest_s * (1 + 1e-9)


def test_shifted_replays_keep_the_duty_cycle(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("device,start_s,end_s\nx,0,25\ny,75,100\n")
    fleet = schedule("trace", 20_000, tmp_path, file="t.csv")
    for now in (0.0, 33.3):
        assert abs(share(fleet, 20_000, now) - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 20_000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("device,start_s\n1,2\n", "no column end_s"),
        ("device,start_s,end_s, end_s\n1,2,5,9\n", r"t\.csv: more than one .* called 'end_s'"),
        ("device,client_id,start_s,end_s\n1,7,2,5\n", r"t\.csv: .* device and client_id"),
        ("device,start_s,end_s\n1,5,5\n", r"t\.csv:2: expected 0 <= start_s < end_s"),
        ("device,start_s,end_s\n1,-5,5\n", r"t\.csv:2: expected 0 <= start_s < end_s"),
        ("device,start_s,end_s\n1,4,6\n\n1,0,5\n", r"t\.csv:2: rows of one device overlap"),
        ("device,start_s,end_s\n1,0,5\n\n1,5,abc\n", r"t\.csv:4: column end_s .* numbers"),
        ("device,start_s,end_s\n1,0,inf\n", r"t\.csv:2: column end_s .* numbers"),
        ("device,start_s,end_s\n1,0,5\n1,6,1e308\n", r"t\.csv:3: column end_s .* numbers"),
        ("device,start_s,end_s\n1,0,5\n,6,7\n", r"t\.csv:3: expected a device"),
        ("device,start_s,end_s,state\n1,0,5,7\n", r"t\.csv:2: .* state"),
        ("device,start_s,end_s,state\n1,0,5,-1\n", "nothing is known"),
        (
            "device,start_s,end_s\n7,10,600,3000\n",
            r"t\.csv:2: expected a cell for each of the header's 3",
        ),
        ("device,start_s,end_s\nNA,6,\n", r"t\.csv:2: column end_s .* got nothing"),
        ("device,start_s,end_s\n", "0 <= start_s < end_s|numbers"),
        ("", "can't read"),
    ],
)
def test_a_broken_trace_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        schedule("trace", 1, tmp_path, file="t.csv")
    with pytest.raises(InputError, match=r"none\.csv"):
        schedule("trace", 1, tmp_path, file="none.csv")


@pytest.mark.parametrize("suffix", [".gz", ".zip", ".xz", ".zst", ".tar", ".bz2"])
@pytest.mark.parametrize("content", [b"", b"\x1f\x8b\x08\x00", b"garbage", "cut", "deflate"])
def test_a_badly_compressed_trace_is_refused(
    tmp_path: Path, suffix: str, content: bytes | str
) -> None:
    good = gzip.compress(b"device,start_s,end_s\n" + b"1,0,5\n" * 99, mtime=0)
    if content == "cut":
        content = good[: len(good) // 2]
    elif content == "deflate":
        content = good[:12] + b"\xff" * 9 + good[21:]
    assert isinstance(content, bytes)
    (tmp_path / f"t.csv{suffix}").write_bytes(content)
    with pytest.raises(InputError, match=rf"can't read .*t\.csv\{suffix}"):
        schedule("trace", 1, tmp_path, file=f"t.csv{suffix}")


@pytest.mark.parametrize("period", ["1e16 s", "1e-9 s"])
def test_a_period_beyond_the_clock_is_refused(period: str) -> None:
    with pytest.raises(ValidationError, match="period"):
        Trace(file=Path("t.csv"), period=period)


@pytest.mark.data
def test_flash_is_met_within_two_percent() -> None:
    """8.1% overall; sessions of 0.5, 0.5, 1, 2 and 8 hours at the percentiles 5, 25, 50, 75, 95."""
    shared = os.environ.get("SIMFL_SHARED_DATA")
    if not shared:
        pytest.skip("SIMFL_SHARED_DATA does not say where the shared data are")
    file = Path(shared) / "traces" / "flash_availability.csv.gz"
    fleet = schedule("trace", 10_000, file=str(file))
    duty = np.mean([share(fleet, 10_000, now) for now in np.arange(0, 30 * DAY, 7200.0)])
    assert duty == pytest.approx(0.081, rel=0.02)
    online, _ = sessions(schedule("trace", 723, file=str(file)), 723, 10 * DAY)
    hours = np.percentile(np.array(online) / 3600, [5, 25, 50, 75, 95])
    assert hours == pytest.approx([0.5, 0.5, 1.0, 2.0, 8.0], rel=0.02)
