"""Largest remainders."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl.core.apportion import apportion, apportion_seats


@settings(deadline=None, max_examples=50)
@given(
    total=st.integers(0, 1000),
    weights=st.lists(st.floats(0.01, 100), min_size=1, max_size=20),
)
def test_apportion_keeps_the_total_and_is_never_a_whole_one_off(total, weights):
    exact = total * np.array(weights) / np.sum(weights)
    whole = apportion(total, np.array(weights))
    assert whole.sum() == total
    assert np.abs(whole - exact).max() < 1


def test_equal_remainders_of_whole_weights_go_to_the_first() -> None:
    """4/12, 16/12 and 28/12 leave the same remainder, though not as binary fractions."""
    assert apportion(4, np.array([1, 4, 7])).tolist() == [1, 1, 2]


@settings(deadline=None, max_examples=200)
@given(sizes=st.lists(st.integers(1, 500), min_size=1, max_size=12), share=st.floats(0, 1))
def test_apportionment(sizes: list[int], share: float) -> None:
    total = np.array(sizes)
    budget = round(share * total.sum())
    seats = apportion_seats(budget, total)
    assert seats.sum() == budget
    assert (seats <= total).all()
    assert (seats >= (budget >= len(sizes))).all()


def test_apportionment_by_hand() -> None:
    assert apportion_seats(10, np.array([53, 24, 23])).tolist() == [5, 3, 2]
    assert apportion_seats(3, np.array([97, 2, 1])).tolist() == [1, 1, 1]
    assert apportion_seats(2, np.array([97, 2, 1])).tolist() == [2, 0, 0]
    assert apportion_seats(2, np.array([1, 1, 1])).tolist() == [1, 1, 0]
