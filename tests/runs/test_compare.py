"""Comparisons: means and spreads over seeds, speed-ups, relative improvement."""

import math

import pytest

from simfl.errors import InputError
from simfl.runs.compare import Figure, Line, against, render, show


def line(name: str, accuracy: float, rounds: float) -> Line:
    figures = {
        "terminal_accuracy": Figure(accuracy, math.nan, 0),
        "round_to_65%": Figure(rounds, math.nan, 0),
        "time_s_to_65%": Figure(10 * rounds, math.nan, 0),
    }
    return Line(name, 1, figures)


def test_sample_standard_deviation_and_missing_seeds() -> None:
    figure = Figure.of([1.0, 3.0, None])
    assert (figure.mean, figure.spread, figure.missing) == (2.0, pytest.approx(2**0.5), 1)
    assert show("round_to_65%", figure) == "2 ± 1.414 (1 never; median 3)"
    assert show("round_to_65%", Figure.of([None, None])) == "N/A"


def test_in_the_median_never_is_later_than_any_round() -> None:
    assert Figure.of([None, 5.0, 1.0, 4.0]).median == 4.5
    assert Figure.of([7.0, 5.0, 6.0]).median == 6.0
    assert Figure.of([None, None, 1.0]).median == math.inf
    assert show("round_to_65%", Figure.of([None, None, 1.0])) == "1 (2 never; median never)"


def test_fedacs_table_from_its_own_rounded_entries() -> None:
    """docs/algorithms.md, G.3: speed-up 270/130 = 2.08; relative improvement 65.1 %."""
    lines = [line("IID", 0.740, 85), line("baseline", 0.697, 270), line("FedACS", 0.725, 130)]
    gained = {one.variant: one.figures for one in against(lines, "baseline", "IID")}
    assert gained["FedACS"]["rounds_speedup_to_65%"].mean == pytest.approx(2.08, abs=0.005)
    assert gained["FedACS"]["time_speedup_to_65%"].mean == pytest.approx(2.08, abs=0.005)
    assert gained["FedACS"]["relative_improvement"].mean == pytest.approx(0.651, abs=5e-4)
    assert gained["baseline"]["relative_improvement"].mean == 0
    assert gained["IID"]["relative_improvement"].mean == 1
    assert "65.12%" in render(against(lines, "baseline", "IID"), "markdown")


def test_an_ideal_that_is_no_better_than_the_baseline() -> None:
    lines = [line("baseline", 0.5, 10), line("other", 0.6, 5)]
    for ideal in ("baseline", "same"):
        found = against([*lines, line("same", 0.5, 9)], "baseline", ideal)
        assert all(math.isnan(one.figures["relative_improvement"].mean) for one in found)
    assert "N/A" in render(found, "table")


def test_an_unknown_baseline_is_told_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match="did you mean 'baseline'"):
        against([line("baseline", 0.5, 1)], "basline")
