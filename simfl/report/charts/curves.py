"""Curves over rounds, time, bytes or energy: the mean over seeds, its band, single runs on demand.

Everything that is computed (see `curve_data`) is computed for every choice of axes.  The page's
script is given these numbers and draws what `draw` draws, for another choice; a test compares the
two on the first one.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from simfl.report import forked, formats
from simfl.report.axes import Axis, linear, logarithmic
from simfl.report.charts.base import Drawing, colour, legend
from simfl.report.charts.curve_data import EARLY, POINTS, extent, means_of, points_of
from simfl.report.charts.svg import HEIGHT, WIDE, WIDTH, Plot
from simfl.report.measures import TIME, Measure
from simfl.runs.results.grouping import Groups, all_runs

TOGETHER = 8
"""More variants than this get a picture each."""
HEADING = 36
"""Characters of a variant's name above it; more are cut off at the edge in a wide font."""
PICTURES = 24
"""At most so many pictures; what they have in common is drawn once."""
SMALL = (370, 210)
"""Width and height of such a picture."""


def curves(
    name: str,
    title: str,
    about: str,
    groups: Groups,
    xs: Sequence[Measure],
    ys: Sequence[Measure],
    marks: Sequence[tuple[str, float, str]] = (),
    wide: bool = False,
) -> Drawing | None:
    """Return curves of all runs; None if there is no number to show.

    Args:
        name: of the chart within the page.
        title: what it shows.
        about: how to read it.
        groups: runs by variant.
        xs: what can be the horizontal axis, the first first.
        ys: what can be the vertical axis.
        marks: lines across: key of the vertical axis, value, text.
        wide: whether it has the page's whole width.
    """
    runs = all_runs(groups)
    ys = [y for y in ys if any(np.isfinite(y.of(run)).any() for run in runs)]
    xs = [x for x in xs if any(np.nanmax(x.of(run), initial=0) > 0 for run in runs)]
    if not xs or not ys:
        return None
    means = {name: means_of(members, xs, ys) for name, members in groups.items()}
    data = {
        "name": name,
        "xs": [extent(x, runs, (), vertical=False) for x in xs],
        "ys": [extent(y, runs, marks, vertical=True) for y in ys],
        "marks": [{"y": key, "value": value, "text": text} for key, value, text in marks],
        "forks": forked.instants_s(runs),
        "series": [
            {
                "name": variant,
                "css": colour(index),
                "runs": [points_of(run, xs, ys) for run in members],
                "means": means[variant] or None,
            }
            for index, (variant, members) in enumerate(groups.items())
        ],
        "size": (WIDE if wide else WIDTH, HEIGHT),
        "small": SMALL if len(groups) > TOGETHER else None,
        "pictures": PICTURES,
        "heading": HEADING,
    }
    sentences = [about, *_drawn_how(groups, means)]
    return Drawing(title, " ".join(filter(None, sentences)), draw(data), legend(groups), data)


def _drawn_how(groups: Groups, means: Mapping[str, dict[str, Any]]) -> Iterator[str]:
    """Yield what stands for several seeds, for long runs and for many variants."""
    if any(len(members) > 1 for members in groups.values()):
        apart = any(mean and mean["tails"] for pairs in means.values() for mean in pairs.values())
        thin = "; thin: single runs, where another seed has ended" if apart else ""
        yield (
            "Lines: means over seeds, where every seed has been; bands: from the lowest to the "
            f"highest{thin}."
        )
    if any(run.n_rounds > POINTS for run in all_runs(groups)):
        yield (
            f"Of long runs the first {EARLY} points are drawn, then the least and the most of "
            "every stretch, and saved as CSV; each round is in `rounds.csv`."
        )
    if len(groups) > PICTURES:
        yield (
            f"All {len(groups)} variants in grey; a picture each for the first {PICTURES}: hide "
            "some in the legend, and the next have theirs."
        )


def draw(data: dict[str, Any]) -> str:
    """Return the chart for its first axes: one picture, or one per variant."""
    if data["small"] is None:
        return _picture(data, data["size"], None)
    shown = range(min(len(data["series"]), PICTURES))
    return "".join(_picture(data, data["small"], focus) for focus in shown)


def _picture(data: dict[str, Any], size: tuple[int, int], focus: int | None) -> str:
    """Return a picture of all series, or of that at `focus` with the others behind it in grey."""
    width, height = size
    x_data, y_data = data["xs"][0], data["ys"][0]
    x = axis(x_data, max(2, round(width / 95)))
    y = axis(y_data, 6 if height > 250 else 4, y_data["log"])
    title = f"{y_data['label']} by {x_data['label']}"
    series = data["series"]
    if focus is not None:
        title = f"{series[focus]['name']}: {title}"
    plot = Plot(title, x, y, width=width, height=height)
    plot.heading("" if focus is None else formats.shortened(series[focus]["name"], HEADING))
    for mark in reversed(data["marks"]):  # where labels are in one line, the last is on the right
        if mark["y"] == y_data["key"]:
            plot.across(mark["value"], mark["text"])
    for instant_s in data["forks"] if x_data["key"] == TIME.key else []:
        plot.upright(instant_s, "fork")
    others = f"others-{data['name']}"
    if focus == 0:
        with plot.kept(others):
            for curve in series:
                _draw_curve(plot, curve, x_data["key"], y_data["key"], "other")
    elif focus is not None:
        plot.repeat(others, "others")
    for curve in series if focus is None else [series[focus]]:
        _draw_curve(plot, curve, x_data["key"], y_data["key"], curve["css"])
    return str(plot)


def _draw_curve(plot: Plot, curve: dict[str, Any], x: str, y: str, css: str) -> None:
    mean = curve["means"] and curve["means"][f"{x} {y}"]
    if not mean:
        for run in curve["runs"]:
            plot.line(run[x], run[y], f"line {css}", curve["name"])
        return
    if css != "other":
        plot.band(mean["x"], mean["low"], mean["high"], f"band {css}")
    plot.line(mean["x"], mean["mean"], f"line {css}", curve["name"])
    for tail in mean["tails"] if css != "other" else []:
        plot.line(tail["x"], tail["y"], f"line {css} thin", f"{curve['name']}, seed {tail['seed']}")


def axis(data: dict[str, Any], steps: int, log: bool = False) -> Axis:
    """Return the axis that shows an extent (see `extent`)."""
    label, high, share = data["label"], data["high"], data["kind"] == "share"
    if log:
        return logarithmic(label, data["positive"], high, units=data["units"], share=share)
    low, whole = data["low"], data["kind"] == "count"
    return linear(label, low, high, units=data["units"], steps=steps, whole=whole, share=share)
