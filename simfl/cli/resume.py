"""`simfl resume`: go on with an interrupted run."""

from pathlib import Path
from typing import Annotated

import typer

from simfl.cli import _options as shared
from simfl.cli.app import app
from simfl.cli.run import tell, write


@app.command("resume")
def resume_command(
    folders: Annotated[
        list[Path], typer.Argument(metavar="RUN_DIR...", help="Run folders, or folders of them.")
    ],
    executor: shared.Executor = "auto",
    jobs: shared.Jobs = None,
    workers: shared.Workers = None,
    device: shared.Device = "cpu",
    data_dir: shared.DataDir = None,
    ray_address: shared.RayAddress = None,
    allow_code: shared.AllowCode = False,
    report: shared.Report = True,
    quiet: shared.Quiet = False,
    as_json: shared.AsJson = False,
) -> None:
    """Go on with interrupted runs; nothing is lost, and finished ones are left alone."""
    from simfl.core.code import importing
    from simfl.errors import Interrupted
    from simfl.report.progress import display
    from simfl.runs.result import find_runs
    from simfl.runs.run import resume_all

    how = shared.options(executor, workers, device, data_dir, ray_address, jobs=jobs)
    there = [run.folder for run in find_runs(folders)]
    # A folder may be a stranger's, with the modules that its scenario names.
    consent = importing("anything" if allow_code else "nothing")
    with consent, display(quiet or as_json) as board:
        try:
            results = resume_all(there, how, board)
        except KeyboardInterrupt:
            raise Interrupted("interrupted; the same command goes on") from None
    tell(results, quiet, as_json)
    if report:
        top = folders[0] if len(folders) == 1 else Path()
        write(results, top, quiet or as_json)
