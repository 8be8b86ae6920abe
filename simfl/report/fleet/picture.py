"""A fleet, drawn: its devices, how long they take and with what, when they are online."""

import math
from typing import TYPE_CHECKING

import numpy as np

from simfl.components.availability.week import HALF_HOURS
from simfl.report import formats
from simfl.report.figures.looks import COLOURS, PHASES, finish
from simfl.report.fleet.facts import FleetFacts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

SHOWN = 2000
"""Devices of a group that are drawn as dots."""
LETTERS = 28
"""Of a group's name."""
ROOM = 8
"""More groups than this are named below the charts, which grow with them."""


def picture(facts: FleetFacts) -> "Figure":
    """Return a matplotlib figure with four charts."""
    from matplotlib.figure import Figure

    more = max(0, len(facts.members) - ROOM)
    figure = Figure(figsize=(11, 7.5 + 0.25 * more), layout="constrained")
    charts = list(figure.subplots(2, 2).flat)
    for axes, draw in zip(charts, (_speed, _times, _phases, _week), strict=True):
        axes.set_prop_cycle(color=COLOURS)
        draw(axes, facts)
        finish(axes)
    if more:
        for axes in (charts[0], charts[1], charts[3]):
            axes.get_legend().remove()
        # Those of the times: a deadline is among them.
        lines, names = charts[1].get_legend_handles_labels()
        figure.legend(lines, names, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return figure


def _speed(axes: "Axes", facts: FleetFacts) -> None:
    uplink = facts.columns["uplink"] / 1e6
    limited = bool(np.isfinite(uplink).any())
    up = np.where(np.isfinite(uplink), uplink, np.nan) if limited else facts.columns["samples"]
    for name, devices in facts.members.items():
        sample = devices[:: max(1, len(devices) // SHOWN)]
        axes.plot(facts.columns["compute"][sample], up[sample], ".", alpha=0.6, label=_short(name))
    axes.set(title="Devices", xlabel="compute (samples/s)")
    axes.set_ylabel("uplink (Mbit/s)" if limited else "samples held")
    axes.set(xscale="log", yscale="log")
    _plain_ticks(axes.xaxis)
    _plain_ticks(axes.yaxis)


def _times(axes: "Axes", facts: FleetFacts) -> None:
    for name, devices in facts.members.items():
        taken = np.sort(facts.columns["round"][devices][facts.columns["samples"][devices] > 0])
        if len(taken):
            share = 100 * np.arange(1, len(taken) + 1) / len(taken)
            axes.step(taken, share, where="post", label=_short(name))
    if math.isfinite(facts.deadline_s):
        axes.axvline(facts.deadline_s, color="0.4", linestyle="--", label="deadline")
    axes.set(
        title="Time of a full round, alone on its links", xlabel="time (s)", ylabel="% of devices"
    )
    axes.set_xscale("log")
    _plain_ticks(axes.xaxis)


def _phases(axes: "Axes", facts: FleetFacts) -> None:
    groups = facts.groups[: len(facts.members)]
    places = range(len(groups))  # by number: names that were shortened may be the same
    left = np.zeros(len(groups))
    for phase, colour in PHASES.items():
        lengths = np.nan_to_num([group.phases[phase] for group in groups])
        axes.barh(places, lengths, left=left, color=colour, label=phase)
        left += lengths
    axes.set_yticks(places, [_short(group.name) for group in groups])
    axes.invert_yaxis()
    axes.set(title="Where the time goes", xlabel="mean time (s)")


def _week(axes: "Axes", facts: FleetFacts) -> None:
    days = (np.arange(HALF_HOURS) + 0.5) / 48
    lines = [facts.week[name] for name in facts.members]
    for place, name in enumerate(facts.members):
        below = sum(np.array_equal(line, lines[place]) for line in lines[:place])
        look = (0, (6, 6 * below)) if below else "-"  # it lies on others, which show between
        axes.plot(days, 100 * lines[place], linewidth=1, linestyle=look, label=_short(name))
    axes.set(title="Availability over a week", xlabel="day", ylabel="% online", ylim=(-2, 102))


def _short(name: str) -> str:
    return formats.shortened(name, LETTERS)


def _plain_ticks(axis: "Axis") -> None:
    """Mark a logarithmic axis with plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter, NullLocator, StrMethodFormatter

    low, high = axis.get_view_interval()
    few = high / low > 100
    axis.set_major_locator(LogLocator(subs=(1.0,) if few else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())
