"""Formats, axes, thinning, and sentences."""

import json
import math
import re
from dataclasses import replace
from html import unescape
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl import run
from simfl.core.rows import OUTCOMES
from simfl.report import formats, measures
from simfl.report.axes import TIME_UNITS, Axis, linear, logarithmic
from simfl.report.charts import curves
from simfl.report.charts.anatomy import CSS as ANATOMY_CSS
from simfl.report.charts.anatomy import anatomy
from simfl.report.charts.base import COLUMNS, by_name
from simfl.report.charts.costs import BYTE_CSS, ENERGY_CSS, bytes_by_purpose
from simfl.report.comparison_forms import as_table
from simfl.report.page import words
from simfl.report.page.pace import pace
from simfl.report.page.results import results
from simfl.report.page.words import Standing
from simfl.report.plot import COLOURS
from simfl.report.svg import Plot
from simfl.runs.options import Options
from simfl.runs.results.compare import compare
from simfl.runs.results.find import find_runs
from simfl.runs.results.grouping import by_variant
from simfl.runs.results.statistics import Figure, Times, paired_ratio
from simfl.scenario import Scenario
from tests.made_runs import made_run, reaches
from tests.tiny import TINY


def test_every_outcome_is_told_and_has_a_colour() -> None:
    style = files("simfl.report.page").joinpath("style.css").read_text(encoding="utf-8")
    for outcome in OUTCOMES:
        assert f".o-{outcome} " in style
        assert style.count(f"--{outcome}: ") == 2  # on light and on dark


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


@given(st.floats(1e-6, 1e12), st.floats(0, 0.999))
@settings(deadline=None, max_examples=60)
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


@given(st.floats(-9, 15), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=60)
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


def test_an_axis_shows_what_is_below_zero(tmp_path: Path) -> None:
    """A metric of a user's own, such as a log-likelihood, lay on the axis."""
    made = [made_run(tmp_path, "v", 0, [0.1, 0.5])]
    below = replace(measures.ACCURACY, kind="number", of=lambda run: -run.column("accuracy"))
    extent = curves.extent(below, made, (), vertical=True)
    assert extent["low"] == pytest.approx(-0.525)
    assert extent["high"] == pytest.approx(-0.1 / 1.05)
    assert curves.extent(measures.ACCURACY, made, (), vertical=True)["low"] == 0


@given(st.floats(1e-6, 1e9), st.floats(1, 1e8))
@settings(deadline=None, max_examples=60)
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


def test_long_runs_are_thinned_to_their_extremes(tmp_path: Path) -> None:
    accuracies = (0.5 + 0.4 * np.sin(np.arange(5_000.0))).round(6)
    accuracies[[777, 4321]] = 0.01, 0.99
    run = made_run(tmp_path, "v", 0, accuracies.tolist())
    drawing = curves.curves(
        "c", "", "", {"v": [run]}, [measures.TIME], [measures.ACCURACY, measures.LOSS]
    )
    assert drawing is not None
    assert drawing.data is not None
    assert "the least and the most of every stretch" in drawing.about
    [shown] = drawing.data["series"][0]["runs"]
    assert len(shown["time"]) <= 2 * curves.POINTS
    assert (shown["time"][0], shown["time"][-1]) == (10, 50_000)
    assert (min(shown["accuracy"]), max(shown["accuracy"])) == (0.01, 0.99)


def test_mean_and_band_over_seeds(tmp_path: Path) -> None:
    runs = [made_run(tmp_path, "v", seed, [0.2, 0.4 + 0.2 * seed, 0.8]) for seed in (0, 1)]
    drawing = curves.curves("c", "", "", {"v": runs}, [measures.ROUNDS], [measures.ACCURACY])
    assert drawing is not None
    assert drawing.data is not None
    mean = drawing.data["series"][0]["means"]["round accuracy"]
    assert mean["x"] == [1, 2, 3]
    assert mean["mean"] == pytest.approx([0.2, 0.5, 0.8])
    assert mean["low"] == pytest.approx([0.2, 0.4, 0.8])
    assert mean["high"] == pytest.approx([0.2, 0.6, 0.8])


