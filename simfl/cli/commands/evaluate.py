"""`simfl evaluate`: how well final models serve each client."""

from pathlib import Path
from typing import Annotated

import typer

from simfl.cli import _options as shared
from simfl.cli.app import app


@app.command("evaluate")
def evaluate_command(
    folders: shared.Folders,
    fine_tune: Annotated[
        int,
        typer.Option(
            "--fine-tune",
            min=0,
            metavar="EPOCHS",
            help="Have each client fine-tune the model on its own samples, and judge it again on "
            "those that it keeps aside.",
            show_default=False,
        ),
    ] = 0,
    executor: shared.Executor = "auto",
    workers: shared.Workers = None,
    data_dir: shared.DataDir = None,
    allow_code: shared.AllowCode = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write a row per client to this .csv file.")
    ] = None,
    as_json: shared.AsJson = False,
) -> None:
    """Evaluate final models on each client's own samples.

    Whom the model serves how well: each group of the fleet, and clients whose updates counted or
    never did; with --fine-tune, before and after each has trained it further for itself.
    """
    import json

    from simfl.core.files import write_output
    from simfl.report.client_evaluation import as_text, over_seeds
    from simfl.runs.evaluate import evaluate
    from simfl.runs.folder.outside import require_place
    from simfl.runs.results.export import stacked
    from simfl.runs.results.find import find_runs

    if out is not None:
        require_place(out, "--out", (".csv",))
    evaluations, how = [], shared.options(executor, workers, data_dir)
    with shared.importing(allow_code), shared.interruptible("nothing was written"):
        for run in find_runs(folders):
            evaluation = evaluate(run, how, fine_tune)
            evaluations.append(evaluation)
            if not as_json:
                typer.echo(as_text(evaluation) + "\n")
    if as_json:
        typer.echo(json.dumps([evaluation.as_dict() for evaluation in evaluations], indent=2))
    elif seeds := over_seeds(evaluations):
        typer.echo(seeds + "\n")
    if out is not None:
        table = stacked([(evaluation.run, evaluation.clients) for evaluation in evaluations])
        write_output(out, table.to_csv(index=False, lineterminator="\n").encode())
        if not as_json:
            typer.echo(f"Table: {out}")
