"""Updates on their way up: what a client can judge them by, and what arrives."""

from dataclasses import replace

import numpy as np
import pytest
from pydantic import PrivateAttr

from simfl.components.aggregators.base import aggregators
from simfl.components.compressors.base import Compressor, compressors
from simfl.components.filters.base import UpdateFilter
from simfl.components.selectors.base import (
    History,
    Probe,
    Report,
    Reports,
    Selector,
    View,
    selectors,
)
from simfl.coordinators.base import Choosing
from simfl.coordinators.global_model import GlobalModel
from simfl.coordinators.training import TrainingCoordinator
from simfl.coordinators.update_path import UpdatePath
from simfl.core.evaluation import Evaluation
from simfl.core.seeds import Seeds
from simfl.core.work import Plan, WorkOrder, WorkResult
from simfl.sim.coordinator import Arrival, RoundUpdates
from simfl.training.executors.base import Executor

LEARNT = np.array([1, 2], dtype=np.float32)
REFERENCES: list[list[float] | None] = []


class Listening(UpdateFilter):
    """Keeps everything, and notes what it is to be compared with."""

    def keep(self, update, reference, round_):
        REFERENCES.append(None if reference is None else reference.tolist())
        return True


class Adding(Executor):
    """Training adds the client's number, and twice that."""

    def train(self, batch):
        return [
            WorkResult(o, batch.bases[o.base] + np.float32(o.client) * LEARNT, 0.5, 1, 1)
            for o in batch.orders
        ]

    def measure(self, report, params, clients, *_):
        return np.full(len(clients), params.sum(), dtype=np.float64)


def learner(
    path: UpdatePath, selector: Selector | None = None, executor: Executor | None = None
) -> TrainingCoordinator:
    return TrainingCoordinator(
        Choosing(selector or selectors.parse("uniform"), Seeds(0)),
        executor or Adding(),
        aggregators.parse("fedavg"),
        GlobalModel(
            np.zeros(2, dtype=np.float32), (2,), lambda _: Evaluation(0.5, 0.5), np.ndarray.tobytes
        ),
        path,
        Plan(1),
    )


def test_a_client_compares_with_the_last_change_of_the_model_that_it_was_sent() -> None:
    learn = learner(UpdatePath(compressors.parse("none"), Listening()))

    def sent(client: int) -> WorkOrder:
        return learn.issue(WorkOrder(client, 0, 1, learn.version, Plan(1), 0))

    def arrives(order: WorkOrder) -> None:
        arrival = Arrival(order, learn.version - order.base, 1, 1.0)
        learn.aggregate(RoundUpdates(1, [], [arrival]))

    REFERENCES.clear()
    first, slow = sent(1), sent(2)
    arrives(first)
    middle = sent(3)
    arrives(sent(4))
    state = learn.state_dict()  # who goes on from a checkpoint knows no less
    learn.load_state_dict(state)
    for order in (slow, middle, sent(5)):
        learn.keeps(order)
    assert REFERENCES == [None, [1, 2], [4, 8]]


class Asking(Selector):
    """Asks clients 1 and 2 for an update, or for a trial and what it is worth."""

    report: Report

    def probe(self, view, reports, rng):
        if not reports:
            return Probe(self.report, np.array([1, 2]))
        worth = Probe("loss", np.array([0]), model="trial")
        return worth if self.report == "trial" and len(reports) == 1 else None

    def select(self, view, reports, k, rng):
        return np.array([0])


def answered(learn: TrainingCoordinator) -> list[list[float]]:
    """Return what came back from each question of the first selection."""
    history = History.empty(np.ones(3, dtype=np.int64))
    view = View(1, 0.0, history, available=lambda: np.arange(3), k=1)
    reports: tuple[Reports, ...] = ()
    while (probe := learn.next_probe(view, reports)) is not None:
        took_s = dict.fromkeys(probe.clients.tolist(), 1.0)
        reports += (learn.answer(probe, took_s, view),)
    return [answer.values.tolist() for answer in reports]


@pytest.mark.parametrize(
    ("report", "answers"), [("update", [[[0, 2], [0, 4]]]), ("trial", [[[], []], [3]])]
)
def test_an_answer_that_is_an_update_is_what_its_bytes_hold(
    report: Report, answers: list[object]
) -> None:
    """One of two numbers is sent; nobody is owed the other, for no model will be made of it."""
    path = UpdatePath(compressors.parse({"name": "top_k", "share": "50%"}), Listening())
    assert answered(learner(path, Asking(report=report))) == answers
    assert path.owed == {}


class Diverging(Adding):
    """Training of these clients comes to no number."""

    clients: tuple[int, ...]

    def train(self, batch):
        return [
            replace(result, params=result.params * np.nan)
            if result.order.client in self.clients
            else result
            for result in super().train(batch)
        ]


@pytest.mark.parametrize(("lost", "worth"), [((), 4.5), ((1,), 6.0), ((1, 2), np.nan)])
def test_a_trial_is_the_mean_of_those_that_are_numbers(lost: tuple[int, ...], worth: float) -> None:
    """As the model of a round would be; of none nobody knows what it is worth."""
    path = UpdatePath(compressors.parse("none"), Listening())
    assert answered(learner(path, Asking(report="trial"), Diverging(clients=lost)))[
        1
    ] == pytest.approx([worth], nan_ok=True)


class CountingCompressor(Compressor):
    """Remembers how many updates it has compressed."""

    _compressed: int = PrivateAttr(0)

    def compress(self, update, rng):
        self._compressed += 1
        return update / 2

    def size(self, parameters):
        return parameters


class CountingFilter(UpdateFilter):
    """Remembers how many updates it has judged."""

    _judged: int = PrivateAttr(0)

    def keep(self, update, reference, round_):
        self._judged += 1
        return True


@pytest.mark.parametrize("same", [(), ("compression",), ("filter",), ("compression", "filter")])
def test_a_path_by_other_rules_remembers_what_still_holds(same: tuple[str, ...]) -> None:
    """How the model changed is so by whatever rules; what is owed is one compressor's loss."""
    before = UpdatePath(CountingCompressor(error_feedback=True), CountingFilter())
    before.owed[3], before.changes[1] = LEARNT, LEARNT
    order = WorkOrder(3, 0, 1, 0, Plan(1), 0)
    before.keeps(LEARNT, order)
    before.send(3, LEARNT, 0)
    owed = dict(before.owed)
    after = UpdatePath(CountingCompressor(error_feedback=True), CountingFilter())
    after.go_on_from(before, same)
    assert after.changes == {1: LEARNT}
    assert after.owed == (owed if "compression" in same else {})
    assert after.compressor.state_dict() == {"_compressed": int("compression" in same)}
    assert after.filter.state_dict() == {"_judged": int("filter" in same)}
