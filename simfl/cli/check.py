"""`simfl check`: does a run's folder obey the laws that every run obeys?"""

from pathlib import Path
from typing import Annotated

import typer

from simfl.cli.app import app


@app.command("check")
def check_command(
    folders: Annotated[
        list[Path], typer.Argument(metavar="RUN_DIR...", help="Runs, finished or not.")
    ],
) -> None:
    """Hold run folders to the laws of time, bytes and energy; exit code 1 if one is broken.

    Nothing is run and no code is imported: only the folder is read.
    """
    from simfl.runs.check import check

    broken = 0
    for folder in folders:
        typer.echo(str(folder))
        for finding in check(folder):
            typer.echo(f"  {finding}")
            broken += bool(finding.violation)
    if broken:
        raise typer.Exit(1)
