"""Links whose capacity a file lets vary: by hand, by integration, and what the file may hold."""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simfl import Scenario
from simfl.errors import InputError
from simfl.sim.networks.base import Links, networks
from simfl.sim.networks.rate_trace import Factors, RateTrace
from simfl.sim.timeline import Timeline

Write = Callable[[str], dict[str, str]]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def call(rows: str) -> dict[str, str]:
        (tmp_path / "rates.csv").write_text("time_s,factor\n" + rows)
        return {"file": "rates.csv"}

    return call


def bind(timeline: Timeline, n: int, folder: Path, bps: float = math.inf, **options: Any) -> Links:
    network = networks.parse({"name": "shared", **options})
    every = np.full(n, bps)
    zeros = np.zeros(n, dtype=np.int64)
    cells = zeros if network.cell_names else None
    return network.bind(timeline, every, every, np.zeros(n), cells=cells, folder=folder)


def ends(timeline: Timeline, links: Links, sizes: list[int], starts: list[float]) -> list[float]:
    times = [math.inf] * len(sizes)

    def start(i: int, _: object) -> None:
        transfer = links.transfer(i, "down", sizes[i])
        transfer.callbacks.append(lambda _: times.__setitem__(i, timeline.now))

    for i, at in enumerate(starts):
        timeline.at(at).callbacks.append(partial(start, i))
    timeline.run(until=1e5)
    return times


def shared(where: str, rates: dict[str, str]) -> dict[str, Any]:
    """Return a network with a link of 1 kB/s that varies: the server's, or a cell's."""
    if where == "server":
        return {"server_uplink": "1 kB/s", "rates": rates}
    cells = {"home": {"downlink": "1 kB/s", "rates": rates}}
    return {"cells": cells, **({"server_uplink": "1 GB/s"} if where == "cell below" else {})}


WHERE = pytest.mark.parametrize("where", ["server", "cell", "cell below"])


@WHERE
def test_rates_change_when_the_trace_says_so_by_hand(
    write: Write, tmp_path: Path, where: str
) -> None:
    """2 kB at 1 kB/s until 1 s, half of that until 2 s, then twice as much: 1.25 s after all.

    Another two that come at 10 s share 2 kB/s: 3 kB each take 3 s.
    """
    timeline = Timeline()
    links = bind(timeline, 3, tmp_path, **shared(where, write("0,1\n1,0.5\n2,2\n")))
    assert links.expected_s(0, "down", 2000) == 2.0  # nominal
    assert not links.steady
    found = ends(timeline, links, [2000, 3000, 3000], [0.0, 10.0, 10.0])
    assert found == [2.25, 13.0, 13.0]


@WHERE
def test_a_trace_may_start_again_and_again(write: Write, tmp_path: Path, where: str) -> None:
    """1 kB/s and 3 kB/s in turn, a second each: 8 kB take 4 s, whenever they start."""
    timeline = Timeline()
    rates = {**write("0,1\n1,3\n"), "period": "2 s"}
    links = bind(timeline, 3, tmp_path, **shared(where, rates))
    assert ends(timeline, links, [8000] * 3, [0.0, 100.0, 1001.0]) == [4.0, 104.0, 1005.0]


def test_what_ends_at_the_instant_of_a_change_has_ended(write: Write, tmp_path: Path) -> None:
    timeline, log = Timeline(), []
    links = bind(timeline, 3, tmp_path, **shared("server", write("0,1\n0.3,0.01\n")))
    timeline.deadline(0.3).callbacks.append(lambda _: log.append("deadline"))
    for i in range(3):
        links.transfer(i, "down", 100).callbacks.append(lambda _: log.append("arrived"))
    timeline.run(until=1.0)
    assert log == ["arrived"] * 3 + ["deadline"]


def test_devices_own_links_still_limit(write: Write, tmp_path: Path) -> None:
    """Four at 200 B/s each of 1 kB/s, then at 125 of 500, and at 200 again."""
    timeline = Timeline()
    options = shared("server", write("0,1\n1,0.5\n3,4\n"))
    links = bind(timeline, 4, tmp_path, bps=1600.0, **options)
    assert ends(timeline, links, [850] * 4, [0.0] * 4) == pytest.approx([5.0] * 4, rel=1e-12)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), where=st.sampled_from(["server", "cell", "cell below"]))
