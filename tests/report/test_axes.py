"""Axes have a few ticks that are told apart, whatever the numbers are."""

import json
import re
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl.report.axes import BYTE_UNITS, ENERGY_UNITS, TIME_UNITS, Axis, Unit, linear, logarithmic
from simfl.report.charts.svg import Plot


@given(st.floats(1e-6, 1e12), st.floats(0, 0.999))
@settings(max_examples=60)
def test_linear_axes_have_a_few_ticks_inside(high: float, share: float) -> None:
    axis = linear("x", high * share, high, units=TIME_UNITS)
    places = [axis.place(value) for value, _ in axis.ticks]
    assert 2 <= len(places) <= 8
    assert places == sorted(set(places))
    assert all(axis.low - 1e-9 * high <= v <= axis.high + 1e-9 * high for v, _ in axis.ticks)
    assert len({text for _, text in axis.ticks}) == len(places)


@pytest.mark.parametrize(
    ("high", "texts"),
    [
        (900_000, "0 200,000 400,000 600,000 800,000"),
        (3e6, "0.0e6 0.5e6 1.0e6 1.5e6 2.0e6 2.5e6 3.0e6"),
        (2e30, "0.0e30 0.5e30 1.0e30 1.5e30 2.0e30"),
        (3e-7, "0.0e-7 0.5e-7 1.0e-7 1.5e-7 2.0e-7 2.5e-7 3.0e-7"),
    ],
)
def test_numbers_without_end_have_an_exponent(high: float, texts: str) -> None:
    """The losses of a model that diverged ran out of the picture."""
    told = [text for _, text in linear("loss", 0.0, high).ticks]
    assert told == texts.replace("0.0e30", "0").replace("0.0e6", "0").replace("0.0e-7", "0").split()
    assert [text for _, text in logarithmic("loss", 1e3, 1e12).ticks] == [
        "1,000", "10,000", "100,000", "1e6", "1e7", "1e8", "1e9", "1e10", "1e11", "1e12",
    ]  # fmt: skip


def test_small_numbers_have_small_units() -> None:
    time, energy = (
        linear("t", 0, 134e-9, units=TIME_UNITS),
        linear("e", 0, 3e-6, units=ENERGY_UNITS),
    )
    assert (time.label, [text for _, text in time.ticks][-1]) == ("t (ns)", "100")
    assert (energy.label, [text for _, text in energy.ticks][-1]) == ("e (µJ)", "3.0")


@pytest.mark.parametrize(
    ("high", "units", "label"),
    [
        (0.99, TIME_UNITS, "x (ms)"),
        (1.5, TIME_UNITS, "x (s)"),
        (90, TIME_UNITS, "x (s)"),
        (120, TIME_UNITS, "x (min)"),
        (90_000, TIME_UNITS, "x (h)"),
        (1.5e6, BYTE_UNITS, "x (MB)"),
    ],
)
def test_units_are_those_of_the_numbers_beside_them(
    high: float, units: tuple[Unit, ...], label: str
) -> None:
    """Bars of 1.5 s, as the text that they show says, stood on an axis in ms."""
    assert linear("x", 0.0, high, units=units).label == label


@pytest.mark.parametrize(
    ("low", "high", "label", "ticks"),
    [
        (0.11, 6.4, "x (s)", "0.1 0.2 0.5 1 2 5 10"),
        (0.002, 8.0, "x (ms)", "10 100 1,000 10,000"),
        (30.0, 90_000.0, "x (min)", "1 10 100 1,000"),
    ],
)
def test_units_of_logarithmic_axes_are_too(low: float, high: float, label: str, ticks: str) -> None:
    """A deadline that is told as 5.0 s stood at 5,000 ms."""
    axis = logarithmic("x", low, high, units=TIME_UNITS)
    assert (axis.label, [text for _, text in axis.ticks]) == (label, ticks.split())


