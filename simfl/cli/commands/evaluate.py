"""`simfl evaluate`: how well final models serve each client."""

from pathlib import Path
from typing import Annotated, Any

import typer

from simfl.cli import _options as shared
from simfl.cli._finished import finished
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
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", help="Compare all others with this variant, seed by seed."),
    ] = None,
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

    Tells how well the model serves each group of the fleet, clients whose updates counted at
    least once, and clients whose updates never did. With --fine-tune, it also tells this after
    each client has trained the model further. With --baseline, it tells by how much each variant
    differs from that one, seed by seed. Runs that have not finished are left out, and named.
    """
    import json

    from simfl.core.files import write_output
    from simfl.report import client_differences
    from simfl.report.client_evaluation import as_text, over_seeds
    from simfl.runs.evaluation.evaluate import evaluate
    from simfl.runs.folder.outside import require_place
    from simfl.runs.results.export import stacked
    from simfl.runs.results.find import find_runs
    from simfl.runs.results.grouping import by_variant, require_variant

    if out is not None:
        require_place(out, "--out", (".csv",))
    runs = find_runs(folders)
    if baseline is not None:
        with shared.naming("--baseline"):
            require_variant(baseline, by_variant(runs))
    evaluations, how = [], shared.options(executor, workers, data_dir)
    with shared.importing(allow_code), shared.interruptible("nothing was written"):
        for run in finished(runs, baseline):
            evaluation = evaluate(run, how, fine_tune)
            evaluations.append(evaluation)
            if not as_json:
                typer.echo(as_text(evaluation) + "\n")
    if as_json:
        told: Any = [evaluation.as_dict() for evaluation in evaluations]
        if baseline is not None:
            compared = client_differences.as_data(evaluations, baseline)
            told = {"evaluations": told, "differences": compared}
        typer.echo(json.dumps(told, indent=2))
    else:
        if seeds := over_seeds(evaluations):
            typer.echo(seeds + "\n")
        if baseline is not None and (told := client_differences.as_text(evaluations, baseline)):
            typer.echo(told + "\n")
    if out is not None:
        table = stacked([(evaluation.run, evaluation.clients) for evaluation in evaluations])
        write_output(out, table.to_csv(index=False, lineterminator="\n").encode())
        if not as_json:
            typer.echo(f"Table: {out}")
