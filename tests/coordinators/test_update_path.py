"""What becomes of updates on their way up rests on what the sender can know."""

import numpy as np

from simfl.components.aggregators.base import aggregators
from simfl.components.compressors.base import compressors
from simfl.components.filters.base import UpdateFilter
from simfl.components.selectors.base import selectors
from simfl.coordinators.base import Choosing
from simfl.coordinators.learning import GlobalModel, UpdatePath
from simfl.coordinators.training import TrainingCoordinator
from simfl.core.evaluation import Evaluation
from simfl.core.seeds import Seeds
from simfl.core.work import Plan, WorkOrder, WorkResult
from simfl.sim.coordinator import Arrival
from simfl.training.executors.base import Executor

REFERENCES: list[list[float] | None] = []


class Listening(UpdateFilter):
    """Keeps everything, and notes what it is to be compared with."""

    def keep(self, update, reference, round_):
        REFERENCES.append(None if reference is None else reference.tolist())
        return True


class Adding(Executor):
    """Training adds the client's number."""

    def train(self, batch):
        return [
            WorkResult(o, batch.bases[o.base] + np.float32(o.client), 0.5, 1, 1)
            for o in batch.orders
        ]


def test_a_client_compares_with_the_last_change_of_the_model_that_it_was_sent() -> None:
    learn = TrainingCoordinator(
        Choosing(selectors.parse("uniform"), Seeds(0)),
        Adding(),
        aggregators.parse("fedavg"),
        GlobalModel(
            np.zeros(1, dtype=np.float32), (1,), lambda _: Evaluation(0.5, 0.5), np.ndarray.tobytes
        ),
        UpdatePath(compressors.parse("none"), Listening()),
        Plan(1),
    )

    def sent(client: int) -> WorkOrder:
        return learn.issue(WorkOrder(client, 0, 1, learn.version, Plan(1), 0))

    def arrives(order: WorkOrder) -> None:
        learn.aggregate(1, [], [Arrival(order, learn.version - order.base, 1, 1.0)])

    REFERENCES.clear()
    first, slow = sent(1), sent(2)
    arrives(first)
    middle = sent(3)
    arrives(sent(4))
    state = learn.state_dict()  # who goes on from a checkpoint knows no less
    learn.load_state_dict(state)
    for order in (slow, middle, sent(5)):
        learn.keeps(order)
    assert REFERENCES == [None, [1], [4]]
