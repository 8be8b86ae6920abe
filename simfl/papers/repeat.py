"""Run an item, or go on with it, or collect what its runs have."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from simfl.errors import InputError
from simfl.papers.item import Item
from simfl.papers.measures import Record, records
from simfl.runs.many import Watch
from simfl.runs.options import Options
from simfl.runs.results.find import run_folders
from simfl.runs.results.grouping import by_variant
from simfl.runs.results.result import RunResult
from simfl.runs.run_jobs import run_jobs


def repeat(
    item: Item,
    out: Path,
    options: Options,
    seeds: Sequence[int] | None,
    watch: Watch | None = None,
    overwrite: bool = False,
) -> list[Record]:
    """Run every row of `item` with every seed, but for what is finished; return what came of it.

    Args:
        item: what to run.
        out: folder of the run folders.
        options: how to run.
        seeds: instead of the item's own.
        watch: is told how far the runs are.
        overwrite: replace runs of other scenarios.

    Raises:
        InputError: it can't be run.
        RunError: some runs failed; the others are finished.
    """
    options = replace(options, time_only=item.time_only)
    todo = item.jobs(out, seeds)
    runs = run_jobs(todo, options, overwrite, go_on=True, watch=watch, tell_reuse=False)
    return records(item.id, item.reading, item.measures, runs)


def collect(item: Item, out: Path, seeds: Sequence[int] | None) -> list[Record]:
    """Return what the runs of `item` in `out` have, in the order of its rows.

    Raises:
        InputError: seeds of a row are of different scenarios.
    """
    rows = list(item.printed)
    runs = [run for run in map(RunResult, run_folders(out)) if _wanted(run, rows, seeds)]
    runs.sort(key=lambda run: (rows.index(run.variant), run.seed))
    _require_alike(runs)
    return records(item.id, item.reading, item.measures, runs)


def _require_alike(runs: Sequence[RunResult]) -> None:
    """Refuse runs that are told apart by more than variant and seed: they would be no row's."""
    apart = [group for group in by_variant(runs).items() if group[0] != group[1][0].variant]
    if apart:
        name, odd = min(apart, key=lambda group: len(group[1]))
        raise InputError(
            f"{odd[0].folder} is of another scenario than other runs beside it: it is {name!r}; "
            "move it away"
        )


def _wanted(run: RunResult, rows: Sequence[str], seeds: Sequence[int] | None) -> bool:
    return run.variant in rows and (seeds is None or run.seed in seeds)
