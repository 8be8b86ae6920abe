"""What curves are drawn of: extents of axes, means over seeds with their bands, thinned runs.

Where a seed has ended, a mean over the others would be of other seeds than before: from there on
each is a line of its own, a tail.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from simfl.core.types import Floats, Ids
from simfl.report.charts.embedded import short_numbers
from simfl.report.measures import LOSS, Measure, on_grid
from simfl.runs.results.result import RunResult

POINTS = 400
"""A single run has at most about as many points: the least and the most of every stretch."""
EARLY = 50
"""So many are the first, all of them: curves of learning are the steepest there."""
STEEP = 100.0
"""Losses that span more than such a ratio come on a logarithmic scale."""
LEAST_MARGIN = 0.005
"""Above and below shares, at least, on an axis that does not begin at 0."""


def extent(
    measure: Measure, runs: Sequence[RunResult], marks: Sequence[Any], vertical: bool
) -> dict[str, Any]:
    """Return what an axis has to show of `runs`, and of marks across.

    Upwards it begins at 0, but for shares of which all lie in the upper half: from 80% to 90% is
    not seen on an axis from 0%.
    """
    values = np.concatenate([measure.of(run) for run in runs])
    values = values[np.isfinite(values)]
    across = [value for key, value, _ in marks if key == measure.key]
    top = max([float(values.max()), *across])
    room = 1.05 if vertical else 1.0
    top *= room if top > 0 else 1 / room
    top = min(1.0, top) if measure.kind == "share" else top
    shown = values if measure.kind == "share" else np.append(values, across)
    positive, low = shown[shown > 0], float(shown.min())
    bottom = min(0.0, room * low)
    lowest, highest = min([low, *across]), max([float(values.max()), *across])
    if vertical and measure.kind == "share" and lowest > top / 2:
        margin = max((room - 1) * (highest - lowest), LEAST_MARGIN)
        bottom, top = lowest - margin, min(highest + margin, 1.0)
    return {
        "key": measure.key,
        "column": measure.column,
        "label": measure.label,
        "units": measure.units,
        "kind": measure.kind,
        "low": bottom,
        "high": top,
        "positive": float(positive.min()) if len(positive) else 1.0,
        "log": measure is LOSS and low > 0 and float(values.max()) > STEEP * low,
    }


def points_of(run: RunResult, xs: Sequence[Measure], ys: Sequence[Measure]) -> dict[str, Any]:
    """Return the points of a single run by measure, of a long one some of them, see `_kept`."""
    columns = {m.key: np.asarray(m.of(run), dtype=np.float64) for m in [*xs, *ys]}
    kept = _kept([columns[y.key] for y in ys])
    short = {key: short_numbers(column[kept]) for key, column in columns.items()}
    return {"seed": run.seed} | short


def _kept(ups: Sequence[Floats]) -> Ids:
    """Return `(m,)` indices of points that show the curves `ups`, `(n,)` each.

    Of a long run they are the first, then the ends and the extremes of every stretch, of points
    that any curve has.
    """
    count = len(ups[0])
    if count <= POINTS:
        return np.arange(count)
    known = np.flatnonzero(np.isfinite(ups).any(axis=0))
    if len(known) <= POINTS:
        return known
    kept = [known[:EARLY]]
    for stretch in np.array_split(known[EARLY:], (POINTS - EARLY) // (2 + 2 * len(ups))):
        kept.append(stretch[[0, -1]])
        for up in ups:
            if np.isfinite(up[stretch]).any():
                kept.append(stretch[[np.nanargmin(up[stretch]), np.nanargmax(up[stretch])]])
    return np.unique(np.concatenate(kept))


def means_of(
    runs: Sequence[RunResult], xs: Sequence[Measure], ys: Sequence[Measure]
) -> dict[str, Any]:
    """Return mean, lowest and highest by choice of axes, where every seed has been."""
    if len(runs) < 2:
        return {}
    return {f"{x.key} {y.key}": _mean(runs, x, y) for x in xs for y in ys}


def _mean(runs: Sequence[RunResult], x: Measure, y: Measure) -> Any:
    if (lines := on_grid(runs, x, y)) is None:
        return None
    grid, values = lines
    return {
        "x": short_numbers(grid),
        "mean": short_numbers(values.mean(axis=0)),
        "low": short_numbers(values.min(axis=0)),
        "high": short_numbers(values.max(axis=0)),
        "tails": [tail for run in runs if (tail := _tail(run, x, y, float(grid[-1])))],
    }


def _tail(run: RunResult, x: Measure, y: Measure, start: float) -> dict[str, Any] | None:
    """Return what one run does beyond `start`, where another seed has ended; None: nothing."""
    finite = np.isfinite(y.of(run))
    at, values = x.of(run)[finite], y.of(run)[finite]
    if at[-1] <= start:
        return None
    beyond = at > start
    columns = [
        np.append(start, at[beyond]),
        np.append(np.interp(start, at, values), values[beyond]),
    ]
    kept = _kept(columns[1:])
    across, up = (short_numbers(column[kept]) for column in columns)
    return {"seed": run.seed, "x": across, "y": up}
