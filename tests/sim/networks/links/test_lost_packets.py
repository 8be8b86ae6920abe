"""Losses against what is reckoned by hand, and against connections followed packet by packet."""

import math
import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simfl.sim.networks.base import networks
from simfl.sim.networks.links import slow_start
from simfl.sim.networks.links.lost_packets import Delay, delay
from simfl.sim.networks.links.slow_start import PACKET
from simfl.sim.timeline import Timeline
from simfl.testing.circumstances import circumstances
from tests.sim.networks.flows import bind, fired
from tests.sim.networks.reno import Reno

# A way there and back of 1 s, in which the link moves 100 packets, and a queue for 23 more.
BPS, LATENCY_S, WINDOW, QUEUE = 8 * 100 * PACKET, 0.5, 10 * PACKET, 23 * PACKET


def of(packets: float, threshold: float = math.inf, queue: float = QUEUE) -> tuple[float, float]:
    """Return how long the link waits, and the next threshold, packets."""
    size = packets * PACKET
    waits_s, left = delay(size, BPS, LATENCY_S, WINDOW, queue, threshold * PACKET)
    return waits_s, left / PACKET


# After windows of 10 and 20 packets the queue holds 20; of the next 40 it loses the 24th.
SLOW_START, SLOW_START_S = 70, 0.91 + 0.81 + 0.61


def test_slow_start_by_hand() -> None:
    fits = 70 + 48  # two packets for each of 24, of which the last is lost
    assert of(fits) == (slow_start.waits_s(fits * PACKET, BPS, LATENCY_S, WINDOW), math.inf)
    # 64 packets, two of which fill the link no more; four seconds until the window has 68.
    waits_s, threshold = of(SLOW_START + 264)
    assert waits_s == pytest.approx(SLOW_START_S + 4 - 2.64)
    assert threshold == 64  # three quarters of 68 are less
    # Where slow start ends at 50 nothing is lost; at 30 windows of 10 and 20 come before.
    waits_s, threshold = of(SLOW_START + 102, 50)
    assert waits_s == pytest.approx(SLOW_START_S + 2 - 1.02)
    assert threshold == 50
    waits_s, threshold = of(30 + 30 * 40 + 800, 30)
    assert waits_s == pytest.approx(0.91 + 0.81 + 40 - 20)
    assert threshold == 0.75 * 70


def test_a_half_that_overruns_the_queue_is_halved_too() -> None:
    # A queue for 85 holds what comes beside windows of up to 80; of 160, which fill the link, half
    # of twice 186 overruns it at once.  Four windows of 185 later 92.5 climb to 95.5 in 3 seconds.
    queue, overran, begun_s = 85 * PACKET, 310 + 4 * 185, 0.91 + 0.81 + 0.61 + 0.21
    for climbed, idle_s in ((0, 0.0), (282, 3 - 2.82)):
        waits_s, threshold = of(overran + climbed, queue=queue)
        assert waits_s == pytest.approx(begun_s + idle_s)
        assert threshold == 92.5


def test_what_overran_the_queue_does_so_again() -> None:
    # The window of 64 moves, and one more until that is noticed; 32 climb to 36 in four seconds.
    waits_s, threshold = of(SLOW_START + 64 + 136, 64)
    assert waits_s == pytest.approx(SLOW_START_S + 1 - 0.63 + 4 - 1.36)
    assert threshold == 32


def test_the_sawtooth_by_hand() -> None:
    # From 64 packets 36 seconds until the link is full, 23 packets until the queue is; 61.5 remain.
    slow, full = 36 * 64 + 36**2 / 2, (123**2 - 100**2) / 2
    idle_s = SLOW_START_S + 36 - slow / 100
    assert of(SLOW_START + slow)[0] == pytest.approx(idle_s)
    assert of(SLOW_START + slow + full)[0] == pytest.approx(idle_s)
    again = (100**2 - 61.5**2) / 2
    waits_s, threshold = of(SLOW_START + slow + 2 * full + again - 1)  # before it is full again
    assert waits_s == pytest.approx(idle_s + 38.5 - again / 100)
    assert threshold == pytest.approx(0.75 * math.sqrt(123**2 - 2))


def test_half_of_a_queue_as_long_as_the_link_fills_it() -> None:
    plain_s = slow_start.waits_s(1e9 * PACKET, BPS, LATENCY_S, WINDOW)
    assert of(1e9, queue=100 * PACKET)[0] == of(1e9, queue=math.inf)[0] == plain_s
    assert of(1e9, queue=99 * PACKET)[0] > plain_s


def test_nothing_is_lost_without_latency_or_on_unlimited_links() -> None:
    assert delay(1e12, BPS, 0.0, WINDOW, QUEUE, 7.0) == Delay(0, 7)
    unlimited_s = slow_start.waits_s(1e12, math.inf, 1.0, WINDOW)
    assert delay(1e12, math.inf, 1.0, WINDOW, QUEUE, 7.0) == Delay(unlimited_s, 7)