def test_where_a_seed_has_ended_the_others_are_lines_of_their_own(tmp_path: Path) -> None:
    """The right part of such a chart was empty: the mean ends with the first seed."""
    accuracies = {0: [0.2, 0.4], 1: [0.2, 0.6, 0.7, 0.8]}
    runs = [made_run(tmp_path, "v", seed, values) for seed, values in accuracies.items()]
    drawing = curves.curves("c", "", "", {"v": runs}, [measures.ROUNDS], [measures.ACCURACY])
    assert drawing is not None
    assert drawing.data is not None
    mean = drawing.data["series"][0]["means"]["round accuracy"]
    assert mean["x"] == [1, 2]
    assert mean["tails"] == [{"seed": 1, "x": [2, 3, 4], "y": [0.6, 0.7, 0.8]}]
    assert drawing.svg.count('class="line c0 thin"') == drawing.svg.count("v, seed 1") == 1
    assert drawing.about.endswith("thin: single runs, where another seed has ended.")
    level = curves.curves("c", "", "", {"v": runs[:1] * 2}, [measures.ROUNDS], [measures.ACCURACY])
    assert level is not None
    assert "thin" not in level.svg + level.about


def test_more_than_eight_variants_have_a_picture_each(tmp_path: Path) -> None:
    for count, pictures in ((8, 1), (9, 9)):
        groups = {
            f"v{i}": [made_run(tmp_path / str(count), f"v{i}", 0, [0.1, 0.2])] for i in range(count)
        }
        drawing = curves.curves("c", "", "", groups, [measures.TIME], [measures.ACCURACY])
        assert drawing is not None
        assert drawing.svg.count("<svg") == pictures
        assert len({css for css, _ in drawing.legend}) == count


def test_long_names_leave_room_for_bars_and_stay_in_their_pictures(tmp_path: Path) -> None:
    """A picture was as wide as its longest name and the bars, and no screen is."""
    names = [f"{'a_very_long_name_of_a_variant_' * 4}{i}" for i in range(9)]
    groups = {name: [made_run(tmp_path, name, 0, [0.1, 0.2])] for name in names}
    for drawing in (
        bytes_by_purpose(groups),
        curves.curves("c", "", "", groups, [measures.TIME], [measures.ACCURACY]),
    ):
        assert drawing is not None
        written = re.findall(r'<text class="(?:row end|heading)"[^>]*>([^<]*)', drawing.svg)
        assert len(set(written)) == len(names)
        assert max(map(len, written)) <= curves.HEADING
        assert int(drawing.svg.split('width="')[1].split('"')[0]) < 700


def test_names_of_bars_fit_their_room_in_a_wide_font(tmp_path: Path) -> None:
    """Names in capitals and Chinese ones began left of the picture's edge."""
    from matplotlib import get_data_path
    from matplotlib.ft2font import FT2Font

    font = FT2Font(f"{get_data_path()}/fonts/ttf/DejaVuSans.ttf")
    font.set_size(12.5, 72)
    for name in (
        "FEDAVG-WITH-WAITING-AND-MOMENTUM",
        "clients=10_deadline=none_lr=0.01",
        "mmwwmmww",
    ):
        groups = {n: [made_run(tmp_path / name, n, 0, [0.1, 0.2])] for n in (name, "b")}
        drawing = bytes_by_purpose(groups)
        assert drawing is not None
        end = re.search(rf'<text class="row end" x="([0-9.]+)"[^>]*>{name}</text>', drawing.svg)
        assert end is not None
        font.set_text(name)
        width, _ = font.get_width_height()
        assert 0 <= float(end[1]) - width / 64 < 60, name


