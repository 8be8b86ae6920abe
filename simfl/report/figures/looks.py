"""How pictures for publications look: colours, dashes, styles, frames."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#245acc", "#e07020", "#28996a", "#aa115c", "#8a6708", "#2496ee", "#712f87", "#74728e")
"""Those of the report: told apart by the colour-blind, and in grey with the dashes beyond them."""
DASHES: tuple[Any, ...] = (
    "-", (0, (5, 2)), (0, (1, 1.5)),
    (0, (6, 1.5, 1, 1.5)), (0, (6, 1.5, 1, 1.5, 1, 1.5)), (0, (8, 4)),
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P")
"""Of points, as many as `DASHES` of lines."""
PHASES: Mapping[str, str] = {"download": "#0a5f96", "compute": "#ad6010", "upload": "#12a572"}
"""The colour of each phase of a participation."""
LOOKS = len(COLOURS) * len(DASHES)
"""So many lines can be told apart."""
STYLES: Mapping[str, Mapping[str, Any]] = {
    "paper": {"font.size": 8, "lines.linewidth": 1.2},
    "serif": {
        "font.size": 8, "lines.linewidth": 1.2, "font.family": "STIXGeneral",
        "mathtext.fontset": "stix",
    },
    "slide": {"font.size": 16, "lines.linewidth": 2.5},
}  # fmt: skip
ALL: Mapping[str, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
}
"""What all styles have in common, matplotlib's own too."""
FONTS: Mapping[str, Any] = {
    "pdf.fonttype": 42,  # journals refuse matplotlib's Type 3 fonts
    "ps.fonttype": 42,
    "svg.fonttype": "none",  # text that can be searched and edited
}
"""How letters are kept in files."""


def look(index: int) -> dict[str, Any]:
    """Return colour and dashes of the line at `index`, its own but for those `LOOKS` further on."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "linestyle": DASHES[index // len(COLOURS) % len(DASHES)],
    }


def mark(index: int) -> dict[str, Any]:
    """Return colour and marker of the points at `index`; see `look`."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "marker": MARKERS[index // len(COLOURS) % len(MARKERS)],
    }


def finish(axes: "Axes") -> None:
    """Give drawn axes what all of a picture have: a grid, a legend, no frame."""
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
