"""Questions outlast aggregations: answers are about the model that was sent with the question."""

import numpy as np

from simfl.components.aggregators.base import aggregators
from simfl.components.compressors.base import compressors
from simfl.components.filters.base import filters
from simfl.components.selectors.base import History, Probe, Report, Selector, View
from simfl.coordinators.base import Choosing
from simfl.coordinators.global_model import GlobalModel
from simfl.coordinators.training import TrainingCoordinator
from simfl.coordinators.update_path import UpdatePath
from simfl.core.evaluation import Evaluation
from simfl.core.seeds import Seeds
from simfl.core.work import Plan, WorkOrder, WorkResult
from simfl.sim.coordinator import Arrival, RoundUpdates
from simfl.training.executors.base import Executor


class Asking(Selector):
    """Asks client 0 once."""

    report: Report = "loss"

    def probe(self, view, reports, rng):
        return None if reports else Probe(self.report, np.array([0]))

    def select(self, view, reports, k, rng):
        return np.array([0])


class PlusOne(Executor):
    """Training adds one; a loss is the model itself."""

    def train(self, batch):
        return [WorkResult(o, batch.bases[o.base] + np.float32(1), 0.5, 1, 1) for o in batch.orders]

    def measure(self, report, params, clients, *_):
        return np.full(len(clients), float(params[0]))


def learner(report: Report, selector: Selector | None = None) -> TrainingCoordinator:
    return TrainingCoordinator(
        Choosing(selector or Asking(report=report), Seeds(0)),
        PlusOne(),
        aggregators.parse("fedavg"),
        GlobalModel(
            np.zeros(1, dtype=np.float32), (1,), lambda _: Evaluation(0.5, 0.5), np.ndarray.tobytes
        ),
        UpdatePath(compressors.parse("none"), filters.parse("none")),
        Plan(1),
    )


def view(round_: int, turn: int) -> View:
    history = History.empty(np.ones(3, dtype=np.int64))
    return View(round_, 0.0, history, available=lambda: np.arange(3), k=1, turn=turn)


def work(learn: TrainingCoordinator, issue: int) -> None:
    """Let client 2 make the next version."""
    order = learn.issue(WorkOrder(2, issue, issue + 1, learn.version, Plan(1), 0))
    learn.aggregate(RoundUpdates(issue + 1, [2], [Arrival(order, 0, 1, 1.0)]))


def test_a_loss_is_that_of_the_model_sent() -> None:
    learn = learner("loss")
    work(learn, 0)
    asked = view(2, 0)
    probe = learn.next_probe(asked, ())
    assert probe is not None
    work(learn, 1)
    work(learn, 2)
    assert learn.model.tolist() == [3]
    assert learn.answer(probe, {0: 1.0}, asked).values.tolist() == [1]
    # The next question is about the present model; models that nobody needs are forgotten.
    later = view(4, 1)
    again = learn.next_probe(later, ())
    assert again is not None
    assert learn.answer(again, {0: 1.0}, later).values.tolist() == [3]
    work(learn, 3)
    assert list(learn.state_dict()["models"]) == [4]


def test_an_update_starts_from_the_model_sent() -> None:
    learn = learner("update")
    asked = view(1, 0)
    probe = learn.next_probe(asked, ())
    assert probe is not None
    work(learn, 0)
    reports = learn.answer(probe, {0: 1.0}, asked)
    assert reports.values.tolist() == [[1.0]]
    learn.ledger.check()


class Trying(Asking):
    """Asks a client for a trial, then what it is worth."""

    def probe(self, view, reports, rng):
        if not reports:
            return Probe("trial", np.array([0]))
        return Probe("loss", np.array([1]), model="trial") if len(reports) == 1 else None


def test_a_trial_is_that_of_its_own_selection() -> None:
    """Tiers choose side by side: their questions cross."""
    learn = learner("loss", Trying())
    early, late = view(1, 0), view(1, 1)
    first = learn.next_probe(early, ())
    work(learn, 0)
    second = learn.next_probe(late, ())
    assert first is not None
    assert second is not None
    tried = learn.answer(first, {0: 1.0}, early)
    worth = learn.next_probe(early, (tried,))
    tried_too = learn.answer(second, {0: 1.0}, late)
    worth_too = learn.next_probe(late, (tried_too,))
    assert worth is not None
    assert worth_too is not None
    losses = learn.answer(worth, {1: 1.0}, early)
    assert losses.values.tolist() == [1]  # one beyond version 0
    assert learn.answer(worth_too, {1: 1.0}, late).values.tolist() == [2]
    # Whoever asks in a later selection is told of the last one.
    assert learn.next_probe(early, (tried, losses)) is None
    again = view(2, 0)
    learn.next_probe(again, (tried,))
    assert learn.answer(worth, {1: 1.0}, again).values.tolist() == [2]
