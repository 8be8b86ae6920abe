"""A shared link before which bytes may wait, by hand and against a simulation in small steps."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl.sim.networks.links.buffered_link import BufferedLink, Flow
from tests.sim.networks.flows import Start, ends_brute, fill


def ends_of(capacity: float, buffer: float, starts: list[Start]) -> list[float]:
    """Return when each flow ends."""
    link = BufferedLink(capacity, buffer)
    todo, ends = sorted((at, i) for i, (at, _, _) in enumerate(starts)), [math.inf] * len(starts)
    while todo or len(link):
        if todo and todo[0][0] < link.next_end():
            now, i = todo.pop(0)
            link.join(now, starts[i][1], starts[i][2], i)
        else:
            end = link.next_end()
            for flow in link.finish(end):
                ends[flow.owner] = end
    return ends


def ends_in_steps(
    capacity: float, buffer: float, starts: list[Start], step_s: float
) -> list[float]:
    """The same, two queues in a row: what is not sent yet, and what waits, step by step."""
    unsent = [bits for _, bits, _ in starts]
    waiting, ends, step = [0.0] * len(starts), [math.inf] * len(starts), 0
    while math.inf in ends:
        now = step * step_s
        ids = [i for i, (at, _, _) in enumerate(starts) if at <= now and ends[i] == math.inf]
        for i in ids:  # its own link lets through what finds room
            passed = min(starts[i][2] * step_s, unsent[i], buffer + capacity * step_s - waiting[i])
            unsent[i], waiting[i] = unsent[i] - passed, waiting[i] + passed
        for i, rate in zip(ids, fill(capacity, [waiting[i] / step_s for i in ids]), strict=True):
            waiting[i] -= min(rate * step_s, waiting[i])
            if unsent[i] + waiting[i] < 1e-9:
                ends[i] = now + step_s
        step += 1
    return ends


starting = st.lists(
    st.tuples(st.floats(0, 10), st.floats(1, 40), st.floats(1, 10)), min_size=1, max_size=6
)


@settings(max_examples=60)
@given(capacity=st.floats(2, 20), starts=starting)
def test_without_room_it_is_the_fair_link(capacity: float, starts: list[Start]) -> None:
    assert ends_of(capacity, 0.0, starts) == pytest.approx(ends_brute(capacity, starts, {})[0])


@settings(max_examples=40)
@given(capacity=st.floats(2, 20), buffer=st.floats(0.5, 30), starts=starting)
def test_agrees_with_two_queues_in_small_steps(
    capacity: float, buffer: float, starts: list[Start]
) -> None:
    slow = ends_in_steps(capacity, buffer, starts, 0.005)
    assert ends_of(capacity, buffer, starts) == pytest.approx(slow, abs=0.08)


@settings(max_examples=60)
@given(capacity=st.floats(2, 20), buffer=st.floats(0, 30), starts=starting)
def test_nobody_is_faster_than_the_own_link_or_all_than_the_shared_one(
    capacity: float, buffer: float, starts: list[Start]
) -> None:
    ends = ends_of(capacity, buffer, starts)
    for end, (at, bits, limit) in zip(ends, starts, strict=True):
        assert end >= (at + bits / min(limit, capacity)) * (1 - 1e-9)
    began = min(at for at, _, _ in starts)
    assert max(ends) >= began + sum(bits for _, bits, _ in starts) / capacity * (1 - 1e-9)


@pytest.mark.parametrize(("buffer", "end"), [(0.0, 7.0), (1.0, 6.5), (0.5, 6.75), (9.0, 6.0)])
def test_what_waited_catches_up_by_hand(buffer: float, end: float) -> None:
    """Both get 1.5 bit/s of 3 until 4 s; 6 bits of the slow one (2 bit/s) are left then.

    Of these 1 waits (2 with room for it), and goes at 3 bit/s while 2 bit/s follow: for a second
    (for two), after which 3 bits (none) are left at 2 bit/s.
    """
    starts = [(0.0, 6.0, 5.0), (0.0, 12.0, 2.0)]
    assert ends_of(3.0, buffer, starts) == pytest.approx([4.0, end])


def test_who_leaves_frees_the_link_and_is_told_what_moved() -> None:
    link = BufferedLink(10, 4)
    first, second = (link.join(0, 100, math.inf, name) for name in "ab")
    assert link.leave(10, second) == pytest.approx(50)
    assert link.next_end() == pytest.approx(15)
    assert isinstance(first, Flow)
    assert link.finish(15) == [first]
    assert link.next_end() == math.inf


def test_another_capacity_counts_from_then_on() -> None:
    link = BufferedLink(10, 4)
    link.join(0, 100, 20)
    link.resize(5, 0)
    assert link.next_end() == math.inf
    link.resize(8, 20)
    assert link.next_end() == pytest.approx(8 + 50 / 20)


@pytest.mark.parametrize("bits", [1e15, 1e-9])
def test_it_ends_however_much_or_little_there_is(bits: float) -> None:
    rng = np.random.default_rng(0)
    starts = [(float(rng.uniform(0, 1e6)), bits, float(rng.uniform(1e6, 2e7))) for _ in range(20)]
    assert max(ends_of(8e6, 2.6e5, starts)) < math.inf
