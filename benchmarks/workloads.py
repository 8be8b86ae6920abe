"""W1 to W4 (docs/performance.md) as whole scenarios, and their data for other simulators."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from simfl.components.datasets.base import Corpus, Dataset
from simfl.components.datasets.clients import Samples
from simfl.core.seeds import Seeds
from simfl.scenario import Scenario

TESTED = 10_000
"""Samples of the evaluation that follows each round."""


@dataclass(frozen=True)
class Reference:
    """One reference workload, in numbers; `samples` are of each client (None: by a power law)."""

    shape: tuple[int, ...]
    clients: int
    samples: int | None
    per_round: int
    batch: int
    epochs: int
    lr: float
    model: Mapping[str, Any]

    def sizes(self) -> list[int]:
        """Return the samples of each client."""
        return power_law() if self.samples is None else [self.samples] * self.clients


REFERENCES = {
    "W1": Reference((1, 28, 28), 100, 600, 10, 64, 2, 0.01, {"name": "mlp", "hidden": [64, 30]}),
    "W2": Reference((1, 28, 28), 100, 500, 10, 50, 2, 0.01, {"name": "cnn"}),
    "W3": Reference((60,), 1000, None, 100, 8, 10, 0.01, {"name": "logistic_regression"}),
    "W4": Reference((3, 32, 32), 20, 500, 10, 50, 1, 0.01, {"name": "fedacs_cnn"}),
}


def power_law() -> list[int]:
    """Return 1,000 sizes with mean about 69 and maximum 1,000."""
    sizes = np.random.default_rng(0).pareto(1.2, 1000) * 15 + 10
    sizes = np.minimum(sizes, 1000)
    sizes = np.maximum(sizes * 69 / sizes.mean(), 5).clip(max=1000)
    sizes[np.argmax(sizes)] = 1000
    return [int(size) for size in sizes]


class ReferenceData(Dataset):
    """Random numbers of the right shapes, with a linear truth: speed does not depend on them."""

    natural_clients = True

    workload: Literal["W1", "W2", "W3", "W4"]

    def shape(self) -> tuple[tuple[int, ...], int]:
        """See `Dataset.shape`."""
        return REFERENCES[self.workload].shape, 10

    def load(self, folder: Path | None, seeds: Seeds) -> Corpus:
        """See `Dataset.load`."""
        reference = REFERENCES[self.workload]
        ends = np.cumsum(reference.sizes())
        rng = np.random.default_rng(0)
        x = rng.standard_normal((ends[-1] + TESTED, *reference.shape), dtype=np.float32)
        flat = x.reshape(len(x), -1)
        truth = rng.standard_normal((flat.shape[1], 10), dtype=np.float32)
        y = np.argmax(flat @ truth, axis=1)
        natural = [
            np.arange(end - size, end) for end, size in zip(ends, reference.sizes(), strict=True)
        ]
        train, test = slice(0, ends[-1]), slice(ends[-1], None)
        return Corpus(Samples(x[train], y[train]), Samples(x[test], y[test]), 10, natural)


def scenario(name: str, rounds: int, changes: Mapping[str, Any] | None = None) -> Scenario:
    """Return a workload as a scenario; `changes` replace whole parts of it."""
    reference = REFERENCES[name]
    return Scenario.from_dict(
        {
            "name": name,
            "data": {
                "dataset": {"name": "benchmarks.workloads:ReferenceData", "workload": name},
                "partition": "natural",
            },
            "model": dict(reference.model),
            "fleet": {
                "count": reference.clients,
                "compute": {
                    "distribution": "lognormal", "median": "100 samples/s", "sigma": 0.5,
                },
                "uplink": "10 Mbit/s",
            },
            "training": {
                "epochs": reference.epochs,
                "batch_size": reference.batch,
                "optimizer": {"name": "sgd", "lr": reference.lr},
            },
            "rounds": {"clients": reference.per_round, "stop": {"rounds": rounds}},
            "evaluation": {"every": 1},
        }
        | dict(changes or {})
    )  # fmt: skip


def export(name: str, folder: Path) -> None:
    """Write a workload for others: ``data.npz`` and ``spec.json``."""
    reference = REFERENCES[name]
    corpus = ReferenceData(workload=name).load(None, Seeds(0))
    np.savez(
        folder / "data.npz",
        x=corpus.train.x,
        y=corpus.train.y,
        test_x=corpus.test.x,
        test_y=corpus.test.y,
        sizes=np.array(reference.sizes()),
    )
    spec = {
        "name": name,
        "model": reference.model["name"],
        "clients": reference.clients,
        "per_round": reference.per_round,
        "batch": reference.batch,
        "epochs": reference.epochs,
        "lr": reference.lr,
    }
    (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
