"""Losses against what is reckoned by hand, and against a window followed byte by byte."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simfl.sim.networks import slow_start
from simfl.sim.networks.base import networks
from simfl.sim.networks.lost_packets import waits_s
from simfl.sim.networks.slow_start import PACKET
from simfl.sim.timeline import Timeline
from simfl.testing.circumstances import circumstances
from tests.sim.networks.test_shared import bind, ends

# A way there and back of 1 s, in which the link moves 100 packets, and a queue for 20 more: windows
# of 10, 20, 40 and 80 packets fit, the next one does not, and half of 120 does not fill the link.
BPS, LATENCY_S, WINDOW, QUEUE = 8 * 100 * PACKET, 0.5, 10 * PACKET, 20 * PACKET
SLOW_START, SLOW_START_S = 70 * PACKET, 0.91 + 0.81 + 0.61  # three windows, until 60 packets


def of(size: float, queue: float = QUEUE) -> float:
    return waits_s(size, BPS, LATENCY_S, WINDOW, queue)


def test_by_hand() -> None:
    short = (10 + 20 + 40 + 80 + 120) * PACKET  # overruns nothing
    assert of(short) == slow_start.waits_s(short, BPS, LATENCY_S, WINDOW)
    # Four seconds in which the window grows from 60 packets to 64, of the link's 100.
    assert of(SLOW_START + 248 * PACKET) == pytest.approx(SLOW_START_S + 4 - 2.48)
    # Forty seconds until it is full, in which 60 * 40 + 40**2 / 2 packets have moved.
    full = SLOW_START + 3200 * PACKET
    assert of(full) == pytest.approx(SLOW_START_S + 40 - 32)
    # Then 100 * 20 + 20**2 / 2 packets at the link's rate, and the same again.
    assert of(full + 2200 * PACKET) == pytest.approx(SLOW_START_S + 8)
    assert of(full + (2200 + 3200) * PACKET) == pytest.approx(SLOW_START_S + 16)


def test_half_of_a_queue_as_long_as_the_link_fills_it() -> None:
    plain_s = slow_start.waits_s(1e12, BPS, LATENCY_S, WINDOW)
    assert of(1e12, 100 * PACKET) == of(1e12, math.inf) == plain_s < of(1e12, 99 * PACKET)


def test_nothing_is_lost_without_latency_or_on_unlimited_links() -> None:
    assert waits_s(1e12, BPS, 0.0, WINDOW, QUEUE) == 0
    unlimited_s = slow_start.waits_s(1e12, math.inf, 1.0, WINDOW)
    assert waits_s(1e12, math.inf, 1.0, WINDOW, QUEUE) == unlimited_s


def byte_by_byte_s(left: float, link: float, most: float, round_s: float) -> float:
    """Return how long the link idles from the first loss on: of each piece, its time less that at
    the link's rate; so many bytes as the window has let it grow by a packet."""
    window, idle_s, piece = most / 2, 0.0, left / 20_000
    for _ in range(20_000):
        idle_s += max(piece * round_s / window - piece * round_s / link, 0.0)
        window += piece * PACKET / window
        if window >= most:
            window = most / 2
    return idle_s


SHARES = st.floats(0.02, 0.95) | st.floats(1.05, 1.2)  # at 1 rounding decides


@given(st.floats(20, 2000), st.floats(1, 100), st.sampled_from([0.01, 0.3]), SHARES)
def test_it_idles_as_long_as_byte_by_byte(
    packets: float, times: float, latency_s: float, share: float
) -> None:
    """So many packets fill the link, the transfer has so many times as many, the queue a share."""
    link = packets * PACKET
    bps, size = 8 * link / (2 * latency_s), times * link
    most, window, sent = link * (1 + share), 10 * PACKET, 0.0
    while window <= most:
        sent, window = sent + window, 2 * window
    window, left, begun_s = 10 * PACKET, size, 0.0
    while window < most / 2:  # from a packet's end until the answer to the first
        begun_s += 2 * latency_s * max(1 - (window - PACKET) / link, 0)
        left, window = left - window, 2 * window
    expected_s = slow_start.waits_s(size, bps, latency_s, 10 * PACKET)
    if share < 1 and size - sent > most:
        expected_s = begun_s + byte_by_byte_s(left, link, most, 2 * latency_s)
    waited_s = waits_s(size, bps, latency_s, 10 * PACKET, link * share)
    assert waited_s == pytest.approx(expected_s, rel=0.01, abs=0.01 * latency_s)


@given(st.lists(st.floats(1, 1e9), min_size=2, max_size=2), st.floats(0.001, 0.3))
def test_more_bytes_wait_no_less_than_without_losses(sizes: list[float], latency_s: float) -> None:
    few, many = sorted(sizes)
    few_s, many_s = (waits_s(size, 2e7, latency_s, 10 * PACKET, 1e5) for size in (few, many))
    assert few_s <= many_s + 1e-9
    assert slow_start.waits_s(few, 2e7, latency_s, 10 * PACKET) <= few_s + 1e-9


def test_downloads_wait_for_it_and_uploads_do_not() -> None:
    """At 8 kbit/s a way there and back of 60 s moves 60 kB."""
    options: dict[str, Any] = {
        "latency": 30.0,
        "initial_window": "10 kB",
        "queue_limit": "10 kB",
    }
    timeline = Timeline()
    links = bind(timeline, **options)
    waited_s = waits_s(1e6, 8000, 30.0, 10_000, 10_000)
    assert waited_s > slow_start.waits_s(1e6, 8000, 30.0, 10_000)
    lasts_s = 30 + waited_s + 1000
    assert links.expected_s(0, "down", 10**6) == pytest.approx(lasts_s)
    upload_s = 30 + slow_start.waits_s(1e6, 4000, 30.0, 10_000) + 2000
    assert links.expected_s(0, "up", 10**6) == pytest.approx(upload_s)
    transfers = [links.transfer(0, "down", 10**6), links.transfer(0, "up", 10**6)]
    assert ends(timeline, transfers) == pytest.approx([lasts_s, upload_s])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "`queue_limit` needs an `initial_window`"),
        (
            {"initial_window": "14480 B", "queue": "fifo", "server_uplink": "1 MB/s"},
            "can't have `queue_limit` where downloads share a link with `queue: fifo`",
        ),
    ],
)
def test_what_it_can_not_go_with_is_told(options: dict[str, str], told: str) -> None:
    network = networks.parse({"name": "shared", "queue_limit": "100 kB", **options})
    [objection] = network.objections(circumstances())
    assert told in objection
