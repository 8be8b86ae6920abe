"""Where the names of lines stand in a matplotlib figure: beside them, or below its axes."""

import warnings
from typing import TYPE_CHECKING

from simfl.report import formats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

SHORTEST = 8
"""Letters of a name that are left of it."""


def name_lines(figure: "Figure", axes: "Axes", *, grows: bool) -> None:
    """Name the lines beside them, or below the axes where the names would lie on lines.

    Args:
        figure: drawn but for the names.
        axes: its only ones.
        grows: whether the figure may become higher by what stands below its axes.
    """
    legend = axes.legend()
    has_room(figure)
    box, room = legend.get_window_extent(), axes.get_window_extent()
    fits = box.width <= 0.6 * room.width and box.height <= 0.6 * room.height
    if fits and not any(
        path.intersects_bbox(box, filled=False) or box.count_contains(path.vertices)
        for line in axes.lines
        for path in [line.get_transform().transform_path(line.get_path())]
    ):
        return
    legend.remove()
    below = _below(figure, axes, max(1, int(figure.bbox.width / box.width)))
    if grows:
        figure.set_figheight(figure.get_figheight() + below.get_window_extent().height / figure.dpi)


def _below(figure: "Figure", axes: "Axes", columns: int) -> "Legend":
    """Name the lines below their axes, with as many letters of each name as have room."""
    lines, names = axes.get_legend_handles_labels()
    most = max(map(len, names))
    while True:
        shown = [formats.shortened(name, most) for name in names]
        legend = figure.legend(lines, shown, loc="outside lower center", ncols=columns)
        has_room(figure)  # not yet, perhaps
        width = legend.get_window_extent().width
        if width <= figure.bbox.width or most <= SHORTEST:
            return legend
        legend.remove()
        most = max(SHORTEST, min(most - 1, int(most * figure.bbox.width / width)))


def has_room(figure: "Figure") -> bool:
    """Give everything its place; return whether what is written around the axes leaves them any."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="constrained_layout not applied")
        try:
            figure.draw_without_rendering()
        except UserWarning:
            return False
    return True
