"""Small vector charts: drawn in milliseconds, coloured by the page's style, same bytes every time.

Matplotlib would take longer over the report of a short run than the run itself, and its pictures
could not follow a reader's light or dark theme.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape

from simfl.report import formats
from simfl.report.axes import Axis

WIDTH, HEIGHT = 560, 300
WIDE = 1140
LEFT, RIGHT, TOP, BOTTOM = 56, 14, 14, 48
"""Room around the plotting area, on the left at least."""
TICK, SIDE = 7.3, 21
"""Pixels of a tick's letter, and of what stands left of ticks."""
NOTE, APART = 13, 8
"""Pixels of a line of text, and between two words in one."""


class Plot:
    """One chart; draw on it in the order in which things lie on top of each other.

    Args:
        title: what a screen reader says of it.
        x: horizontal axis.
        y: vertical axis.
        width: of the whole picture.
        height: of the whole picture.
        left: room for what is written left of the plotting area, more where ticks need it.
    """

    def __init__(
        self,
        title: str,
        x: Axis,
        y: Axis,
        *,
        width: int = WIDTH,
        height: int = HEIGHT,
        left: int = LEFT,
    ) -> None:
        self._title, self._x, self._y = title, x, y
        self._width, self._height = width, height
        longest = max((len(text) for _, text in y.ticks), default=0)
        self._left = max(left, math.ceil(SIDE + TICK * longest))
        self._right, self._bottom = width - RIGHT, height - BOTTOM
        self._shapes: list[str] = []
        self._lines: Counter[str] = Counter()
        self._notes: list[tuple[float, float]] = []

    def _at(self, x: float, y: float) -> tuple[float, float]:
        across = self._left + self._x.place(x) * (self._right - self._left)
        return across, self._bottom - self._y.place(y) * (self._bottom - TOP)

    def line(
        self, xs: Sequence[float | None], ys: Sequence[float | None], css: str, tip: str = ""
    ) -> None:
        """Draw a line through points, without those that are not there; through one, a dot."""
        points = [
            self._at(x, y)
            for x, y in zip(xs, ys, strict=True)
            if x is not None and y is not None and math.isfinite(x) and math.isfinite(y)
        ]
        if len(points) == 1:
            self._add("path", f"{css} dot", tip, d=f"{_path(points)}h0")
        elif points:
            self._add("path", css + self._over(points, css), tip, d=_path(points))

    def band(
        self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], css: str
    ) -> None:
        """Fill what lies between two lines."""
        edge = [self._at(x, y) for x, y in zip(xs, high, strict=True)]
        back = [self._at(x, y) for x, y in zip(xs, low, strict=True)][::-1]
        self._add("path", css, "", d=f"{_path([*edge, *back])}Z")

    def heading(self, text: str) -> None:
        """Write a name above the chart."""
        if text:
            self._write(self._left, TOP - 4, text, "heading")

    def outline(self, edges: Sequence[float], heights: Sequence[float], css: str, tip: str) -> None:
        """Draw the outline of a histogram."""
        path = [self._at(edges[0], 0)]
        for low, high, top in zip(edges, edges[1:], heights, strict=False):
            path += [self._at(low, top), self._at(high, top)]
        path.append(self._at(edges[-1], 0))
        self._add("path", css + self._over(path, css), tip, d=_path(path))

    def _over(self, points: Sequence[tuple[float, float]], css: str) -> str:
        """Return the class of a line that lies on others, which show between its dashes."""
        path = _path(points)
        below = self._lines[path]
        if not css.endswith("other"):
            self._lines[path] += 1
        return f" e{min(below, 3)}" if below else ""

    def box(self, x0: float, x1: float, y0: float, y1: float, css: str, tip: str) -> None:
        """Draw a rectangle from (`x0`, `y0`) to (`x1`, `y1`)."""
        (left, bottom), (right, top) = self._at(x0, y0), self._at(x1, y1)
        if right > left and bottom > top:
            self._add(
                "rect",
                css,
                tip,
                x=_number(left),
                y=_number(top),
                width=_number(right - left),
                height=_number(bottom - top),
            )

    def dot(self, x: float, y: float, css: str, tip: str) -> None:
        """Draw a dot."""
        across, up = self._at(x, y)
        self._add("circle", css, tip, cx=_number(across), cy=_number(up), r="3.5")

    def across(self, y: float, text: str) -> None:
        """Draw a labelled line across at `y`; labels of lines close together stand side by side."""
        if self._y.low <= y <= self._y.high:
            _, up = self._at(self._x.low, y)
            self._add("path", "mark", "", d=f"M{self._left},{_number(up)}H{self._right}")
            near = [begins for at, begins in self._notes if abs(at - up) < NOTE]
            end = min([self._right - 4, *near])
            self._notes.append((up, end - TICK * len(text) - APART))
            self._write(end, up - 4, text, "note end")

    def upright(self, x: float, text: str) -> None:
        """Draw a labelled line upright at `x`."""
        if self._x.low <= x <= self._x.high:
            at, _ = self._at(x, self._y.low)
            self._add("path", "mark", "", d=f"M{_number(at)},{TOP}V{self._bottom}")
            if self._x.place(x) < 0.8:
                self._write(at + 4, TOP + 10, text, "note upright")
            else:
                self._write(at - 4, TOP + 10, text, "note end upright")

    def rows(self, names: Sequence[str]) -> None:
        """Write names left of the chart, at heights 0.5, 1.5, ... from the top down."""
        for index, name in enumerate(names):
            _, up = self._at(self._x.low, len(names) - index - 0.5)
            self._write(self._left - 8, up + 4, name, "row end")

    @contextmanager
    def kept(self, name: str) -> Iterator[None]:
        """Keep what is drawn meanwhile under a name that is the only one of its page."""
        before, self._shapes = self._shapes, []
        yield
        self._shapes = [*before, f'<g id="{escape(name)}">{"".join(self._shapes)}</g>']

    def repeat(self, name: str, css: str) -> None:
        """Draw what another chart of the page, of the same size, has `kept`."""
        self._shapes.append(f'<use class="{css}" href="#{escape(name)}"></use>')

    def _add(self, tag: str, css: str, tip: str, **attributes: str) -> None:
        words = "".join(f' {name}="{value}"' for name, value in attributes.items())
        title = f"<title>{escape(tip)}</title>" if tip else ""
        self._shapes.append(f'<{tag} class="{css}"{words}>{title}</{tag}>')

    def _write(self, x: float, y: float, text: str, css: str) -> None:
        self._shapes.append(
            f'<text class="{css}" x="{_number(x)}" y="{_number(y)}">{escape(text)}</text>'
        )

    def __str__(self) -> str:
        side = (
            f'<text class="name mid" transform="translate(12,{(TOP + self._bottom) / 2:.0f})'
            f' rotate(-90)">{escape(self._y.label)}</text>'
            if self._y.label
            else ""
        )
        return (
            f'<svg viewBox="0 0 {self._width} {self._height}" width="{self._width}" role="img" '
            f'aria-label="{escape(self._title)}" data-x="{escape(self._zoomable())}">'
            f"<desc>{escape(self._described())}</desc>"
            f'{self._frame()}{side}<g class="area">{"".join(self._shapes)}</g></svg>'
        )

    def _frame(self) -> str:
        """Return what lies below all that is drawn: grid, ticks, and the name across."""
        drawn, self._shapes = self._shapes, ['<g class="xs">']
        for value, text in self._x.ticks:
            at, _ = self._at(value, self._y.low)
            if self._x.names:
                room = (self._right - self._left) / len(self._x.ticks)
                text = formats.shortened(text, max(3, int(room / TICK)))
            self._add("path", "grid", "", d=f"M{_number(at)},{TOP}V{self._bottom}")
            if at + 3.6 * len(text) < self._width:
                self._write(at, self._bottom + 15, text, "tick mid")
            else:
                self._write(self._width - 1, self._bottom + 15, text, "tick end")
        self._shapes.append("</g>")
        for value, text in self._y.ticks:
            _, up = self._at(self._x.low, value)
            self._add("path", "grid", "", d=f"M{self._left},{_number(up)}H{self._right}")
            self._write(self._left - 6, up + 4, text, "tick end")
        middle = (self._left + self._right) / 2
        self._write(middle, self._bottom + 34, self._x.label, "name mid")
        frame, self._shapes = self._shapes, drawn
        return "".join(frame)

    def _described(self) -> str:
        """Say what the axes show, to those who can't see them."""
        told = [
            f"{a.label} from {a.ticks[0][1]} to {a.ticks[-1][1]}"
            for a in (self._x, self._y)
            if a.label and a.ticks
        ]
        return f"Axes: {', '.join(told)}."

    def _zoomable(self) -> str:
        """Return what the page's script needs to draw other ticks when its reader zooms in."""
        x = self._x
        share = x.ticks and x.ticks[-1][1].endswith("%")
        kind = "count" if x.whole else "share" if share else "number"
        facts = {"left": self._left, "low": x.low, "high": x.high, "log": x.log, "per": x.per}
        names = x.ticks if x.names else None
        return json.dumps(facts | {"kind": kind, "names": names})


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
