"""Draw test accuracy over virtual time, a line per variant, seeds as a band.

    python analysis/time_to_accuracy.py runs/fedbuff-vs-synchronous --out picture.svg [--until 1500]

Reads run folders only.
"""

import argparse
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from simfl.runs.find import find_runs
from simfl.runs.result import RunResult


def curve(run: RunResult, at_s: np.ndarray) -> np.ndarray:
    """Return the best accuracy that `run` had shown by each of the instants `at_s`."""
    rounds = run.rounds.dropna(subset=["accuracy"])
    index = np.searchsorted(rounds.end_s.to_numpy(), at_s, side="right")
    best = np.maximum.accumulate(np.concatenate([[0.0], rounds.accuracy.to_numpy()]))
    return best[index]


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--until", type=float, help="virtual seconds shown")
    options = parser.parse_args()
    runs = find_runs([options.folder])
    until = options.until or max(run.summary["virtual_time_s"] for run in runs)
    at_s = np.linspace(0, until, 500)
    mpl.rcParams["svg.hashsalt"] = "simfl"
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for name in dict.fromkeys(run.provenance["variant"] for run in runs):
        lines = [curve(run, at_s) for run in runs if run.provenance["variant"] == name]
        [drawn] = axes.plot(at_s, np.mean(lines, axis=0), label=name)
        axes.fill_between(
            at_s, np.min(lines, 0), np.max(lines, 0), color=drawn.get_color(), alpha=0.2
        )
    axes.set(xlabel="virtual time, s", ylabel="best test accuracy so far", xlim=(0, until))
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(options.out, metadata={"Date": None} if options.out.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
