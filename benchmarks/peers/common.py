"""What every runner shares: the data, the models, and the gate between rounds.

Runs in the environments of other simulators: needs Python 3.11 and NumPy, nothing of simfl.
"""

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

FOLDER = Path(os.environ.get("PEER_DATA", "."))


class Gate:
    """Says how long each round took, and waits until the next may begin.

    Only one simulator computes at a time; the others wait at their gates.
    """

    def __init__(self, *packages):
        self._in = os.fdopen(int(os.environ["GATE_IN"]), "r")
        self._out = os.fdopen(int(os.environ["GATE_OUT"]), "w")
        self._packages = packages
        self._began = None

    def pass_(self, accuracy=None):
        """Call when everything is set up, and after each round."""
        now = time.perf_counter()
        if self._began is None:
            said = {"ready": {name: version(name) for name in self._packages}}
        else:
            said = {"seconds": now - self._began, "accuracy": accuracy}
        print(json.dumps(said), file=self._out, flush=True)
        if self._in.readline().strip() != "go":
            sys.stdout.flush()
            os._exit(0)
        self._began = time.perf_counter()


class Data:
    """A workload: arrays, each client's rows, numbers, and whom each round asks."""

    def __init__(self):
        arrays = np.load(FOLDER / "data.npz")
        self.x, self.y = arrays["x"], arrays["y"]
        self.test_x, self.test_y = arrays["test_x"], arrays["test_y"]
        ends = np.cumsum(arrays["sizes"])
        self.parts = [slice(int(e - n), int(e)) for e, n in zip(ends, arrays["sizes"])]
        self.spec = json.loads((FOLDER / "spec.json").read_text())
        self.cohorts = self.spec["cohorts"]


def torch_model(kind):
    """Return the model as a PyTorch module."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    return {
        "mlp": lambda: nn.Sequential(
            nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 30), nn.ReLU(),
            nn.Linear(30, 10),
        ),
        "cnn": lambda: nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10),
        ),
        "fedacs_cnn": lambda: nn.Sequential(
            nn.Conv2d(3, 6, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
            nn.Linear(84, 10),
        ),
        "logistic_regression": lambda: nn.Sequential(nn.Flatten(), nn.Linear(60, 10)),
    }[kind]()


def torch_accuracy(model, x, y, batch=1000):
    """Return the accuracy of `model`, as a researcher would compute it."""
    import torch

    model.eval()
    with torch.no_grad():
        hits = sum(
            int((model(x[i : i + batch]).argmax(1) == y[i : i + batch]).sum())
            for i in range(0, len(y), batch)
        )
    return hits / len(y)
