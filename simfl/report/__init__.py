"""What a researcher looks at: pages, timelines, plots, comparisons, and the calls of a notebook.

- `run` is `simfl.run`, `flower` is `simfl.run_flower`, and `progress` what is shown meanwhile; they
  return `results`, which show themselves.
- Pictures: a `page` has `charts` with `axes` of `measures`, `plot` makes `figures` for papers, and
  a `timeline` is for Perfetto; a `calibration_picture` shows how well a calibration fits.
- Text, a `text_page` of some `width` with `text_columns`, numbers in `formats`: a `comparison`, an
  `explanation`, a `client_evaluation` and `client_differences` of two, a `fleet`, a `partition`.
- `caveats` are what makes numbers other than they look; that runs are `forked` is told, too.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simfl.runs.results.result import RunResult

__all__ = ["write_report", "write_reports"]


def write_report(results: "Sequence[RunResult]", path: str | Path) -> Path:
    """Write one self-contained HTML page about runs, finished or not, side by side.

    Args:
        results: at least one; runs of one variant are taken together.
        path: of the page.

    Returns:
        `path`.

    Raises:
        InputError: there is no run, or a run folder is damaged.
        RunError: the page can't be written.
    """
    from simfl.report.page.page import write_page

    write_page(_read(results), Path(path))
    return Path(path)


def write_reports(
    results: "Sequence[RunResult]", top: Path, compared: "Sequence[RunResult] | None" = None
) -> Path:
    """Write every run's page and timeline into its folder, and a page that compares them.

    Args:
        results: at least one.
        top: the folder of the comparison, if it is of several.
        compared: what it is of, whose own pages are left alone (None: of `results`).

    Returns:
        The page to open first.

    Raises:
        InputError: there is no run, or a run folder is damaged.
        RunError: a file can't be written.
    """
    from simfl.report.page.page import write_page
    from simfl.report.timeline.timeline import write_trace
    from simfl.runs.folder.folder import REPORT

    runs = _read(results)
    together = runs if compared is None else _read(compared)
    for run in runs:
        write_trace(run)
        write_page([run], run.folder / REPORT)
    if len(together) == 1:
        return together[0].folder / REPORT
    write_page(together, top / REPORT)
    return top / REPORT


def _read(results: "Sequence[RunResult]") -> "list[RunResult]":
    """Return runs, every file of theirs read, so that a damaged one is told before all else."""
    from simfl.errors import InputError

    if not results:
        raise InputError("there is no run to report on")
    return [run.read() for run in results]
