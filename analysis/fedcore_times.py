"""FedCore, Figs. 5 and 8: how long participants take, in deadlines, drawn from finished runs.

    simfl reproduce fedcore --data-dir DIR --out RUNS
    python -m analysis.fedcore_times RUNS

Draws a picture per item of Table 1's times, and writes for each row which shares of participations
are over the deadline and within the last tenth before it, and the longest.  The paper (Fig. 5,
MNIST, 30% stragglers): FedAvg's tail goes beyond 11 deadlines, the others end before one, FedCore's
cluster near it.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from simfl.papers.item import items
from simfl.runs.results.result import RunResult

METHODS = ("FedAvg", "FedAvg-DS", "FedProx", "FedCore")
STRAGGLERS = ("10", "30")


def in_deadlines(run: RunResult) -> np.ndarray:
    """Return the duration of each participation that counted, in deadlines."""
    durations = run.durations_s / run.deadline_s
    return np.asarray(durations[np.isfinite(durations)])


def draw(times: dict[str, np.ndarray], path: Path) -> None:
    """Write histograms, a column per share of stragglers and a row per method."""
    figure = Figure(figsize=(7, 6), layout="constrained")
    grid = figure.subplots(len(METHODS), len(STRAGGLERS), sharex="col", sharey=True)
    for row, method in enumerate(METHODS):
        for column, share in enumerate(STRAGGLERS):
            longest = max(times[f"{name}-{share}"].max() for name in METHODS)
            axes = grid[row][column]
            axes.hist(times[f"{method}-{share}"], bins=_bins(longest), log=True)
            axes.axvline(1, color="black", linewidth=0.8)
            axes.set_title(f"{method}, {share}% stragglers", fontsize=9)
            axes.yaxis.set_minor_formatter(NullFormatter())  # they would lie on each other
            axes.set_ylim(bottom=0.7)  # a single one is a bar, too
    for axes in grid[-1]:
        axes.set_xlabel("duration of a participation, in deadlines")
    figure.supylabel("participations", fontsize=10)
    figure.savefig(path, dpi=110)


def _bins(longest: float) -> np.ndarray:
    """Return edges in steps of a tenth, just above it: what ends at the deadline is before it."""
    return np.arange(0, max(longest, 1) + 0.1, 0.1) + 1e-6


def shares(row: str, times: np.ndarray) -> list[str]:
    """Return a line of the table on the participations of `row`, `(n,)` in deadlines."""
    over = times > 1 + 1e-9
    just = (times > 0.9) & ~over
    return [row, f"{over.mean():.4f}", f"{just.mean():.4f}", f"{times.max():.2f}"]


def main() -> None:
    """Draw the pictures and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path)
    parser.add_argument("--docs", type=Path, default=Path(__file__).parents[1] / "docs")
    options = parser.parse_args()
    lines = [["item", "row", "over_deadline", "last_tenth", "longest"]]
    for item in (item for item in items("fedcore") if item.time_only):
        folders = {row: options.runs / item.id / row / "seed-0" for row in item.printed}
        times = {row: in_deadlines(RunResult(folder)) for row, folder in folders.items()}
        draw(times, options.docs / "images" / f"{item.id.replace('/', '_')}.png")
        lines += [[item.id, *shares(row, own)] for row, own in times.items()]
    results = options.docs / "results" / "fedcore" / "round-times.csv"
    with results.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)


if __name__ == "__main__":
    main()
