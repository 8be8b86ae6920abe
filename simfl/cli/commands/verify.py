"""`simfl verify`: do a run again and compare."""

from pathlib import Path
from typing import Annotated

import typer

from simfl.cli import _options as shared
from simfl.cli.app import app


@app.command("verify")
def verify_command(
    run_dir: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="A finished run.")],
    executor: shared.Executor = "auto",
    workers: shared.Workers = None,
    data_dir: shared.DataDir = None,
    ray_address: shared.RayAddress = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="DIR",
            help="Where the files are that its scenario names, if no longer where they were.",
        ),
    ] = None,
    allow_code: shared.AllowCode = False,
) -> None:
    """Repeat a run elsewhere, and compare.

    Exit code 0 if events and model are the same, else 1.
    """
    from simfl.errors import RunError
    from simfl.runs.results.result import RunResult
    from simfl.runs.verify import verify

    how = shared.options(executor, workers, data_dir, ray_address)
    with shared.importing(allow_code):
        difference = verify(run_dir, how, folder)
    if difference is not None:
        raise RunError(f"{run_dir} does not come out the same: {difference}")
    run = RunResult(run_dir)
    much = "event by event" if run.log == "full" else f"as far as --log {run.log} has recorded it"
    model = (
        "; nothing was trained, so there is no model" if run.time_only else ", and so is its model"
    )
    typer.echo(f"{run_dir}: the same, {much}{model}")
