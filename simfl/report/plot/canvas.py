"""What a chart is drawn on: a figure of a size in a style, with the axes of the report."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simfl.core.arguments import called
from simfl.errors import InputError
from simfl.report.axes import Axis
from simfl.report.figures.looks import ALL, STYLES
from simfl.report.plot.line_names import has_room
from simfl.report.plot.measures import known, option

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MM = 1 / 25.4
WIDTHS = {"column": 85.0, "page": 175.0, "slide": 250.0}
"""Millimetres: a column and the page of most journals, and a slide."""
SMALLEST, LARGEST = 10, 2000
"""Millimetres of a picture's side."""
SHAPE = 0.68
"""Height by width."""


@dataclass(frozen=True)
class Canvas:
    """A figure's size and style.

    Attributes:
        width_mm: of the figure.
        height_mm: of the figure (None: as suits the width).
        style: one of `STYLES`, or one of matplotlib's own.
        log: which of "x" and "y" are logarithmic.

    Raises:
        InputError: there is no such size or axis.
    """

    width_mm: float
    height_mm: float | None
    style: str
    log: Sequence[str]

    def __post_init__(self) -> None:
        if not set(self.log) <= {"x", "y"}:
            raise InputError(f"{option('log')}: expected x, y or xy, got {self.log!r}")
        for name, size in (("width", self.width_mm), ("height", self.height_mm)):
            if size is not None and not SMALLEST <= size <= LARGEST:
                side = called(f"--{name}", f"{name}_mm")
                raise InputError(f"{side}: expected {SMALLEST} to {LARGEST} mm, got {size:g} mm")

    @contextmanager
    def figure(self) -> Iterator[tuple["Figure", "Axes"]]:
        """Give a figure with its only axes to be drawn on.

        Raises:
            InputError: there is no such style, or no room for what was drawn around the axes.
        """
        import matplotlib as mpl
        from matplotlib import style

        from simfl.report.figures.with_fonts import FigureWithFonts

        styles: dict[str, Any] = {**STYLES, **{own: own for own in style.available}}
        chosen = known("style", self.style, styles)
        height = SHAPE * self.width_mm if self.height_mm is None else self.height_mm
        with mpl.rc_context(rc=ALL), style.context(chosen):  # type: ignore[arg-type]
            size = self.width_mm * MM, height * MM
            figure = FigureWithFonts(figsize=size, layout="constrained")
            yield figure, figure.subplots()
            if not has_room(figure):
                more = called("--width or --height", "width_mm or height_mm")
                sides = " by ".join(f"{side / MM:.0f}" for side in figure.get_size_inches())
                raise InputError(
                    f"a picture of {sides} mm has no room for its axes, with what is written "
                    f"around them; give more {more}"
                )

    @property
    def steps(self) -> int:
        """Between ticks across, as many as the letters of the style leave room for."""
        import matplotlib as mpl

        return max(3, round(self.width_mm / (2.1 * float(mpl.rcParams["font.size"]))))


def frame(axes: "Axes", x: Axis, y: Axis) -> None:
    """Give `axes` the ticks and ends of the report's."""
    from matplotlib.ticker import NullLocator

    for name, scale in (("x", x), ("y", y)):
        kind, ends = "log" if scale.log else "linear", (scale.low, scale.high)
        axes.set(**{f"{name}scale": kind, f"{name}lim": ends, f"{name}label": scale.label})
        line = getattr(axes, f"{name}axis")
        line.set_ticks([value for value, _ in scale.ticks], [text for _, text in scale.ticks])
        line.set_minor_locator(NullLocator())
