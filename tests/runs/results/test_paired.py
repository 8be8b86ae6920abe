"""Variants compared seed by seed: closed forms, and how often chance alone tells them apart."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from simfl.runs.results.paired import Ratio, Times, paired_difference, paired_ratio, zero_cost
from simfl.runs.results.statistics import FEW, Figure, mean_interval

COSTS = st.floats(0.1, 1e6)


def took(*costs: float | None, followed: float = 1000.0) -> Times:
    return Times(dict(enumerate(costs)), dict.fromkeys(range(len(costs)), followed))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n", [3, FEW])
@given(pair=st.tuples(st.floats(0.1, 9), st.floats(0.1, 9)))
def test_what_is_always_so_many_times_as_much_has_a_point(
    n: int, pair: tuple[float, float]
) -> None:
    """A bootstrap of what differs by rounding alone gave no number, and warned."""
    costs = np.random.default_rng(0).uniform(1, 2, n)
    ratio = paired_ratio(took(*(costs * pair[0])), took(*(costs * pair[1])))
    assert ratio is not None
    assert ratio.interval is not None
    assert ratio.interval.low == ratio.interval.high == pytest.approx(pair[0] / pair[1])
    assert ratio.distinguishable == (pair[0] != pair[1])
    same = mean_interval([0.1] * n)
    assert same is not None
    assert (same.low, same.high) == (0.1, 0.1)


def test_a_difference_that_a_seed_lacks_is_the_worst_not_the_best() -> None:
    own, base = {0: 0.5, 1: 0.6, 2: math.nan}, {0: 0.7, 1: 0.7, 2: 0.7}
    assert paired_difference(own, base, -math.inf).median == pytest.approx(-0.2)
    assert paired_difference(own, base, math.inf).median == pytest.approx(-0.1)
    assert math.isnan(paired_difference(own, base).median)
    assert math.isnan(paired_difference(base, own, -math.inf).median)


def test_chance_alone_seldom_tells_variants_apart() -> None:
    """Ten seeds of costs that are spread alike: 5% of pairs, not the 9% of a bootstrap."""
    rng = np.random.default_rng(8)
    pairs = [[took(*np.exp(rng.normal(0, 0.6, 10)).tolist()) for _ in "ab"] for _ in range(1000)]
    ratios = [paired_ratio(*pair) for pair in pairs]
    told_apart = sum(ratio is not None and ratio.distinguishable for ratio in ratios)
    assert stats.binomtest(told_apart, 1000, 0.05).pvalue > 1e-3


def test_two_seeds_that_agree_on_a_number_of_rounds_tell_nothing_apart() -> None:
    """Evaluations are some rounds apart, so that 8 to 10 came twice by chance."""
    seeds = range(3)

    def ratio(own: float, others: float, seeds: Sequence[int], in_steps: bool = True) -> Ratio:
        a, b = (dict.fromkeys(seeds, cost) for cost in (own, others))
        compared = paired_ratio(Times(a, a, in_steps), Times(b, b, in_steps))
        assert compared is not None
        return compared

    two = ratio(8.0, 10.0, seeds[:2])
    assert (two.level, two.distinguishable, two.surely_less) == (True, False, False)
    for sure in (ratio(8.0, 10.0, seeds), ratio(8.0, 10.0, seeds[:2], in_steps=False)):
        assert (sure.level, sure.distinguishable, sure.surely_less) == (False, True, True)
    assert ratio(8.0, 8.0, seeds[:2]).tied


def test_a_ratio_is_the_geometric_mean_over_the_seeds_that_both_have() -> None:
    ratio = paired_ratio(Times({0: 2.0, 1: 32.0, 5: 1.0}, {}), Times({0: 1.0, 1: 4.0, 7: 1.0}, {}))
    assert ratio is not None
    assert ratio.value == pytest.approx(4.0)
    assert ratio.seeds == 2
    assert paired_ratio(Times({0: 1.0}, {}), Times({1: 1.0}, {})) is None


@given(st.lists(st.tuples(COSTS, COSTS), min_size=1, max_size=5), st.floats(0.1, 10))
def test_ratios_turn_round_and_know_no_units(pairs: list[tuple[float, float]], unit: float) -> None:
    a, b = (took(*column) for column in zip(*pairs, strict=True))
    there, back = paired_ratio(a, b), paired_ratio(b, a)
    scaled = paired_ratio(
        *(took(*(unit * c for c in column)) for column in zip(*pairs, strict=True))
    )
    assert there is not None and back is not None and scaled is not None  # noqa: PT018
    assert there.value * back.value == pytest.approx(1)
    assert scaled.value == pytest.approx(there.value)
    if there.interval is not None and back.interval is not None:
        assert there.interval.low * back.interval.high == pytest.approx(1)
    assert there.distinguishable == back.distinguishable or there.value == pytest.approx(1)


def test_what_pairing_is_for() -> None:
    """Seeds differ tenfold, the variants by a third: told apart only if compared by seed."""
    a = [10.0, 31.0, 99.0, 300.0]
    b = [15.0, 45.0, 150.0, 460.0]
    ratio = paired_ratio(took(*b), took(*a))
    assert ratio is not None
    assert ratio.distinguishable
    assert stats.ttest_ind(np.log(a), np.log(b)).pvalue > 0.5


def test_noise_is_not_distinguishable() -> None:
    """Means 416 and 438 s, deviations 76 and 149 s, three seeds: the issue's own example."""
    a, b = took(340.0, 416.0, 492.0), took(587.0, 289.0, 438.0)
    assert Figure.of(list(a.reached.values())).std == pytest.approx(76)
    assert Figure.of(list(b.reached.values())).std == pytest.approx(149)
    ratio = paired_ratio(b, a)
    assert ratio is not None
    assert not ratio.distinguishable
    assert not Ratio(2.0, None, 1).distinguishable


