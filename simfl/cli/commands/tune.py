"""`simfl tune`: the best choice of some of a scenario's numbers, looked for with Optuna."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simfl.cli import _options as shared
from simfl.cli._aside import say_aside
from simfl.cli.app import app
from simfl.core.costs import LIMITED, TUNED
from simfl.core.words import either

if TYPE_CHECKING:
    from simfl.runs.tuning.trials import Tuning
    from simfl.scenario import Document


@app.command("tune")
def tune_command(
    file: Annotated[Path, typer.Argument(metavar="SCENARIO.yaml", help="The scenario to tune.")],
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            "-p",
            metavar="PATH=RANGE",
            help="rounds.clients='{min: 5, max: 40}' or selection='[uniform, oort]'; can be "
            "repeated.",
        ),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            "--objective",
            help=f"{either(TUNED)} [to 80% or to 'rmse 0.5']; loss, accuracy or a metric.",
        ),
    ] = None,
    limits: Annotated[
        list[str] | None,
        typer.Option(
            "--under",
            metavar="NAME=MOST",
            help=f"bytes='2 GB' or never_heard=5%, of {either(LIMITED)}; can be repeated.",
        ),
    ] = None,
    trials: Annotated[int | None, typer.Option("--trials", min=1, help="Number of trials.")] = None,
    changes: shared.Changes = None,
    variant: Annotated[
        str | None, typer.Option("--variant", metavar="NAME", help="The variant to tune.")
    ] = None,
    seeds: shared.Seeds = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for trials (default: runs/NAME-tuning).")
    ] = None,
    executor: shared.Executor = "auto",
    jobs: shared.Jobs = None,
    workers: shared.Workers = None,
    device: shared.Device = "cpu",
    time_only: shared.TimeOnly = False,
    data_dir: shared.DataDir = None,
    ray_address: shared.RayAddress = None,
    log: shared.Log = "full",
    compress_log: shared.CompressLog = False,
    overwrite: shared.Overwrite = False,
    go_on: Annotated[
        bool,
        typer.Option("--resume", help="With --overwrite, replace only trials of other settings."),
    ] = False,
    allow_code: shared.AllowCode = False,
    quiet: shared.Quiet = False,
    as_json: shared.AsJson = False,
) -> None:
    """Search for the best values of some settings, within limits.

    The scenario's `tune` section says what to tune, or these options do.
    The same command continues where it stopped; with more --trials it searches further.
    """
    from simfl.report.page.tuning import write_page
    from simfl.runs.tuning.tune import tune
    from simfl.scenario import Document

    how = shared.options(
        executor, workers, data_dir, ray_address, device=device, time_only=time_only, jobs=jobs,
        log=log, compress_log=compress_log,
    )  # fmt: skip
    document = Document.load(file).set(*(changes or ()))
    document = _with_options(document, parameters or (), objective, limits or (), trials)
    silent = quiet or as_json
    chosen = shared.parse_seeds(seeds)
    added = " with --resume beside --overwrite" if overwrite and not go_on else ""
    progress = shared.progress(True, f"the same command{added} goes on")
    with shared.importing(allow_code), progress:
        tuning = tune(
            document,
            out,
            how,
            variant=variant,
            seeds=chosen,
            overwrite=overwrite,
            go_on=go_on,
            tell=lambda tuning: None if silent else _tell_last(tuning),
        )
    page = write_page(tuning)
    if as_json:
        _print_json(tuning)
    elif not quiet:
        _tell(tuning)
        typer.echo(f"\nReport: {page}")


def _with_options(
    document: "Document",
    parameters: Sequence[str],
    objective: str | None,
    limits: Sequence[str],
    trials: int | None,
) -> "Document":
    """Return the document with what the command line says of its `tune` section."""
    from simfl.errors import InputError
    from simfl.scenario.language.place import Marks, Place
    from simfl.scenario.overrides import Override

    for key, given in (("objective", objective), ("trials", trials)):
        if given is not None:
            place = Place(f"--{key}")
            change = Override(("tune", key), given, {("tune", key): Marks(place, place)})
            document = document.change(change)
    given_before = set()
    for key, option, texts in (
        ("parameters", "--parameter", parameters),
        ("under", "--under", limits),
    ):
        for text in texts:
            name, equals, value = text.partition("=")
            if not equals or not name.strip():
                raise InputError(f"{option}: expected NAME=VALUE, got {text!r}")
            path = ("tune", key, name.strip())
            if path in given_before:
                raise InputError(f"{option} {text}: {name.strip()} is given twice")
            given_before.add(path)
            source = f"{option} {text}"
            document = document.change(Override.read(path, value, source, removable=False))
    return document


def _tell_last(tuning: "Tuning") -> None:
    """Print a line about the last trial."""
    from simfl.report.page.answer.tuning import over_limits, value_text
    from simfl.scenario.language.place import as_written

    trial = tuning.trials[-1]
    chosen = ", ".join(f"{path} {as_written(v)}" for path, v in trial.parameters.items())
    best = "  best so far" if tuning.best is trial else ""
    value = value_text(tuning, trial) if trial.state in ("done", "over a limit") else ""
    why = trial.why.splitlines()[0] if trial.why else ", ".join(over_limits(tuning, trial))
    why = f": {why}" if why else ""
    say_aside(f"{trial.name}: {trial.state} {value}  ({chosen}){best}{why}")


def _tell(tuning: "Tuning") -> None:
    """Print what came of it, and how to have it again."""
    from simfl.report.page.answer.tuning import answer, settings

    typer.echo(" ".join(answer(tuning)))
    for setting in settings(tuning):
        typer.echo(f"  {setting}")
    refused = [trial for trial in tuning.trials if trial.state == "refused"]
    if refused:
        typer.echo(f"{refused[0].name} was refused: {refused[0].why.splitlines()[0]}")


def _print_json(tuning: "Tuning") -> None:
    import json
    from dataclasses import asdict

    from simfl.runs.folder.eventlog import finite

    rows = [{**asdict(trial), "value": tuning.value(trial)} for trial in tuning.trials]
    for row in rows:
        del row["cost"]
    best = None if tuning.best is None else tuning.best.name
    typer.echo(json.dumps({"best": best, "trials": finite(rows)}, indent=2))
