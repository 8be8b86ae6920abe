"""`simfl run`: simulate a scenario."""

from pathlib import Path
from typing import Annotated

import typer

from simfl.cli import _options as shared
from simfl.cli import scenarios
from simfl.cli._output import Output
from simfl.cli.app import app


@app.command("run")
def run_command(
    file: Annotated[
        Path, typer.Argument(metavar="SCENARIO.yaml", help="The scenario to simulate.")
    ],
    changes: shared.Changes = None,
    seed: shared.Seed = None,
    seeds: shared.Seeds = None,
    variants: shared.Variants = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for run folders (default: runs/NAME).")
    ] = None,
    executor: shared.Executor = "auto",
    jobs: shared.Jobs = None,
    workers: shared.Workers = None,
    device: shared.Device = "cpu",
    time_only: shared.TimeOnly = False,
    data_dir: shared.DataDir = None,
    ray_address: shared.RayAddress = None,
    overwrite: shared.Overwrite = False,
    go_on: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Keep finished runs and continue interrupted ones; with --overwrite, replace only "
            "those of other settings.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would run, and what it would take.")
    ] = False,
    allow_code: shared.AllowCode = False,
    log: shared.Log = "full",
    compress_log: shared.CompressLog = False,
    report: shared.Report = True,
    quiet: shared.Quiet = False,
    as_json: shared.AsJson = False,
) -> None:
    """Simulate a scenario: all its variants, sweep points and seeds."""
    from simfl.cli._plan import show_plan
    from simfl.errors import InputError
    from simfl.runs.job import jobs as jobs_of
    from simfl.runs.job import refuse_an_idle_seed
    from simfl.runs.run_jobs import run_jobs
    from simfl.scenario import Document

    if seed is not None and seeds is not None:
        raise InputError("give --seed or --seeds, not both")
    chosen = shared.parse_seeds(seeds) if seed is None else [seed]
    how = shared.options(
        executor, workers, data_dir, ray_address, device=device, time_only=time_only, jobs=jobs,
        log=log, compress_log=compress_log,
    )  # fmt: skip
    _there(file)
    document = Document.load(file).set(*(changes or ()))
    with shared.importing(allow_code):
        todo = jobs_of(document, out, chosen, variants)
        if chosen is None:
            refuse_an_idle_seed(document, (job.scenario.seed for job in todo))
        if dry_run:
            show_plan(todo, how, overwrite, go_on, as_json)
            return
        folders = [job.folder for job in todo]
        top = folders[0].parents[1]  # run folders are TOP/VARIANT/seed-N
        added = "" if go_on else " with --resume" + (" beside --overwrite" if overwrite else "")
        again = f"the same command{added} goes on"
        with Output(report, quiet, as_json).of_runs(folders, top, again) as board:
            run_jobs(todo, how, overwrite, go_on=go_on, watch=board, tell_reuse=not quiet)


def _there(file: Path) -> None:
    """Tell who names a scenario that comes with simfl how to have it here.

    Raises:
        InputError: the file is not there, and one that comes with simfl is called so.
    """
    from simfl.errors import InputError

    if not file.exists() and file.parent == Path() and file.stem in scenarios.shipped():
        raise InputError(
            f"{file}: no such file; simfl brings a scenario of this name: "
            f"`simfl new {file.stem}.yaml --from {file.stem}` writes it"
        )