def test_one_sign_with_few_seeds_is_no_proof() -> None:
    """Three of three faster happens by chance once in four times."""
    ratio = paired_ratio(took(101.0, 130.0, 190.0), took(100.0, 100.0, 100.0))
    assert ratio is not None
    assert not ratio.distinguishable


def test_censored_costs_count_as_far_as_all_were_followed() -> None:
    never = took(None, None, followed=50.0)
    slow = took(60.0, 70.0)
    assert paired_ratio(slow, never) is None  # nothing is known after 50
    quick = paired_ratio(took(5.0, 5.0), never)
    assert quick is not None
    assert quick.value == pytest.approx(0.1)
    assert quick.horizon == 50.0
    assert quick.distinguishable


def test_differences_are_paired() -> None:
    figure = paired_difference({0: 0.5, 1: 0.9, 2: 0.1}, {0: 0.4, 1: 0.7, 3: 0.0})
    assert figure.mean == pytest.approx(0.15)
    assert figure.seeds == 2


@pytest.mark.parametrize(
    ("own", "in_steps", "coincident", "level"),
    [
        ([0.6, 0.7], True, True, True),  # each by 0.1, but for rounding
        ([0.6, 0.7], False, False, False),
        ([0.6, 0.7, 0.9], True, False, False),
        ([0.6, 0.75], True, False, True),  # by 0.1 and 0.15: of two seeds that is any number
        ([0.5, 0.6], True, True, True),
    ],
)
def test_two_seeds_that_agree_on_a_share_tell_nothing_apart(
    own: list[float], in_steps: bool, coincident: bool, level: bool
) -> None:
    base = dict(enumerate([0.5, 0.6, 0.8]))
    found = paired_difference(dict(enumerate(own)), base, in_steps=in_steps)
    assert (found.coincident, found.level) == (coincident, level)


def test_what_rounding_alone_tells_apart_is_no_difference() -> None:
    """0.1 + 0.2 is a little more than 0.3."""
    found = paired_difference({0: 0.1 + 0.2, 1: 300.0}, {0: 0.3, 1: 300.0 * (1 + 1e-15)})
    assert (found.mean, found.std) == (0, 0)
    assert paired_difference({0: 0.3 + 1e-9}, {0: 0.3}).mean == pytest.approx(1e-9)


def test_what_one_of_two_had_from_the_start_has_no_ratio() -> None:
    """And only a seed that both have tells so."""
    assert paired_ratio(took(0.0, 5.0), took(2.0, 5.0)) is None
    assert zero_cost(took(0.0, 5.0), took(2.0, 5.0))
    assert zero_cost(took(2.0, 5.0), took(2.0, 0.0))
    assert not zero_cost(took(2.0, 5.0, 0.0), took(2.0, 5.0))
    assert not zero_cost(took(2.0), took(None))
