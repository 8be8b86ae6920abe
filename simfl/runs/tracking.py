"""What trackers are told of a run while it goes on."""

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from simfl.components.trackers.base import Record, Step, TrackedRun, Tracker
from simfl.core.rows import MOVED, RoundRow, header
from simfl.runs.results.result import RunResult
from simfl.scenario.language.place import flat
from simfl.sim.timeline import Listener

_LOG = logging.getLogger(__name__)

EVERY_S = 1.0
"""Host seconds between two times that trackers are told of rounds, at least."""
MEASURED = ("accuracy", "loss", "train_loss", "selected", "arrived", "late", "offline")
"""Columns of `rounds` that trackers are told as they are."""


@contextmanager
def tracking(folder: Path, trackers: Sequence[Tracker]) -> Iterator[Sequence[Listener]]:
    """Give who is to be told of everything that happens in the run in `folder`, meanwhile."""
    if not trackers:
        yield ()
        return
    follower = Follower(folder, trackers)
    try:
        yield (follower.listen,)
    except BaseException:
        follower.end(None)
        raise
    follower.end(totals_of(RunResult(folder)))


class Follower:
    """Follows one run; what goes wrong in a tracker is a warning, the run is what it is.

    Args:
        folder: of the run; looked into once the run has begun.
        trackers: whom to tell.
    """

    def __init__(self, folder: Path, trackers: Sequence[Tracker]) -> None:
        self._folder = folder
        self._trackers: list[Tracker] = list(trackers)
        self._records: dict[int, Record] = {}
        self._steps: list[Step] = []
        self._moved, self._spent_j = 0, 0.0
        self._begun, self._told, self._powered = False, 0.0, True

    def listen(self, _time_s: float, kind: str, facts: dict[str, Any]) -> None:
        """Take note of one event."""
        if not self._begun:
            self._begin()
        if kind == "round_end":
            self._steps.append(self._step(facts["row"]))
            if time.perf_counter() - self._told >= EVERY_S:
                self._tell()

    def end(self, totals: Mapping[str, float] | None) -> None:
        """Tell the last of it; None: the run was interrupted."""
        self._tell()
        self._each(lambda record: record.end(totals))

    def _begin(self) -> None:
        result = RunResult(self._folder)
        self._begun, self._powered, run = True, result.powered, tracked(result)
        for index, tracker in enumerate(self._trackers):
            with self._harmless(index):
                self._records[index] = tracker.begin(run)

    def _tell(self) -> None:
        steps, self._steps = self._steps, []
        self._told = time.perf_counter()
        if steps:
            self._each(lambda record: record.add(steps))

    def _each(self, tell: Callable[[Record], None]) -> None:
        for index, record in list(self._records.items()):
            with self._harmless(index):
                tell(record)

    @contextmanager
    def _harmless(self, index: int) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._records.pop(index, None)
            _LOG.warning(
                "tracker %r keeps nothing more of %s: %s: %s",
                self._trackers[index].name, self._folder, type(error).__name__, error,
            )  # fmt: skip

    def _step(self, row: RoundRow) -> Step:
        """Return what trackers are told of a round: bytes and joules are since the run began."""
        self._moved += sum(getattr(row, name) for name in MOVED)
        self._spent_j += row.energy_j
        metrics = header(type(row))[len(header(RoundRow)) :]
        numbers = {name: getattr(row, name) for name in (*MEASURED, *metrics)}
        spent_j = self._spent_j + row.in_flight_energy_j if self._powered else None
        numbers |= {"bytes": self._moved + row.in_flight_bytes, "energy_j": spent_j}
        finite = {
            name: float(value)
            for name, value in numbers.items()
            if value is not None and math.isfinite(value)
        }
        return Step(row.round, row.end_s, finite)


def totals_of(result: RunResult) -> dict[str, float]:
    """Return what trackers are told of a whole run."""
    totals = {
        "virtual_time_s": result.end_s,
        "rounds": result.n_rounds,
        "bytes": result.total_bytes,
        "wasted_bytes": result.wasted_bytes,
        "energy_j": result.total_energy_j,
        "final_accuracy": result.final_accuracy,
        **result.metrics,
    }
    return {name: float(value) for name, value in totals.items() if math.isfinite(value)}


def tracked(result: RunResult) -> TrackedRun:
    """Return what trackers are told of a run when it begins."""
    return TrackedRun(
        result.name,
        result.variant,
        result.seed,
        flat(result.scenario),
        result.folder.resolve().parents[1],
    )
