"""`simfl reproduce`: repeat a published table or figure."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simfl.cli import _options as shared
from simfl.cli._aside import say_aside
from simfl.cli.app import app

if TYPE_CHECKING:
    from simfl.papers.item import Item
    from simfl.papers.measures import Record

ALL = "all"


@app.command("reproduce")
def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(metavar="PAPER/ITEM", help="An item, a PAPER, or all; omitted: list them."),
    ] = None,
    seeds: shared.Seeds = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A reduced form that takes minutes: orderings only.")
    ] = False,
    only_collect: Annotated[
        bool,
        typer.Option(
            "--collect", help="Run nothing; collect what runs have, interrupted ones too."
        ),
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", help="Folder for run folders and CSV files.")
    ] = Path("runs/papers"),
    jobs: shared.Jobs = None,
    device: shared.Device = "cpu",
    data_dir: shared.DataDir = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace earlier results of other settings.")
    ] = False,
    quiet: shared.Quiet = False,
) -> None:
    """List what can be reproduced from the papers, or reproduce it.

    Interrupted items are resumed; results are a CSV file.
    Exit code 1 if the results contradict an ordering that a paper claims.
    """
    from simfl.errors import InputError
    from simfl.papers.item import items
    from simfl.papers.repeat import collect, repeat

    if only_collect and overwrite:
        raise InputError("give --collect, which replaces nothing, or --overwrite, not both")
    chosen = items(None if name == ALL else name)
    if quick:
        chosen, out = [item.reduced() for item in chosen], out / "quick"
    chosen_seeds = shared.parse_seeds(seeds)
    if name is None:
        _list(chosen, chosen_seeds)
        return
    how = shared.options(data_dir=data_dir, jobs=jobs, device=device)

    def measured(item: "Item") -> "list[Record]":
        if only_collect:
            return collect(item, out / item.id, chosen_seeds)
        with shared.progress(quiet, "the same command goes on") as board:
            return repeat(item, out / item.id, how, chosen_seeds, board, overwrite)

    raise typer.Exit(_measure(chosen, measured, out))


def _measure(
    chosen: "Sequence[Item]", measured: "Callable[[Item], list[Record]]", out: Path
) -> int:
    """Measure items one after the other, write and tell what came of each; return the exit code."""
    from simfl.errors import InputError
    from simfl.papers.measures import write

    agreed, refused = True, False
    for item in chosen:
        try:
            records = measured(item)
        except InputError as error:  # such as data that are not there: the others can be run
            if len(chosen) == 1:
                raise
            refused = True
            say_aside(f"\n{item.id}: error: {error}")
            continue
        if records:
            file = (out / item.id).with_suffix(".csv")
            write(file, records)
            agreed &= _tell(item, records, file)
        else:
            typer.echo(f"{item.id}: no result in {out / item.id}")
    return 2 if refused else 0 if agreed else 1


def _list(chosen: "Sequence[Item]", seeds: Sequence[int] | None) -> None:
    """Print a line per item: what it is, costs and needs."""
    from simfl.report import formats
    from simfl.runs.estimate import estimate
    from simfl.runs.options import Options
    from simfl.scenario.parts.experiment import parse_seeds

    for item in chosen:
        wanted = seeds or parse_seeds(item.seeds)
        jobs = item.jobs(Path(), wanted[:1])  # seeds cost the same
        how = Options(time_only=item.time_only)
        costs = [estimate(job.scenario, how) for job in jobs]
        rounds = len(wanted) * sum(cost.rounds for cost in costs)
        host_s = len(wanted) * sum(cost.host_s for cost in costs)
        datasets = [job.scenario.data.dataset for job in jobs]
        needs = {dataset.name for dataset in datasets if dataset.needs_files}
        typer.echo(
            f"{item.id}: {item.title}\n"
            f"  {formats.plural(len(jobs), 'row')}, {formats.plural(len(wanted), 'seed')}, "
            f"{rounds:,} rounds, about {host_s / 3600:.2g} core-hours; reading: {item.reading}"
            f"{'; needs ' if needs else ''}{', '.join(sorted(needs))}"
        )


def _short(number: float) -> str:
    """Return a number with three digits, or all of those before the point."""
    return f"{number:.0f}" if abs(number) >= 100 else f"{number:.3g}"


def _tell(item: "Item", records: "Sequence[Record]", file: Path) -> bool:
    """Print what came of an item; return whether it agrees with the paper's orderings."""
    from math import isinf

    from simfl.papers.claims import Claim, median, seeds_of
    from simfl.papers.measures import Measure

    main = item.column(records)
    curve = "curve of " * Measure.parse(item.measures[0]).mean_curve
    typer.echo(f"\n{item.id}: {item.title}\n  {item.measures[0]}: printed, median of seeds")
    for row, printed in item.printed.items():
        seeds, number = seeds_of(main, row), median(main, row)
        told = "never" if isinf(number) else _short(number)
        of = "one seed" if seeds == 1 else f"{curve}{seeds} seeds"
        measured = f"{told} ({of})" if seeds else "not run"
        typer.echo(f"  {row}: {printed or '-'}; {measured}")
    claims = [Claim.parse(text) for text in item.claims]
    for claim in claims:
        told = claim.told(item.column(records, claim.measure), item.by_seed(records, claim.measure))
        typer.echo(f"  {claim.text}: {told}")
    typer.echo(f"  {file}")
    return all(claim.holds(item.column(records, claim.measure)) is not False for claim in claims)
