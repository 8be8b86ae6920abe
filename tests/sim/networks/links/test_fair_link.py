"""A fairly shared link against hand computations and against a slow, obvious simulation."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl.sim.networks.links.fair_link import FairLink, Flow
from tests.counting import bytes_kept, calls
from tests.sim.networks.flows import Start, ends_brute, played


def ends_fair(
    capacity: float, starts: list[Start], aborts: dict[int, float]
) -> tuple[list[float], dict[int, float]]:
    """The same, by `FairLink`; the invariants are checked at every event."""
    link = FairLink(capacity)

    def check() -> None:
        rates = [(limit, rate) for limit, (n, rate) in link.rates().items() for _ in range(n)]
        total = sum(rate for _, rate in rates)
        assert total <= capacity * (1 + 1e-9)
        if total < capacity * (1 - 1e-9):  # work-conserving: only limits hold it back
            assert all(rate == limit for limit, rate in rates)

    return played(link, starts, aborts, check)


@settings(max_examples=150)
@given(
    n=st.integers(1, 25),
    few_limits=st.booleans(),
    together=st.booleans(),
    capacity=st.floats(1, 100),
    seed=st.integers(0, 10**6),
)
def test_agrees_with_the_slow_simulation(
    n: int, few_limits: bool, together: bool, capacity: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    limits = rng.choice([2.0, 5.0, math.inf], n) if few_limits else rng.uniform(0.5, 20, n)
    at = rng.integers(0, 3, n).astype(float) if together else np.sort(rng.uniform(0, 20, n))
    bits = rng.uniform(1, 60, n)
    starts = [(float(a), float(b), float(c)) for a, b, c in zip(at, bits, limits, strict=True)]
    aborts = {i: float(at[i] + rng.uniform(0, 10)) for i in range(n) if rng.random() < 0.3}
    expected_ends, expected_moved = ends_brute(capacity, starts, aborts)
    found_ends, found_moved = ends_fair(capacity, starts, aborts)
    assert found_ends == pytest.approx(expected_ends, rel=1e-9)
    assert found_moved.keys() == expected_moved.keys()
    for i, bits_moved in expected_moved.items():
        assert found_moved[i] == pytest.approx(bits_moved, rel=1e-8, abs=1e-8)


def test_a_limited_flow_leaves_the_rest_to_others_by_hand() -> None:
    """2 bit/s of 10 are all that the limited one can use; the others get 4 each.

    At 10 s the last has 40 bits left and the link to itself.
    """
    starts = [(0.0, 20.0, 2.0), (0.0, 40.0, math.inf), (0.0, 80.0, math.inf)]
    assert ends_fair(10, starts, {})[0] == [10, 10, 14]


def test_an_abort_frees_the_link_and_counts_what_moved() -> None:
    ends, moved = ends_fair(10, [(0, 100, math.inf), (0, 100, math.inf)], {1: 10.0})
    assert ends[0] == 15
    assert moved == {1: 50}


@pytest.mark.parametrize("capacity", [1e-300, 1e-13, 1e17, 1e18])
@pytest.mark.parametrize("limit", [1e-300, 1.0, 1e18])
def test_rates_may_be_of_any_size(capacity: float, limit: float) -> None:
    """However slow, a link moves a bit at some time; however fast, none is infinite."""
    link = FairLink(capacity)
    for _ in range(2):
        link.join(0.0, 8.0, limit)
    assert 0 < link.next_end() < math.inf


def test_an_idle_link_has_no_next_end() -> None:
    assert FairLink(1).next_end() == math.inf


@settings(max_examples=50)
@given(n=st.integers(1, 20), seed=st.integers(0, 10**6), faster=st.floats(1, 5))
def test_a_faster_link_never_lengthens_the_makespan(n: int, seed: int, faster: float) -> None:
    rng = np.random.default_rng(seed)
    starts = [(float(rng.uniform(0, 9)), float(rng.uniform(1, 50)), float(rng.uniform(1, 9)))
              for _ in range(n)]  # fmt: skip
    slow, _ = ends_fair(10, starts, {})
    wide, _ = ends_fair(10 * faster, starts, {})
    assert max(wide) <= max(slow) * (1 + 1e-12)


def churn(n: int, limits: list[float]) -> None:
    """Let `n` flows run at once, each replaced as it ends until 2 n have ended."""
    rng = np.random.default_rng(0)
    bits = iter(rng.uniform(1, 100, 4 * n).tolist())
    link = FairLink(5.0 * n)
    flows: list[Flow] = [link.join(0.0, next(bits), limits[i % len(limits)]) for i in range(n)]
    ended = 0
    while ended < 2 * n:
        now = link.next_end()
        for flow in link.finish(now):
            ended += 1
            link.join(now, next(bits), limits[flow.number % len(limits)])
    assert len(link) == n
    assert len(flows) == n


@pytest.mark.parametrize(
    "limits",
    [[math.inf], [10.0, 5.0, 2.0], np.random.default_rng(1).lognormal(1.6, 1, 1000).tolist()],
    ids=["unlimited", "classes", "all-different"],
)
def test_an_event_costs_little_more_among_many_flows(limits: list[float]) -> None:
    """It is O(log n); work that grew with the flows would be ten times as much."""
    few, many = (calls(partial(churn, n, limits)) / n for n in (100, 1000))
    assert many < 2 * few


def test_nothing_is_kept_of_flows_that_ended() -> None:
    def used(flows: int) -> FairLink:
        link = FairLink(100.0)
        link.join(0.0, 1e12, 1.0)  # keeps the link busy throughout
        for i in range(flows):
            flow = link.join(float(i), 50.0, 2.0 + i % 997)
            link.leave(i + 0.5, flow)
        return link

    assert bytes_kept(lambda: used(5000)) < 2 * bytes_kept(lambda: used(200))
