"""`simfl report`: what came of runs, as one page."""

from pathlib import Path
from typing import Annotated

import typer

from simfl.cli import _options as shared
from simfl.cli.app import app


@app.command("report")
def report_command(
    folders: shared.Folders,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE.html",
            help="Write one page about all runs to this file, and nothing else.",
        ),
    ] = None,
) -> None:
    """Write a report: one self-contained HTML page.

    This works for unfinished runs, too.
    Every run's page and timeline go into its folder. The page that compares several runs goes into
    the folder that was named, or here if several were.
    """
    from simfl.report import write_report, write_reports
    from simfl.runs.folder.folder import REPORT
    from simfl.runs.folder.outside import require_place
    from simfl.runs.results.find import find_runs

    runs = find_runs(folders)
    if out is None:
        top = folders[0] if len(folders) == 1 else Path()
        _refuse_tuning(top)
        typer.echo(f"Report: {write_reports(runs, top)}")
        return
    own = len(runs) == 1 and out.resolve() == (runs[0].folder / REPORT).resolve()
    if not own:  # else simfl writes that very page there
        require_place(out, "--out", (".html", ".htm"))
    typer.echo(f"Report: {write_report(runs, out)}")


def _refuse_tuning(top: Path) -> None:
    """Refuse to write a page beside that of a tuning: its runs were cut off when they had lost.

    Raises:
        InputError: `top` is the folder of one.
    """
    from simfl.errors import InputError
    from simfl.runs.tuning.trials import PAGE, TRIALS

    if (top / TRIALS).exists() and (top / PAGE).exists():
        raise InputError(
            f"{top} is the folder of a tuning, whose report is {top / PAGE}; name one of its "
            "trials, or give --out"
        )
