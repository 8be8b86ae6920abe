"""What clients keep to themselves, whoever trains and measures."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simfl.components.selectors.base import Report
from simfl.coordinators.personal import PersonalParameters
from simfl.core.types import Params
from simfl.core.work import MiniBatch, OrderBatch, Plan, WorkOrder, WorkResult
from simfl.training.executors.sums import is_sound
from simfl.training.personal import PersonalPart

SHARED = np.array([True, False, True])


def params(*numbers: float) -> Params:
    return np.array(numbers, dtype=np.float32)


def personal() -> PersonalParameters:
    """Of three parameters the second is personal, and begins at 10."""
    return PersonalParameters(PersonalPart(~SHARED, params(10), ("own",), ((1,),)))


def order(client: int, issue: int, base: int = 0) -> WorkOrder:
    return WorkOrder(client, issue, 1, base, Plan(1), 7)


class Train:
    """Adds 1 to each parameter, or what it is told; keeps what it was asked."""

    def __init__(self, by: Params | float = 1.0) -> None:
        self.by = by
        self.asked: list[OrderBatch] = []

    def __call__(self, batch: OrderBatch) -> list[WorkResult]:
        self.asked.append(batch)
        extras = {"gradient": params(1, 2, 3), "loss": params(4)}
        return [
            WorkResult(o, batch.bases[o.base] + self.by, 0.5, 1, 3, extras) for o in batch.orders
        ]


def test_who_has_several_orders_goes_on_from_one_to_the_next() -> None:
    kept, train = personal(), Train()
    orders = [order(0, 0), order(0, 1, base=1), order(2, 0, base=1)]
    bases = {0: params(1, 2), 1: params(5, 6)}
    results = kept.train(train, OrderBatch(bases, orders))
    assert [result.order for result in results] == orders
    assert [result.params.tolist() for result in results] == [[2, 3], [6, 7], [6, 7]]
    assert results[0].extras["gradient"].tolist() == [1, 3]
    assert results[0].extras["loss"].tolist() == [4]
    assert {client: own.tolist() for client, own in kept.own.items()} == {0: [12], 2: [11]}
    assert kept.model_of(0, params(1, 2)).tolist() == [1, 12, 2]
    assert kept.model_of(1, params(1, 2)).tolist() == [1, 10, 2]
    started = [[m.tolist() for m in asked.bases.values()] for asked in train.asked]
    assert started == [[[1, 10, 2], [5, 10, 6]], [[5, 11, 6]]]


def test_no_base_has_the_number_of_another() -> None:
    """Workers know models again by their numbers."""
    kept, train = personal(), Train()
    for issue in range(2):
        kept.train(train, OrderBatch({0: params(1, 2)}, [order(0, issue), order(1, issue)]))
    numbers = [base for asked in train.asked for base in asked.bases]
    assert len({*numbers}) == len(numbers) == 4


def test_corrections_are_of_shared_parameters() -> None:
    """SCAFFOLD's control variates: no device adds anything to the gradient of its own layers."""
    train, asked = Train(), order(3, 0)
    batch = OrderBatch({0: params(1, 2)}, [asked], {asked.key: params(8, 9)})
    personal().train(train, batch)
    corrections = train.asked[0].corrections
    assert corrections is not None
    assert corrections[asked.key].tolist() == [8, 0, 9]


def test_answers_and_what_diverged_change_nothing() -> None:
    kept, bases = personal(), {0: params(1, 2)}
    [answer] = kept.train(Train(), OrderBatch(bases, [order(0, -1)]))
    assert answer.params.tolist() == [2, 3]
    [diverged] = kept.train(Train(params(1, np.inf, 1)), OrderBatch(bases, [order(0, 0)]))
    assert not is_sound(diverged)
    assert not kept.own


def test_reports_are_of_each_ones_model() -> None:
    kept = personal()
    kept.train(Train(), OrderBatch({0: params(1, 2)}, [order(1, 0)]))

    def measure(
        report: Report, model: Params, clients: Sequence[int], _: MiniBatch | None, __: int
    ) -> NDArray[np.float64]:
        told = np.stack([model.astype(np.float64) for _ in clients])
        return told if report == "gradient" else told[:, 1]

    def told(report: Report) -> list[object]:
        answer = kept.measure(measure, report, params(1, 2), [0, 1], None, 1)
        return list(answer.tolist())

    assert told("loss") == [10, 11]
    assert told("gradient") == [[1, 2], [1, 2]]


def test_a_state_is_restored() -> None:
    before, after = personal(), personal()
    before.train(Train(), OrderBatch({0: params(1, 2)}, [order(1, 0)]))
    state = before.state_dict()
    before.train(Train(), OrderBatch({0: params(1, 2)}, [replace(order(1, 1), round=2)]))
    after.load_state_dict(state)
    assert after.own[1].tolist() == [11]
