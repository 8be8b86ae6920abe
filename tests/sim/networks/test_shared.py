"""The shared network on the timeline: closed forms, ties, aborts, conservation of bytes."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simfl.sim.networks.base import Direction, Links, Network, Transfer, networks
from simfl.sim.networks.links.slow_start import PACKET
from simfl.sim.timeline import Timeline
from simfl.testing.circumstances import circumstances
from tests.sim.networks.flows import bind, fired
from tests.sim.sim_world import make, make_fleet

WAYS: tuple[Direction, Direction] = ("down", "up")


def test_it_is_the_default() -> None:
    assert networks.parse({}) == networks.parse("shared")


@pytest.mark.parametrize("size", [0, 1, 12_345])
def test_without_a_shared_link_time_is_latency_plus_bytes_over_rate(size: int) -> None:
    timeline = Timeline()
    links = bind(timeline, latency=0.3)
    down, up = 0.3 + 8 * size / 8000, 0.3 + 8 * size / 4000
    assert links.duration_s(1, "down", size) == links.expected_s(1, "down", size) == down
    assert links.duration_s(1, "up", size) == up
    transfers = [links.transfer(0, "down", size), links.transfer(0, "up", size)]
    assert fired(timeline, transfers) == [down, up]


def test_unlimited_links_cost_latency_only() -> None:
    links = bind(Timeline(), latency=0.3, bps=math.inf)
    assert links.duration_s(0, "down", 10**12) == 0.3
    assert links.expected_s(0, "up", 10**12) == 0.3


def test_a_shared_link_has_no_fixed_duration_but_an_expected_one() -> None:
    links = bind(Timeline(), latency=0.5, server_uplink="1 kB/s", server_downlink="4 kbit/s")
    assert links.duration_s(0, "down", 1000) is None
    assert links.duration_s(0, "up", 1000) is None
    assert links.expected_s(0, "down", 1000) == 1.5
    assert links.expected_s(0, "up", 1000) == 2.5


def test_only_the_limited_direction_is_shared() -> None:
    links = bind(Timeline(), server_uplink="1 kB/s")
    assert links.duration_s(0, "down", 1000) is None  # downloads use the server's uplink
    assert links.duration_s(0, "up", 1000) == 2.0


@pytest.mark.parametrize("n", [1, 2, 10, 1000])
def test_n_equal_downloads_take_n_times_bytes_over_capacity(n: int) -> None:
    timeline = Timeline()
    links = bind(timeline, n, latency=0.25, server_uplink="1 kB/s")
    times = fired(timeline, [links.transfer(i, "down", 500) for i in range(n)])
    assert times == pytest.approx([0.25 + n * 0.5] * n, rel=1e-12)


def test_latency_uses_no_bandwidth() -> None:
    """By hand: the second joins at 2 s, when the first has 1 of its 3 kB left; they end at 4 and
    at 5 s."""
    timeline = Timeline()
    network = networks.parse({"name": "shared", "server_uplink": "1 kB/s"})
    links = network.bind(timeline, np.full(2, math.inf), np.ones(2), np.array([0.0, 2.0]))
    transfers = [links.transfer(0, "down", 3000), links.transfer(1, "down", 2000)]
    assert fired(timeline, transfers) == [4.0, 5.0]


def test_downloads_and_uploads_do_not_compete() -> None:
    timeline = Timeline()
    links = bind(timeline, server_uplink="1 kB/s", server_downlink="1 kB/s", bps=math.inf)
    transfers = [links.transfer(0, "down", 1000), links.transfer(0, "up", 1000)]
    assert fired(timeline, transfers) == [1.0, 1.0]


def test_an_upload_that_lands_on_the_deadline_wins_the_tie() -> None:
    timeline, log = Timeline(), []
    links = bind(timeline, server_downlink="1 kB/s", bps=math.inf)
    timeline.deadline(2.0).callbacks.append(lambda _: log.append("deadline"))
    for i in (0, 1):
        links.transfer(i, "up", 1000).callbacks.append(lambda _: log.append("upload"))
    timeline.run()
    assert log == ["upload", "upload", "deadline"]


@pytest.mark.parametrize("options", [{}, {"server_uplink": "8 kbit/s"}])
def test_abort_returns_whole_bytes(options: dict[str, Any]) -> None:
    timeline = Timeline()
    fired: list[object] = []
    links = bind(timeline, latency=1.0, bps=8000.0, **options)
    transfer = links.transfer(0, "down", 1000)
    transfer.callbacks.append(fired.append)
    timeline.run(until=1.0)
    early = links.transfer(1, "up", 1000)
    assert early.abort() == 0  # within its latency
    timeline.run(until=1.4567)
    assert transfer.abort() == 456
    timeline.run()
    assert not fired


@pytest.mark.parametrize("options", [{}, {"server_uplink": "8 kbit/s"}])
def test_abort_after_the_end_returns_everything(options: dict[str, Any]) -> None:
    timeline = Timeline()
    links = bind(timeline, bps=8000.0, **options)
    transfer = links.transfer(0, "down", 1000)
    timeline.run(until=5)
    assert transfer.abort() == 1000


def test_an_aborted_transfer_speeds_the_others_up() -> None:
    timeline = Timeline()
    links = bind(timeline, server_uplink="1 kB/s", bps=math.inf)
    leaving, staying = (links.transfer(i, "down", 1000) for i in (0, 1))
    timeline.at(1.0).callbacks.append(lambda _: moved.append(leaving.abort()))
    moved: list[int] = []
    assert fired(timeline, [staying]) == [1.5]
    assert moved == [500]


def test_bytes_are_conserved_whatever_is_aborted() -> None:
    """The link is busy throughout, so what moved is its capacity times the time."""
    timeline, rng = Timeline(), np.random.default_rng(0)
    links = bind(timeline, 50, server_uplink="1 kB/s", bps=math.inf)
    transfers = [links.transfer(i, "down", 10_000) for i in range(50)]
    moved = []
    for i, at in enumerate(np.sort(rng.uniform(0, 100, 50))):
        timeline.run(until=at)
        moved.append(transfers[i].abort())
    assert 0 <= 1000 * timeline.now - sum(moved) <= 50


def test_a_wrong_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="data rate"):
        networks.get("shared").model_validate({"server_uplink": "5 s"})


class Courier(Links):
    """Every transfer takes an hour, whatever the devices' links."""

    def duration_s(self, device: int, direction: Direction, size: int) -> float | None:
        return self.expected_s(device, direction, size)

    def expected_s(self, device: int, direction: Direction, size: int) -> float:
        return 3600.0

    def transfer(self, device: int, direction: Direction, size: int) -> Transfer:
        raise NotImplementedError  # it says how long each takes


