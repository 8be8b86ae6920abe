"""Contracts of every availability: pure functions of time, consistent to the last bit."""

import math
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from simfl.components.availability.base import OnlineSchedule, availabilities
from simfl.components.availability.spells import cell
from simfl.core.seeds import Seeds
from simfl.core.types import Flags, Floats, Ids
from simfl.errors import InputError

TRACE = """device,start_s,end_s
a,0,100.5
a,200,300
b,50,60
c,0,400
"""
OPTIONS: dict[str, list[dict[str, object]]] = {
    "always": [{}],
    "on_off": [{"on": "100 s", "off": "300 s"}, {"on": "1 h", "off": "1 s"}],
    "markov": [{}, {"step": "60 s", "p_stay_on": "10%", "p_become_on": 0.9, "aligned": True}],
    "diurnal": [
        {},
        {"shape": "sine", "time_zones": "1 d", "low": "0%", "high": "100%"},
        {"shape": "sine", "low": "50%", "high": "50%"},
        {"length": "24 h", "starts_at": "7 h"},
    ],
    "trace": [{"file": "trace.csv"}, {"file": "trace.csv", "shift": False, "period": "500 s"}],
    "outages": [
        {"between": "2 h", "lasting": "10 min"},
        {
            "between": "200 s",
            "lasting": "300 s",
            "base": {"name": "on_off", "on": "100 s", "off": "200 s"},
        },
    ],
}
CASES = [
    {"name": name, **options}
    for name in availabilities.names()
    for options in OPTIONS.get(name, [{}])
]


def schedule(
    options: dict[str, object], devices: int, folder: Path, seed: int = 0
) -> OnlineSchedule:
    return availabilities.parse(options).schedule(devices, "phones", Seeds(seed), folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "trace.csv").write_text(TRACE)
    return tmp_path


@pytest.fixture(params=CASES, ids=str)
def options(request: pytest.FixtureRequest) -> dict[str, object]:
    return dict(request.param)


def test_an_outage_makes_no_session_longer(folder: Path) -> None:
    base = {"name": "trace", "file": "trace.csv", "period": "500 s"}
    outages = {"name": "outages", "between": "2 h", "lasting": "1 min", "base": base}
    longest_s = availabilities.parse(outages).longest_session_s(folder)
    assert longest_s == availabilities.parse(base).longest_session_s(folder) < math.inf


def changes(one: OnlineSchedule, device: int, count: int) -> list[float]:
    times: list[float] = []
    now = 0.0
    while len(times) < count:
        now = one.next_change_s(device, now)
        if now == math.inf:
            break
        times.append(now)
    return times


def test_changes_are_when_the_state_changes(options: dict[str, object], folder: Path) -> None:
    """At each change the state is the other one from that very instant on, not an ulp before."""
    walked, asked = schedule(options, 10, folder), schedule(options, 10, folder)
    changed = False
    for device in range(10):
        one = np.array([device])
        state = bool(asked.online(one, 0.0)[0])
        for time in changes(walked, device, 20):
            changed = True
            assert asked.online(one, np.nextafter(time, 0))[0] == state
            assert asked.online(one, time)[0] != state
            state = not state
    assert changed == (options["name"] != "always")


def test_who_is_asked_first_does_not_matter(options: dict[str, object], folder: Path) -> None:
    """Any subset, in any order, at any instants, gives the bits that asking for all gives."""
    rng = np.random.default_rng(0)
    times = np.sort(rng.uniform(0, 3e5, 20))
    everybody = schedule(options, 200, folder)
    expected = [everybody.online(np.arange(200), time) for time in times]
    until = [[everybody.next_change_s(d, time) for d in range(0, 200, 40)] for time in times]
    some = schedule(options, 200, folder)
    for i in rng.permutation(20):
        ids = rng.permutation(200)[: rng.integers(1, 20)]
        assert np.array_equal(some.online(ids, times[i]), expected[i][ids])
        assert [some.next_change_s(d, times[i]) for d in range(0, 200, 40)] == until[i]


def test_the_same_devices_watched_all_the_time_are_seen_to_change(
    options: dict[str, object], folder: Path
) -> None:
    """Answers about an array that can't be written may be remembered, while they hold."""
    watching, asked = schedule(options, 50, folder), schedule(options, 50, folder)
    watched = np.arange(0, 50, 3)
    watched.flags.writeable = False
    instants = sorted(time for device in watched.tolist() for time in changes(asked, device, 5))
    for time in [0.0, *instants]:
        for now in (np.nextafter(time, 0), time, time + 1e-3):
            assert np.array_equal(watching.online(watched, now), asked.online(watched.copy(), now))


def test_new_devices_change_nobody_else(options: dict[str, object], folder: Path) -> None:
    few, many = schedule(options, 5, folder), schedule(options, 500, folder)
    for device in range(5):
        assert changes(few, device, 10) == changes(many, device, 10)


def test_seeds_and_groups_differ(options: dict[str, object], folder: Path) -> None:
    if options["name"] == "always" or options.get("shift") is False:
        pytest.skip("nothing is drawn")
    component = availabilities.parse(options)
    apart = [
        [changes(component.schedule(20, group, Seeds(seed), folder), d, 2) for d in range(20)]
        for group, seed in [("a", 0), ("b", 0), ("a", 1)]
    ]
    assert apart[0] != apart[1] != apart[2] != apart[0]


