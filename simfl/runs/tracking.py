"""What trackers are told of a run that has ended."""

import logging
import math
from collections.abc import Iterator, Sequence

import numpy as np

from simfl.components.trackers.base import Step, TrackedRun, Tracker
from simfl.runs.result import RunResult
from simfl.scenario.place import leaves

_LOG = logging.getLogger(__name__)

MEASURED = ("accuracy", "loss", "train_loss", "selected", "arrived", "late", "offline")
"""Columns of `rounds` that trackers are told as they are."""


def track(result: RunResult, trackers: Sequence[Tracker]) -> None:
    """Tell every tracker of a run; what goes wrong there is a warning, the run is what it is."""
    for tracker in trackers:
        try:
            tracker.record(tracked(result))
        except Exception as error:
            _LOG.warning(
                "tracker %r kept nothing of %s: %s: %s",
                tracker.name, result.folder, type(error).__name__, error,
            )  # fmt: skip


def tracked(result: RunResult) -> TrackedRun:
    """Return what trackers are told of a run."""
    totals = {
        "virtual_time_s": result.end_s,
        "rounds": result.n_rounds,
        "bytes": result.total_bytes,
        "wasted_bytes": result.wasted_bytes,
        "energy_j": result.total_energy_j,
        "final_accuracy": result.final_accuracy,
    }
    return TrackedRun(
        result.name,
        result.variant,
        result.seed,
        dict(leaves(result.scenario)),
        list(_steps(result)),
        {name: float(value) for name, value in totals.items() if math.isfinite(value)},
        result.folder.resolve().parents[1],
    )


def _steps(result: RunResult) -> Iterator[Step]:
    columns = {name: result.column(name).astype(np.float64) for name in MEASURED}
    columns |= {"bytes": result.moved, "energy_j": result.spent_j}
    times, rounds = result.column("end_s"), result.column("round")
    for row in range(result.n_rounds):
        numbers = {name: float(values[row]) for name, values in columns.items()}
        finite = {name: value for name, value in numbers.items() if math.isfinite(value)}
        yield Step(int(rounds[row]), float(times[row]), finite)
