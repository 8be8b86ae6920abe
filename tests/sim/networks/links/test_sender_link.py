"""A sender's own link: by hand, and what no queue can break."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl.sim.networks.links.fifo_link import FifoLink
from simfl.sim.networks.links.sender_link import SenderLink
from tests.sim.networks.flows import BITS, Start, ends_over, sizes, starting

WINDOW = 10 * BITS


@settings(max_examples=80)
@given(starts=starting, latency_s=st.sampled_from([0.0, 0.7]), window=sizes)
def test_all_end_and_nobody_sooner_than_alone(
    starts: list[Start], latency_s: float, window: float
) -> None:
    ends = ends_over(SenderLink(BITS, window), starts, latency_s)
    for end, (at, bits, limit) in zip(ends, starts, strict=True):
        assert at + latency_s + bits / min(limit, BITS) <= end * (1 + 1e-9) < math.inf


@settings(max_examples=80)
@given(starts=starting)
def test_the_link_idles_only_where_nobody_is(starts: list[Start]) -> None:
    starts = [(at, bits, math.inf) for at, bits, _ in starts]
    busy_until = 0.0
    for at, bits, _ in sorted(starts):
        busy_until = max(busy_until, at) + bits / BITS
    assert max(ends_over(SenderLink(BITS, WINDOW), starts)) == pytest.approx(busy_until)


@settings(max_examples=80)
@given(starts=starting, latency_s=st.sampled_from([0.0, 0.7]))
def test_ends_are_when_they_are_however_often_one_looks(
    starts: list[Start], latency_s: float
) -> None:
    looks = [0.37 * look for look in range(500)]
    ends = ends_over(SenderLink(BITS, WINDOW), starts, latency_s)
    assert ends_over(SenderLink(BITS, WINDOW), starts, latency_s, looks) == ends


@pytest.mark.parametrize("latency_s", [0.0, 1.0])
def test_alone_windows_decide(latency_s: float) -> None:
    """What a way there and back lets through is no queue, and windows double as they do behind."""
    starts = [(0.0, 100 * BITS, 20 * BITS)]
    behind = FifoLink(20 * BITS, WINDOW, 0.0, own_first=False)
    alone = ends_over(SenderLink(20 * BITS, WINDOW), starts, latency_s)
    assert alone == pytest.approx(ends_over(behind, starts, latency_s))


def test_who_finds_the_link_at_work_takes_turns_by_hand() -> None:
    """The first has its window of ten packets in the queue, then two of each, again and again.

    The first, of ten, is over before; of the others each has two packets a turn: behind the last
    that they send there are at most two of each.
    """
    ends = ends_over(
        SenderLink(BITS, WINDOW), [(0.0, n * BITS, math.inf) for n in (10, 20, 20, 20)]
    )
    assert ends == pytest.approx([10.0, 10 + 56.0, 10 + 58.0, 10 + 60.0])
    plain = ends_over(
        FifoLink(BITS, WINDOW, 0.0, own_first=False),
        [(0.0, n * BITS, math.inf) for n in (10, 20, 20, 20)],
    )
    assert plain == pytest.approx([10.0, 10 + 40.0, 10 + 50.0, 10 + 60.0])


def test_who_finds_it_idle_has_longer_turns() -> None:
    """Its window doubles before the others' packets come, and stays so much wider."""
    first, *others = ends_over(SenderLink(40e6, WINDOW), [(0.0, 145 * BITS, math.inf)] * 8)
    assert first < 0.5 * min(others)
    assert max(others) < 1.05 * min(others)


def test_windows_too_small_to_queue_much_are_all_alike() -> None:
    """At 1 Mbit/s a thousandth of a second is less than two packets, which everybody may queue."""
    first, *others = ends_over(SenderLink(1e6, WINDOW), [(0.0, 145 * BITS, math.inf)] * 8)
    assert first > 0.9 * max(others)
    assert max(others) < 1.02 * min(others)
