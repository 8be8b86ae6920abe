"""Axes: from numbers to places on a chart, with round ticks in the unit that suits the range."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simfl.report.formats import DAY_S, HOUR_S, MINUTE_S

Unit = tuple[str, float]
"""A unit's symbol and its size in the base unit."""

TIME_UNITS: tuple[Unit, ...] = (
    ("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0),
    ("min", MINUTE_S), ("h", HOUR_S), ("d", DAY_S),
)  # fmt: skip
BYTE_UNITS: tuple[Unit, ...] = (
    ("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12), ("PB", 1e15)
)  # fmt: skip
ENERGY_UNITS: tuple[Unit, ...] = (
    ("nJ", 1e-9), ("µJ", 1e-6), ("mJ", 1e-3), ("J", 1.0), ("kJ", 1e3), ("MJ", 1e6), ("GJ", 1e9)
)  # fmt: skip
UNITS: Mapping[str, tuple[Unit, ...]] = {
    "time": TIME_UNITS, "bytes": BYTE_UNITS, "energy": ENERGY_UNITS
}  # fmt: skip
"""By what is measured."""
PLAIN = (1e-4, 1e6)
"""Numbers from the first to below the second are written out, others with an exponent."""


@dataclass(frozen=True)
class Axis:
    """One axis of a chart.

    Attributes:
        label: what is measured, with its unit.
        low: value at its start.
        high: value at its end; above `low`.
        ticks: values that are marked, each with its text.
        log: whether equal steps are equal ratios.
        per: size of the unit that ticks are told in.
        names: whether the ticks name choices, between which there is nothing.
        whole: whether values are counts, and nothing lies between two of them either.
    """

    label: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False
    per: float = 1.0
    names: bool = False
    whole: bool = False

    def place(self, value: float) -> float:
        """Return where `value` lies, 0 at the start and 1 at the end; clipped."""
        if self.log:
            value = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            value = (value - self.low) / (self.high - self.low)
        return min(max(value, 0.0), 1.0)


def linear(
    label: str,
    low: float,
    high: float,
    *,
    units: tuple[Unit, ...] = (),
    steps: int = 6,
    whole: bool = False,
    share: bool = False,
) -> Axis:
    """Return an axis from `low` to `high` with at most about `steps` ticks at round values.

    Args:
        label: what is measured; the unit is added.
        low: first value.
        high: last value; where it is not above `low`, a step is added.
        units: that which suits `high` is used, see `unit_for`.
        steps: how many steps to aim at.
        whole: values are counts, and a tick between two of them means nothing.
        share: values are told in percent.
    """
    high = high if high > low else low + (abs(low) or 1.0)
    symbol, per = unit_for(units, high)
    step = max(_round_step((high - low) / per / steps), float(whole))
    times, sign = (100, "%") if share else (1, "")
    first = math.ceil(low / per / step - 1e-9)
    last = math.floor(high / per / step + 1e-9)
    values = [i * step for i in range(first, last + 1)]
    texts = _written([times * value for value in values], times * step)
    ticks = tuple((value * per, text + sign) for value, text in zip(values, texts, strict=True))
    label = f"{label} ({symbol})" if symbol else label
    return Axis(label, low, high, ticks, per=per, whole=whole)


def logarithmic(
    label: str, low: float, high: float, *, units: tuple[Unit, ...] = (), share: bool = False
) -> Axis:
    """Return a logarithmic axis around `low` to `high`, both above zero; see `linear`.

    Its unit suits `high`, too, but where much of it is below a hundredth: the middle then.
    """
    symbol, per = unit_for(units, max(math.sqrt(low * high), min(high, 100 * low)))
    first = math.floor(math.log10(low / per) + 1e-9)
    last = math.ceil(math.log10(high / per) - 1e-9)
    rounded = [mark * 10.0**decade for decade in range(first, last + 1) for mark in (1, 2, 5)]
    below = max((value for value in rounded if value * per <= low), default=low / per)
    above = min((value for value in rounded if value * per >= high), default=high / per)
    above = above if above > below else 10 * below
    # Few decades leave room for ticks between them.
    marks = (1, 2, 5) if last - first <= 2 else (1,)
    every = max(1, (last - first) // 6)
    times, sign = (100, "%") if share else (1, "")
    ticks = tuple(
        (mark * 10.0**decade * per, _mark(times * mark * 10.0**decade) + sign)
        for decade in range(first, last + 1, every)
        for mark in marks
        if below <= mark * 10.0**decade <= above
    )
    label = f"{label} ({symbol})" if symbol else label
    return Axis(label, below * per, above * per, ticks, log=True, per=per)


def unit_for(units: tuple[Unit, ...], high: float) -> Unit:
    """Return the largest of `units` that leaves `high` at 1 or more, else the smallest.

    Those below a hundred of the one before, min, h and d, at 2 or more: an axis to 1 min is in s.
    """
    before = [0.0, *(size for _, size in units)]
    fitting = [
        (symbol, size)
        for (symbol, size), smaller in zip(units, before, strict=False)
        if high >= (2 if size < 100 * smaller else 1) * size
    ]
    return fitting[-1] if fitting else units[0] if units else ("", 1.0)


def _written(values: Sequence[float], step: float) -> list[str]:
    """Return multiples of `step`, with as many digits as tell them apart."""
    most = max(map(abs, values), default=0.0)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    if most == 0 or PLAIN[0] <= most < PLAIN[1]:
        return [f"{value:,.{digits}f}" for value in values]
    power = math.floor(math.log10(most) + 1e-9)
    digits = max(0, power - math.floor(math.log10(step) + 1e-9))
    return [f"{value / 10.0**power:.{digits}f}e{power}" if value else "0" for value in values]


def _mark(value: float) -> str:
    """Return 1, 2 or 5 times a power of ten."""
    if PLAIN[0] <= value * (1 + 1e-9) < PLAIN[1]:
        return f"{value:,.10g}"
    power = math.floor(math.log10(value) + 1e-9)
    return f"{value / 10.0**power:.0f}e{power}"


def _round_step(step: float) -> float:
    """Return the smallest of 1, 2, 5, 10, ... that is not below `step`."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(nice * power for nice in (1.0, 2.0, 5.0, 10.0) if nice * power >= step * 0.9999)
