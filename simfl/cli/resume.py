"""`simfl resume`: go on with an interrupted run."""

from pathlib import Path

from simfl.cli import _options as shared
from simfl.cli.app import app
from simfl.cli.run import show


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
    """Go on with interrupted runs.

    Nothing is lost, and finished ones are left alone.
    Each goes on with the kind of device that it was begun on.
    """
    from simfl.runs.find import find_runs
    from simfl.runs.run import resume_all

    how = shared.options(executor, workers, data_dir, ray_address, jobs=jobs)
    run_folders = [run.folder for run in find_runs(folders)]
    progress = shared.progress(quiet or as_json, "the same command goes on")
    with shared.importing(allow_code), progress as board:
        results = resume_all(run_folders, how, board)
    show(results, folders[0] if len(folders) == 1 else Path(), report, quiet, as_json)
