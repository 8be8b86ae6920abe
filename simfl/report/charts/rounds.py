"""Charts of rounds: what became of those selected."""

from collections.abc import Sequence

import numpy as np

from simfl.core.rows import OUTCOMES
from simfl.report import formats
from simfl.report.axes import linear
from simfl.report.charts.base import COLUMNS, Drawing, bars, rounds_told
from simfl.report.charts.svg import Plot
from simfl.runs.results.grouping import Groups, all_runs
from simfl.runs.results.result import RunResult


def outcomes(groups: Groups) -> Drawing | None:
    """Return what became of those selected: by round for one run, else a bar per variant."""
    runs = all_runs(groups)
    if not any(run.outcomes for run in runs):
        return None
    if len(runs) == 1:
        return _outcomes_by_round(runs[0])
    shown: list[str] = [name for name in OUTCOMES if any(run.outcomes[name] for run in runs)]
    shares = {}
    for name, members in groups.items():
        counts = {what: float(sum(run.outcomes[what] for run in members)) for what in shown}
        every = sum(counts.values()) or 1.0
        shares[name] = {what: count / every for what, count in counts.items()}
    x = linear("share of participations", 0.0, 1.0, share=True)
    css = {name: f"o-{name}" for name in shown}
    about = "Of all participations; only what arrived counted."
    title = "What became of those selected"
    return bars(title, about, x, shares, css, "share", formats.percent)


def _outcomes_by_round(run: RunResult) -> Drawing:
    """Return a bar for each round; where these are many, for the mean of some side by side.

    Participations are counted where they were selected: an asynchronous one may end rounds later.
    """
    rounds = run.of_clients("round").astype(np.int64)
    first, last = int(rounds.min()), int(rounds.max())
    width = -(-(last - first + 1) // COLUMNS)
    bins = (rounds - first) // width
    columns = int(bins.max()) + 1
    widths = np.full(columns, width)
    widths[-1] = last - first + 1 - width * (columns - 1)
    shown = [name for name in OUTCOMES if run.outcomes[name]]
    counts = {
        name: np.bincount(bins[run.of_clients("outcome") == name], minlength=columns) / widths
        for name in shown
    }
    top = float(np.sum(list(counts.values()), axis=0).max())
    x = linear("round", first - 0.5, last + 0.5, whole=True)
    plot = Plot("outcomes by round", x, linear("clients", 0.0, top * 1.05, whole=width == 1))
    base = np.zeros(columns)
    table: list[Sequence[str | float]] = [("from_round", "to_round", "outcome", "clients")]
    for name in shown:
        for index, height in enumerate(counts[name]):
            begin = first + index * width
            end = begin + int(widths[index]) - 1
            tip = f"{rounds_told(begin, end)}: {formats.count(height)} {name}"
            table.append((begin, end, name, float(height)))
            plot.box(begin - 0.42, end + 0.42, base[index], base[index] + height, f"o-{name}", tip)
        base += counts[name]
    about = "By the round in which they were selected." + (
        f" Each bar is the mean of {width} rounds." if width > 1 else ""
    )
    entries = [(f"o-{name}", f"{name} ({run.outcomes[name]:,})") for name in shown]
    return Drawing("What became of those selected", about, str(plot), entries, table=table)
