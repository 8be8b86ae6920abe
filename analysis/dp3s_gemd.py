"""FL-DP3S, Fig. 2: how balanced the chosen cohorts are on MNIST, without training anything.

    python analysis/dp3s_gemd.py --data-dir DIR [--xi 1] [--rounds 300]

Profiles are FC-1 pre-activations at the initial model, as in the paper; the model never changes, so
300 choices are made of one profile.  Prints the mean GEMD of uniform selection and of the k-DPP.
"""

import argparse
from pathlib import Path

import numpy as np

from simfl.build.builder import Builder
from simfl.components.partitions.describe import gemd
from simfl.components.selectors import selectors
from simfl.components.selectors.base import History, Probe, Reports, View
from simfl.coordinators.training import TrainingCoordinator
from simfl.scenario import Scenario
from simfl.training.executors import executors

SCENARIO = Path(__file__).parents[1] / "scenarios" / "papers" / "dp3s_mnist_xi1.yaml"


def mean_gemd(selector: str, builder: Builder, rounds: int) -> float:
    """Return the mean GEMD of `rounds` choices of `selector` over the clients of `builder`."""
    chooser = selectors.parse(selector)
    counts = builder.federation.label_counts
    assert counts is not None
    clients = np.arange(len(counts))
    k = builder.settings.clients
    assert isinstance(builder.coordinator, TrainingCoordinator)
    model = builder.coordinator.model
    found = []
    for round_ in range(1, rounds + 1):
        history = History.empty(builder.federation.sizes)
        view = View(round_, 0.0, history, lambda: clients, k=k)
        reports: tuple[Reports, ...] = ()
        rng = builder.seeds.stream("selection", round_)
        while (probe := chooser.probe(view, reports, rng)) is not None:
            reports += (_answer(builder, probe, model),)
        chosen = chooser.select(view, reports, k, rng)
        found.append(float(gemd(counts[chosen].sum(axis=0), counts.sum(axis=0))))
    return float(np.mean(found))


def _answer(builder: Builder, probe: Probe, model: np.ndarray) -> Reports:
    ids = np.sort(probe.clients)
    return Reports(probe, ids, builder.executor.measure(probe.report, model, ids.tolist()))


def builder_of(xi: str, data_dir: Path, seed: int = 0) -> Builder:
    """Return the paper's federation of MNIST with skewness `xi`."""
    changes = (f"data.partition.xi={xi}", "variants={}", f"seed={seed}")
    scenario = Scenario.load(SCENARIO, changes)
    return Builder(scenario, data_dir, False, executors.parse("inline"))


def main() -> None:
    """Print one line per selector."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--xi", default="1")
    parser.add_argument("--rounds", type=int, default=300)
    options = parser.parse_args()
    builder = builder_of(options.xi, options.data_dir)
    for selector in ("uniform", "k_dpp"):
        print(f"{selector:8} {mean_gemd(selector, builder, options.rounds):.4f}")


if __name__ == "__main__":
    main()