class Post(Network):
    """Couriers."""

    def bind(self, *_: Any, **__: Any) -> Links:
        return Courier()


def test_a_network_of_ones_own_is_asked_how_long_the_full_workload_takes() -> None:
    """Where it knew every duration it was taken for latency and bytes over the device's rate."""
    world = make(make_fleet(2), network=Post())
    assert world.rounds[0].end_s == 2 * 3600.0 + 10.0
    down_s, _, up_s = world.server.nominal_phases_s()
    assert down_s.tolist() == up_s.tolist() == [3600.0, 3600.0]


def test_overhead_takes_time_on_every_link_and_is_not_booked() -> None:
    timeline = Timeline()
    links = bind(timeline, latency=0.5, overhead="25%", server_downlink="6 kbit/s")
    assert links.duration_s(0, "down", 1000) == links.expected_s(0, "down", 1000) == 0.5 + 1.25
    assert links.expected_s(0, "up", 1000) == 0.5 + 2.5
    shared = [links.transfer(device, "up", 1000) for device in range(2)]
    assert fired(timeline, shared) == [0.5 + 2 * 8 * 1000 * 1.25 / 6000] * 2
    cut = links.transfer(2, "up", 1000)
    timeline.run(until=timeline.now + 0.5 + 1.25)
    assert cut.abort() == 500


