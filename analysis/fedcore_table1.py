"""FedCore, Table 1, Synthetic: our accuracies beside the printed ones, under both labellings.

    simfl run scenarios/papers/fedcore_synthetic.yaml
    python analysis/fedcore_table1.py runs/fedcore-synthetic

Reads run folders only.  The paper heads its columns Synthetic(1,1), (.5,.5) and (0,0); the printed
numbers fit the data only if the outer two are exchanged (docs/algorithms.md, H.3).
"""

import sys
from pathlib import Path

import simfl

METHODS = (
    "FedAvg", "FedAvg-DS-10", "FedAvg-DS-30", "FedProx-10", "FedProx-30", "FedCore-10", "FedCore-30"
)  # fmt: skip
PRINTED = {  # Table 1, accuracy in percent, as its columns are headed
    "1": (71.8, 23.0, 19.9, 72.3, 72.2, 72.2, 72.8),
    "0.5": (73.7, 32.2, 23.6, 74.1, 74.1, 75.2, 75.1),
    "0": (88.2, 36.3, 34.6, 87.2, 87.2, 88.5, 88.3),
}
EXCHANGED = {"0": "1", "0.5": "0.5", "1": "0"}
SAME = {alpha: alpha for alpha in PRINTED}


def accuracies(folder: Path) -> dict[str, tuple[float, ...]]:
    """Return per alpha = beta the final accuracy of each method, percent, mean over seeds."""
    found: dict[str, tuple[float, ...]] = {}
    for alpha in PRINTED:
        row = []
        for method in METHODS:
            runs = sorted((folder / f"a{alpha}-{method}").glob("seed-*"))
            finals = [simfl.load(run).summary["final_accuracy"] for run in runs]
            row.append(100 * sum(finals) / len(finals))
        found[alpha] = tuple(row)
    return found


def distance(ours: dict[str, tuple[float, ...]], labelling: dict[str, str]) -> float:
    """Return the mean absolute difference in points from the columns that `labelling` names."""
    gaps = [
        abs(mine - printed)
        for alpha, row in ours.items()
        for mine, printed in zip(row, PRINTED[labelling[alpha]], strict=True)
    ]
    return sum(gaps) / len(gaps)


def main() -> None:
    """Print the table in Markdown."""
    ours = accuracies(Path(sys.argv[1]))
    print("| alpha = beta | " + " | ".join(METHODS) + " |")
    print("|---|" + "---|" * len(METHODS))
    for alpha, row in ours.items():
        print(f"| {alpha}, simfl | " + " | ".join(f"{value:.1f}" for value in row) + " |")
        column = EXCHANGED[alpha]
        printed = " | ".join(f"{value:.1f}" for value in PRINTED[column])
        print(f"| printed under ({column},{column}) | {printed} |")
    print()
    print(f"Mean absolute difference, columns as headed: {distance(ours, SAME):.1f} points")
    print(f"Mean absolute difference, (0,0) and (1,1) exchanged: {distance(ours, EXCHANGED):.1f}")


if __name__ == "__main__":
    main()
