"""Whole runs whose model is computed anew, in plain numpy, from nothing but their event log."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from simfl import Options, run
from tests.runs.numpy_attacks import forged
from tests.runs.numpy_federation import Federation, Floats, Held

SIZES = (7, 13, 20, 4, 31, 9, 16, 25, 11, 6)
FEATURES, CLASSES = 5, 3
SCENARIO: dict[str, Any] = {
    "name": "anew",
    "seed": 3,
    "data": {"dataset": {"name": "npz", "file": "d.npz", "client": "client", "test": "test"}},
    "model": "logistic_regression",
    "fleet": [
        {
            "name": "slow",
            "count": 4,
            "compute": {"distribution": "uniform", "min": "2 samples/s", "max": "6 samples/s"},
            "uplink": "1 kbit/s",
            "latency": "200 ms",
        },
        {
            "name": "fast",
            "count": 6,
            "compute": {"distribution": "uniform", "min": "8 samples/s", "max": "30 samples/s"},
            "uplink": "3 kbit/s",
        },
    ],
    "rounds": {"clients": 5, "stop": {"rounds": 12}},
    "evaluation": {"every": 100},
}
SGD: dict[str, Any] = {"name": "sgd", "lr": 0.2}
TRAINING: dict[str, Any] = {"epochs": 2, "batch_size": 4, "shuffle": False, "optimizer": SGD}
HEAVY = {**SGD, "lr": 0.1, "momentum": 0.7}
COSINE = {"name": "cosine", "rounds": 8, "final": 0.1}
FALLING = {"name": "exponential", "decay": 0.9, "per": "epoch"}
WINDOWS = {"name": "semi_synchronous", "period": "4 s"}
CARRY = {"name": "synchronous", "deadline": "5 s", "late": "carry"}
BUFFER = {"name": "fedbuff", "buffer": 3}
EDGES = {"name": "hierarchical", "edges": 3, "edge_rounds": 2, "uplink": "2 kbit/s"}
DEADLINE = {"name": "synchronous", "deadline": "6 s"}
LADDER: dict[str, Any] = {
    "name": "quantize",
    "bits": 8,
    "stochastic": False,
    "error_feedback": True,
}
SALVAGE = [
    {
        **group,
        "availability": {"name": "on_off", "on": "14 s", "off": "6 s"},
        "on_offline": "salvage",
    }
    for group in SCENARIO["fleet"]
]
FRESH: dict[str, Any] = {"name": "fedavg"}
CENTERED = {"name": "centered_clipping", "clip": 0.3, "iterations": 2}
ATTACKERS = range(4)
STALE = {"name": "fedbuff", "exponent": 0.5, "weighting": "uniform"}
CASES: dict[str, dict[str, Any]] = {
    "nesterov": {"optimizer": {**HEAVY, "nesterov": True, "clip": 0.5}},
    "clipped, decayed, proximal": {
        "optimizer": {**SGD, "weight_decay": 0.3, "clip": 0.3},
        "proximal": 0.4,
    },
    "adam": {"optimizer": {"name": "adam", "lr": 0.05, "weight_decay": 0.1, "clip": 0.4}},
    "adamw": {"optimizer": {"name": "adamw", "lr": 0.05, "weight_decay": 0.1}},
    "fednova, momentum": {"aggregation": {"name": "fednova"}, "optimizer": HEAVY},
    "fednova, proximal": {
        "aggregation": {"name": "fednova"},
        "proximal": 0.8,
        "lr_schedule": COSINE,
    },
    "fednova, partial": {
        "aggregation": {"name": "fednova"},
        "lr_schedule": FALLING,
        "epochs": 5,
        "workload": "partial_epochs",
        "policy": DEADLINE,
    },
    "scaffold": {"aggregation": {"name": "scaffold"}, "lr_schedule": FALLING},
    "fedavgm": {"aggregation": {"name": "fedavgm"}},
    "fedadagrad": {"aggregation": {"name": "fedadagrad", "lr": 0.1}},
    "fedadam, windows": {"aggregation": {"name": "fedadam", "lr": 0.1}, "policy": WINDOWS},
    "fedyogi, carried": {"aggregation": {"name": "fedyogi", "lr": 0.1}, "policy": CARRY},
    "median, carried": {"aggregation": {"name": "median"}, "policy": CARRY},
    "trimmed mean, windows": {
        "aggregation": {"name": "trimmed_mean", "trim": 0.25},
        "policy": WINDOWS,
    },
    "dp_fedavg, a few late": {
        "aggregation": {"name": "dp_fedavg", "clip": 0.3, "noise_multiplier": 0},
        "policy": DEADLINE,
    },
    "dp_fedavg_adaptive, a few late": {
        "aggregation": {
            "name": "dp_fedavg_adaptive",
            "clip": 0.3,
            "noise_multiplier": 0,
            "quantile": 0.7,
            "lr": 0.5,
        },
        "policy": DEADLINE,
    },
    "qfedavg": {"aggregation": {"name": "qfedavg", "q": 2.0}, "lr_schedule": COSINE},
    "qfedavg, carried": {
        "aggregation": {"name": "qfedavg", "q": 0.5, "weighting": "uniform"},
        "policy": CARRY,
    },
    "refl, carried": {
        "aggregation": {"name": "refl", "beta": 0.6, "weighting": "uniform"},
        "policy": CARRY,
    },
    "krum": {"aggregation": {"name": "krum", "byzantine": 1, "keep": 1}},
    "krum, carried": {
        "aggregation": {"name": "krum", "byzantine": 1, "keep": 3},
        "policy": CARRY,
    },
    "fedavg, buffered": {"policy": BUFFER},
    "fedasync": {
        "aggregation": {"name": "fedasync", "alpha": 0.6, "staleness": "hinge", "a": 2.0, "b": 1.0},
        "policy": {"name": "fedasync"},
    },
    "fedbuff, the largest entries": {
        "aggregation": STALE,
        "policy": BUFFER,
        "compression": {"name": "top_k", "share": 0.3, "error_feedback": True},
    },
    "scaffold, on a ladder": {
        "aggregation": {"name": "scaffold"},
        "compression": {**LADDER, "error_feedback": False},
    },
    "fedbuff, on a ladder that forgets nothing": {
        "aggregation": STALE,
        "policy": BUFFER,
        "compression": {**LADDER, "bits": 4},
    },
    "steps": {"epochs": None, "steps": 7, "optimizer": HEAVY},
    "fednova, steps finished": {
        "aggregation": {"name": "fednova"},
        "epochs": 4,
        "optimizer": HEAVY,
        "fleet": SALVAGE,
    },
    "scaffold, steps finished": {
        "aggregation": {"name": "scaffold"},
        "epochs": 4,
        "lr_schedule": FALLING,
        "fleet": SALVAGE,
    },
    "feddyn, a few late": {
        "aggregation": {"name": "feddyn"},
        "optimizer": {**SGD, "momentum": 0.5},
        "proximal": 0.4,
        "policy": DEADLINE,
    },
    "feddyn, drawn repeatedly, on a ladder, steps finished": {
        "aggregation": {"name": "feddyn"},
        "epochs": 4,
        "proximal": 0.8,
        "compression": LADDER,
        "selection": {"name": "weighted", "replacement": True},
        "fleet": SALVAGE,
    },
    "fedat": {
        "aggregation": {"name": "fedat", "tiers": 2},
        "policy": {"name": "tiered", "tiers": 2, "deadline": "6 s"},
    },
    "at edges": {"policy": EDGES},
    "at edges that count alike": {
        "policy": EDGES,
        "aggregation": {"name": "fedavg", "weighting": "uniform"},
    },
    "at edges, compressed": {
        "aggregation": {"name": "fedavg", "weighting": "samples"},
        "policy": {**EDGES, "edges": 2, "edge_rounds": 3, "deadline": "6 s"},
        "lr_schedule": FALLING,
        "compression": {"name": "top_k", "share": 0.3, "error_feedback": True},
    },
    "geometric median, signs flipped, carried": {
        "aggregation": {"name": "geometric_median", "iterations": 3},
        "policy": CARRY,
        "attack": {"name": "sign_flip", "scale": 3.0},
    },
    "centered clipping, buffered, a little is enough": {
        "aggregation": CENTERED,
        "policy": BUFFER,
        "attack": {"name": "a_little_is_enough"},
    },
    "drawn repeatedly, on a ladder, a little is enough": {
        "selection": {"name": "weighted", "replacement": True},
        "compression": LADDER,
        "attack": {"name": "a_little_is_enough"},
    },
    "scaffold, turned round": {
        "aggregation": {"name": "scaffold"},
        "attack": {"name": "inner_product", "epsilon": 0.5},
    },
    "at edges, turned round": {
        "policy": EDGES,
        "attack": {"name": "inner_product", "epsilon": 0.5},
    },
    "krum, labels flipped": {
        "aggregation": {"name": "krum", "byzantine": 1, "keep": 3},
        "attack": {"name": "label_flip"},
    },
    "drawn repeatedly": {
        "aggregation": {"name": "fedavg", "weighting": "uniform"},
        "selection": {"name": "weighted", "replacement": True},
    },
}


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Held, Floats]:
    """Return a folder with data, what each client holds of it, and the initial model `(p,)`."""
    rng, folder = np.random.default_rng(5), tmp_path_factory.mktemp("anew")
    client = np.repeat(np.arange(len(SIZES)), np.add(SIZES, 1))
    truth = rng.normal(size=(len(SIZES), FEATURES, CLASSES))
    x = rng.normal(size=(len(client), FEATURES)).astype(np.float32)
    y = (np.einsum("nf,nfc->nc", x, truth[client]) + rng.gumbel(size=(len(x), CLASSES))).argmax(1)
    test = np.append(client[1:] != client[:-1], True)  # the last of each client's
    np.savez(folder / "d.npz", x=x, y=y, client=client, test=test)
    clients = {
        k: (x[mine].astype(np.float64), y[mine])
        for k in range(len(SIZES))
        for mine in [(client == k) & ~test]
    }
    start = {**SCENARIO, "training": {**TRAINING, "optimizer": {**SGD, "lr": 1e-30}}}
    initial, _ = trained(folder, start)  # no step is long enough to be seen in float32
    return folder, clients, initial


def trained(folder: Path, scenario: dict[str, Any]) -> tuple[Floats, Path]:
    """Return the model `(p,)` that a run ends with, and its log."""
    options = Options(executor="inline")
    [result] = run({**scenario, "folder": str(folder)}, folder / "runs", options, overwrite=True)
    parts = torch.load(result.folder / "model.pt", weights_only=True).values()
    return np.concatenate([part.numpy().ravel() for part in parts]), result.folder / "events.jsonl"


@pytest.mark.parametrize("case", CASES)
def test_the_model_is_what_numpy_makes_of_the_log(
    given: tuple[Path, Held, Floats], case: str
) -> None:
    (folder, clients, initial), changes = given, dict(CASES[case])
    aggregation = changes.pop("aggregation", FRESH)
    policy = changes.pop("policy", {"name": "synchronous"})
    selection = changes.pop("selection", "uniform")
    fleet = changes.pop("fleet", SCENARIO["fleet"])
    attack = changes.pop("attack", None)
    if attack:
        fleet = [{**fleet[0], "attack": attack}, fleet[1]]
        if attack["name"] == "label_flip":
            flipped = {k: (clients[k][0], CLASSES - 1 - clients[k][1]) for k in ATTACKERS}
            clients = {**clients, **flipped}
    training = {**TRAINING, **changes}
    scenario = {
        **SCENARIO,
        "fleet": fleet,
        "rounds": {**SCENARIO["rounds"], "policy": policy},
        "selection": selection,
        "aggregation": aggregation,
        "training": training,
    }
    model, log = trained(folder, scenario)
    anew = Federation(
        clients,
        initial.astype(np.float64),
        training,
        aggregation,
        policy.get("edges", 0),
        partial(forged, attackers=ATTACKERS, attack=attack) if attack else None,
    )
    anew.replay(log)
    assert anew.updates >= 12
    assert np.abs(model - initial).max() > 0.05
    np.testing.assert_allclose(model, anew.model, rtol=0, atol=1e-5)