def test_words_above_a_chart_do_not_list_thirty_variants(tmp_path: Path) -> None:
    values = {f"v{n}": n / 100 for n in range(30)}
    assert by_name(values, formats.percent) == "0.0% (v0) to 29.0% (v29)"
    runs = {f"v{n}": [made_run(tmp_path, f"v{n}", 0, [0.5])] for n in range(30)}
    drawing = bytes_by_purpose(runs)
    assert drawing is not None
    assert drawing.about == "Wasted: 0.0%."


def test_pages_of_sweeps_grow_with_their_variants(tmp_path: Path) -> None:
    """Every picture drew every variant: 200 variants with 5 rounds were 16 MB."""
    sizes = {}
    for count in (40, 80):
        groups = {
            f"v{i}": [made_run(tmp_path / str(count), f"v{i}", 0, [0.1, 0.2])] for i in range(count)
        }
        drawing = curves.curves("c", "", "", groups, [measures.TIME], [measures.ACCURACY])
        assert drawing is not None
        assert drawing.svg.count("<svg") == curves.PICTURES
        assert drawing.svg.count('class="line other"') == count
        assert f"All {count} variants in grey" in drawing.about
        assert len({css for css, _ in drawing.legend}) == count  # the script hides by them
        sizes[count] = len(drawing.svg)
    assert sizes[80] < 1.5 * sizes[40]


def test_bars_of_means_fill_the_anatomy(tmp_path: Path) -> None:
    """The one long round set the scale of bars that are means of two."""
    made = made_run(tmp_path, "v", 0, [0.5] * 2 * COLUMNS)
    lasts_s = np.tile([1.0, 19.0], COLUMNS)
    ends_s = np.cumsum(lasts_s)
    made.round_rows["start_s"], made.round_rows["end_s"] = ends_s - lasts_s, ends_s
    for column, share in (("selected", 0), ("download_end", 0.2), ("compute_end", 0.7)):
        made.client_rows[f"{column}_s"] = ends_s - (1 - share) * lasts_s
    made.client_rows["upload_end_s"] = made.round_rows["last_arrival_s"] = ends_s
    drawing = anatomy({"v": [made]})
    assert drawing is not None
    assert drawing.about.endswith(" Each bar is the mean of 2 rounds.")
    assert re.findall(r'<text class="tick end"[^>]*>(\d+)<', drawing.svg)[-1] == "10"


def standing(name: str, *times: float | None, first: tuple[float, ...] = ()) -> Standing:
    def by_seed(costs: tuple[float | None, ...]) -> Times:
        return Times(dict(enumerate(costs)), dict.fromkeys(range(len(costs)), 600.0))

    there = [None if time is None else 1.0 for time in times]
    ratio = paired_ratio(by_seed(times), by_seed(first)) if first else None
    rounds, sizes = (Figure.of([one and one * n for one in there]) for n in (3, 1000))
    shared = min(len(times), len(first))
    return Standing(name, Figure.of(times), rounds, sizes, ratio, shared)


