"""Measures over a run's rounds, by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl.runs.folder.measures import RoundTimes, gini, normalised_times, terminal_accuracy


def test_terminal_accuracy_is_the_mean_of_the_last_fifty_rounds() -> None:
    every_tenth = [(round_, round_ / 100) for round_ in range(10, 101, 10)]
    assert terminal_accuracy(every_tenth, 100) == pytest.approx((0.6 + 0.7 + 0.8 + 0.9 + 1) / 5)
    assert terminal_accuracy(every_tenth[:3], 30) == pytest.approx(0.2)
    assert terminal_accuracy(every_tenth[:5], 100) is None


def test_rounds_are_measured_by_their_deadlines() -> None:
    rounds = [RoundTimes(0.0, 5.0, 10.0, 10.0), RoundTimes(10.0, None, 30.0, 20.0)]
    assert normalised_times(rounds) == (0.25, 1.0)
    assert normalised_times([]) is None
    early = RoundTimes(50.0, 40.0, 100.0, 30.0)  # it came while the server was busy
    assert normalised_times([early]) == (0.0, 50 / 30)


@settings(max_examples=60)
@given(counts=st.lists(st.integers(0, 9), min_size=1, max_size=12))
def test_gini_is_half_the_relative_mean_difference(counts: list[int]) -> None:
    """Whether those who were never heard are listed or not."""
    n, total = len(counts), sum(counts)
    apart = sum(abs(a - b) for a in counts for b in counts)
    expected = apart / (2 * n * total) if total else 0.0
    for listed in (counts, [count for count in counts if count]):
        assert gini(listed, n) == pytest.approx(expected, abs=1e-12)
