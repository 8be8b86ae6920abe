"""How old the models were that updates started from."""

import numpy as np

from simfl.report.axes import linear
from simfl.report.charts.base import Drawing, colour, legend, mean
from simfl.report.charts.histogram import area_css, share_axis, shares_of, table_of
from simfl.report.charts.svg import Plot
from simfl.runs.results.grouping import Groups


def staleness(groups: Groups) -> Drawing | None:
    """Return how old the models were that arrived updates started from; None if none was old."""
    stale = {
        name: np.concatenate([run.of_clients("staleness")[run.used] for run in runs])
        for name, runs in groups.items()
    }
    oldest = max((int(values.max()) for values in stale.values() if len(values)), default=0)
    if not oldest:
        return None
    width = -(-(oldest + 1) // 60)
    edges = np.arange(0, oldest + 1 + width, width, dtype=np.float64)
    shares = {name: shares_of(values, edges) for name, values in stale.items()}
    # A whole number stands in the middle of its column.
    drawn = edges - 0.5
    x = linear("staleness, model versions", float(drawn[0]), float(drawn[-1]), whole=True)
    plot = Plot("staleness", x, share_axis("updates", shares))
    area = area_css(shares)
    for index, (name, share) in enumerate(shares.items()):
        tip = f"{name}: {mean(stale[name].tolist()):.2f} in the mean"
        plot.outline(drawn.tolist(), share.tolist(), f"{area} {colour(index)}", tip)
    means = "; ".join(f"{n} {values.mean():.2f}" for n, values in stale.items() if len(values))
    about = f"Models made while an update was under way. Means: {means}."
    table = table_of(shares, edges, "versions")
    return Drawing("Staleness of updates", about, str(plot), legend(groups), table=table)