@pytest.mark.parametrize(
    ("ranked", "text"),
    [
        ([standing("a", 60)], "Reached 70% after 1 min of virtual time, 3 rounds and 1 kB moved."),
        (
            [standing("a", 60), standing("b", 120, first=(60,)), standing("c", None, first=(60,))],
            "a reached 70% first: after 1 min of virtual time, 3 rounds and 1 kB moved. "
            "b took 2 min (2.00× as long). With one seed there is no interval: chance may have "
            "made the difference. c never did.",
        ),
        (
            [
                standing("a", 50, 60, 70),
                standing("b", 100, 120, 140, first=(50, 60, 70)),
                standing("c", None, 10, 40, first=(50, 60, 70)),
            ],
            "a reached 70% with 3 of 3 seeds; c, not distinguishable from it in time, with fewer. "
            "a took 1 min of virtual time, 3 rounds and 1 kB moved, in the mean of 3 seeds. "
            "b took 2 min (2.00× as long [2.00×, 2.00×]) and c took 40.0 s with 2 of 3 seeds "
            "(1.05× as long [0.00441×, 248×], never counting as 10 min). "
            "Ratios are geometric means, seed by seed, with 95% intervals.",
        ),
        (
            [standing("a", 50, 60, 70), standing("c", None, None, 40, first=(50, 60, 70))],
            "a reached 70% with 3 of 3 seeds; c, not distinguishable from it in time, with fewer. "
            "a took 1 min of virtual time, 3 rounds and 1 kB moved, in the mean of 3 seeds. "
            "c got there with 1 of 3 seeds (4.09× as long [0.0589×, 285×], never counting as "
            "10 min). Ratios are geometric means, seed by seed, with 95% intervals.",
        ),
        (
            [
                standing("a", 50, 60, 70),
                standing("b", 70, 50, 60, first=(50, 60, 70)),
                standing("c", None, None, 40, first=(50, 60, 70)),
            ],
            "a and b are not distinguishable in the time they took to reach 70%. a took 1 min of "
            "virtual time, 3 rounds and 1 kB moved, in the mean of 3 seeds. b took 1 min (1.00× as "
            "long [0.48×, 2.06×]) and c got there with 1 of 3 seeds (4.09× as long [0.0589×, "
            "285×], never counting as 10 min). Ratios are geometric means, seed by seed, with 95% "
            "intervals.",
        ),
        (
            [
                standing("a", 50, 60),
                standing("b", 100, 120, first=(50, 60)),
                standing("c", 120, first=(50, 60)),
            ],
            "a reached 70% first: after 55.0 s of virtual time, 3 rounds and 1 kB moved, in the "
            "mean of 2 seeds. b took 1 min 50 s (2.00× as long [2.00×, 2.00×]) and c took 2 "
            "min (2.40× as long, with the 1 seed that both have). Ratios are geometric means, "
            "seed by seed, with 95% intervals. a and c have one seed in common: chance may be why "
            "they differ.",
        ),
        (
            [standing("a", 60), standing("b", 60, first=(60,)), standing("c", 120, first=(60,))],
            "a and b reached 70% equally soon, before all others: after 1 min of virtual time, 3 "
            "rounds and 1 kB moved. c took 2 min (2.00× as long). With one seed there is no "
            "interval: chance may have made the difference.",
        ),
        (
            [standing("a", 60), standing("b", 60, first=(60,))],
            "a and b reached 70% equally soon: after 1 min of virtual time, 3 rounds and 1 kB "
            "moved.",
        ),
        (
            [
                standing("a", *[100.0] * 30),
                standing("b", *[50.0] * 28, 900.0, 900.0, first=(100.0,) * 30),
            ],
            "a reached 70% first on the whole, after 1 min 40 s of virtual time, 3 rounds and 1 kB "
            "moved, in the mean of 30 seeds; seed by seed b took less. b took 1 min 47 s (0.61× as "
            "long [0.50×, 0.81×]). Ratios are geometric means, seed by seed, with 95% intervals.",
        ),
        (
            [
                standing("a", 60, None, None),
                standing("b", None, 70, None, first=(60, 60)),
                standing("c", None, None, None, first=(60, 60)),
            ],
            "70% was not reached with most seeds; a and b did with 1 of 3 each.",
        ),
        (
            [standing("a", 60, None), standing("b", None, None, first=(60, 60))],
            "70% was not reached with most seeds; a did with 1 of 2.",
        ),
    ],
)
def test_sentences(ranked: list[Standing], text: str) -> None:
    assert sorted(ranked, key=lambda one: one.order) == ranked
    assert " ".join(words.race(ranked, 0.7)) == text


def test_two_seeds_are_said_to_be_too_few(tmp_path: Path) -> None:
    """What took three times as long was "not distinguishable", as if the two were alike."""
    ranked = [standing("a", 50, 60), standing("b", 100, 260, first=(50, 60))]
    first, _, behind, _ = words.race(ranked, 0.7)
    assert first == "2 seeds are too few to tell a and b apart in the time they took to reach 70%."
    assert behind.startswith("b took 3 min (2.94× as long [")
    for name, lasts in {"a": (9, 16), "b": (20, 90)}.items():
        for seed, round_s in enumerate(lasts):
            made_run(tmp_path, name, seed, [0.5] * 4, round_s=round_s)
    first, behind, _ = pace(by_variant(find_runs([tmp_path])))
    assert first.startswith("2 seeds are too few to tell a and b apart in how long a round takes: ")
    assert behind.startswith("b takes 55.0 s (3.54× as long [")


