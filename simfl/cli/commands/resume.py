"""`simfl resume`: go on with an interrupted run."""

from collections.abc import Sequence
from pathlib import Path

import typer

from simfl.cli import _options as shared
from simfl.cli._output import Output
from simfl.cli.app import app


@app.command("resume")
def resume_command(
    folders: shared.Folders,
    executor: shared.Executor = "auto",
    jobs: shared.Jobs = None,
    workers: shared.Workers = None,
    data_dir: shared.DataDir = None,
    ray_address: shared.RayAddress = None,
    allow_code: shared.AllowCode = False,
    report: shared.Report = True,
    quiet: shared.Quiet = False,
    as_json: shared.AsJson = False,
) -> None:
    """Continue interrupted runs.

    Nothing is lost, and finished runs are left alone.
    Each run continues on the kind of device that it began on.
    """
    from simfl.runs.results.find import find_runs, study_of, unbegun
    from simfl.runs.run_jobs import resume_all

    how = shared.options(executor, workers, data_dir, ray_address, jobs=jobs)
    runs = find_runs(folders)
    run_folders = [run.folder for run in runs]
    top = study_of(runs) or (folders[0] if len(folders) == 1 else Path())
    output = Output(report, quiet, as_json)
    showing = output.of_runs(run_folders, top, "the same command goes on")
    with shared.importing(allow_code), showing as board:
        results = resume_all(run_folders, how, board)
    missing = unbegun(results) if len(results) > 1 or run_folders != list(folders) else []
    if missing and not output.silent:
        typer.echo(_never_begun(missing))


def _never_begun(folders: Sequence[Path]) -> str:
    """Say what a study that was interrupted had not begun, which only its scenario can."""
    from simfl.report.formats import SOME, listed, plural

    names = listed([str(folder) for folder in folders], SOME)
    return (
        f"\nNever begun, of what was asked for together: {plural(len(folders), 'run')} ({names}).\n"
        "`simfl run` of the scenario, with --resume, makes what is missing."
    )
