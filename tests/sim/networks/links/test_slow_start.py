"""Slow start against closed forms, and against a connection followed packet by packet."""

import math
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simfl.sim.networks.base import networks
from simfl.sim.networks.links.slow_start import PACKET, waits_s
from simfl.sim.timeline import Timeline
from tests.sim.networks.flows import bind, fired


def test_by_hand_on_a_link_that_is_never_the_limit() -> None:
    """Windows of 1, 2, 4 and 8 kB hold 15 kB: three waits of a way there and back."""
    assert waits_s(15_000, math.inf, 0.05, 1000) == pytest.approx(3 * 0.1)
    assert waits_s(15_001, math.inf, 0.05, 1000) == pytest.approx(4 * 0.1)
    assert waits_s(1000, math.inf, 0.05, 1000) == 0


def test_by_hand_on_a_link_that_a_later_window_fills() -> None:
    """At a packet in 10 ms an answer comes 200 ms after a packet: windows of 10 and 20 packets last
    100 ms and 200 ms, the rest of them after the first packet 90 ms and 190 ms."""
    bps = 8 * PACKET / 0.01
    assert waits_s(1000 * PACKET, bps, 0.1, 10 * PACKET) == pytest.approx(0.11 + 0.01)
    assert waits_s(30 * PACKET, bps, 0.1, 10 * PACKET) == pytest.approx(0.11)


def packet_by_packet_s(packets: int, each_s: float, latency_s: float, window: int) -> float:
    """Return when the last of the packets arrives; every answer lets one more be under way."""
    answers, now, sent, allowed = deque[float](), 0.0, 0, window
    while sent < packets:
        while answers and answers[0] <= now + 1e-9:
            answers.popleft()
            allowed += 2  # the one answered, and one more
        if allowed == 0:
            now = answers[0]
            continue
        allowed, sent, now = allowed - 1, sent + 1, now + each_s
        answers.append(now + 2 * latency_s)
    return now + latency_s


@given(
    st.integers(1, 3000),
    st.integers(1, 20),
    st.sampled_from([0.0001, 0.001, 0.0115]),
    st.floats(0, 0.4),
)
def test_it_takes_as_long_as_packet_by_packet(
    packets: int, window: int, each_s: float, latency_s: float
) -> None:
    bps = 8 * PACKET / each_s
    waited_s = waits_s(packets * PACKET, bps, latency_s, window * PACKET)
    expected_s = packet_by_packet_s(packets, each_s, latency_s, window)
    assert latency_s + waited_s + packets * each_s == pytest.approx(expected_s, abs=1e-6)


@pytest.mark.parametrize("server_uplink", ["unlimited", "1 MB/s"])
def test_a_transfer_waits_before_it_moves_bytes(server_uplink: str) -> None:
    """8 kbit/s move 10 kB in 10 s; after 2 kB there is a wait for what is left of 2 s."""
    timeline = Timeline()
    links = bind(timeline, latency=1.0, initial_window="2 kB", server_uplink=server_uplink)
    wait_s = waits_s(10_000, 8000, 1.0, 2000)
    assert wait_s == pytest.approx(2 - (2000 - PACKET) / 1000)
    assert links.expected_s(0, "down", 10_000) == pytest.approx(11 + wait_s)
    assert links.duration_s(0, "down", 10_000) is None
    [end_s] = fired(timeline, [links.transfer(0, "down", 10_000)])
    assert end_s == pytest.approx(11 + wait_s)


def test_what_is_broken_off_while_it_waits_has_moved_nothing() -> None:
    timeline = Timeline()
    transfer = bind(timeline, latency=1.0, initial_window="2 kB").transfer(0, "down", 10_000)
    timeline.run(until=2.0)
    assert transfer.abort() == 0
    timeline = Timeline()
    transfer = bind(timeline, latency=1.0, initial_window="2 kB").transfer(0, "down", 10_000)
    timeline.run(until=2.0 + waits_s(10_000, 8000, 1.0, 2000))
    assert transfer.abort() == 1000


def test_without_latency_nobody_waits() -> None:
    links = bind(Timeline(), initial_window="1 B")
    assert links.expected_s(0, "down", 10**9) == 10**6


def test_its_default_is_no_slow_start() -> None:
    assert networks.parse("shared").model_dump()["initial_window"] == 0