def packet_by_packet(
    link: int, queue: int, packets: int, threshold: float
) -> tuple[float, float, float, float]:
    """Return what a transfer takes in the time of a packet, and the next threshold: told, seen."""
    seen = Reno(link, queue, 10, threshold)
    seen.move(packets)
    kept = max(seen.threshold, 0.75 * seen.window) if seen.threshold < math.inf else math.inf
    sizes = (packets * PACKET, 8 * PACKET, link / 2, 10 * PACKET, queue * PACKET)
    told = delay(*sizes, threshold * PACKET)
    return packets + told.waits_s, seen.last, told.threshold / PACKET, kept


@pytest.mark.parametrize(("link", "queue"), [(198, 66), (83, 66), (120, 30), (300, 200)])
def test_one_transfer_after_another_is_as_packet_by_packet(link: int, queue: int) -> None:
    told = seen = math.inf  # the thresholds
    for _ in range(6):
        lasts, _, told, _ = packet_by_packet(link, queue, 3000, told)
        _, lasted, _, seen = packet_by_packet(link, queue, 3000, seen)
        assert lasts == pytest.approx(lasted, rel=0.03)
        assert told == pytest.approx(seen, rel=0.05)


def test_most_transfers_are_as_packet_by_packet() -> None:
    """All but those whose last packets are lost, and where a packet decides whether any is."""
    draws, errors, plain = np.random.default_rng(0), [], []
    for _ in range(150):
        link = int(draws.integers(30, 400))
        threshold = draws.choice([math.inf, draws.uniform(20, 400)])
        queue, packets = int(link * draws.uniform(0.05, 0.95)), int(link * draws.uniform(2, 40))
        if decides(link, queue, threshold):
            continue
        lasts, lasted, *_ = packet_by_packet(link, queue, packets, threshold)
        errors.append(abs(lasts / lasted - 1))
        without_s = slow_start.waits_s(packets * PACKET, 8 * PACKET, link / 2, 10 * PACKET)
        plain.append(abs((packets + without_s) / lasted - 1))
    assert len(errors) > 100
    assert statistics.mean(errors) < 0.02
    assert statistics.quantiles(errors, n=20)[-1] < 0.06
    assert statistics.mean(plain) > 0.1


def decides(link: int, queue: int, threshold: float) -> bool:
    """Return whether a window is within three packets of overrunning the queue."""
    window = 10
    while window < min(threshold, 5000):
        if abs(min(2 * window, threshold) - (min(window, link) + queue + 1)) <= 3:
            return True
        window *= 2
    return False


@given(
    st.floats(1, 1e9),
    st.floats(0.001, 0.3),
    st.floats(1, 1e6),
    st.just(math.inf) | st.floats(1, 1e7),
)
def test_losses_take_time_and_halve_no_window_twice_unless_it_has_grown(
    size: float, latency_s: float, queue: float, threshold: float
) -> None:
    waits_s, left = delay(size, 2e7, latency_s, 10 * PACKET, queue, threshold)
    first_windows_s = slow_start.waits_s(min(size, 1e5), 2e7, latency_s, 10 * PACKET)
    assert waits_s >= 0
    assert left > 0
    if threshold == math.inf:
        assert waits_s >= first_windows_s or left < 1e5


def test_downloads_wait_for_it_and_uploads_do_not() -> None:
    """At 8 kbit/s a way there and back of 60 s moves 60 kB."""
    options: dict[str, Any] = {
        "latency": 30.0,
        "initial_window": "10 kB",
        "queue_limit": "10 kB",
    }
    timeline = Timeline()
    links = bind(timeline, **options)
    waited_s, threshold = delay(1e6, 8000, 30.0, 10_000, 10_000, math.inf)
    assert waited_s > slow_start.waits_s(1e6, 8000, 30.0, 10_000)
    lasts_s = 30 + waited_s + 1000
    for _ in range(2):  # who asks changes nothing
        assert links.expected_s(0, "down", 10**6) == pytest.approx(lasts_s)
    upload_s = 30 + slow_start.waits_s(1e6, 4000, 30.0, 10_000) + 2000
    assert links.expected_s(0, "up", 10**6) == pytest.approx(upload_s)
    transfers = [links.transfer(0, "down", 10**6), links.transfer(0, "up", 10**6)]
    again_s = 30 + delay(1e6, 8000, 30.0, 10_000, 10_000, threshold).waits_s + 1000
    assert links.expected_s(0, "down", 10**6) == pytest.approx(again_s) != lasts_s
    assert links.expected_s(1, "down", 10**6) == pytest.approx(lasts_s)
    assert fired(timeline, transfers) == pytest.approx([lasts_s, upload_s])


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
