"""`simfl compare`: virtual time, rounds and bytes to targets, side by side."""

from pathlib import Path
from typing import Annotated

import typer

from simfl.cli.app import app

FORMATS = ("table", "csv", "json", "markdown")


@app.command("compare")
def compare_command(
    folders: Annotated[
        list[Path], typer.Argument(metavar="RUN_DIR...", help="Run folders, or folders of them.")
    ],
    targets: Annotated[
        str | None, typer.Option("--targets", help="Accuracies such as 0.7,0.9 or 70%.")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="Variant that speed-ups are over.")
    ] = None,
    ideal: Annotated[
        str | None,
        typer.Option("--ideal", help="Variant whose accuracy is a relative improvement of 100%."),
    ] = None,
    form: Annotated[str, typer.Option("--format", help=", ".join(FORMATS))] = "table",
) -> None:
    """Compare runs: mean and spread over seeds."""
    from simfl.core.units import Share
    from simfl.errors import InputError, nearest
    from simfl.runs.compare import against, compare, find_runs, render

    if form not in FORMATS:
        raise InputError(f"--format: unknown format {form!r}{nearest(form, FORMATS)}")
    try:
        wanted = None if targets is None else [Share().parse(text) for text in targets.split(",")]
    except ValueError as error:
        raise InputError(f"--targets: {error}") from None
    if ideal is not None and baseline is None:
        raise InputError("--ideal needs a --baseline")
    lines = compare(find_runs(folders), wanted)
    if baseline is not None:
        lines = against(lines, baseline, ideal)
    typer.echo(render(lines, form))  # type: ignore[arg-type]
