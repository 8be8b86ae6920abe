"""`simfl fork`: go on from an instant of runs under changed rules."""

import math
from typing import Annotated

import typer

from simfl.cli import _options as shared
from simfl.cli._output import Output
from simfl.cli.app import app


@app.command("fork")
def fork_command(
    folders: shared.Folders,
    at: Annotated[
        str,
        typer.Option(
            "--at",
            metavar="DURATION",
            help="The virtual instant, such as 6h; end: just before the run's end.",
        ),
    ],
    changes: shared.Changes = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the new variant (default: OLD-fork).")
    ] = None,
    executor: shared.Executor = "auto",
    jobs: shared.Jobs = None,
    workers: shared.Workers = None,
    data_dir: shared.DataDir = None,
    ray_address: shared.RayAddress = None,
    overwrite: shared.Overwrite = False,
    allow_code: shared.AllowCode = False,
    report: shared.Report = True,
    quiet: shared.Quiet = False,
    as_json: shared.AsJson = False,
) -> None:
    """Continue a run from some instant under changed rules.

    Everything before that instant is shared. Of several runs, all are forked or none.
    Work in progress is called off, unless only rounds.stop is changed.
    That is how to extend a finished run (--at end --set rounds.stop.rounds=200).
    """
    from simfl.runs.folder.folder import resuming
    from simfl.runs.forks.fork import fork_all
    from simfl.runs.results.find import find_runs
    from simfl.runs.run_jobs import resume_all

    at_s = math.inf if at == "end" else shared.seconds("--at", at)
    how = shared.options(executor, workers, data_dir, ray_address, jobs=jobs)
    runs = [run.folder for run in find_runs(folders)]
    with shared.importing(allow_code):
        with shared.interruptible("nothing is forked yet, the same command begins anew"):
            forked = fork_all(runs, at_s, changes or (), name, overwrite)
        study = forked[0].parents[1]
        again = f"`{resuming(forked[0] if len(forked) == 1 else study)}` goes on"
        with Output(report, quiet, as_json).of_runs(forked, study, again) as board:
            resume_all(forked, how, board)
