"""`simfl compare`: virtual time, rounds and bytes to targets, side by side."""

from typing import TYPE_CHECKING, Annotated

import typer

from simfl.cli import _options as shared
from simfl.cli._aside import say_aside
from simfl.cli._finished import finished
from simfl.cli.app import app

if TYPE_CHECKING:
    from simfl.runs.results.comparison import Comparison

FORMATS = ("table", "markdown", "csv", "json", "latex")


@app.command("compare")
def compare_command(
    folders: shared.Folders,
    targets: Annotated[
        str | None,
        typer.Option(
            "--targets",
            help="Accuracies such as 0.7,0.9 or 70%; other numbers such as 'rmse 0.5,loss 0.2'.",
        ),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="Variant to which speed-ups refer.")
    ] = None,
    ideal: Annotated[
        str | None,
        typer.Option(
            "--ideal",
            help="Variant whose accuracy over the last 50 rounds is an improvement of 100%.",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            help="Only these columns, by their CSV names: accuracy,time_s_to_70%,"
            "bytes_to_rmse_0.5; also best_accuracy, loss, gemd, gini, never_heard, staleness, "
            "download_bytes, upload_bytes, probe_bytes (add up to bytes), backhaul_bytes and, with "
            "--baseline, time_sooner_to_70%.",
        ),
    ] = None,
    form: Annotated[str, shared.format_option(FORMATS)] = "table",
) -> None:
    """Compare finished runs over seeds.

    With a baseline, seed by seed, with 95% intervals.
    Runs that have not finished are left out, and named.
    """
    from simfl.errors import InputError
    from simfl.report.comparison.forms import render
    from simfl.runs.results.asked_targets import as_targets
    from simfl.runs.results.compare import compare
    from simfl.runs.results.find import find_runs

    shared.require_format(form, FORMATS)
    if ideal is not None and baseline is None:
        raise InputError("--ideal needs a --baseline")
    runs, wanted = finished(find_runs(folders), baseline), None
    if targets is not None:
        with shared.naming("--targets"):
            wanted = as_targets(targets.split(","), runs)
    comparison = compare(runs, wanted, baseline, ideal)
    if columns is not None:
        comparison = _only(comparison, columns)
    typer.echo(render(comparison, form))


def _only(comparison: "Comparison", columns: str) -> "Comparison":
    """Return these columns of a comparison; tell if none compares with its baseline."""
    versus = [column.key for column in comparison.columns if column.versus is not None]
    with shared.naming("--columns"):
        comparison = comparison.only([name.strip() for name in columns.split(",")])
    if versus and all(column.versus is None for column in comparison.columns):
        told = ", ".join(versus)
        say_aside(f"note: --columns has none that compares with --baseline: {told}")
    return comparison
