"""The first round at each target, seed by seed, and how balanced the cohorts were.

    python analysis/rounds_to_target.py runs/fedcor-fmnist-1spc --targets 0.62 --balance-from 17

Reads run folders only.  `simfl compare` has means, spreads and medians of the same.
"""

import argparse
from pathlib import Path

from simfl.runs.result import RunResult, find_runs


def first_rounds(run: RunResult, targets: list[float]) -> str:
    """Return the first round at each of `targets`, and the best accuracy if one was missed."""
    reached = [run.reached(target) for target in targets]
    text = ", ".join("never" if at is None else f"{at.round:.0f}" for at in reached)
    return f"{text} (best {run.rounds.accuracy.max():.3f})" if None in reached else text


def main() -> None:
    """Print a line per run, and the mean GEMD per variant."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--targets", type=float, nargs="+", required=True)
    parser.add_argument("--balance-from", type=int, default=1, help="first round of the mean GEMD")
    parser.add_argument("--balance-to", type=int, help="its last round")
    options = parser.parse_args()
    cohorts: dict[str, list[float]] = {}
    for run in find_runs(options.folders):
        variant = run.provenance["variant"]
        print(f"{variant}, seed {run.summary['seed']}: {first_rounds(run, options.targets)}")
        gemd = run.rounds.gemd.iloc[options.balance_from - 1 : options.balance_to]
        cohorts.setdefault(variant, []).extend(gemd.dropna())
    for variant, values in cohorts.items():
        if values:
            print(f"{variant}: mean GEMD {sum(values) / len(values):.3f}")


if __name__ == "__main__":
    main()
