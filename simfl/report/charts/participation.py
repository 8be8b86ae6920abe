"""Who was heard how often."""

import math
from collections.abc import Sequence

import numpy as np

from simfl.report import formats
from simfl.report.axes import linear
from simfl.report.charts.base import COLUMNS, Drawing, Rows, by_name, legend, mean, styled_runs
from simfl.report.charts.svg import Plot
from simfl.runs.results.grouping import Groups
from simfl.runs.results.result import RunResult


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
    """Return a bar for each device: how often it was asked, and how often its update counted."""
    asked = np.bincount(run.of_clients("client").astype(np.int64), minlength=run.devices)
    heard = run.participations
    x = linear("device", -0.5, run.devices - 0.5, whole=True)
    y = linear("participations", 0.0, max(float(asked.max()), 1.0) * 1.05, whole=True)
    plot = Plot("participations by device", x, y)
    named = bool(run.client_names)
    table: list[Sequence[str | float]] = [("device", *["client"] * named, "asked", "counted")]
    for device in range(run.devices):
        tip = f"{run.called(device)}: heard {heard[device]} of {asked[device]} times"
        name = [run.client_name(device)] * named
        table.append((device, *name, int(asked[device]), int(heard[device])))
        low, high = device - 0.4, device + 0.4
        plot.box(low, high, 0.0, float(heard[device]), "o-arrived", tip)
        plot.box(low, high, float(heard[device]), float(asked[device]), "o-late", tip)
    entries = [("o-arrived", "counted")] * bool(heard.any())
    entries += [("o-late", "lost")] * bool((asked > heard).any())
    about = f"Gini coefficient of the updates that counted: {formats.ratio(inequality(run))}."
    if not heard.any():
        about = "No update counted."
    return Drawing("Who was heard how often", about, str(plot), entries, table=table)
