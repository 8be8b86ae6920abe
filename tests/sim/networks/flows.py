"""Flows that share links: played on a link, and by a slow, obvious simulation."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from simfl.sim.networks.base import Links, Transfer, networks
from simfl.sim.networks.links.fair_link import FairLink, Flow
from simfl.sim.networks.links.fair_tree import FairTree
from simfl.sim.networks.links.fifo_link import FifoLink
from simfl.sim.networks.links.slow_start import PACKET
from simfl.sim.timeline import Timeline

BITS = 8.0 * PACKET
"""Of a packet."""
Start = tuple[float, float, float]
"""When a flow starts, its bits, its limit."""
Starts = Sequence[tuple[float, ...]]
"""When each flow starts, its bits, its limit, and below a tree its cell."""
Ends = tuple[list[float], dict[int, float]]
"""When each flow ends, and the bits that those moved which were called off."""

sizes = st.floats(1, 40 * BITS)
starting = st.lists(
    st.tuples(st.floats(0, 10), sizes, st.floats(0.2, 5).map(lambda x: x * BITS)),
    min_size=1,
    max_size=6,
)


def bind(
    timeline: Timeline, n: int = 3, latency: float = 0.0, bps: float = 8000.0, **options: Any
) -> Links:
    network = networks.parse({"name": "shared", **options})
    return network.bind(timeline, np.full(n, bps), np.full(n, bps / 2), np.full(n, latency))


def fill(capacity: float, limits: list[float]) -> list[float]:
    """Water-filling, the obvious way: serve the most limited first."""
    rates, left = [0.0] * len(limits), capacity
    order = sorted(range(len(limits)), key=lambda i: limits[i])
    for served, i in enumerate(order):
        rates[i] = min(limits[i], left / (len(limits) - served))
        left -= rates[i]
    return rates


def ends_brute(capacity: float, starts: Sequence[Start], aborts: Mapping[int, float]) -> Ends:
    """Return the ends of flows on one link; see `slow_ends`."""
    return slow_ends(starts, aborts, lambda ids: fill(capacity, [starts[i][2] for i in ids]))


def slow_ends(
    starts: Starts, aborts: Mapping[int, float], rates_of: Callable[[list[int]], list[float]]
) -> Ends:
    """Return the ends of flows whose rates are all worked out anew at each event.

    Args:
        starts: of the flows.
        aborts: when a flow is called off, of those that are.
        rates_of: returns the rates of the flows that have these numbers, together.
    """
    left = [start[1] for start in starts]
    active: set[int] = set()
    ends, moved, now = [math.inf] * len(starts), dict[int, float](), 0.0
    todo = _events(starts, aborts)
    while todo or active:
        ids = sorted(active)
        rates = rates_of(ids)
        first = min((now + left[i] / r for i, r in zip(ids, rates, strict=True)), default=math.inf)
        nxt = min(first, todo[0][0] if todo else math.inf)
        for i, rate in zip(ids, rates, strict=True):
            over = now + left[i] / rate <= nxt * (1 + 1e-13)
            left[i] -= rate * (nxt - now)
            if over:
                ends[i] = nxt
                active.remove(i)
        now = nxt
        while todo and todo[0][0] <= now:
            _, joins, i = todo.pop(0)
            if joins:
                active.add(i)
            elif i in active:
                active.remove(i)
                moved[i] = starts[i][1] - left[i]
    return ends, moved


def played(
    link: FairLink | FairTree,
    starts: Starts,
    aborts: Mapping[int, float],
    check: Callable[[], None],
) -> Ends:
    """Return the ends of flows on `link`; `check` is called after each event."""
    flows: dict[int, Flow] = {}
    ends, moved = [math.inf] * len(starts), dict[int, float]()
    todo = _events(starts, aborts)
    while todo or len(link):
        end = link.next_end()
        if todo and todo[0][0] < end:
            now, joins, i = todo.pop(0)
            if joins:
                _, bits, limit, *cell = starts[i]
                flows[i] = link.join(now, bits, limit, i, *map(int, cell))
            elif i in flows and math.isinf(ends[i]):
                moved[i] = link.leave(now, flows[i])
        else:
            done = link.finish(end)
            assert done
            for flow in done:
                ends[flow.owner] = end
        check()
    return ends, moved


def _events(starts: Starts, aborts: Mapping[int, float]) -> list[tuple[float, bool, int]]:
    """Return when each flow joins, or is called off, in order."""
    joins = [(start[0], True, i) for i, start in enumerate(starts)]
    return sorted(joins + [(at, False, i) for i, at in aborts.items()])


def ends_over(
    link: FifoLink, starts: list[Start], latency_s: float = 0.0, looks: list[float] | None = None
) -> list[float]:
    """Return when each flow over this link ends; `looks`: when else somebody asks which have."""
    todo, ends = sorted((at, i) for i, (at, _, _) in enumerate(starts)), [math.inf] * len(starts)
    todo = sorted([*todo, *((at, -1) for at in looks or [])])
    while todo or len(link):
        if todo and todo[0][0] <= link.next_end():
            now, i = todo.pop(0)
            if i >= 0:
                link.join(now, starts[i][1], starts[i][2], i, latency_s)
            else:
                for flow in link.finish(now):
                    ends[flow.owner] = now
        else:
            end = link.next_end()
            for flow in link.finish(end):
                ends[flow.owner] = end
    return ends


def fired(timeline: Timeline, transfers: Sequence[Transfer]) -> list[float]:
    """Return when each transfer fires, after letting the clock run dry."""
    times = [math.inf] * len(transfers)

    def note(i: int) -> Callable[[object], None]:
        return lambda _: times.__setitem__(i, timeline.now)

    for i, transfer in enumerate(transfers):
        transfer.callbacks.append(note(i))
    timeline.run()
    return times
