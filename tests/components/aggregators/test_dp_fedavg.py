"""DP-FedAvg: how updates are clipped, by what they are divided, and how long the noise is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from simfl.components.aggregators.base import Contribution
from simfl.components.aggregators.dp_fedavg import DpFedAvg
from simfl.components.aggregators.fedavg import FedAvg
from simfl.components.local_training import LocalTraining
from simfl.components.optimizers.sgd import Sgd
from simfl.core.types import Params
from simfl.core.work import Plan, WorkOrder, WorkResult
from simfl.errors import RunError
from simfl.testing.circumstances import circumstances


def server(per_round: int, clip: float = 1.0, noise: float = 0.0) -> DpFedAvg:
    aggregator = DpFedAvg(clip=clip, noise_multiplier=noise)
    aggregator.prepare(LocalTraining(8, Sgd()), 100, per_round)
    return aggregator


def sent(update: object, client: int = 0, samples: int = 1, copies: int = 1) -> Contribution:
    params = np.array(update, dtype=np.float32)
    result = WorkResult(WorkOrder(client, 0, 1, 0, Plan(1), 0), params, 0.0, 1, samples)
    return Contribution(result, np.zeros_like(params), copies=copies)


def step(aggregator: DpFedAvg, arrived: list[Contribution]) -> Params:
    return aggregator.aggregate(np.zeros(len(arrived[0].base), np.float32), arrived)


def test_two_of_four_by_hand() -> None:
    """(3, 4) is five long and becomes (.6, .8); (.3, .4) stays; four were wanted."""
    two = [sent([3, 4], samples=50), sent([0.3, 0.4], 1)]
    assert step(server(4), two) == pytest.approx([0.9 / 4, 1.2 / 4])
    assert step(server(4, clip=10), two) == pytest.approx([3.3 / 4, 4.4 / 4])
    assert step(server(2), two) == pytest.approx([0.45, 0.6])


def test_all_that_one_client_sends_is_clipped_together() -> None:
    assert step(server(1), [sent([3, 4], copies=2)]) == pytest.approx([0.6, 0.8])
    assert step(server(1), [sent([0.3, 0.4], copies=3)]) == pytest.approx([0.6, 0.8])
    assert step(server(1), [sent([0.3, 0.4], copies=2)]) == pytest.approx([0.6, 0.8])


@given(seed=st.integers(0, 10**6), n=st.integers(2, 9), clip=st.floats(0.01, 20))
def test_no_client_moves_the_model_further_than_its_share_of_clip(
    seed: int, n: int, clip: float
) -> None:
    rng = np.random.default_rng(seed)
    updates = rng.normal(size=(n, 5)) * rng.exponential(size=(n, 1))
    arrived = [sent(update, client) for client, update in enumerate(updates)]
    together = step(server(6, clip), arrived)
    for gone in range(n):
        others = [one for one in arrived if one.result.order.client != gone]
        moved = np.linalg.norm(together - step(server(6, clip), others))
        expected = min(clip, float(np.linalg.norm(updates[gone]))) / 6
        assert moved == pytest.approx(expected, rel=1e-3, abs=1e-5)


def test_without_clipping_and_with_all_there_it_is_the_plain_mean() -> None:
    rng = np.random.default_rng(3)
    arrived = [sent(rng.normal(size=70_001), client) for client in range(5)]
    model = np.zeros(70_001, dtype=np.float32)
    plain = FedAvg(weighting="uniform").aggregate(model, arrived)
    assert np.allclose(step(server(5, clip=1e4), arrived), plain, rtol=1e-6, atol=1e-7)
    long = np.linalg.norm(step(server(1, clip=2), arrived[:1]).astype(float))
    assert long == pytest.approx(2, rel=1e-5)  # over several blocks


def test_the_noise_is_gaussian_and_as_long_as_told() -> None:
    """Of standard deviation noise_multiplier * clip / clients, in every coordinate."""
    model = np.linspace(-1, 1, 40_000, dtype=np.float32)
    noise = server(20, clip=3, noise=1.5).perturb(model, np.random.default_rng(7)) - model
    assert kstest(noise, "norm", args=(0, 1.5 * 3 / 20)).pvalue > 0.05
    assert np.array_equal(server(20, clip=3).perturb(model, np.random.default_rng(7)), model)


def test_it_must_know_how_many_a_round_wants() -> None:
    with pytest.raises(RunError, match="how many clients a round wants"):
        step(DpFedAvg(clip=1, noise_multiplier=1), [sent([1.0])])


def test_only_rounds_of_a_known_number_of_updates() -> None:
    assert not list(server(4).objections(circumstances()))
    [told] = server(4).objections(circumstances(may_be_stale=True))
    assert "'synchronous', with `late: drop`" in told
