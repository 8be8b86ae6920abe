"""How far a simulated run is from the real one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from testbed.journals import Run
from testbed.orders import PHASES, orders, outcomes, participations
from testbed.wire import Overhead, wire_errors


@dataclass(frozen=True)
class Errors:
    """How far a simulation is from what was measured; shares of one, signed where not a maximum.

    Attributes:
        total: of the time of all rounds.
        mean_round: mean of the rounds' absolute errors, in mean rounds.
        max_round: the largest of them.
        phases: of the mean time of each phase.
        orders: share of rounds whose arrivals come in the same order, ties aside.
        outcomes: share of rounds in which the same clients arrived in time, were late, or offline.
        staleness: share of participations that are as stale.
        down, up: of the bytes that crossed the server's interface; nan where nobody counted.
    """

    total: float
    mean_round: float
    max_round: float
    phases: dict[str, float]
    orders: float
    outcomes: float
    staleness: float
    down: float
    up: float


def errors(real: Run, simulated: Run, overhead: Overhead, rounds: Sequence[int]) -> Errors:
    """Compare two runs of a scenario.

    Args:
        real: as measured.
        simulated: by simfl.
        overhead: of the protocols, for the bytes on the wire.
        rounds: which are compared.
    """
    mine, theirs = (_lasts_s(run, rounds) for run in (simulated, real))
    wrong = np.abs(mine - theirs) / theirs.mean()
    a, b = (participations(run, rounds) for run in (simulated, real))
    both = _both(a, b)
    down, up = wire_errors(real, simulated, overhead)
    # With Flower a simulated update has arrived when the server looks, a measured one when it came.
    phases = PHASES[:2] if real.by_flower else PHASES
    return Errors(
        float(mine.sum() / theirs.sum() - 1),
        float(wrong.mean()),
        float(wrong.max()),
        {phase: _phase(both, phase) for phase in phases},
        orders(a, b, rounds),
        outcomes(a, b, rounds),
        float((both.staleness_s == both.staleness_r).mean()) if len(both) else float("nan"),
        down,
        up,
    )


def arrivals_s(real: Run, simulated: Run, rounds: Sequence[int]) -> list[list[float]]:
    """Return how long each update took from its order to its arrival: [simulated, measured]."""
    a, b = (participations(run, rounds) for run in (simulated, real))
    both = _both(a, b)
    mine, theirs = (both[f"upload_end_s_{x}"] - both[f"selected_s_{x}"] for x in "sr")
    return [[round(x, 4), round(y, 4)] for x, y in zip(mine, theirs, strict=True) if x * y > 0]


def _lasts_s(run: Run, rounds: Sequence[int]) -> np.ndarray:
    """Return how long each round took, what the server did between rounds included."""
    ends = np.concatenate([[0.0], run.rounds.end_s.to_numpy()])
    return np.diff(ends)[list(rounds)]


def _both(simulated: pd.DataFrame, real: pd.DataFrame) -> pd.DataFrame:
    """Return the participations that are in both, columns ending in `_s` and `_r`."""
    return simulated.merge(real, left_index=True, right_index=True, suffixes=("_s", "_r"))


def _phase(both: pd.DataFrame, phase: str) -> float:
    done = both[[f"{phase}_s_s", f"{phase}_s_r"]].dropna()
    mine, theirs = done.mean()
    return float(mine / theirs - 1)
