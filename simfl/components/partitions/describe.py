"""What a partition did: label counts per client as numbers, text and a picture."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simfl.core.types import Floats, Ids

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def label_counts(dealt: Sequence[Ids], labels: Ids, classes: int) -> NDArray[np.int64]:
    """Return how many samples of each class each client holds, `(clients, classes)`.

    Args:
        dealt: per client its rows.
        labels: `(n,)` class of each row.
        classes: number of classes.
    """
    owners = np.repeat(np.arange(len(dealt)), [len(rows) for rows in dealt])
    held = labels[np.concatenate(dealt)] if len(dealt) else labels[:0]
    cells = np.bincount(owners * classes + held, minlength=len(dealt) * classes)
    return cells.reshape(len(dealt), classes)


def gemd(groups: NDArray[np.int64], everybody: NDArray[np.int64]) -> Floats:
    """Return how far the labels of groups of clients are from everybody's, in [0, 2).

    The group earth mover's distance of FL-DP3S (equation 15; docs/algorithms.md, G.2): the L1
    distance of the label distributions.  NaN where a group has no samples.

    Args:
        groups: `(..., classes)` label counts of each group.
        everybody: `(classes,)` label counts of all.
    """
    sizes = groups.sum(axis=-1, keepdims=True)
    shares = np.divide(groups, sizes, out=np.full(groups.shape, np.nan), where=sizes > 0)
    distance: Floats = np.abs(shares - everybody / max(everybody.sum(), 1)).sum(axis=-1)
    return distance


def skew(counts: NDArray[np.int64]) -> Floats:
    """Return the GEMD of each client by itself, `(clients,)`.

    Args:
        counts: `(clients, classes)` label counts.
    """
    return gemd(counts, counts.sum(axis=0))


def summary(counts: NDArray[np.int64]) -> str:
    """Return a few lines on sizes, labels per client and skew."""
    sizes = counts.sum(axis=1)
    distances = skew(counts)[sizes > 0]
    lines = [
        f"{len(counts):,} clients, {sizes.sum():,} samples, {counts.shape[1]:,} classes",
        "             min    median      mean       max       std",
        _line("samples", sizes),
        _line("labels", (counts > 0).sum(axis=1)),
        _line("skew", distances, digits=3) if len(distances) else "skew      no samples",
        "skew: L1 distance of a client's label distribution from the whole federation's, 0 to 2",
    ]
    return "\n".join(lines)


def _line(name: str, numbers: NDArray[np.int64] | Floats, digits: int = 1) -> str:
    columns = (numbers.min(), np.median(numbers), numbers.mean(), numbers.max(), numbers.std())
    return f"{name:<8}" + "".join(f"{number:>8.{digits}f}  " for number in columns).rstrip()


def picture(counts: NDArray[np.int64], title: str = "") -> "Figure":
    """Return a matplotlib figure of stacked label counts, a bar per client, in client order."""
    import matplotlib as mpl
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure

    clients, classes = counts.shape
    figure = Figure(figsize=(min(4 + clients / 15, 14), 4), layout="constrained")
    axes = figure.subplots()
    tops = np.cumsum(counts, axis=1)
    left = np.arange(clients) - 0.45
    for label in range(classes):  # one collection per class: 10,000 clients draw in a second
        low, high = tops[:, label] - counts[:, label], tops[:, label]
        corners = np.stack(
            [[left, low], [left, high], [left + 0.9, high], [left + 0.9, low]]
        ).transpose(2, 0, 1)
        colour = mpl.colormaps["tab10" if classes <= 10 else "viridis"](
            label if classes <= 10 else label / (classes - 1)
        )
        axes.add_collection(PolyCollection(list(corners), facecolor=colour, label=f"{label}"))
    axes.set_xlim(-0.6, clients - 0.4)
    axes.set_ylim(0, max(1, tops[:, -1].max() if clients else 1) * 1.02)
    axes.set_xlabel("client")
    axes.set_ylabel("samples")
    axes.set_title(title)
    if classes <= 20:
        axes.legend(title="label", loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return figure
