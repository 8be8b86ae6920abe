"""FL-DP3S, Figs. 4 and 5 without the pictures: what the initialisation does to profiles and kernel.

    python -m analysis.dp3s_kernels --data-dir DIR [--clients 20]

MNIST, xi = 1, 20 clients, four initialisations.  For each pair: the relative distance of a client's
two profiles (mean over clients), and the correlation of the two kernels off the diagonal
(L = S^T S, Eq. 14).  The paper: profiles differ, kernels look alike.
"""

import argparse
from itertools import combinations
from pathlib import Path

import numpy as np

from simfl.build.builder import Builder
from simfl.components.selectors.mathematics.determinantal import similarity
from simfl.components.selectors.mathematics.vectors import distances
from simfl.papers.item import items
from simfl.scenario.scenario import read
from simfl.training.executors.base import executors
from simfl.training.flat import initial_params

INITIALISATIONS = ("kaiming_uniform", "kaiming_normal", "xavier_uniform", "xavier_normal")


def profiles(init: str, clients: int, data_dir: Path) -> np.ndarray:
    """Return the clients' mean FC-1 outputs `(n, q)` at a model initialised like that."""
    [item] = items("dp3s/fig1-mnist-xi1")
    changes = (f"model={{name: dp3s_cnn, init: {init}}}", f"fleet.count={clients}", "variants={}")
    scenario = read(item.document.set(*changes))
    builder = Builder(scenario, data_dir, False, executors.parse("inline"))
    assert builder.coordinator is not None  # which starts the executor
    # Under one seed two initialisations would be the same numbers on another scale.
    shape, classes = scenario.data.dataset.shape()
    model = initial_params(scenario.model, shape, classes, INITIALISATIONS.index(init))
    return builder.executor.measure("fc1_profile", model, list(range(clients)))


def main() -> None:
    """Print one line per pair of initialisations."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--clients", type=int, default=20)
    options = parser.parse_args()
    of = {init: profiles(init, options.clients, options.data_dir) for init in INITIALISATIONS}
    apart = ~np.eye(options.clients, dtype=bool)
    for one, other in combinations(INITIALISATIONS, 2):
        away = np.linalg.norm(of[one] - of[other], axis=1) / np.linalg.norm(of[one], axis=1)
        alike = [similarity(distances(of[x], of[x], "L2")) for x in (one, other)]
        kernels = [(S.T @ S)[apart] for S in alike]
        correlation = np.corrcoef(kernels[0], kernels[1])[0, 1]
        print(f"{one}, {other}: profiles {away.mean():.2f} apart, kernels {correlation:.3f}")


if __name__ == "__main__":
    main()
