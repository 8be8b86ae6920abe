"""FedCor, Fig. 7, and FedGP, Fig. 4, without pictures: do clients' embeddings cluster by label?

    simfl run scenarios/papers/fedcor_fmnist_1spc.yaml --data-dir DIR --seed 1
        --set variants={} --set selection=fedcor --set rounds.stop.rounds=17 --out runs/embedding
        (or --set selection=fedgp)
    python -m analysis.fedcor_embedding runs/embedding/default/seed-1 --data-dir DIR

Prints the mean cosine of embeddings of clients with the same main label minus that of clients with
different ones, after the warm-up (docs/algorithms.md, G.6: above 0.3 is expected).
"""

import argparse
from pathlib import Path

import numpy as np

from simfl.build.builder import Builder
from simfl.coordinators.diagnostics import DIAGNOSTICS
from simfl.runs.folder.folder import SCENARIO
from simfl.scenario import Scenario
from simfl.training.executors.base import executors


def separation(embeddings: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean cosine within labels minus that between labels.

    Args:
        embeddings: `(n, d)`.
        labels: `(n,)`.
    """
    unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    cosine = unit @ unit.T
    same = labels[:, None] == labels[None, :]
    apart = ~np.eye(len(labels), dtype=bool)
    return float(cosine[same & apart].mean() - cosine[~same].mean())


def main() -> None:
    """Print the number."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--data-dir", type=Path, required=True)
    options = parser.parse_args()
    scenario = Scenario.load(options.run / SCENARIO)
    builder = Builder(scenario, options.data_dir, False, executors.parse("inline"))
    counts = builder.federation.label_counts
    assert counts is not None
    embeddings = np.load(options.run / DIAGNOSTICS)["embeddings"]
    print(f"{separation(embeddings, counts.argmax(axis=1)):.3f}")


if __name__ == "__main__":
    main()
