"""Charts of clients: who was heard how often, how long they took, how old their models were."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simfl.core.types import Floats
from simfl.report import formats
from simfl.report.axes import TIME_UNITS, Axis, linear, logarithmic
from simfl.report.charts.base import (
    COLOURS,
    COLUMNS,
    ROW,
    Drawing,
    Groups,
    Rows,
    by_name,
    colour,
    legend,
    mean,
    scale,
    styled_runs,
)
from simfl.report.svg import Plot
from simfl.runs.results.result import RunResult

BINS = 36
LONG = 4.0
"""Times of more deadlines than this are drawn to a logarithmic scale."""


def participation(groups: Groups) -> Drawing | None:
    """Return how often each device's update counted: by device for one run, else sorted.

    None: nobody was asked.
    """
    runs = [run for _, _, run in styled_runs(groups) if run.devices]
    if not any(len(run.client_rows) for run in runs):
        return None
    if len(runs) == 1 and runs[0].devices <= COLUMNS:
        return _participation_by_device(runs[0])
    most = max(int(run.participations.max()) for run in runs)
    devices = max(run.devices for run in runs)
    x = linear("devices, the most heard first", 0.0, float(devices), whole=True)
    y = linear("updates that counted", 0.0, most * 1.05, whole=True)
    plot = Plot("updates per device", x, y)
    for css, name, run in styled_runs(groups):
        heights, devices_each = np.unique(run.participations, return_counts=True)
        stairs = np.repeat(heights[::-1], 2)
        edges = np.repeat(np.cumsum([0, *devices_each[::-1]]), 2)[1:-1]
        unequal = formats.ratio(inequality(run))
        plot.line(edges.tolist(), stairs.tolist(), css, f"{name}: Gini {unequal}")
    means = {name: mean([inequality(run) for run in members]) for name, members in groups.items()}
    ginis = by_name(means, lambda value: formats.ratio(value) if value == value else "none counted")
    about = f"Flat means that everybody is heard equally. Gini coefficient: {ginis}."
    return Drawing(
        "Who was heard how often", about, str(plot), legend(groups), table=_heard(groups)
    )


def inequality(run: RunResult) -> float:
    """Return the Gini coefficient of the updates that counted (NaN: none did)."""
    return run.gini if run.participations.any() else math.nan


def _heard(groups: Groups) -> Rows:
    table: list[Sequence[str | float]] = [("variant", "seed", "updates", "devices")]
    for name, members in groups.items():
        for run in members:
            counts = np.unique(run.participations, return_counts=True)
            table += [(name, run.seed, *map(int, pair)) for pair in zip(*counts, strict=True)]
    return table


def _participation_by_device(run: RunResult) -> Drawing:
    asked = np.bincount(run.part("client").astype(np.int64), minlength=run.devices)
    heard = run.participations
    x = linear("device", -0.5, run.devices - 0.5, whole=True)
    y = linear("participations", 0.0, max(float(asked.max()), 1.0) * 1.05, whole=True)
    plot = Plot("participations by device", x, y)
    table: list[Sequence[str | float]] = [("device", "asked", "counted")]
    for device in range(run.devices):
        tip = f"device {device}: heard {heard[device]} of {asked[device]} times"
        table.append((device, int(asked[device]), int(heard[device])))
        low, high = device - 0.4, device + 0.4
        plot.box(low, high, 0.0, float(heard[device]), "o-arrived", tip)
        plot.box(low, high, float(heard[device]), float(asked[device]), "o-late", tip)
    entries = [("o-arrived", "counted")] * bool(heard.any())
    entries += [("o-late", "came to nothing")] * bool((asked > heard).any())
    about = f"Gini coefficient of the updates that counted: {formats.ratio(inequality(run))}."
    if not heard.any():
        about = "No update counted."
    return Drawing("Who was heard how often", about, str(plot), entries, table=table)


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
    whose: Sequence[str]
    common: bool

    @classmethod
    def of(cls, groups: Groups) -> "Yardstick":
        """Return what the rounds of `groups` share."""
        found = {
            name: {(run.deadline_s, _kind(run)) for run in runs if run.n_rounds}
            for name, runs in groups.items()
        }
        have = {name: {one for one in own if one[0] > 0} for name, own in found.items()}
        all_of_them = {one for own in have.values() for one in own}
        if len(all_of_them) != 1:
            return cls(math.nan, "", (), False)
        [(length_s, kind)] = all_of_them
        return cls(length_s, kind, [n for n in have if have[n]], found == have)

    def __bool__(self) -> bool:
        return math.isfinite(self.length_s)

    def __str__(self) -> str:
        if self.common:
            return self.kind
        names = [formats.shortened(name, ROW) for name in self.whose]
        return f"{self.kind} of {formats.listed(names, 2)}"


def _kind(run: RunResult) -> str:
    """Return what a policy calls the time that its rounds have."""
    policy = run.scenario.get("rounds", {}).get("policy")
    name = policy.get("name") if isinstance(policy, Mapping) else policy
    return "period" if name == "semi_synchronous" else "deadline"


def client_times(groups: Groups) -> Drawing | None:
    """Return how long updates took, by the deadline where all have one (FedCore, Figure 5)."""
    yardstick = Yardstick.of(groups)
    per = yardstick.length_s if yardstick.common else 1.0
    times = {
        name: np.concatenate([run.durations_s for run in runs]) / per
        for name, runs in groups.items()
    }
    every = np.concatenate(list(times.values()))
    every = every[np.isfinite(every)]
    if not len(every) or every.max() <= 0:
        return None
    longest, mark = float(every.max()), yardstick.length_s / per
    x = _time_axis(every, yardstick)
    edges = _edges_at(mark, x) if yardstick else _edges(x)
    ends = edges[0], edges[-1]
    shares = {name: _shares(np.clip(taken, *ends), edges) for name, taken in times.items()}
    plot = Plot("time from selection to arrival", x, _share_axis("participations", shares))
    entries = []
    area = _area(shares)
    for index, (name, share) in enumerate(shares.items()):
        lost = float((~np.isfinite(times[name])).mean()) if len(times[name]) else 0.0
        words = f"{name if len(groups) > 1 else 'updates'}"
        words += f" ({_share(lost)} did not count)" if lost else ""
        plot.outline(edges.tolist(), share.tolist(), f"{area} {colour(index)}", words)
        entries.append((colour(index), words))
    about = f"From selection to arrival; the longest took {formats.duration(longest * per)}"
    if yardstick:
        plot.upright(mark, str(yardstick))
    if yardstick.common:
        about += f", {longest:.2f} {yardstick.kind}s of {formats.duration(per)}"
    about += "; logarithmic scale." if x.log else "."
    table = _histogram(shares, edges * per, "s")
    return Drawing("How long clients took", about, str(plot), entries, table=table)


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
        marks = [yardstick.length_s] if yardstick else []
        return scale("time", np.append(times, marks), TIME_UNITS)
    label = f"time / {yardstick.kind}"
    if times.max() > LONG:
        return logarithmic(label, float(times[times > 0].min()), float(times.max()))
    return linear(label, 0.0, max(float(times.max()), 1.0) * 1.02)


def _edges(x: Axis) -> Floats:
    return np.geomspace(x.low, x.high, BINS + 1) if x.log else np.linspace(0, x.high, BINS + 1)


def _edges_at(mark: float, x: Axis) -> Floats:
    """Return edges about as far apart as `_edges`, one of them at the deadline, `mark`.

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


