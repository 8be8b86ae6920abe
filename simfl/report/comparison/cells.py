"""Cells of a comparison in words: a number over seeds, a ratio, a difference, an interval."""

import math
from collections.abc import Callable, Mapping
from functools import partial

from simfl.report import formats
from simfl.runs.results.compare import Cell, Column
from simfl.runs.results.metric import Unit
from simfl.runs.results.statistics import Figure, Interval, Ratio

TEXT: Mapping[str, Callable[[float], str]] = {
    "share": lambda value: formats.percent(value, 2),
    "time": formats.duration,
    "bytes": formats.size,
    "energy": formats.energy,
    "count": formats.count,
    "ratio": formats.ratio,
    "number": lambda value: f"{value:.4g}" if math.isfinite(value) else formats.NOTHING,
}
SPREAD = {
    **TEXT,  # three digits: one less than the mean's
    "bytes": lambda value: formats.scaled(value, "B", 3),
    "energy": lambda value: formats.scaled(value, "J", 3, fractions=True),
}


def cell_text(column: Column, cell: Cell, text: Callable[[float], str] | None = None) -> str:
    """Return one cell for people, its figures as `text` writes them (None: as suits each)."""
    if cell is None:
        return formats.NOTHING
    if isinstance(cell, Ratio):
        return ratio_text(cell, TEXT[column.metric.unit])
    if column.versus is not None and column.ideal is None:
        return difference_text(cell, column.metric.unit)
    unit = column.metric.unit
    spread = SPREAD[unit] if text is None else None
    if text is None and unit == "number":
        spread = partial(_beside, cell.mean)
        if cell.std > 0 and not cell.missing and _written_out(cell.mean):
            text = spread  # else it may have fewer digits than its deviation
    if text is None and unit == "time":
        spread = partial(_beside_time, cell.mean)
    return figure_text(cell, text or TEXT[unit], spread, target=column.target is not None)


def _beside(mean: float, deviation: float) -> str:
    """Return a number's deviation, with as many decimals as its mean has of four digits.

    >>> _beside(0.15, 0.015), _beside(0.15, 0.15), _beside(1.5e-06, 7.071e-07)
    ('0.0150', '0.1500', '7.07e-07')
    """
    if not _written_out(mean):
        return f"{deviation:.3g}"
    return f"{deviation:.{3 - math.floor(math.log10(abs(mean)))}f}"


def _written_out(number: float) -> bool:
    """Whether a number has no power of ten beside it."""
    return 1e-4 <= abs(number) < 1e4


def _beside_time(mean_s: float, deviation_s: float) -> str:
    """Return a time's deviation: of seconds in tenths, as they are, but for what that hides.

    >>> _beside_time(240.0, 0.594), _beside_time(26.7, 0.02), _beside_time(0.5, 0.1)
    ('0.6 s', '20 ms', '100 ms')
    """
    if mean_s >= 1 and 0.05 <= deviation_s < 1:
        return f"{deviation_s:.1f} s"
    return formats.duration(deviation_s)


def figure_text(
    figure: Figure,
    text: Callable[[float], str],
    spread: Callable[[float], str] | None = None,
    *,
    target: bool = False,
) -> str:
    """Return a number over seeds: mean and deviation, or the median where some seed lacks it."""
    if not figure.missing:
        deviation = f" ± {(spread or text)(figure.std)}" if figure.std > 0 else ""
        return f"{text(figure.mean)}{deviation}"
    never = "not yet" if figure.open else "never"
    if figure.missing == figure.seeds:
        return never if target else formats.NOTHING
    lacks = never if target else "none"
    if math.isnan(figure.median):
        return f"{figure.missing} of {figure.seeds} {lacks}"
    middle = lacks if math.isinf(figure.median) else text(figure.median)
    return f"median {middle}, {figure.missing} of {figure.seeds} {lacks}"


def ratio_text(ratio: Ratio, text: Callable[[float], str]) -> str:
    """Return a ratio with its interval, or with why there is none."""
    times = _times_of(ratio)
    value = times(ratio.value)
    told = [interval_text(ratio.interval, times)]
    if ratio.interval is not None and not ratio.distinguishable:
        told.append("not distinguishable")
    if math.isfinite(ratio.horizon):
        told.append(f"within {text(ratio.horizon)}")
    return f"{value} {', '.join(told)}"


def as_long(ratio: Ratio) -> str:
    """Return a ratio of two times in a sentence."""
    times = _times_of(ratio)
    told = f"{times(ratio.value)} as long"
    if ratio.interval is not None:
        told += f" {interval_text(ratio.interval, times)}"
    return told


def _times_of(ratio: Ratio) -> Callable[[float], str]:
    """Return how a ratio and its ends are written: what is sure not to be 1 does not read as 1."""
    if ratio.interval is None or not ratio.distinguishable:
        return formats.times
    nearest = min(ratio.interval.low, ratio.interval.high, key=lambda end: abs(end - 1))
    if formats.times(nearest) != formats.times(1.0):
        return formats.times
    digits = -math.floor(math.log10(abs(nearest - 1)))
    return lambda value: f"{value:,.{digits}f}×"


def difference_text(figure: Figure, unit: Unit) -> str:
    """Return a difference: of shares in percentage points."""
    if math.isnan(figure.mean):
        return formats.NOTHING
    if unit != "share":
        return f"{figure.mean:+.4g} {interval_text(figure.interval, '{:+.4g}'.format)}"
    return f"{_points(figure.mean)} points {interval_text(figure.interval, _points)}"


def _points(share: float) -> str:
    return f"{100 * share:+.2f}"


def interval_text(interval: Interval | None, text: Callable[[float], str]) -> str:
    """Return an interval in brackets."""
    if interval is None:
        return "(one seed, no interval)"
    return f"[{text(interval.low)}, {text(interval.high)}]"
