"""What a partition did, as text and as a picture: what `simfl partition` shows."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simfl.core.labels import skew
from simfl.core.types import Floats
from simfl.core.words import numbered
from simfl.report.width import hanging

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SKEW = "skew: L1 distance of a client's label distribution from the whole federation's, 0 to 2"


def summary(counts: NDArray[np.int64]) -> str:
    """Return a few lines on sizes, labels per client and skew, of `(clients, classes)` counts."""
    sizes = counts.sum(axis=1)
    distances = skew(counts)[sizes > 0]
    lines = [
        f"{numbered(len(counts), 'client')}, {numbered(sizes.sum(), 'sample')}, "
        f"{counts.shape[1]:,} classes",
        "             min    median      mean       max       std",
        _line("samples", sizes),
        _line("labels", (counts > 0).sum(axis=1)),
        _line("skew", distances, digits=3) if len(distances) else "skew      no samples",
        hanging(SKEW, 6),
    ]
    return "\n".join(lines)


def _line(name: str, numbers: NDArray[np.int64] | Floats, digits: int = 1) -> str:
    columns = (numbers.min(), np.median(numbers), numbers.mean(), numbers.max(), numbers.std())
    return f"{name:<8}" + "".join(f"{number:>8.{digits}f}  " for number in columns).rstrip()


def picture(counts: NDArray[np.int64], title: str = "") -> "Figure":
    """Return a matplotlib figure of stacked `(clients, classes)` label counts, a bar per client."""
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
