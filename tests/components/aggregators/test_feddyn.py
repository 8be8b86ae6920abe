"""FedDyn's arithmetic by hand; where it leads is in tests/training/test_dynamic_regularisation."""

import numpy as np
import pytest
from pydantic import ValidationError

from simfl.components.aggregators.base import Contribution
from simfl.components.aggregators.feddyn import FedDyn
from simfl.components.local_training import LocalTraining
from simfl.components.optimizers.adam import Adam
from simfl.components.optimizers.sgd import Sgd
from simfl.core.work import Plan, WorkOrder, WorkResult
from simfl.errors import RunError
from simfl.testing.circumstances import circumstances


def feddyn(alpha: float = 0.5) -> FedDyn:
    aggregator = FedDyn()
    aggregator.prepare(LocalTraining(8, Sgd(lr=0.1), proximal=alpha), 4, 2)
    return aggregator


def arrived(client: int, base: float, update: float, **facts: int) -> Contribution:
    params = np.array([base + update], dtype=np.float32)
    result = WorkResult(WorkOrder(client, 0, 1, 0, Plan(1), 0), params, 0.0, 1, 5 + client)
    return Contribution(result, np.array([base], dtype=np.float32), **facts)


def corrections(aggregator: FedDyn) -> list[float]:
    return [float(own[0]) for k in range(4) if (own := aggregator.correction(k)) is not None]


def test_two_rounds_by_hand() -> None:
    """4 clients; 0 and 1 report, then 1, who was drawn three times, and 2."""
    server = feddyn()
    assert corrections(server) == []
    model = server.aggregate(np.zeros(1, np.float32), [arrived(0, 0, -1), arrived(1, 0, 3)])
    # h_0 = 0.5, h_1 = -1.5, h = -1 / 4.
    assert model.tolist() == [1 + 0.25 / 0.5]
    assert corrections(server) == [-0.5, 1.5, 0, 0]
    model = server.aggregate(model, [arrived(1, 1.5, 1, copies=3), arrived(2, 1.5, 2)])
    # h_1 = -1.5 - 0.5, h_2 = -0.5 * 2, h = (0.5 - 2 - 1) / 4.
    assert model.tolist() == [1.5 + 5 / 4 + 0.625 / 0.5]
    assert corrections(server) == [-0.5, 2, 1, 0]


def test_what_is_known_of_gradients_goes_on_under_another_alpha() -> None:
    """As in a fork: alpha is that of the training now, not of the state."""
    before, after = feddyn(), feddyn(alpha=2)
    model = before.aggregate(np.zeros(1, np.float32), [arrived(0, 0, -1), arrived(1, 0, 3)])
    after.load_state_dict(before.state_dict())
    assert corrections(after) == corrections(before)
    assert after.aggregate(model, [arrived(0, 1.5, 0)]).tolist() == [1.5 + 0.25 / 2]
    assert before.fresh().correction(0) is None


def test_alpha_is_that_of_local_training() -> None:
    [told] = FedDyn().objections(circumstances(training=LocalTraining(8, Sgd())))
    assert "alpha is `training.proximal`" in told
    assert "has to be above 0" in told
    any_solver = LocalTraining(8, Adam(clip=1.0), proximal=0.1)
    assert not list(FedDyn().objections(circumstances(training=any_solver)))
    with pytest.raises(ValidationError, match=r"alpha is `training.proximal`.* write it there"):
        FedDyn.model_validate({"alpha": 0.1})


def test_what_it_can_not_aggregate() -> None:
    model = np.zeros(1, np.float32)
    with pytest.raises(RunError, match="stale"):
        feddyn().aggregate(model, [arrived(0, 0, 1, staleness=1)])
    with pytest.raises(RunError, match="was not told how many clients"):
        FedDyn().aggregate(model, [arrived(0, 0, 1)])