def test_of_many_variants_sentences_name_the_best(tmp_path: Path) -> None:
    """Eighteen long names were eight lines."""
    for index in range(9):
        for seed in range(3):
            accuracies = reaches(10 + index + seed * (index % 2), 60)
            made_run(tmp_path, f"v{index}", seed, accuracies)
    told = words.headline(by_variant(find_runs([tmp_path])))
    assert set(re.findall(r"v\d", " ".join(told))) == {"v0", "v1"}
    assert "; the table has 7 others." in " ".join(told)


def test_a_seed_that_has_not_ended_is_not_said_to_have_failed() -> None:
    some = Figure.of([10.0, 20.0, None], open=1)
    [told] = words.race([Standing("a", some, some, some)], 0.7)
    assert told.endswith(", in the median of 3 seeds, of which 1 not yet.")


def test_the_best_accuracy_is_no_lucky_seeds(tmp_path: Path) -> None:
    """It was the best of all runs: with more seeds it could only grow."""
    for name, accuracies in {"lucky": (0.5, 0.9), "steady": (0.8, 0.8)}.items():
        for seed, accuracy in enumerate(accuracies):
            made_run(tmp_path, name, seed, [accuracy, 0.1], targets=())
    groups = by_variant(find_runs([tmp_path]))
    assert words.headline(groups) == [
        "The best accuracy of any round was 80.00% (steady, mean of 2 seeds); 2 seeds are too "
        "few to tell lucky from it."
    ]
    both = {"a": groups["steady"], "b": groups["steady"]}
    assert words.headline(both) == [
        "The best accuracy of any round was 80.00% (a and b, mean of 2 seeds)."
    ]
    alone = {"lucky": [run for run in groups["lucky"] if run.seed == 1]}
    assert words.headline(alone) == ["The best accuracy of any round was 90.00%."]
    alone["steady"] = groups["steady"][:1]
    assert words.headline(alone) == ["The best accuracy of any round was 90.00% (lucky, one seed)."]


def test_the_headlines_accuracy_is_told_from_the_tables(tmp_path: Path) -> None:
    """Two accuracies stood above each other, 94.2% and 94.25%, and the best was somebody else's."""
    groups = {"v": [made_run(tmp_path, "v", 0, [0.9425, 0.1], targets=())]}
    assert words.headline(groups) == ["The best accuracy of any round was 94.25%."]
    tables, _ = results(groups)
    assert tables[0].heads[:2] == ["variant", "last accuracy"]
    assert tables[0].rows[0][1].text == "10.00%"


def test_the_headline_tells_errors_where_there_is_no_accuracy(tmp_path: Path) -> None:
    """It told rounds alone, as if nothing had been learnt."""
    data = {"dataset": {"name": "synthetic_regression"}, "partition": "natural"}
    training = {"loss": "mean_squared_error", "optimizer": {"name": "sgd", "lr": 0.01}}
    variants = {"a": {"training.epochs": 1}, "b": {"training.epochs": 2}}
    scenario = TINY | {"data": data, "training": training, "variants": variants, "seeds": [0, 1]}
    runs = run(Scenario.from_dict(scenario), tmp_path)
    groups = by_variant(runs)
    means = {
        name: math.fsum(one.error[1] for one in made if one.error) / 2
        for name, made in groups.items()
    }
    assert means["b"] < means["a"]
    first, *others = words.headline(groups)
    assert first.startswith(f"The lowest RMSE at the end is {means['b']:.4g} (b, mean of 2 seeds)")
    assert others == pace(groups)