def test_a_busy_link_moves_the_integral_of_its_capacity(
    write: Write, tmp_path: Path, seed: int, where: str
) -> None:
    timeline, rng = Timeline(), np.random.default_rng(seed)
    times = np.concatenate(([0.0], np.cumsum(rng.uniform(0.5, 5, 40))))
    factors = rng.uniform(0.1, 3, 41)
    rows = "".join(f"{t!r},{f!r}\n" for t, f in zip(times.tolist(), factors.tolist(), strict=True))
    links = bind(timeline, 6, tmp_path, **shared(where, write(rows)))
    sizes = rng.integers(100, 9000, 6).tolist()
    last = max(ends(timeline, links, sizes, [0.0] * 6))
    lengths = np.clip(np.append(times[1:], math.inf), None, last) - np.clip(times, None, last)
    assert 1000 * float(lengths @ factors) == pytest.approx(sum(sizes), rel=1e-9)


def test_an_idle_link_leaves_no_timers_behind(write: Write, tmp_path: Path) -> None:
    timeline = Timeline()
    rates = {**write("0,1\n1,3\n"), "period": "2 s"}
    links = bind(timeline, 1, tmp_path, **shared("server", rates))
    transfer = links.transfer(0, "down", 8000)
    timeline.run()  # would never end
    assert transfer.processed
    assert timeline.now < 10


@settings(max_examples=50)
@given(period=st.floats(0.3, 100), cycles=st.integers(0, 10**6))
def test_time_goes_on_from_change_to_change(period: float, cycles: int) -> None:
    factors = Factors([0.0, period / 3, period / 7 * 5], [1.0, 2.0, 3.0], period)
    now = cycles * period
    seen = []
    for _ in range(6):
        seen.append(factors.at(now))
        later = factors.next_change_s(now)
        assert later > now
        assert factors.at(np.nextafter(later, 0)) == seen[-1]
        now = later
    assert seen == [1.0, 2.0, 3.0] * 2


@pytest.mark.parametrize(
    ("text", "period", "words"),
    [
        ("time_s,factor\n", None, "has no row"),
        ("time_s,factor\n1,1\n", None, "first row must be at time_s 0"),
        ("time_s,factor\n0,1\n5,1\n5,2\n", None, r"x\.csv:4: time_s must grow"),
        ("time_s,factor\n0,1\n5,1\n", 5.0, r"x\.csv:3: time_s must grow"),
        ("time_s,factor\n0,0\n", None, r"x\.csv:2: '0' can't be a factor: it must be above 0"),
        ("time_s,factor\n0,nan\n", None, r"x\.csv:2: expected a number"),
        ("time_s,factor\n0,1\n1,1e-300\n", None, r"x\.csv:3: '1e-300' can't be a factor"),
        ("time_s,factor\n0,1e300\n", None, r"x\.csv:2: '1e300' can't be a factor"),
        ("time_s,factor\n0,1\n1e308,1\n", None, r"x\.csv:3: time_s must .* stay below 4e\+12 s"),
        ("time_s,factor\n0,fast\n", None, "expected a number"),
        ("time_s,factor\n0\n", None, r"x\.csv:2: has only 1 column$"),
        ("time,factor\n0,1\n", None, "no column 'time_s'"),
    ],
)
def test_a_file_that_makes_no_sense(
    tmp_path: Path, text: str, period: float | None, words: str
) -> None:
    (tmp_path / "x.csv").write_text(text)
    trace = RateTrace.model_construct(file=Path("x.csv"), period=period)
    with pytest.raises(InputError, match=words):
        trace.read(tmp_path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't read"):
        RateTrace(file=Path("x.csv")).read(tmp_path)


def test_a_scenario_with_a_trace_survives_being_written_down() -> None:
    rates = {"file": "wifi.csv", "period": "24 h"}
    cells = {"home": {"downlink": "1 Mbit/s", "rates": rates}}
    scenario = Scenario.from_dict(
        {
            "data": {"dataset": {"name": "synthetic", "clients": 4}},
            "model": "logistic_regression",
            "fleet": {"count": 4, "cell": "home"},
            "network": {"rates": rates, "cells": cells},
            "rounds": {"clients": 2},
        }
    )
    assert Scenario.from_dict(scenario.to_dict()) == scenario
    assert scenario.to_dict()["network"]["rates"] == {"file": "wifi.csv", "period": "1 d"}


def test_a_file_as_a_spreadsheet_writes_it(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"\xef\xbb\xbftime_s,factor\r\n0,0.5\r\n")
    factors = RateTrace(file=Path("x.csv")).read(tmp_path)
    assert factors.at(3600.0) == 0.5