@given(st.floats(-9, 15), st.booleans(), st.booleans())
@settings(max_examples=60)
def test_ticks_have_room_beside_the_name_of_their_axis(size: float, small: bool, log: bool) -> None:
    high = 10**size
    y = logarithmic("y", high / 1e5, high) if log else linear("y", 0.0, high)
    svg = str(Plot("t", linear("x", 0.0, 1.0), y, width=370 if small else 560))
    ticks = re.findall(r'<text class="tick end" x="([\d.]+)" y="[\d.]+">([^<]*)<', svg)
    [(left, _)] = {(at, "") for at, _ in ticks}
    assert all(float(left) - 7.3 * len(text) >= 15 for _, text in ticks)
    assert all(len(text) <= 8 for _, text in ticks)


def test_names_on_an_axis_are_cut_to_its_width_and_stay_when_it_is_zoomed() -> None:
    names = [f"the_{n}th_of_many_long_names" for n in range(8)]
    x = Axis("x", -0.5, 7.5, tuple((float(n), name) for n, name in enumerate(names)), names=True)
    svg = str(Plot("t", x, linear("y", 0.0, 1.0)))
    told = re.findall(r'class="tick mid"[^>]*>([^<]*)<', svg)
    assert len(told) == 8
    assert all("…" in text and 7.3 * len(text) <= 500 / 8 for text in told)
    facts = json.loads(unescape(re.findall(r'data-x="([^"]*)"', svg)[0]))
    assert [name for _, name in facts["names"]] == names


@given(st.floats(1e-6, 1e9), st.floats(1, 1e8))
@settings(max_examples=60)
def test_logarithmic_axes_hold_their_values(low: float, ratio: float) -> None:
    axis = logarithmic("x", low, low * ratio)
    assert axis.low <= low * (1 + 1e-12)
    assert axis.high >= low * ratio * (1 - 1e-12)
    assert axis.place(axis.low) == 0
    assert axis.place(axis.high) == 1
    assert len(axis.ticks) <= 12


@pytest.mark.parametrize(
    ("axis", "ticks"),
    [
        (linear("share", 0, 0.025, share=True), ["0.0%", "0.5%", "1.0%", "1.5%", "2.0%", "2.5%"]),
        (linear("share", 0, 1, share=True), ["0%", "20%", "40%", "60%", "80%", "100%"]),
        (logarithmic("share", 0.1, 1, share=True), ["10%", "20%", "50%", "100%"]),
        (logarithmic("share", 0.001, 0.01, share=True), ["0.1%", "0.2%", "0.5%", "1%"]),
        (linear("number", 0, 0.3, steps=3), ["0.0", "0.1", "0.2", "0.3"]),
    ],
)
def test_ticks_are_told_apart_and_shares_in_percent(axis: Axis, ticks: list[str]) -> None:
    """An axis read 0%, 0%, 1%; a logarithmic one 0.5 beside a target of 50%."""
    assert [text for _, text in axis.ticks] == ticks


def test_the_last_tick_is_not_cut() -> None:
    """100% is wider than the room right of an axis that ends with it."""
    plot = str(Plot("p", linear("share", 0, 1, share=True), linear("y", 0, 1)))
    assert re.search(r'<text class="tick end" x="559" [^>]*>100%<', plot)
    assert re.search(r'<text class="tick mid" [^>]*>80%<', plot)


def test_a_line_on_another_is_dashed() -> None:
    """Of two equal curves only the later was seen."""
    plot = Plot("p", linear("x", 0, 2), linear("y", 0, 2))
    for css in ("c0", "c1", "c2", "c3", "c4"):
        plot.line([0, 1, 2], [0, 1, 1], f"line {css}")
    plot.line([0, 1, 2], [0, 1, 2], "line c5")
    classes = re.findall(r'class="line ([^"]*)"', str(plot))
    assert classes == ["c0", "c1 e1", "c2 e2", "c3 e3", "c4 e3", "c5"]