def test_next_online_is_the_first_instant_that_anybody_is(
    options: dict[str, object], folder: Path
) -> None:
    whole, asked = schedule(options, 3, folder), schedule(options, 3, folder)
    for now in np.linspace(0, 2e5, 50):
        expected = math.inf
        for device in range(3):
            time, online = now, bool(asked.online(np.array([device]), now)[0])
            while not online and time < math.inf:
                time = asked.next_change_s(device, time)
                online = time < math.inf and bool(asked.online(np.array([device]), time)[0])
            expected = min(expected, time)
        assert whole.next_online_s(now) == expected


def test_of_a_million_devices_only_those_asked_cost(
    options: dict[str, object], folder: Path
) -> None:
    tracemalloc.start()
    crowd = schedule(options, 1_000_000, folder)
    before = tracemalloc.get_traced_memory()[0]
    ids = np.array([0, 7, 999_999])
    for now in np.linspace(0, 1e6, 20):
        assert len(crowd.online(ids, now)) == 3
        crowd.next_change_s(500_000, now)
    tracemalloc.reset_peak()
    crowd.online(ids, 2e6)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak - before < 200_000
    assert before < 40_000_000


def test_always_is_online_and_never_changes() -> None:
    always = schedule({"name": "always"}, 3, Path())
    assert always.online(np.arange(3), 5.0).all()
    assert always.next_change_s(1, 5.0) == math.inf
    assert always.next_online_s(5.0) == 5.0


def test_cells_are_half_open_to_the_last_bit() -> None:
    rng = np.random.default_rng(0)
    origin = rng.uniform(-1e5, 1e5, 2000)
    for width in (0.1, 1800.0, 86400.0):
        starts = origin + np.arange(2000) * width
        for i in range(0, 2000, 97):
            assert cell(starts[i], origin[i : i + 1], width)[0] == i
            assert cell(np.nextafter(starts[i], -np.inf), origin[i : i + 1], width)[0] == i - 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": "on_off", "on": "0 s", "off": "1 s"}, "greater than or equal to 0.000001"),
        ({"name": "on_off", "on": "1e-300 s", "off": "1 s"}, "greater than or equal to 0.000001"),
        ({"name": "on_off", "on": 5, "off": "1 s"}, "unit"),
        ({"name": "markov", "p_stay_on": 1, "p_become_on": 0}, "equilibrium"),
        ({"name": "diurnal", "low": "60%", "high": "50%"}, "low must be at most high"),
        ({"name": "markov", "p_stay_on": 1e-7, "p_become_on": 1 - 1e-7}, "to and fro"),
        ({"name": "markov", "step": "1e-9 s"}, "greater than or equal to 0.000001"),
        ({"name": "diurnal", "length": "25 h"}, "less than or equal"),
        ({"name": "diurnal", "peak": "1e300 s"}, "too large a duration"),
        ({"name": "diurnal", "starts_at": "1e13 s"}, "too large a duration"),
        ({"name": "outages", "between": "1e-9 s", "lasting": "1 h"}, "greater than or equal"),
        ({"name": "outages", "between": "1 h", "lasting": "1e-9 s"}, "greater than or equal"),
        ({"name": "outages", "between": "1 h", "lasting": "1 h", "base": "on_of"}, "on_off"),
        ({"name": "diurnal", "shape": "sine", "length": "9 h"}, "shape sine has none"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(wrong: dict[str, object], message: str) -> None:
    options = dict(wrong)
    with pytest.raises(ValueError, match=message):
        availabilities.get(str(options.pop("name"))).model_validate(options)


def test_questions_about_few_of_a_large_group_come_to_what_a_question_to_all_does(
    options: dict[str, object], folder: Path
) -> None:
    """So many questions that at some time all devices are looked at."""
    everybody, some = schedule(options, 5_000, folder), schedule(options, 5_000, folder)
    rng = np.random.default_rng(0)
    for now in np.linspace(0, 2e5, 40):
        ids = rng.integers(5_000, size=8)
        assert np.array_equal(some.online(ids, now), everybody.online(np.arange(5_000), now)[ids])
        assert some.next_change_s(ids[0], now) == everybody.next_change_s(ids[0], now)


def test_all_devices_are_looked_at_before_each_has_been_asked_about(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What looking at all of them costs depends on how many have changed, not how many there are.

    One every 3.6 seconds, about four of 100,000 devices that change twice a day.
    """
    computed: list[int] = []
    diurnal = schedule({"name": "diurnal", "shape": "sine"}, 100_000, tmp_path)
    spells = diurnal.spells  # type: ignore[attr-defined]

    def counted(devices: Ids, now_s: float) -> tuple[Flags, Floats]:
        computed.append(len(devices))
        found: tuple[Flags, Floats] = spells(devices, now_s)
        return found

    monkeypatch.setattr(diurnal, "spells", counted)
    rng = np.random.default_rng(0)
    for now in np.linspace(0, 43_200, 12_000):
        diurnal.online(rng.integers(100_000, size=4), now)
    assert len(computed) < 500  # it was 1,254
    assert sum(computed) < 180_000  # as if everybody had been known from each change on


def test_devices_of_a_trace_that_are_one_number_are_not_taken_for_one(tmp_path: Path) -> None:
    """Their rows were put together, and overlaps told of where there were none."""
    (tmp_path / "t.csv").write_text("client_id,start_s,end_s\n7,0,5\n007,3,9\n")
    trace = availabilities.parse({"name": "trace", "file": "t.csv"})
    with pytest.raises(InputError, match="column 'client_id' has '007' and '7', which are one"):
        trace.schedule(2, "phones", Seeds(0), tmp_path)