def test_green_is_who_is_better_seed_by_seed_and_got_there_as_surely(tmp_path: Path) -> None:
    """By means `a` is ahead, seed by seed `b`; `c` is behind both."""
    times = {"a": [20] * 8, "b": [10, 10, 10, 10, 10, 10, 10, 95], "c": [40] * 8}
    for name, rounds in times.items():
        for seed, round_ in enumerate(rounds):
            made_run(tmp_path, name, seed, reaches(round_, 99))
    tables, _ = results(by_variant(find_runs([tmp_path])))
    column = tables[0].heads.index("time")
    assert {row[0].text: row[column].css for row in tables[0].rows} == dict.fromkeys("abc", "")
    best = {**times, "b": [10] * 8}
    for name, rounds in best.items():
        for seed, round_ in enumerate(rounds):
            made_run(tmp_path / "clear", name, seed, reaches(round_, 99))
    tables, _ = results(by_variant(find_runs([tmp_path / "clear"])))
    column = tables[0].heads.index("time")
    assert [row[0].text for row in tables[0].rows if row[column].css == "best"] == ["b"]


def test_deviations_have_three_digits_in_the_terminals_table_too(tmp_path: Path) -> None:
    for seed, round_ in enumerate((34, 49)):
        made_run(tmp_path, "a", seed, reaches(round_, 60))
    told = as_table(compare(find_runs([tmp_path])))
    assert "83 kB ± 21.2 kB" in told


def test_the_headline_calls_no_noise_a_winner(tmp_path: Path) -> None:
    """6:56 against 7:18 with deviations of 1:16 and 2:29, three seeds."""
    for name, rounds in {"a": (34, 42, 49), "b": (59, 29, 44)}.items():
        for seed, round_ in enumerate(rounds):
            made_run(tmp_path, name, seed, reaches(round_, 60))
    told = " ".join(words.headline(by_variant(find_runs([tmp_path]))))
    assert told.startswith("a and b are not distinguishable in the time they took to reach 70%.")
    assert "first" not in told


def test_a_variant_of_fewer_seeds_is_first_only_where_both_have_been(tmp_path: Path) -> None:
    """A fork of one easy seed was "first", beside a variant that took half as long on that seed."""
    for name, rounds in {"a": (5, 15, 40), "b": (10, 20, 30)}.items():
        for seed, round_ in enumerate(rounds):
            made_run(tmp_path, name, seed, reaches(round_, 60))
    made_run(tmp_path, "fork", 0, reaches(10, 60))
    groups = by_variant(find_runs([tmp_path]))
    assert " ".join(words.headline(groups)) == (
        "fork reached 70% first on the whole, after 1 min 40 s of virtual time, 10 rounds and "
        "20 kB moved; on the one seed that both have, a and b took no longer. a took 3 min 20 s "
        "(0.50× as long, with the 1 seed that both have) and b took 3 min 20 s (1.00× as long, "
        "with the 1 seed that both have). With one seed there is no interval: chance may have "
        "made the difference."
    )
    made_run(tmp_path, "elsewhere", 7, reaches(50, 60))
    told = " ".join(
        words.headline(by_variant(find_runs([tmp_path / n for n in ("b", "elsewhere")])))
    )
    assert told.endswith(
        "elsewhere took 8 min 20 s. b has no seed in common with elsewhere: chance may be why."
    )


def test_time_before_and_between_rounds_is_told(tmp_path: Path) -> None:
    """60 rounds "took 20 h 7 min: 2.4 s each": nobody was online for 20 h 5 min."""
    (tmp_path / "sessions.csv").write_text("device,start_s,end_s\na,1000,5000\n")
    availability = {"name": "trace", "file": "sessions.csv", "shift": False}
    fleet = {"count": 8, "compute": "10 samples/s", "availability": availability}
    scenario = Scenario.from_dict(TINY | {"fleet": fleet, "seeds": [0, 1]}, folder=tmp_path)
    runs = run(scenario, tmp_path / "runs", Options(time_only=True))
    assert words.headline({"default": runs}) == [
        "4 rounds took 17 min 4 s of virtual time, in the mean of 2 seeds: 6.0 s each, and "
        "16 min 40 s before and between them."
    ]


