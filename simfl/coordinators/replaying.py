"""Resume is replay: recorded decisions drive the clock again, without training.

SimPy's generators can't be saved, so a resumed run walks through its own event log.  Every answer
that the server got before is read from there, up to the last checkpoint.  There the state of model,
selector and aggregator is restored, and real answers take over.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from typing_extensions import override

from simfl.components.selectors.base import Probe, Reports, View
from simfl.coordinators.base import BaseCoordinator
from simfl.core.evaluation import Evaluation
from simfl.core.work import WorkOrder
from simfl.errors import RunError
from simfl.sim.coordinator import Aggregated, Coordinator, EdgeModel, RoundUpdates

_DECISIONS = {
    "probe", "probed", "selected", "filtered", "edge_aggregated", "aggregated", "evaluated",
    "forked",
}  # fmt: skip


class ReplayingCoordinator(Coordinator):
    """A coordinator that repeats recorded answers, then hands over to a real one.

    Args:
        live: takes over; its ledger is kept up to date all the while.
        events: what was recorded up to the checkpoint; read as it is needed.
        take_over: restores the state of `live`; called once, as soon as the records are used up:
            whoever saves a checkpoint after that finds the state that belongs to it.
    """

    def __init__(
        self,
        live: BaseCoordinator,
        events: Iterable[dict[str, Any]],
        take_over: Callable[[], None],
    ) -> None:
        self._live = live
        self._decisions = (event for event in events if event["event"] in _DECISIONS)
        self._take_over = take_over
        self._next: dict[str, Any] | None = None
        self._advance()

    def _advance(self) -> None:
        self._next = next(self._decisions, None)
        if self._next is None:
            self._take_over()

    def _recorded(self, kind: str) -> dict[str, Any] | None:
        """Return the next record if it is a `kind`; None once all are used up."""
        if (record := self._next) is None:
            return None
        if record["event"] != kind:
            raise RunError(f"replay wanted a {kind!r} but the log has {record['event']!r}")
        self._advance()
        return record

    def _has_other_than(self, kind: str) -> bool:
        """Return whether there is a next record, and it is none of that `kind`."""
        return self._next is not None and self._next["event"] != kind

    def pass_fork(self) -> None:
        """Go past the record of a change of rules, and past what it interrupted."""
        while self._has_other_than("forked"):
            self._advance()
        self._recorded("forked")

    @override
    def issue(self, order: WorkOrder) -> WorkOrder:
        return self._live.issue(order)

    @override
    def amend(self, order: WorkOrder) -> WorkOrder:
        return self._live.amend(order)

    @override
    def drop(self, order: WorkOrder) -> None:
        self._live.drop(order)

    @override
    def next_probe(self, view: View, reports: tuple[Reports, ...]) -> Probe | None:
        if self._has_other_than("probe"):
            return None
        record = self._recorded("probe")
        if record is None:
            return self._live.next_probe(view, reports)
        asked = np.array(record["asked"], dtype=np.int64)
        return Probe(record["report"], asked, record["model"], record["samples"])

    @override
    def answer(self, probe: Probe, took_s: Mapping[int, float], view: View) -> Reports:
        # No checkpoint is made between a question and the choice made of the answers, so either
        # all of them are replayed or none.
        if self._recorded("probed") is None:
            return self._live.answer(probe, took_s, view)
        if probe.report in ("update", "trial"):
            self._live.ledger.replay_aside(len(took_s))
        return Reports.unknown(probe, took_s)

    @property
    @override
    def chooser(self) -> str:
        return self._live.chooser

    @override
    def select(self, view: View, reports: tuple[Reports, ...], k: int) -> list[int]:
        record = self._recorded("selected")
        if record is None:
            return self._live.select(view, reports, k)
        return [int(client) for client in record["clients"]]

    @override
    def aggregate(self, updates: RoundUpdates) -> Aggregated:
        record = self._recorded("aggregated")
        if record is None:
            return self._live.aggregate(updates)
        self._live.replay(updates.orders)
        return _facts_of(record)

    @override
    def aggregate_at_edge(self, updates: RoundUpdates, base: int, made: int) -> Aggregated:
        record = self._recorded("edge_aggregated")
        if record is None:
            return self._live.aggregate_at_edge(updates, base, made)
        self._live.replay(updates.orders)
        return _facts_of(record)

    @override
    def merge(self, round_: int, edges: Sequence[EdgeModel], clients: Sequence[int]) -> Aggregated:
        record = self._recorded("aggregated")
        if record is None:
            return self._live.merge(round_, edges, clients)
        return Aggregated(gemd=record["gemd"])

    @override
    def keeps(self, order: WorkOrder) -> bool:
        record = self._recorded("filtered")
        if record is None:
            return self._live.keeps(order)
        self._live.replay_early(order)
        return bool(record["kept"])

    @override
    def evaluate(self, round_: int) -> Evaluation | None:
        if self._has_other_than("evaluated"):
            return None
        record = self._recorded("evaluated")
        if record is None:
            return self._live.evaluate(round_)
        return Evaluation.recorded(record)


def _facts_of(record: Mapping[str, Any]) -> Aggregated:
    """Return what an event says that tells of an aggregation."""
    return Aggregated(
        losses={
            int(client): float("nan") if loss is None else loss
            for client, loss in record["losses"].items()
        },
        discarded=[(client, issue) for client, issue in record["discarded"]],
        filtered=[(client, issue) for client, issue in record.get("filtered", [])],
        gemd=record["gemd"],
    )
