"""For Python and notebooks: `run` takes a path and shows progress, results show themselves."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from typing_extensions import override

from simfl.core.arguments import require_kind, require_several
from simfl.errors import InputError
from simfl.report.comparison import sections
from simfl.report.comparison_forms import numbers
from simfl.report.plot import Band, plot
from simfl.report.progress import display, is_watched
from simfl.runs.job import Job, jobs, refuse_an_idle_seed
from simfl.runs.many import Watch
from simfl.runs.options import Options
from simfl.runs.results.compare import compare
from simfl.runs.results.result import RunResult
from simfl.runs.run_jobs import run_jobs
from simfl.scenario import Document, Scenario
from simfl.sim.timeline import Listener

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
        as_numbers: bool = False,
    ) -> "pd.DataFrame":
        """Return what variants reached and spent over seeds, a row per variant.

        Args:
            targets: accuracies, such as 0.6 or "60%" (None: those of the scenario).
            baseline: variant that ratios and differences are over.
            as_numbers: numbers in base units, named as by ``simfl compare --format csv``: means,
                deviations, intervals (``accuracy``, ``accuracy_std``, ``time_s_to_60%``); else
                text for people.

        Raises:
            InputError: there is no such variant, or a target is no share.
        """
        import pandas as pd

        comparison = compare(self, targets, baseline)
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


def run(
    scenario: str | Path | Mapping[str, Any] | Scenario | Document,
    out: str | Path | None = None,
    options: Options | None = None,
    overwrite: bool = False,
    seeds: Sequence[int] | None = None,
    listen: Callable[[Job], Sequence[Listener]] | None = None,
    go_on: bool = False,
    watch: Watch | None = None,
    variants: Sequence[str] | None = None,
    progress: bool | None = None,
    overrides: Sequence[str] = (),
) -> Results:
    """Run every variant and seed of `scenario`; return their results in that order.

    Args:
        scenario: what to run: a file, the plain data of one, or what was made of it.
        out: the folder of run folders (None: ``runs/NAME``).
        options: how to run.
        overwrite: replace what is in the run folders; else finished runs of the same scenario are
            reused.
        seeds: instead of the scenario's own.
        listen: returns who is to be told of everything that happens in a run.
        go_on: resume interrupted runs.
        watch: is told now and then how far the runs are, instead of showing it.
        variants: only these (None: all).
        progress: show how far the runs are (None: on a terminal and in a notebook).
        overrides: changes such as ``rounds.clients=10``, as ``--set`` makes them, to all variants.

    Raises:
        InputError: the scenario can't be run; nothing was written.
        RunError: runs failed; their folders stay readable and can be resumed.
    """
    require_several("seeds", seeds, "[0, 1, 2]")
    require_several("variants", variants, "['default']")
    require_several("overrides", overrides, "['rounds.clients=10']")
    require_kind("options", options, Options | None, "Options such as Options(jobs=2)")
    require_kind("out", out, str | Path | None, "a folder such as 'runs/mine'")
    if out == "":  # which as a path would be the working directory
        raise InputError("out is empty; is a variable not set?")
    for name, given in (("overwrite", overwrite), ("go_on", go_on)):
        require_kind(name, given, bool, "True or False")
    require_kind("progress", progress, bool | None, "True, False or None")
    require_kind("watch", watch, Watch | None, "a Watch (simfl.runs.many)")
    if not (listen is None or callable(listen)):
        raise InputError(f"listen: expected a function that takes a Job, got {listen!r}")
    written = _read(scenario, overrides)
    shown = is_watched() if progress is None else progress
    place = None if out is None else Path(out)
    with display(quiet=not shown or watch is not None) as board:
        todo = jobs(written, place, seeds, variants)
        if seeds is None and isinstance(written, Document):
            refuse_an_idle_seed(written, (job.scenario.seed for job in todo))
        return Results(run_jobs(todo, options, overwrite, listen, go_on, watch or board))


def _read(
    scenario: str | Path | Mapping[str, Any] | Scenario | Document, overrides: Sequence[str]
) -> Scenario | Document:
    """Return what was given for a scenario as what jobs are made of, changed by `overrides`."""
    if isinstance(scenario, str | Path):
        scenario = Document.load(scenario)
    elif isinstance(scenario, Mapping):
        scenario = Document.of(scenario)
    elif not isinstance(scenario, Scenario | Document):
        raise InputError(f"expected a scenario (a path, a mapping or a Scenario), got {scenario!r}")
    if not overrides:
        return scenario
    if isinstance(scenario, Scenario):
        scenario = Document.of(scenario.to_dict(), folder=scenario.folder)
    return scenario.set(*overrides)
