"""Cells of a comparison in words: a number over seeds, a ratio, a difference, an interval."""

import math
from collections.abc import Callable, Mapping
from functools import partial

from simfl.core.costs import Unit
from simfl.report import formats
from simfl.runs.results.column import Column
from simfl.runs.results.comparison import Cell
from simfl.runs.results.paired import Ratio
from simfl.runs.results.signs import Signs
from simfl.runs.results.statistics import Figure, Interval

TEXT: Mapping[str, Callable[[float], str]] = {
    "share": lambda value: formats.percent(value, 2),
    "time": formats.duration,
    "bytes": formats.size,
    "energy": formats.energy,
    "count": formats.count,
    "ratio": formats.ratio,
    "number": lambda value: f"{value:.4g}" if math.isfinite(value) else formats.NOTHING,
}


def _counts(mean: float, deviation: float) -> str:
    """Return a mean number of things and its deviation: with tenths, unless both are whole.

    >>> _counts(2.0, 0.6), _counts(1200.0, 10.0)
    ('2.0 ± 0.6', '1,200 ± 10')
    """
    digits = 0 if mean == int(mean) and deviation == int(deviation) else 1
    return f"{mean:,.{digits}f} ± {deviation:,.{digits}f}"


def _numbers(mean: float, deviation: float) -> str:
    """Return a number and its deviation, with as many decimals as four digits of the mean have.

    >>> _numbers(0.15, 0.015), _numbers(0.15, 0.15), _numbers(1.5e-06, 7.071e-07)
    ('0.1500 ± 0.0150', '0.1500 ± 0.1500', '1.5e-06 ± 7.07e-07')
    """
    if not 1e-4 <= abs(mean) < 1e4:  # with a power of ten beside it
        return f"{mean:.4g} ± {deviation:.3g}"
    decimals = 3 - math.floor(math.log10(abs(mean)))
    return f"{mean:.{decimals}f} ± {deviation:.{decimals}f}"


def _times(mean_s: float, deviation_s: float) -> str:
    """Return a time and its deviation, which is told no finer than the time is, unless below that.

    >>> _times(26.7, 0.02), _times(271.3, 24.8), _times(240.0, 0.594), _times(8100.0, 204.0)
    ('26.70 s ± 0.02 s', '4 min 31 s ± 25 s', '4 min ± 0.6 s', '2 h 15 min ± 3 min')
    """
    if mean_s < formats.MINUTE_S:
        return formats.with_deviation(mean_s, deviation_s, "s", fractions=True)
    last = 1.0
    if mean_s >= formats.HOUR_S:
        last = formats.MINUTE_S if mean_s < formats.DAY_S else formats.HOUR_S
    rounded = round(deviation_s / last) * last if deviation_s >= last else deviation_s
    text = formats.duration(rounded)
    if 0.05 <= rounded < formats.MINUTE_S:
        text = f"{rounded:.{0 if rounded >= 1 else 1}f} s"
    return f"{formats.duration(mean_s)} ± {text}"


BESIDE: Mapping[str, Callable[[float, float], str]] = {
    "time": _times,
    "bytes": partial(formats.with_deviation, unit="B"),
    "energy": partial(formats.with_deviation, unit="J", fractions=True),
    "count": _counts,
    "number": _numbers,
}
"""How a mean and its deviation are written, where that is not just one beside the other."""


def cell_text(column: Column, cell: Cell, text: Callable[[float], str] | None = None) -> str:
    """Return one cell for people, its figures as `text` writes them (None: as suits each)."""
    if cell is None:
        return formats.NOTHING
    if isinstance(cell, Ratio):
        return ratio_text(cell, TEXT[column.metric.unit])
    if isinstance(cell, Signs):
        return signs_text(cell)
    if column.versus is not None and column.ideal is None:
        return difference_text(cell, column.metric.unit)
    unit = column.metric.unit
    beside = BESIDE.get(unit) if text is None else None
    return figure_text(cell, text or TEXT[unit], beside, target=column.target is not None)


def figure_text(
    figure: Figure,
    text: Callable[[float], str],
    beside: Callable[[float, float], str] | None = None,
    *,
    target: bool = False,
) -> str:
    """Return a number over seeds: mean and deviation, or the median where some seed lacks it."""
    if not figure.missing:
        if not figure.std > 0:  # NaN: there is one seed
            return text(figure.mean)
        if beside is not None:
            return beside(figure.mean, figure.std)
        return f"{text(figure.mean)} ± {text(figure.std)}"
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
    if ratio.level:
        told.append("not distinguishable")
    if math.isfinite(ratio.horizon):
        told.append(f"within {text(ratio.horizon)}")
    return f"{value} {', '.join(told)}"


def as_long(ratio: Ratio, seeds: int = 0) -> str:
    """Return a ratio of two times in a sentence, and of how many seeds, if one of them has more."""
    times = _times_of(ratio)
    told = "just as long" if ratio.tied else f"{times(ratio.value)} as long"
    if ratio.interval is not None and not ratio.tied:
        told += f" {interval_text(ratio.interval, times)}"
    if ratio.seeds < seeds:
        told += f", with the {formats.plural(ratio.seeds, 'seed')} that both have"
    return told


def signs_text(signs: Signs) -> str:
    """Return with how many seeds less was needed, and what the sign test says.

    >>> signs_text(Signs(4, 1, 5)), signs_text(Signs(3, 0, 5))
    ('4 of 5 seeds (p = 0.38)', '3 of 5 seeds, later with 0 (p = 0.25)')
    """
    later = "" if signs.less + signs.more == signs.seeds else f", later with {signs.more:,}"
    return f"{signs.less:,} of {signs.seeds:,} seeds{later} (p = {signs.p:.2g})"


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
        signed = _signed(figure.interval)
        return f"{signed(figure.mean)} {interval_text(figure.interval, signed)}"
    return f"{_points(figure.mean)} points {interval_text(figure.interval, _points)}"


def _signed(interval: Interval | None) -> Callable[[float], str]:
    """Return how a difference is written: to the second digit of half of its interval's width.

    An end of an interval that leaves out 0 does not read as 0.

    >>> _signed(Interval(-0.0026, 0.0026, "Student's t"))(1.3e-05), _signed(None)(0.0123456)
    ('+0.0000', '+0.01235')
    >>> _signed(Interval(0.00002, 0.04, "Student's t"))(0.00002)
    '+0.00002'
    """
    half = 0.0 if interval is None else (interval.high - interval.low) / 2
    if interval is None or not 1e-6 <= half < math.inf:
        return "{:+.4g}".format
    digits = 1 - math.floor(math.log10(half))
    if interval.low > 0 or interval.high < 0:
        nearest = min(abs(interval.low), abs(interval.high))
        digits = max(digits, -math.floor(math.log10(nearest)))
    return lambda value: f"{value:+,.{max(digits, 0)}f}"


def _points(share: float) -> str:
    return f"{100 * share:+.2f}"


def interval_text(interval: Interval | None, text: Callable[[float], str]) -> str:
    """Return an interval in brackets."""
    if interval is None:
        return "(one seed, no interval)"
    return f"[{text(interval.low)}, {text(interval.high)}]"
