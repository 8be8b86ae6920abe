"""Numbers for people."""

import math

import pytest

from simfl.report import formats


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
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
