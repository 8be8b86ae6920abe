"""`simfl verify`: do a run again and compare."""

from pathlib import Path
from typing import Annotated

import typer

from simfl.cli import _options as shared
from simfl.cli.app import app


@app.command("verify")
def verify_command(
    folder: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="A finished run.")],
    executor: shared.Executor = "auto",
    workers: shared.Workers = None,
    data_dir: shared.DataDir = None,
    ray_address: shared.RayAddress = None,
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
        difference = verify(folder, how)
    if difference is not None:
        raise RunError(f"{folder} does not come out the same: {difference}")
    run = RunResult(folder)
    much = "event by event" if run.log == "full" else f"as far as --log {run.log} has recorded it"
    model = (
        "; nothing was trained, so there is no model" if run.time_only else ", and so is its model"
    )
    typer.echo(f"{folder}: the same, {much}{model}")
