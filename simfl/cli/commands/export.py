"""`simfl export`: tables of runs for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from simfl.cli import _options as shared
from simfl.cli._aside import say_aside
from simfl.cli.app import app

FORMATS = ("csv", "parquet")


@app.command("export")
def export_command(
    folders: shared.Folders,
    form: Annotated[str, shared.format_option(FORMATS)] = "csv",
    out: Annotated[Path, typer.Option("--out", help="Folder to write to.")] = Path("exported"),
) -> None:
    """Write rounds and participations of many runs as two tables."""
    from simfl.runs.folder.folder import ROUNDS
    from simfl.runs.results.export import export
    from simfl.runs.results.find import find_runs

    shared.require_format(form, FORMATS)
    runs = find_runs(folders)
    begun = [run for run in runs if run.finished or (run.folder / ROUNDS).exists()]
    for file in export(begun or runs, out, "parquet" if form == "parquet" else "csv"):
        typer.echo(file)
    if unfinished := [str(run.folder) for run in begun if not run.finished]:
        told = ", ".join(unfinished)
        say_aside(f"note: not finished, with the rounds so far: {told}")
    if bare := [str(run.folder) for run in runs if run not in begun]:
        say_aside(f"note: left out, without any round yet: {', '.join(bare)}")
