"""How long clients took, by the deadline where all runs have one."""

import math
from dataclasses import dataclass

import numpy as np

from simfl.core.types import Floats
from simfl.report import formats
from simfl.report.axes import TIME_UNITS, Axis, linear, logarithmic
from simfl.report.charts.base import Drawing, colour, scale
from simfl.report.charts.histogram import area_css, share_axis, shares_of, table_of
from simfl.report.charts.svg import Plot
from simfl.runs.results.by_deadline import PERIOD
from simfl.runs.results.grouping import Groups
from simfl.runs.results.result import RunResult

BINS = 36
LONG = 4.0
"""Times of more deadlines than this are drawn to a logarithmic scale."""
SHORT = 0.25
"""Where all times are below this share of the deadline, the axis is theirs alone."""


def client_times(groups: Groups) -> Drawing | None:
    """Return how long updates took, by the deadline where all have one (FedCore, Figure 5)."""
    taken_s = {n: np.concatenate([run.durations_s for run in runs]) for n, runs in groups.items()}
    every = np.concatenate(list(taken_s.values()))
    every = every[np.isfinite(every)]
    if not len(every) or every.max() <= 0:
        return None
    yardstick, longest_s = Yardstick.of(groups), float(every.max())
    near = longest_s >= SHORT * yardstick.length_s
    per = yardstick.length_s if yardstick.common and near else 1.0
    times, mark = {name: own / per for name, own in taken_s.items()}, yardstick.length_s / per
    x = _time_axis(every / per, yardstick) if near else scale("time", every, TIME_UNITS)
    edges = _edges_at(mark, x) if near else _edges(x)
    ends = edges[0], edges[-1]
    shares = {name: shares_of(np.clip(taken, *ends), edges) for name, taken in times.items()}
    plot = Plot("time from selection to arrival", x, share_axis("participations", shares))
    entries = []
    area = area_css(shares)
    for index, (name, share) in enumerate(shares.items()):
        lost = float((~np.isfinite(times[name])).mean()) if len(times[name]) else 0.0
        words = f"{name if len(groups) > 1 else 'updates'}"
        words += f" ({_share(lost)} did not count)" if lost else ""
        plot.outline(edges.tolist(), share.tolist(), f"{area} {colour(index)}", words)
        entries.append((colour(index), words))
    about = f"From selection to arrival; the longest took {formats.duration(longest_s)}"
    if near:
        plot.upright(mark, yardstick.kind)
    if yardstick.common:
        about += f", {yardstick.told(longest_s)}"
    about += "; logarithmic scale." if x.log else "."
    if yardstick and not yardstick.common:
        length, whose = formats.duration(yardstick.length_s), formats.listed(yardstick.whose, 2)
        where = "Dashed" if near else "Beyond what is drawn"
        about += f" {where}: the {yardstick.kind} of {length}, with {whose}."
    table = table_of(shares, edges * per, "s")
    return Drawing("How long clients took", about, str(plot), entries, table=table)


@dataclass(frozen=True)
class Yardstick:
    """The one deadline, or period, of all runs that have any.

    Attributes:
        length_s: how long it is (NaN: there is none, or several).
        kind: what it is called.
        whose: variants that have it.
        common: whether all have it, so that times can be told in it.
    """

    length_s: float
    kind: str
    whose: list[str]
    common: bool

    @classmethod
    def of(cls, groups: Groups) -> "Yardstick":
        """Return what the rounds of `groups` share."""
        by_variant = {
            name: {(run.deadline_s, _kind(run)) for run in runs if run.n_rounds}
            for name, runs in groups.items()
        }
        have = {name: {kept for kept in own if kept[0] > 0} for name, own in by_variant.items()}
        all_of_them = set().union(*have.values())
        if len(all_of_them) != 1:
            return cls(math.nan, "", [], False)
        [(length_s, kind)] = all_of_them
        return cls(length_s, kind, [n for n in have if have[n]], by_variant == have)

    def told(self, time_s: float) -> str:
        """Return a time in it."""
        share = time_s / self.length_s
        many = f"{share:.2f}" if share >= 0.005 else "less than 0.01"
        return f"{many} {self.kind}s of {formats.duration(self.length_s)}"

    def __bool__(self) -> bool:
        return math.isfinite(self.length_s)


def _kind(run: RunResult) -> str:
    """Return what a policy calls the time that its rounds have."""
    return "deadline" if run.written("rounds", "policy", PERIOD) is None else PERIOD


def _share(share: float) -> str:
    """Return a share in whole percents; what is none and what is all is said of these alone.

    >>> _share(0.004), _share(0.5), _share(0.996), _share(1)
    ('<1%', '50%', '>99%', '100%')
    """
    if 0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else formats.percent(share, 0)


def _time_axis(times: Floats, yardstick: Yardstick) -> Axis:
    if not yardstick.common:
        return scale("time", np.append(times, yardstick.length_s), TIME_UNITS)
    label = f"time / {yardstick.kind}"
    if times.max() > LONG:
        return logarithmic(label, float(times[times > 0].min()), float(times.max()))
    return linear(label, 0.0, max(float(times.max()), 1.0) * 1.02)


def _edges(x: Axis) -> Floats:
    return np.geomspace(x.low, x.high, BINS + 1) if x.log else np.linspace(0, x.high, BINS + 1)


def _edges_at(mark: float, x: Axis) -> Floats:
    """Return `(m,)` edges about as far apart as `_edges`, one at the deadline, `mark`.

    It is just after it: who is there at the very deadline is there in time.
    """
    if x.log:
        step = math.log(x.high / x.low) / BINS
        first, last = (math.log(end / mark) / step for end in (x.low, x.high))
        edges = mark * np.exp(step * np.arange(math.floor(first), math.ceil(last) + 1))
    else:
        below = round(BINS * mark / x.high)
        edges = mark * np.arange(math.ceil(x.high / mark * below) + 1) / below
    return np.asarray(edges * (1 + 1e-9), dtype=np.float64)