def test_nobody_has_the_shortest_rounds_by_coming_first(tmp_path: Path) -> None:
    """Of two deadlines that nobody ever met, the first was said to be the faster."""
    compute = {"distribution": "uniform", "min": "10 samples/s", "max": "90 samples/s"}
    variants = {
        name: {"rounds.policy.deadline": deadline, "rounds.policy.over_select": share}
        for name, deadline, share in (
            ("a", "900 s", 1), ("b", "800 s", 2), ("c", "900 s", 2), ("d", "800 s", 1),
        )
    }  # fmt: skip
    data = TINY | {"fleet": {"count": 8, "compute": compute}, "variants": variants}
    runs = by_variant(run(Scenario.from_dict(data), tmp_path, Options(time_only=True)))
    first, second, caution = words.headline(runs)
    assert first.startswith("b and c have the shortest rounds: ")
    assert second.startswith("a and d take ")
    assert caution.startswith("With one seed there is no interval")
    alone = words.headline({name: runs[name] for name in "ad"})
    assert [sentence.partition(" in ")[2] for sentence in alone] == ["the mean, with a and d."]


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (
            (20, 40, 10),
            "a and b are not distinguishable in how long a round takes: 11.7 s to 23.3 s. c takes "
            "1 min (5.31× as long [2.48×, 11.4×]). Ratios are geometric means, seed by seed, with "
            "95% intervals.",
        ),
        (
            (10, 20, 12),
            "a has the shortest rounds: 11.7 s in the mean. c takes 1 min (5.31× as long [2.48×, "
            "11.4×]). Ratios are geometric means, seed by seed, with 95% intervals.",
        ),
    ],
)
def test_who_has_the_shortest_rounds_is_no_matter_of_chance(
    seconds: tuple[int, ...], told: str, tmp_path: Path
) -> None:
    for name, lasts in {"a": (9, 16, 10), "b": seconds, "c": (60, 60, 60)}.items():
        for seed, round_s in enumerate(lasts):
            made_run(tmp_path, name, seed, [0.5] * 4, round_s=round_s)
    assert " ".join(pace(by_variant(find_runs([tmp_path])))) == told


def _luminance(colour: str) -> float:
    """Return the relative luminance of `#rrggbb` (WCAG 2.2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_what_is_drawn_is_seen_on_its_paper() -> None:
    """Contrast of shapes, 3 to 1 or more (WCAG 2.2, 1.4.11); the palest two have an edge."""
    style = files("simfl.report.page").joinpath("style.css").read_text(encoding="utf-8")
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#\w{6})\b", part)) for part in style.split("@media")[:2]
    )
    shapes = {"edge", *(f"c{n}" for n in range(8)), *OUTCOMES}
    parts = {*ANATOMY_CSS, *BYTE_CSS, *ENERGY_CSS}
    shapes |= {css.removeprefix("p-") for css in parts if " " not in css}
    assert {"p-update", "p-model"}.isdisjoint(ENERGY_CSS)  # which are bytes, on the same page
    shapes -= {"wait", "unfinished"}
    assert ".o-unfinished, .p-wait { stroke: var(--edge);" in style
    for scheme, paper in ((light, "#ffffff"), (dark, dark["card"])):
        for shape in shapes:
            pair = sorted((_luminance(scheme[shape]), _luminance(paper)))
            assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 3, shape
    assert [light[f"c{n}"] for n in range(8)] == list(COLOURS)


def test_dark_colours_are_for_screens() -> None:
    """Dark screens printed black pages."""
    style = files("simfl.report.page").joinpath("style.css").read_text(encoding="utf-8")
    schemes = [line for line in style.splitlines() if "prefers-color-scheme" in line]
    assert schemes == ["@media screen and (prefers-color-scheme: dark) {"]
