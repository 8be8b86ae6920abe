"""FedACS, Fig. 5: the mean reward of each round's participants, with the bandit and without.

    simfl run scenarios/papers/fedacs_cifar10_high.yaml --data-dir DIR --seed 0 --variant FedACS
        --out runs/rewards
    simfl run scenarios/papers/fedacs_cifar10_high.yaml --data-dir DIR --seed 0 --variant baseline
        --set 'selection={name: fedacs, tolerance: 1}' --set 'rounds.stop={rounds: 36}'
        --set evaluation.every=36 --out runs/rewards
    python -m analysis.fedacs_rewards runs/rewards/FedACS/seed-0 runs/rewards/baseline/seed-0

The first run is one of Table II's.  With a tolerance of 1 everybody is in the pool: cohorts are
uniform, and rewards (Eq. 14) are measured as FedACS measures them.  Writes both rows by round, and
prints means over ten rounds.  The paper: FedACS's rewards are above the baseline's, and both fall.
"""

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from simfl.coordinators.diagnostics import DIAGNOSTICS
from simfl.core.types import Floats

BLOCK = 10
"""Rounds that are averaged where rewards are printed."""


def rewards(run: Path) -> Floats:
    """Return the mean reward of each round's participants `(rounds,)` in a finished run."""
    return np.asarray(np.load(run / DIAGNOSTICS)["reward"])


def blocks(bandit: Floats, uniform: Floats) -> Iterator[str]:
    """Yield a line for every ten rounds, and one for all that both rows have."""
    both = min(len(bandit), len(uniform))
    parts = [(first, first + BLOCK) for first in range(0, both - BLOCK + 1, BLOCK)]
    for first, last in [*parts, (0, both)]:
        one, other = bandit[first:last], uniform[first:last]
        higher = int((one > other).sum())
        yield (
            f"rounds {first + 1} to {last}: FedACS {one.mean():.2f}, baseline {other.mean():.2f}, "
            f"FedACS higher in {higher} of {last - first}"
        )


def main() -> None:
    """Write the file, and print what it says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bandit", type=Path)
    parser.add_argument("uniform", type=Path)
    docs = Path(__file__).parents[1] / "docs"
    parser.add_argument("--results", type=Path, default=docs / "results" / "fedacs" / "rewards.csv")
    options = parser.parse_args()
    rows = {"FedACS": rewards(options.bandit), "baseline": rewards(options.uniform)}
    with options.results.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["row", "round", "reward"])
        for row, found in rows.items():
            table.writerows([row, at, f"{reward:.5f}"] for at, reward in enumerate(found, 1))
    print("\n".join(blocks(*rows.values())))


if __name__ == "__main__":
    main()
