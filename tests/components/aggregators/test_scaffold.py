"""SCAFFOLD's arithmetic by hand; what it does to drift is in tests/training/test_corrections.py."""

import numpy as np
import pytest

from simfl.components.aggregators.base import Contribution
from simfl.components.aggregators.scaffold import Scaffold
from simfl.components.local_training import LocalTraining
from simfl.components.optimizers.adam import Adam
from simfl.components.optimizers.sgd import Sgd
from simfl.core.types import Params
from simfl.core.work import Plan, WorkOrder, WorkResult
from simfl.errors import RunError
from simfl.testing.circumstances import circumstances

SGD = LocalTraining(8, Sgd(lr=0.1))


def scaffold(clients: int = 4, **options: float) -> Scaffold:
    aggregator = Scaffold(**options)
    aggregator.prepare(SGD, clients, 2)
    return aggregator


def arrived(client: int, base: float, update: float, lr_sum: float, **facts: int) -> Contribution:
    order = WorkOrder(client, 0, 1, 0, Plan(1), 0)
    params = np.array([base + update], dtype=np.float32)
    result = WorkResult(order, params, 0.0, int(lr_sum > 0), 5, lr_sum=lr_sum)
    return Contribution(result, np.array([base], dtype=np.float32), **facts)


def correction(aggregator: Scaffold, client: int) -> float:
    vector: Params | None = aggregator.correction(client)
    assert vector is not None
    assert vector.dtype == np.float32
    return float(vector[0])


def test_two_rounds_by_hand() -> None:
    """4 clients; 0 and 1 report, then 1 and 2."""
    server = scaffold(lr=0.5)
    assert [server.correction(client) for client in range(4)] == [None] * 4
    model = server.aggregate(
        np.zeros(1, np.float32), [arrived(0, 0, -1.0, 0.5), arrived(1, 0, 3.0, 0.5)]
    )
    assert model.tolist() == [0.5]  # half of the mean of -1 and 3
    # c_0 = 1 / 0.5, c_1 = -3 / 0.5, c = (2 - 6) / 4.
    assert [correction(server, client) for client in range(4)] == [-3, 5, -1, -1]
    model = server.aggregate(model, [arrived(1, 0.5, 1.0, 0.25), arrived(2, 0.5, 1.0, 0.5)])
    assert model.tolist() == [1.0]
    # c_1 = -6 + 1 - 4 = -9, c_2 = 0 + 1 - 2 = -1, c = -1 + (-3 - 1) / 4 = -2.
    assert [correction(server, client) for client in range(4)] == [-4, 7, -1, -2]


def test_who_made_no_step_changes_no_control_variate() -> None:
    server = scaffold()
    model = server.aggregate(np.ones(1, np.float32), [arrived(0, 1.0, 0.0, 0.0)])
    assert model.tolist() == [1]
    assert server.correction(0) is None
    server.aggregate(model, [arrived(0, 1.0, 0.0, 0.0), arrived(1, 1.0, -1.0, 1.0)])
    assert [correction(server, client) for client in (0, 1)] == [0.25, -0.75]


def test_the_servers_is_the_mean_of_the_clients() -> None:
    """Whoever took part and how often: c = sum c_k / N, for all start at 0."""
    rng, server, model = np.random.default_rng(0), scaffold(7), np.zeros(1, np.float32)
    for _ in range(20):
        chosen = rng.choice(7, 3, replace=False)
        base = float(model[0])
        model = server.aggregate(
            model, [arrived(int(k), base, float(rng.normal()), 0.3) for k in chosen]
        )
        state = server.state_dict()
        mean = sum(float(own[0]) for own in state["_controls"].values()) / 7
        assert state["_control"] == pytest.approx(mean, rel=1e-6, abs=1e-9)


def test_state_goes_on_where_it_was() -> None:
    one, other = scaffold(), scaffold()
    model = one.aggregate(np.zeros(1, np.float32), [arrived(0, 0, -1.0, 0.5)])
    other.load_state_dict(one.state_dict())
    here, there = (s.aggregate(model, [arrived(1, -1.0, 0.3, 0.5)]) for s in (one, other))
    assert np.array_equal(here, there)
    assert [correction(one, k) for k in range(3)] == [correction(other, k) for k in range(3)]
    assert one.fresh().correction(0) is None


@pytest.mark.parametrize(
    ("told", "local"),
    [
        ("momentum", LocalTraining(8, Sgd(momentum=0.9))),
        ("proximal", LocalTraining(8, Sgd(), proximal=0.1)),
        ("clip", LocalTraining(8, Sgd(clip=1.0))),
        ("optimizer 'adam'", LocalTraining(8, Adam())),
    ],
)
def test_only_plain_sgd(told: str, local: LocalTraining) -> None:
    [objection] = Scaffold().objections(circumstances(training=local))
    assert f"can't go with {told}" in objection
    decays = LocalTraining(8, Sgd(weight_decay=0.1))
    assert not list(Scaffold().objections(circumstances(training=decays)))


def test_stale_updates_are_refused() -> None:
    with pytest.raises(RunError, match="stale"):
        scaffold().aggregate(np.zeros(1, np.float32), [arrived(0, 0, 1.0, 0.5, staleness=1)])


def test_it_must_know_how_many_clients_there_are() -> None:
    with pytest.raises(RunError, match="how many clients"):
        Scaffold().aggregate(np.zeros(1, np.float32), [arrived(0, 0, 1.0, 0.5)])
