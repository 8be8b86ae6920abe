"""Numbers over seeds: closed forms, SciPy's own, and how often intervals hold the truth."""

import math

import numpy as np
import pytest
from scipy import stats

from simfl.runs.results.metric import ACCURACY, TIME
from simfl.runs.results.statistics import FEW, Figure, mean_interval


def test_figures_without_some_seed_have_no_deviation() -> None:
    """Beside an empty mean stood the deviation of those that got there, 0 at times."""
    figure = Figure.of([4.0, 4.0, None])
    assert math.isnan(figure.std)
    assert math.isnan(figure.mean)


def test_one_value_has_no_interval() -> None:
    assert mean_interval([3.0]) is None
    assert Figure.of([3.0]).interval is None


@pytest.mark.parametrize("n", [2, 3, FEW - 1])
def test_few_values_have_students_interval(n: int) -> None:
    values = np.random.default_rng(n).normal(size=n)
    expected = stats.t.interval(0.95, n - 1, values.mean(), stats.sem(values))
    interval = mean_interval(values.tolist())
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx(expected)
    assert interval.method == "Student's t"


def test_more_values_have_scipys_bca() -> None:
    values = np.random.default_rng(0).exponential(size=FEW)
    interval = mean_interval(values.tolist())
    assert interval is not None
    expected = stats.bootstrap((values,), np.mean, rng=np.random.default_rng(1)).confidence_interval
    assert (interval.low, interval.high) == pytest.approx(tuple(expected), rel=0.03)
    assert interval == mean_interval(values.tolist())  # the same again
    # Not symmetric: an exponential's mean may well be higher.
    assert interval.high - values.mean() > values.mean() - interval.low


def test_an_end_that_is_zero_but_for_rounding_is_zero() -> None:
    """Right answers in 60; the end lay at -1.4e-19, and the two could be told apart for sure."""
    base = [17, 22, 15, 22, 20, 24, 19, 21, 14, 17, 22, 17, 17, 24, 22, 22]
    base += [13, 17, 25, 23, 25, 21, 17, 16, 23, 16, 20, 22, 22, 16, 16, 17]
    other = [15, 19, 21, 14, 18, 21, 19, 18, 15, 20, 18, 21, 18, 14, 16, 19]
    other += [18, 16, 23, 16, 18, 23, 17, 22, 20, 19, 21, 21, 19, 12, 16, 14]
    shares = Figure.of([x / 60 - y / 60 for x, y in zip(other, base, strict=True)])
    assert shares.interval is not None
    assert shares.interval.high == 0
    assert shares.level


@pytest.mark.parametrize("n", [3, 4, 6, 10, 20])
def test_intervals_of_few_seeds_hold_the_truth_as_often_as_they_say(n: int) -> None:
    rng = np.random.default_rng(7)
    intervals = [mean_interval(rng.normal(size=n).tolist()) for _ in range(2000)]
    held = sum(i is not None and i.low <= 0 <= i.high for i in intervals)
    assert stats.binomtest(held, 2000, 0.95).pvalue > 1e-3


def test_no_interval_goes_beyond_what_can_be() -> None:
    """Of 40% and 60% Student's t, 12.7 standard errors wide, reaches from -77% to 177%."""
    interval = Figure.of([0.4, 0.6], possible=(0.0, 1.0)).interval
    assert interval is not None
    assert (interval.low, interval.high) == (0.0, 1.0)
    assert (ACCURACY.possible, TIME.possible) == ((0.0, 1.0), (0.0, math.inf))


def test_same_values_have_an_interval_of_no_width() -> None:
    for n in (2, 9, FEW):
        interval = mean_interval([4.0] * n)
        assert interval is not None
        assert (interval.low, interval.high) == (4.0, 4.0)


def test_a_mean_over_those_that_got_there_is_not_told() -> None:
    whole, some = Figure.of([1.0, 3.0]), Figure.of([1.0, 3.0, None])
    assert (whole.mean, whole.missing) == (2.0, 0)
    assert whole.std == pytest.approx(2**0.5)
    assert math.isnan(some.mean)
    assert (some.median, some.missing, some.seeds, some.interval) == (3.0, 1, 3, None)
    assert Figure.of([None, 5.0, 1.0, 4.0]).median == 4.5
    assert Figure.of([None, None, 1.0]).median == math.inf


def test_what_a_seed_lacks_is_worse_than_what_the_others_have() -> None:
    costs, accuracies = [3.0, 1.0, 2.0, None, None], [0.3, 0.1, math.nan, None, 0.2]
    assert Figure.of(costs).median == 3.0
    assert Figure.of(accuracies, worst=-math.inf).median == 0.1
