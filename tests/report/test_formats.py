"""Numbers for people."""

import math

import pytest

from simfl.report import formats


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (1.5e-7, "150 ns"),
        (0.0009994, "999 µs"),
        (0.0009996, "1 ms"),
        (-5e-5, "-50 µs"),
        (0.9994, "999 ms"),
        (0.9996, "1.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min"),
        (3599.6, "1 h"),
        (86399, "1 d"),
        (90000, "1 d 1 h"),
        (1e7, "115 d 18 h"),
        (math.nan, "–"),
        (math.inf, "–"),
    ],
)
def test_durations_carry_over(seconds: float, text: str) -> None:
    assert formats.duration(seconds) == text


@pytest.mark.parametrize(
    ("joules", "text"),
    [(0.0, "0 J"), (6.696e-7, "669.6 nJ"), (1.35e-6, "1.35 µJ"), (0.5, "500 mJ"), (0.99996, "1 J")],
)
def test_little_energy_has_a_small_unit(joules: float, text: str) -> None:
    """Pages, tables and charts had 1.35e-06 J, and times of 0.00015 ms."""
    assert formats.energy(joules) == text
    if joules:
        assert formats.energy(-joules) == f"-{text}"
