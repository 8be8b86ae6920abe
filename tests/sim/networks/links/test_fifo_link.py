"""A shared link with one queue: by hand, and what no queue can break."""

import math
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl.sim.networks.links.fifo_link import FifoLink
from tests.sim.networks.flows import BITS, Start, ends_over, sizes, starting
from tests.sim.networks.packets import Queue


def ends_of(
    starts: list[Start],
    *,
    capacity: float = BITS,
    window: float = 0.0,
    buffer: float = 0.0,
    own_first: bool = False,
    latency_s: float = 0.0,
) -> list[float]:
    """Return when each flow ends."""
    return ends_over(FifoLink(capacity, window, buffer, own_first), starts, latency_s)


anyhow = st.fixed_dictionaries(
    {
        "window": st.sampled_from([0.0, 0.5 * BITS, 2 * BITS, 2.7 * BITS, 10 * BITS]),
        "buffer": st.sampled_from([0.0, 0.5 * BITS, 3 * BITS]),
        "own_first": st.booleans(),
        "latency_s": st.sampled_from([0.0, 0.7]),
    }
)


@given(sizes=st.lists(sizes, min_size=1, max_size=6), latency_s=st.sampled_from([0.0, 0.5]))
def test_without_windows_it_serves_whole_flows_as_they_came(
    sizes: list[float], latency_s: float
) -> None:
    ends = ends_of([(0.0, bits, math.inf) for bits in sizes], latency_s=latency_s)
    assert ends == pytest.approx([total / BITS + latency_s for total in accumulate(sizes)])


def test_windows_double_by_hand() -> None:
    """Four flows of seven packets go by windows of 1, 2 and 4: in turns until the last window."""
    ends = ends_of([(0.0, 7 * BITS, math.inf)] * 4, window=BITS)
    assert ends == pytest.approx([4 * 3 + 4.0 * (1 + flow) for flow in range(4)])


def test_with_little_under_way_flows_go_in_turns_by_hand() -> None:
    """Two packets of each are there at most; without that limit the first goes first."""
    starts = [(0.0, 6 * BITS, math.inf), (0.0, 3 * BITS, math.inf)]
    assert ends_of(starts, buffer=1.0, own_first=True) == pytest.approx([9.0, 7.0])
    assert ends_of(starts, own_first=True) == pytest.approx([6.0, 9.0])


def test_a_buffer_is_filled_again_when_a_third_of_it_is_free() -> None:
    """Of six packets the second, fourth ... that is answered lets two more go."""
    link = FifoLink(BITS, 0.0, 6 * BITS, own_first=True)
    flow = link.join(0.0, 20 * BITS, math.inf)
    under_way = [flow.flying]
    for now in (1.0, 2.0, 3.0, 4.0):
        assert not link.finish(now)
        under_way.append(flow.flying)
    assert under_way == pytest.approx([size * BITS for size in (6, 5, 6, 5, 6)])


@given(bits=sizes, limit=st.floats(0.2, 5), own_first=st.booleans(), buffer=st.floats(1, BITS))
def test_alone_a_flow_is_as_fast_as_its_narrowest_link(
    bits: float, limit: float, own_first: bool, buffer: float
) -> None:
    start = (0.0, bits, limit * BITS)
    [end] = ends_of(
        [start], buffer=buffer if own_first else 0.0, own_first=own_first, latency_s=0.5
    )
    assert end == pytest.approx(0.5 + bits / BITS / min(limit, 1))


@pytest.mark.parametrize("own_first", [False, True])
def test_alone_it_waits_for_answers_by_hand(own_first: bool) -> None:
    """Windows of 1, 2 and 4 packets, half a second each at its own link; an answer takes 2 s.

    It waits 2 s for the first answer, 1.5 s for the next, 0.5 s for that to the first of four.
    """
    starts = [(0.0, 8 * BITS, 2 * BITS)]
    ends = ends_of(starts, capacity=9 * BITS, window=BITS, own_first=own_first, latency_s=1.0)
    assert ends == pytest.approx([1 + 8 / 2 + 2 + 1.5 + 0.5])