def _area(shares: Mapping[str, Floats]) -> str:
    """Return the class of histograms: of many the fillings would hide each other."""
    return "line area" if len(shares) <= COLOURS else "line"


def _share_axis(what: str, shares: Mapping[str, Floats]) -> Axis:
    most = max(float(share.max()) for share in shares.values())
    return linear(f"share of {what}", 0.0, most * 1.08, share=True)


def _shares(values: Floats, edges: Floats) -> Floats:
    """Return which share of all values, those that are not finite too, lies in each bin."""
    counts = np.histogram(values[np.isfinite(values)], edges)[0] / max(len(values), 1)
    return counts.astype(np.float64)


def staleness(groups: Groups) -> Drawing | None:
    """Return how old the models were that arrived updates started from; None if none was old."""
    stale = {
        name: np.concatenate([run.part("staleness")[run.used] for run in runs])
        for name, runs in groups.items()
    }
    oldest = max((int(values.max()) for values in stale.values() if len(values)), default=0)
    if not oldest:
        return None
    width = -(-(oldest + 1) // 60)
    edges = np.arange(0, oldest + 1 + width, width, dtype=np.float64)
    shares = {name: _shares(values, edges) for name, values in stale.items()}
    # A whole number stands in the middle of its column.
    drawn = edges - 0.5
    x = linear("staleness, model versions", float(drawn[0]), float(drawn[-1]), whole=True)
    plot = Plot("staleness", x, _share_axis("updates", shares))
    area = _area(shares)
    for index, (name, share) in enumerate(shares.items()):
        tip = f"{name}: {mean(stale[name].tolist()):.2f} in the mean"
        plot.outline(drawn.tolist(), share.tolist(), f"{area} {colour(index)}", tip)
    means = "; ".join(f"{n} {values.mean():.2f}" for n, values in stale.items() if len(values))
    about = f"Models made while an update was under way. Means: {means}."
    table = _histogram(shares, edges, "versions")
    return Drawing("Staleness of updates", about, str(plot), legend(groups), table=table)


def _histogram(shares: Mapping[str, Floats], edges: Floats, unit: str) -> Rows:
    """Return the bins that hold anything."""
    table: list[Sequence[str | float]] = [("variant", f"from_{unit}", f"to_{unit}", "share")]
    for name, heights in shares.items():
        bins = zip(edges[:-1].tolist(), edges[1:].tolist(), heights.tolist(), strict=True)
        table += [(name, *bin_) for bin_ in bins if bin_[-1]]
    return table
