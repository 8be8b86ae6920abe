"""Histograms of several variants: the share of all values in each bin."""

from collections.abc import Mapping, Sequence

import numpy as np

from simfl.core.types import Floats
from simfl.report.axes import Axis, linear
from simfl.report.charts.base import COLOURS, Rows


def shares_of(values: Floats, edges: Floats) -> Floats:
    """Return `(bins,)` which share of all `(n,)` values, finite or not, lies in each bin."""
    counts = np.histogram(values[np.isfinite(values)], edges)[0] / max(len(values), 1)
    return counts.astype(np.float64)


def share_axis(what: str, shares: Mapping[str, Floats]) -> Axis:
    """Return the vertical axis: of all `what`, such as updates, the `(bins,)` share in each."""
    most = max(float(share.max()) for share in shares.values())
    return linear(f"share of {what}", 0.0, most * 1.08, share=True)


def area_css(shares: Mapping[str, Floats]) -> str:
    """Return the class of histograms: of many the fillings would hide each other."""
    return "line area" if len(shares) <= COLOURS else "line"


def table_of(shares: Mapping[str, Floats], edges: Floats, unit: str) -> Rows:
    """Return the bins, between `(bins + 1,)` edges in a `unit`, that hold anything."""
    table: list[Sequence[str | float]] = [("variant", f"from_{unit}", f"to_{unit}", "share")]
    for name, heights in shares.items():
        bins = zip(edges[:-1].tolist(), edges[1:].tolist(), heights.tolist(), strict=True)
        table += [(name, *bin_) for bin_ in bins if bin_[-1]]
    return table