def test_overhead_of_messages_takes_time_on_every_link_and_is_not_booked() -> None:
    timeline = Timeline()
    options: dict[str, Any] = {"overhead": "25%", "server_downlink": "6 kbit/s"}
    links = bind(timeline, latency=0.5, message_overhead="250 B", **options)
    assert links.duration_s(0, "down", 1000) == links.expected_s(0, "down", 1000) == 0.5 + 1.5
    assert links.duration_s(0, "down", 0) == 0.5 + 0.25
    assert links.expected_s(0, "up", 1000) == 0.5 + 3.0
    shared = [links.transfer(device, "up", 1000) for device in range(2)]
    assert fired(timeline, shared) == [0.5 + 2 * 8 * 1500 / 6000] * 2
    for way, half_s in zip(WAYS, (0.75, 1.5), strict=True):
        cut = links.transfer(2, way, 1000)
        timeline.run(until=timeline.now + 0.5 + half_s)
        assert cut.abort() == 500


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"server_uplink": "6 kbit/s", "server_downlink": "5 kbit/s"},
        {"server_downlink": "5 kbit/s", "buffer": "300 B"},
        {"server_uplink": "6 kbit/s", "initial_window": "200 B"},
        {"initial_window": "200 B", "polling": "3 s"},
        {"queue": "fifo", "server_uplink": "6 kbit/s", "server_downlink": "5 kbit/s"},
    ],
)
@given(sizes=st.lists(st.integers(0, 3000), min_size=2, max_size=6))
def test_it_takes_as_long_as_more_bytes_would(options: dict[str, Any], sizes: list[int]) -> None:
    times = []
    for overhead, added in (("300 B", 0), ("0 B", 300)):
        timeline = Timeline()
        links = bind(timeline, 3, latency=0.5, message_overhead=overhead, **options)
        under_way = [
            links.transfer(number // 2, WAYS[number % 2], size + added)
            for number, size in enumerate(sizes)
        ]
        expected = [links.expected_s(0, "up", size + added) for size in sizes]
        times.append([*expected, *fired(timeline, under_way)])
    assert times[0] == pytest.approx(times[1], rel=1e-12)


def test_what_waits_before_the_servers_link_goes_on_at_its_rate_by_hand() -> None:
    """Bytes instead of bits of `test_buffered_link`: all takes eight times as long."""
    timeline = Timeline()
    network = networks.parse({"server_downlink": "3 bit/s", "buffer": "1 B"})
    links = network.bind(timeline, np.full(2, math.inf), np.array([5.0, 2.0]), np.zeros(2))
    transfers = [links.transfer(0, "up", 6), links.transfer(1, "up", 12)]
    assert fired(timeline, transfers) == pytest.approx([32.0, 52.0])


def test_one_queue_serves_downloads_one_after_the_other() -> None:
    """All begin at once; a far device's bytes are in the queue no later, and there later."""
    timeline = Timeline()
    network = networks.parse({"server_uplink": "8 kbit/s", "queue": "fifo"})
    links = network.bind(timeline, np.full(3, math.inf), np.full(3, 1e6), np.array([5.0, 0, 0]))
    transfers = [links.transfer(device, "down", 1000) for device in range(3)]
    assert fired(timeline, transfers) == pytest.approx([6.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("shared", "expected"),
    [
        ({"server_uplink": f"{8 * PACKET} bit/s"}, [10.0, 66.0, 68.0, 70.0]),
        ({"cells": {"home": {"downlink": f"{8 * PACKET} bit/s"}}}, [10.0, 50.0, 60.0, 70.0]),
    ],
)
def test_only_the_servers_own_link_is_its_kernels_by_hand(
    shared: dict[str, Any], expected: list[float]
) -> None:
    """Behind a cell's queue nobody knows how full it is: windows fill it."""
    timeline = Timeline()
    network = networks.parse({"queue": "fifo", "initial_window": f"{10 * PACKET} B", **shared})
    free = np.full(4, math.inf)
    links = network.bind(timeline, free, free, np.zeros(4), cells=np.zeros(4, dtype=np.int64))
    transfers = [links.transfer(i, "down", n * PACKET) for i, n in enumerate((10, 20, 20, 20))]
    assert fired(timeline, transfers) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("option", "way"),
    [({"buffer": "32 kB"}, "up"), ({"queue": "fifo"}, "up"), ({"queue": "fifo"}, "down")],
)
def test_two_shared_links_in_a_row_are_an_objection(option: dict[str, str], way: str) -> None:
    to_cell, to_server = (
        ("uplink", "server_downlink") if way == "up" else ("downlink", "server_uplink")
    )
    options = {to_server: "8 Mbit/s", **option, "cells": {"home": {to_cell: "1 Mbit/s"}}}
    plain = {**options, to_server: math.inf}
    facts = circumstances()
    [objection] = networks.parse(options).objections(facts)
    assert f"`{next(iter(option))}" in objection
    assert f"`{to_cell}` or `{to_server}`" in objection
    assert list(networks.parse(plain).objections(facts)) == []
