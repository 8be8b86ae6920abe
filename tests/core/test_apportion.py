"""Largest remainders."""

from fractions import Fraction
from math import floor

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from simfl.core.apportion import apportion, apportion_seats, whole_share


@settings(max_examples=50)
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


@settings(max_examples=300)
@given(
    percent=st.integers(0, 100),
    hundreds=st.integers(1, 10**9),
    up=st.booleans(),
)
@example(percent=57, hundreds=10**5, up=False)  # in floats 5699999.999999999
@example(percent=10, hundreds=10**9, up=True)
def test_whole_percents_of_hundreds_are_exact(percent: int, hundreds: int, up: bool) -> None:
    count = 100 * hundreds
    assert whole_share(percent / 100, count, up=up) == percent * hundreds
    assert whole_share(1 - percent / 100, count, up=up) == count - percent * hundreds


def test_a_share_between_two_numbers_is_rounded_as_asked() -> None:
    for half in (5, 10**10):
        assert whole_share(0.5, 2 * half + 1) == half
        assert whole_share(0.5, 2 * half + 1, up=True) == half + 1


def in_fractions(seats: int, sizes: list[int]) -> list[int]:
    """Return the same seats as `apportion_seats`, one after the other and exactly."""
    quotas = [Fraction(seats * size, sum(sizes)) for size in sizes]
    shares, places = [floor(quota) for quota in quotas], range(len(sizes))
    left = seats - sum(shares)
    for place in sorted(places, key=lambda i: shares[i] - quotas[i])[:left]:
        shares[place] += 1
    if seats >= len(sizes):
        for poor in [i for i in places if not shares[i]]:
            giver = max((i for i in places if shares[i] > 1), key=lambda i: shares[i] - quotas[i])
            shares[giver], shares[poor] = shares[giver] - 1, 1
    return shares


@settings(max_examples=200)
@given(
    sizes=st.lists(st.integers(1, 5) | st.integers(1, 500), min_size=1, max_size=12),
    share=st.floats(0, 1),
)
@example(sizes=[1, 1, 1, 40, 33, 9], share=0.08)
def test_seats_are_those_of_largest_remainders(sizes: list[int], share: float) -> None:
    total = np.array(sizes)
    budget = round(share * total.sum())
    seats = apportion_seats(budget, total)
    assert seats.sum() == budget
    assert (seats <= total).all()
    assert (seats >= (budget >= len(sizes))).all()
    assert seats.tolist() == in_fractions(budget, sizes)


def test_apportionment_by_hand() -> None:
    assert apportion_seats(10, np.array([53, 24, 23])).tolist() == [5, 3, 2]
    assert apportion_seats(3, np.array([97, 2, 1])).tolist() == [1, 1, 1]
    assert apportion_seats(2, np.array([97, 2, 1])).tolist() == [2, 0, 0]
    assert apportion_seats(2, np.array([1, 1, 1])).tolist() == [1, 1, 0]
