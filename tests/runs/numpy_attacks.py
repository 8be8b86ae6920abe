"""Attacks in plain numpy, float64, written from the papers; it knows nothing of simfl."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def forged(
    clients: Sequence[int],
    updates: Sequence[Floats],
    attackers: range,
    attack: Mapping[str, Any],
) -> list[Floats]:
    """Return what `clients` send instead of their `updates` `(p,)`, which come together."""
    wrong = [i for i, client in enumerate(clients) if client in attackers]
    sent = list(updates)
    if not wrong or attack["name"] == "label_flip":
        return sent
    if attack["name"] == "sign_flip":
        for i in wrong:
            sent[i] = -attack["scale"] * updates[i]
        return sent
    mean = np.zeros_like(updates[0])
    for i in wrong:
        mean += updates[i] / len(wrong)
    if attack["name"] == "inner_product":
        together = -attack["epsilon"] * mean
    else:
        square = np.zeros_like(mean)
        for i in wrong:
            square += (updates[i] - mean) ** 2 / len(wrong)
        together = mean - _z_max(len(updates), len(wrong)) * np.sqrt(square)
    for i in wrong:
        sent[i] = together
    return sent


def _z_max(n: int, m: int) -> float:
    """Return algorithm 3's z: the largest whose normal probability is below (n - m - s) / (n - m).

    Where they are the majority they need nobody to be further away than they are: 0.
    """
    s = max(n // 2 + 1 - m, 0)
    if not s:
        return 0.0
    low, high = 0.0, 10.0
    for _ in range(80):
        z = (low + high) / 2
        below = (1 + math.erf(z / math.sqrt(2))) / 2 < (n - m - s) / (n - m)
        low, high = (z, high) if below else (low, z)
    return low
