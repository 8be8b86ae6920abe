"""`simfl run`: simulate a scenario."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from simfl.cli import _complete
from simfl.cli import _options as shared
from simfl.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simfl.runs.results.result import RunResult

LISTED = 20
"""Run folders that have a line each."""


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
        typer.Option("--resume", help="Keep finished runs and continue interrupted ones."),
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
    from simfl.runs.run import run_jobs
    from simfl.scenario import Document

    if go_on and overwrite:
        raise InputError("give --resume or --overwrite, not both")
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
        if dry_run:
            show_plan(todo, how, overwrite, go_on)
            return
        folders = [job.folder for job in todo]
        top = folders[0].parents[1]  # run folders are TOP/VARIANT/seed-N
        progress = shared.progress(quiet or as_json, "the same command with --resume goes on")
        with showing(folders, top, report, quiet, as_json), progress as board:
            run_jobs(todo, how, overwrite, go_on=go_on, watch=board, tell_reuse=not quiet)


def _there(file: Path) -> None:
    """Tell who names a scenario that comes with simfl how to have it here.

    Raises:
        InputError: the file is not there, and one that comes with simfl is called so.
    """
    from simfl.errors import InputError

    if not file.exists() and file.parent == Path() and file.stem in _complete.examples():
        raise InputError(
            f"{file}: no such file; simfl brings a scenario of this name: "
            f"`simfl new {file.stem}.yaml --from {file.stem}` writes it"
        )


@contextmanager
def showing(
    folders: "Sequence[Path]", top: Path, report: bool, quiet: bool, as_json: bool
) -> Iterator[None]:
    """Show what came of the runs that the body makes in `folders`; see `_show`.

    If some of them fail: what came of the others, before that is told.
    """
    from simfl.errors import InputError, Interrupted, SimflError
    from simfl.runs.folder.folder import is_finished
    from simfl.runs.results.result import RunResult

    before = sum(map(is_finished, folders))
    try:
        yield
    except Interrupted:  # whoever is in a hurry does not wait for pages
        raise
    except Exception as error:
        finished = [RunResult(folder) for folder in folders if is_finished(folder)]
        nothing_new = isinstance(error, InputError) and len(finished) <= before
        if finished and not nothing_new:
            with suppress(SimflError):
                _show(finished, top, report, quiet, as_json)
        raise
    _show([RunResult(folder) for folder in folders], top, report, quiet, as_json)


def _show(
    results: "Sequence[RunResult]", top: Path, report: bool, quiet: bool, as_json: bool
) -> None:
    """Print what came of some runs; write pages and timelines too if a `report` is wanted.

    Raises:
        RunError: the pages can't be written; what came of the runs is printed all the same.
    """
    from simfl.errors import RunError

    page, failure = "", None
    if report:  # first: whoever reads what is printed may leave
        try:
            with shared.afterwards(f"the runs are done, `simfl report {quote(str(top))}` tells"):
                page = _write(results, top)
        except RunError as error:
            failure = error
    _tell(results, top, quiet, as_json)
    if failure is not None:
        raise failure
    if page and not (quiet or as_json):
        typer.echo(f"\nReport: {page}")


def _write(results: "Sequence[RunResult]", top: Path) -> str:
    """Write the pages of some runs, and that of their study if they are in `top`; tell where."""
    from simfl.report import write_reports

    study = top.resolve()
    in_study = all(study in run.folder.resolve().parents[1:2] for run in results)
    compared = _study(results, top) if in_study else results
    page = write_reports(results, top, compared)
    among = f" (all {len(compared)} runs there)" if len(compared) > len(results) else ""
    return f"{page}{among}"


def _study(results: "Sequence[RunResult]", top: Path) -> "list[RunResult]":
    """Return some runs and all others of their study, but for those that can't be read."""
    from simfl.errors import InputError
    from simfl.runs.results.find import runs_of_study

    own, runs = {run.folder: run for run in results}, list["RunResult"]()
    for run in runs_of_study(top):
        try:
            runs.append(own.get(run.folder) or run.read())
        except InputError as error:
            typer.echo(f"note: left out of the report: {error}", err=True)
    return runs


def _tell(results: "Sequence[RunResult]", top: Path, quiet: bool, as_json: bool) -> None:
    """Print what came of some runs."""
    from simfl.report.comparison_forms import render
    from simfl.runs.results.compare import compare

    if as_json:
        import json

        told = [{"folder": str(r.folder), "variant": r.variant, **r.summary} for r in results]
        typer.echo(json.dumps(told, indent=2))
    elif not quiet:
        typer.echo(render(compare(results), "table").rstrip())
        trainings = [result.summary["trainings"] for result in results if not result.time_only]
        saved, issued = (sum(t[key] for t in trainings) for key in ("dropped", "issued"))
        if saved:
            typer.echo(f"\n{saved:,} of {issued:,} trainings were dropped and never computed.")
        _tell_short_rounds(results)
        if any(result.oracle for result in results):
            typer.echo("A selector was an ORACLE: it saw what no server can know.")
        if len(results) > LISTED:
            typer.echo(f"\nRun folders: {len(results)} below {top}")
            return
        typer.echo("\nRun folders:")
        for result in results:
            typer.echo(f"  {result.folder}")


def _tell_short_rounds(results: "Sequence[RunResult]") -> None:
    """Say in a line per variant how often fewer clients took part than were asked for."""
    from simfl.runs.results.grouping import by_variant

    for variant, own in by_variant(results).items():
        short, rounds = sum(run.short_rounds for run in own), sum(run.n_rounds for run in own)
        if short:
            typer.echo(f"{variant}: {short} of {rounds} rounds had fewer clients than asked for.")
