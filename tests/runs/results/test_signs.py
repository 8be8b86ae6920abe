"""With how many seeds one variant was sooner than another, and the sign test of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from simfl.runs.results.paired import Times
from simfl.runs.results.signs import Signs, signs


def took(*costs: float | None, followed: float = 100.0) -> Times:
    return Times(dict(enumerate(costs)), dict.fromkeys(range(len(costs)), followed))


def test_who_got_there_was_sooner_than_who_was_followed_longer_and_did_not() -> None:
    own = took(1.0, 2.0, 3.0, None, 50.0, None)
    other = took(2.0, 1.0, 3.0 + 1e-15, None, None, 60.0, 1.0, followed=40.0)
    # Of seed 4 the other's run had ended before, of seed 5 it was the other that got there.
    assert signs(own, other) == Signs(1, 2, 6)
    assert signs(other, own) == Signs(2, 1, 6)


def test_seeds_that_one_lacks_do_not_count() -> None:
    assert signs(took(1.0), took(2.0, 2.0)) == Signs(1, 0, 1)


@given(st.integers(0, 40), st.integers(0, 40))
def test_p_is_that_of_a_fair_coin(less: int, more: int) -> None:
    p = Signs(less, more, less + more + 3).p
    expected = stats.binomtest(less, less + more).pvalue if less + more else 1.0
    assert p == pytest.approx(expected)


def test_thousands_of_seeds_have_a_p() -> None:
    assert Signs(1000, 1000, 2000).p == 1.0
    assert 0 < Signs(1100, 900, 2000).p < 1e-4
