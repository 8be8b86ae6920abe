"""Devices without samples: what is averaged over all clients is not averaged over them."""

from typing import Any

import numpy as np
import pytest
import torch

from simfl import RunResult
from tests.tiny import RunTiny

CHANGES: dict[str, Any] = {
    "data.partition": {"name": "power_law", "exponent": 60, "min_samples": 0},  # one has them all
    "training.batch_size": 240,
    "rounds.clients": 1,
}


def model(result: RunResult) -> np.ndarray[Any, Any]:
    """Return `(p,)` the model that a run ended with."""
    tensors = torch.load(result.folder / "model.pt", weights_only=True).values()
    return np.concatenate([tensor.numpy().ravel() for tensor in tensors])


@pytest.mark.parametrize("aggregation", ["scaffold", "feddyn"])
def test_they_do_not_count_among_all_clients(run_tiny: RunTiny, aggregation: str) -> None:
    proximal = 0.5 if aggregation == "feddyn" else 0
    changes = {**CHANGES, "aggregation": aggregation, "training.proximal": proximal}
    alone, idle = (model(run_tiny({**changes, "fleet.count": n})) for n in (1, 4))
    np.testing.assert_allclose(idle, alone, rtol=0, atol=1e-5)
