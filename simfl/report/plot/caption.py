"""What a caption must say of a picture of runs: whose means it has, and what it lacks."""

from collections.abc import Callable, Iterator, Sequence

from simfl.report import formats
from simfl.report.formats import FEW
from simfl.report.measures import on_grid
from simfl.report.plot.measures import measures, shows
from simfl.runs.results.grouping import Groups, by_variant
from simfl.runs.results.result import RunResult
from simfl.runs.results.statistics import ENOUGH

SHOWN_BY = {
    "ci": "95% intervals of the mean",
    "std": "the sample standard deviation",
    "range": "from the lowest to the highest seed",
}
"""What a band shows, by its name; those that are not here draw none."""


def caption(results: Sequence[RunResult], x: str, y: str | None, band: str) -> Iterator[str]:
    """Yield what can't be seen in the picture that `simfl.report.plot.plot` draws of the same."""
    across, up = measures(results, x, y)

    def is_drawn(run: RunResult) -> bool:
        return shows(run, up) and shows(run, across)

    groups = by_variant([run for run in results if is_drawn(run)])
    if band != "runs":
        several = {name: runs for name, runs in groups.items() if len(runs) > 1}
        apart = [name for name, runs in several.items() if on_grid(runs, across, up) is None]
        if means := [len(runs) for name, runs in several.items() if name not in apart]:
            yield _of_means(min(means), max(means), band)
            if alone := [name for name in groups if name not in several]:
                yield f"one seed alone, no mean: {formats.listed(alone, FEW)}"
        if apart:
            yield (
                f"no mean of {formats.listed(apart, FEW)}: at no {across.label} do all seeds have "
                "a value, so each is a line of its own"
            )
    everybody = by_variant(results)
    if lacking := those(everybody, lambda run: not shows(run, up)):
        yield f"left out, without any {up.label}: {lacking}"
    if lacking := those(everybody, lambda run: shows(run, up) and not shows(run, across)):
        yield f"left out, without any {across.label}: {lacking}"
    if unfinished := those(groups, lambda run: not run.finished):
        yield f"not finished, drawn as far as they got: {unfinished}"


def _of_means(fewest: int, most: int, band: str) -> str:
    """Return how to read lines and bands, of so many seeds."""
    told = f"lines: means over {so_many(fewest, most)} seeds, as far as each of them got"
    if band not in SHOWN_BY:
        return told
    if band == "ci" and most < ENOUGH:
        return f"{told}; no bands: a 95% interval takes {ENOUGH} seeds"
    some = f", from {ENOUGH} seeds on" if band == "ci" and fewest < ENOUGH else ""
    return f"{told}; bands: {SHOWN_BY[band]}{some}"


def so_many(fewest: int, most: int) -> str:
    """Return how many there are of each of several, in words."""
    return f"{fewest}" if fewest == most else f"{fewest} to {most}"


def those(groups: Groups, which: Callable[[RunResult], bool]) -> str:
    """Return whose runs they are, and how many of a variant's where not all."""
    names = []
    for name, runs in groups.items():
        count = sum(map(which, runs))
        if count:
            names.append(f"{name} ({count} of {len(runs)} seeds)" if count < len(runs) else name)
    return formats.listed(names, FEW) if names else ""
