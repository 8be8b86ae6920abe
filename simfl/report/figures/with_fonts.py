"""A figure that keeps its fonts in whatever file a program saves it to."""

from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from typing_extensions import override

from simfl.report.figures.looks import FONTS


class FigureWithFonts(Figure):
    """A figure as users of the Python API get it: saved with the fonts of `simfl plot`'s files."""

    @override
    def savefig(self, *args: Any, **options: Any) -> None:
        with mpl.rc_context(rc=FONTS):  # type: ignore[arg-type]
            super().savefig(*args, **options)