@settings(max_examples=150)
@given(
    starts=starting,
    capacity=st.floats(0.5, 3),
    packets=st.tuples(st.sampled_from([0.0, 1, 2, 4.3, 8]), st.sampled_from([0.0, 1.5, 4, 7.3])),
    own_first=st.booleans(),
    latency_s=st.sampled_from([0.0, 0.004, 0.3, 1.1]),
)
def test_flows_end_when_their_packets_do_one_by_one(
    starts: list[Start],
    capacity: float,
    packets: tuple[float, float],
    own_first: bool,
    latency_s: float,
) -> None:
    window, buffer = (BITS * size for size in packets)
    options = (capacity * BITS, window, buffer if own_first else 0.0, own_first)
    # A hair apart from each other: what comes at the very same instant may be served in any order.
    starts = [
        (at + i / 7e3, bits, limit * (1 + i / 9e3)) for i, (at, bits, limit) in enumerate(starts)
    ]
    expected = Queue(*options).ends(starts, [latency_s] * len(starts))
    assert ends_over(FifoLink(*options), starts, latency_s) == pytest.approx(expected, abs=1e-6)


@settings(max_examples=80)
@given(starts=starting, options=anyhow)
def test_all_end_and_nobody_sooner_than_alone(starts: list[Start], options: dict) -> None:
    for end, start in zip(ends_of(starts, **options), starts, strict=True):
        at, bits, limit = start
        assert at + options["latency_s"] + bits / min(limit, BITS) <= end * (1 + 1e-9) < math.inf


@settings(max_examples=80)
@given(starts=starting, options=anyhow)
def test_ends_are_when_they_are_however_often_one_looks(starts: list[Start], options: dict) -> None:
    """None is before `next_end`, or it would be found by a look in between, and not by itself."""
    latency_s = options.pop("latency_s")
    looks = [0.37 * look for look in range(500)]
    ends = ends_over(FifoLink(BITS, **options), starts, latency_s)
    assert ends_over(FifoLink(BITS, **options), starts, latency_s, looks) == ends


@settings(max_examples=80)
@given(starts=starting, own_first=st.booleans())
def test_without_windows_the_link_idles_only_where_nobody_is(
    starts: list[Start], own_first: bool
) -> None:
    """The last ends when a link that whoever is there keeps busy has moved everything."""
    starts = [(at, bits, math.inf) for at, bits, _ in starts]
    busy_until = 0.0
    for at, bits, _ in sorted(starts):
        busy_until = max(busy_until, at) + bits / BITS
    assert max(ends_of(starts, own_first=own_first)) == pytest.approx(busy_until)


def test_who_leaves_frees_the_link_and_is_told_what_came() -> None:
    link = FifoLink(BITS, 0.0, 0.0, own_first=False)
    first, second, third = (link.join(0.0, 10 * BITS, math.inf, name) for name in "abc")
    assert link.leave(15, second) == pytest.approx(5 * BITS)
    assert link.finish(15) == [first]
    while not (done := link.finish(end := link.next_end())):
        pass
    assert done == [third]
    assert end == pytest.approx(26)  # the packet that moved then was moved to its end
    assert link.next_end() == math.inf
    assert len(link) == 0


def test_who_leaves_at_its_very_end_has_got_everything() -> None:
    link = FifoLink(BITS, 0.0, 0.0, own_first=False)
    flow = link.join(0.0, 3 * BITS, math.inf)
    assert link.leave(3, flow) == 3 * BITS
    assert link.finish(3) == []


def test_another_capacity_counts_from_then_on() -> None:
    link = FifoLink(BITS, 0.0, 0.0, own_first=True)
    link.join(0, 10 * BITS, math.inf)
    link.resize(5.5, 0)
    assert link.finish(7) == []
    link.resize(8, 3 * BITS)
    ends = 8 + 4.5 / 3
    while link.next_end() < ends - 1e-9:
        assert link.finish(link.next_end()) == []
    assert len(link.finish(ends + 1e-9)) == 1


def test_large_flows_cost_as_few_steps_as_small_ones() -> None:
    """A terabyte, by windows that grow."""
    ends = ends_of([(0.0, 8e12, 1e9)] * 2, capacity=1e9, window=10 * BITS, own_first=True)
    assert max(ends) == pytest.approx(16e3)
