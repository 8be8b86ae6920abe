"""`simfl check`: does a run's folder obey the laws that every run obeys?"""

import typer

from simfl.cli import _options as shared
from simfl.cli.app import app


@app.command("check")
def check_command(
    folders: shared.Folders,
) -> None:
    """Check that run folders obey the laws of time, bytes and energy.

    Exit code 1 if a law is broken.
    Nothing is run and no code is imported; only the folder is read.
    Of one run every law is listed; of several, those that don't hold.
    """
    from simfl.runs.check import check
    from simfl.runs.results.find import find_runs

    runs, broken = find_runs(folders), dict[str, None]()
    for run in runs:
        findings = check(run.folder)
        listed = [finding for finding in findings if len(runs) == 1 or not finding.holds]
        summed = f": {len(findings) - len(listed)} laws hold" if len(runs) > 1 else ""
        typer.echo(f"{run.folder}{summed}")
        for finding in listed:
            typer.echo(f"  {finding}")
        if any(finding.violation for finding in findings):
            broken[str(run.folder)] = None
    if len(runs) > 1:
        typer.echo(
            f"BROKEN in {len(broken)} of {len(runs)} runs: {', '.join(broken)}"
            if broken
            else f"{len(runs)} runs: nothing is broken"
        )
    if broken:
        raise typer.Exit(1)
