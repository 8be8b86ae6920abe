"""Results of runs as a list that shows itself: a table in a notebook, a comparison, a chart."""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, SupportsIndex, overload

from typing_extensions import override

from simfl.core.arguments import require_kind, require_several
from simfl.errors import InputError
from simfl.report.comparison.forms import numbers
from simfl.report.comparison.sections import sections
from simfl.report.plot import Band, plot
from simfl.report.plot.tradeoff import draw
from simfl.runs.results.compare import compare
from simfl.runs.results.result import RunResult
from simfl.runs.results.tradeoff import tradeoff

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class Results(list[RunResult]):
    """Runs: a list, which a notebook shows as a table; parts of it and sums with others, too."""

    @overload
    def __getitem__(self, place: SupportsIndex) -> RunResult: ...

    @overload
    def __getitem__(self, place: slice) -> "Results": ...

    @override
    def __getitem__(self, place: SupportsIndex | slice) -> "RunResult | Results":
        if isinstance(place, slice):
            return Results(super().__getitem__(place))
        return super().__getitem__(place)

    @override
    def __add__(self, others: list[RunResult]) -> "Results":  # type: ignore[override]
        return Results([*self, *others])

    def table(self) -> "pd.DataFrame":
        """Return a row per run: what it is, what it reached and what it took."""
        import pandas as pd

        return pd.DataFrame([result.facts for result in self])

    def compare(
        self,
        *,
        targets: Sequence[float | str] | None = None,
        baseline: str | None = None,
        columns: Sequence[str] | None = None,
        as_numbers: bool = False,
    ) -> "pd.DataFrame":
        """Return what variants reached and spent over seeds, a row per variant.

        Args:
            targets: accuracies, such as 0.6 or "60%", or other numbers, such as "rmse 0.5" (None:
                those of the scenario).
            baseline: variant that ratios and differences are over.
            columns: only these, in this order, named as by ``simfl compare --columns``, those among
                them that are told on request alone: ``["accuracy", "upload_bytes"]`` (None: all
                others).
            as_numbers: numbers in base units, named as by ``simfl compare --format csv``: means,
                deviations, intervals (``accuracy``, ``accuracy_std``, ``time_s_to_60%``); else
                text for people.

        Raises:
            InputError: there is no such variant or column, or a target is no share.
        """
        import pandas as pd

        comparison = compare(self, targets, baseline)
        require_several("columns", columns, "['accuracy', 'upload_bytes']")
        if columns is not None:
            names = [*columns]
            for name in names:
                require_kind("columns", name, str, "names such as 'accuracy'")
            comparison = comparison.only(names)
        if not comparison.columns:
            raise InputError("columns is empty: name some, or leave it out")
        if as_numbers:
            return pd.DataFrame(numbers(comparison)).set_index("variant")
        parts = []
        for part in sections(comparison):
            table = pd.DataFrame(part.rows, columns=part.heads).set_index("variant")
            parts.append(pd.concat({part.title: table}, axis=1))
        return pd.concat(parts, axis=1)

    def plot(self, x: str = "time", y: str | None = None, *, band: Band = "ci") -> "Figure":
        """Return a chart, a line per variant; see `simfl.report.plot.plot`."""
        _let_figures_be_seen()
        return plot(self, x, y, band=band)

    def tradeoff(self, x: str, y: str) -> "Figure":
        """Return a chart of two costs, or of a cost and what it brought; see `simfl.report.plot`.

        Args:
            x: a column of `compare`, named as by ``as_numbers``: ``time_s_to_60%``.
            y: another, such as ``bytes_to_60%`` or ``accuracy``.

        Raises:
            InputError: there is no such column, or no run has both.
        """
        _let_figures_be_seen()
        return draw(tradeoff(self, x, y))

    def _repr_html_(self) -> str:
        html: str = self.table().to_html(index=False, na_rep="")
        return html

    @override
    def __repr__(self) -> str:
        return self.table().to_string(index=False, na_rep="") if self else "no runs"


def _let_figures_be_seen() -> None:
    """Tell IPython, if it runs, to show figures as pictures: by itself pyplot would."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        import_module("IPython.core.pylabtools").select_figure_formats(shell, {"png"})
