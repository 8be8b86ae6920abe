"""Formats, axes, thinning, Gini, and sentences."""

import math
from importlib.resources import files
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl.core.rows import Outcome
from simfl.report import formats, runs, words
from simfl.report.axes import TIME_UNITS, linear, logarithmic
from simfl.report.runs import Reached
from simfl.report.svg import thin
from simfl.report.words import Standing
from simfl.runs.summary import gini


def test_every_outcome_is_told_and_has_a_colour() -> None:
    assert get_args(Outcome) == runs.OUTCOMES
    style = files("simfl.report").joinpath("style.css").read_text(encoding="utf-8")
    for outcome in get_args(Outcome):
        assert f".o-{outcome} " in style
        assert style.count(f"--{outcome}: ") == 2  # on light and on dark


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
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


@given(st.floats(1e-6, 1e12), st.floats(0, 0.999))
@settings(deadline=None, max_examples=60)
def test_linear_axes_have_a_few_ticks_inside(high: float, share: float) -> None:
    axis = linear("x", high * share, high, units=TIME_UNITS)
    places = [axis.place(value) for value, _ in axis.ticks]
    assert 2 <= len(places) <= 8
    assert places == sorted(set(places))
    assert all(axis.low - 1e-9 * high <= v <= axis.high + 1e-9 * high for v, _ in axis.ticks)
    assert len({text for _, text in axis.ticks}) == len(places)


@given(st.floats(1e-6, 1e9), st.floats(1, 1e8))
@settings(deadline=None, max_examples=60)
def test_logarithmic_axes_hold_their_values(low: float, ratio: float) -> None:
    axis = logarithmic("x", low, low * ratio)
    assert axis.low <= low * (1 + 1e-12)
    assert axis.high >= low * ratio * (1 - 1e-12)
    assert axis.place(axis.low) == 0
    assert axis.place(axis.high) == 1
    assert len(axis.ticks) <= 12


def test_thinning_keeps_ends_and_extremes() -> None:
    xs = np.arange(10_000.0)
    ys = np.sin(xs)
    ys[4321], ys[777] = 9.0, np.nan
    kept_x, kept_y = thin(xs, ys)
    assert len(kept_x) <= 802
    assert (kept_x[0], kept_x[-1]) == (0, 9999)
    assert (max(kept_y), min(kept_y)) == (9.0, np.nanmin(ys))


@settings(deadline=None, max_examples=60)
@given(counts=st.lists(st.integers(0, 9), min_size=1, max_size=12))
def test_gini_is_half_the_relative_mean_difference(counts: list[int]) -> None:
    """Whether those who were never heard are listed or not."""
    n, total = len(counts), sum(counts)
    apart = sum(abs(a - b) for a in counts for b in counts)
    expected = apart / (2 * n * total) if total else 0.0
    for listed in (counts, [count for count in counts if count]):
        assert gini(listed, n) == pytest.approx(expected, abs=1e-12)


def standing(name: str, *times: float, seeds: int = 1) -> Standing:
    return Standing(name, seeds, tuple(Reached(time, 3, 1000) for time in times))


@pytest.mark.parametrize(
    ("ranked", "text"),
    [
        ([standing("a", 60)], "Reached 70% after 1 min of virtual time, 3 rounds and 1 kB moved."),
        (
            [standing("a", 60), standing("b", 120), standing("c")],
            "a reached 70% first: after 1 min of virtual time, 3 rounds and 1 kB moved. "
            "b took 2 min (2.0× as long). c never did.",
        ),
        (
            [standing("a", 50, 70, seeds=2), standing("b", 10, seeds=2)],
            "a was the first to reach 70% with every seed: after 1 min of virtual time, 3 rounds "
            "and 1 kB moved in the mean of 2 seeds. b did with some seeds only.",
        ),
        (
            [standing("a", 60, seeds=2), standing("b", seeds=2)],
            "No variant reached 70% with every seed; a did with 1 of 2, after 1 min of virtual "
            "time, 3 rounds and 1 kB moved.",
        ),
    ],
)
def test_sentences(ranked: list[Standing], text: str) -> None:
    assert sorted(ranked, key=lambda one: one.order) == ranked
    assert " ".join(words._race(ranked, 0.7)) == text
