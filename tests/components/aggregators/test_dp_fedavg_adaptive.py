"""DP-FedAvg with adaptive clipping: how the bound moves, and what it and the noise give away."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from simfl.components.aggregators.base import Contribution
from simfl.components.aggregators.dp_fedavg import DpFedAvg
from simfl.components.aggregators.dp_fedavg_adaptive import DpFedAvgAdaptive
from simfl.components.local_training import LocalTraining
from simfl.components.optimizers.sgd import Sgd
from simfl.core.types import Floats, Params
from simfl.core.work import Plan, WorkOrder, WorkResult
from simfl.testing.circumstances import circumstances

ANY = np.random.default_rng


def server(per_round: int, noise: float = 0.0, **options: Any) -> DpFedAvgAdaptive:
    aggregator = DpFedAvgAdaptive(noise_multiplier=noise, **options)
    aggregator.prepare(LocalTraining(8, Sgd()), 100, per_round)
    return aggregator


def sent(update: object, client: int = 0, copies: int = 1) -> Contribution:
    params = np.array(update, dtype=np.float32)
    result = WorkResult(WorkOrder(client, 0, 1, 0, Plan(1), 0), params, 0.0, 1, 1)
    return Contribution(result, np.zeros_like(params), copies=copies)


def step(aggregator: DpFedAvg, arrived: list[Contribution], seed: int = 0) -> Params:
    made = aggregator.aggregate(np.zeros(len(arrived[0].base), np.float32), arrived)
    return aggregator.perturb(made, ANY(seed))


def clips(aggregator: DpFedAvgAdaptive) -> Floats:
    return aggregator.diagnostics()["clip"]


def test_three_rounds_by_hand() -> None:
    """Of four that were wanted; who is missing counts as a half."""
    private = server(4, clip=1, lr=0.5, quantile=0.5)
    assert clips(private).tolist() == [1]
    moved = step(private, [sent([3, 4]), sent([0.3, 0.4], 1), sent([0, 2], 2), sent([6, 8], 3)])
    assert moved == pytest.approx(np.array([0.6 + 0.3 + 0 + 0.6, 0.8 + 0.4 + 1 + 0.8]) / 4)
    second = math.exp(-0.5 * (1 / 4 - 0.5))  # one of four was short enough
    moved = step(private, [sent([3, 4]), sent([0, 1.1], 1)])
    assert moved == pytest.approx(np.array([0.6 * second, 0.8 * second + 1.1]) / 4)
    third = second * math.exp(0)  # one of two, and two halves
    step(private, [sent([0.3, 0.4])])
    fourth = third * math.exp(-0.5 * (2.5 / 4 - 0.5))
    assert clips(private) == pytest.approx([1, second, third, fourth])


def test_a_count_lost_in_noise_is_told_by_the_clip() -> None:
    """A growth that no number is as large as ended runs with an OverflowError."""
    grown = {}
    for seed in range(4):
        private = server(4, noise=1, count_noise=1e6)
        step(private, [sent([3, 4])], seed)
        grown[seed] = clips(private)[-1]
    assert set(grown.values()) == {0, math.inf}


@pytest.mark.parametrize(("update", "moved"), [([0.3, 0.4], 0.25), ([0.2, 0.2], -0.25)])
def test_all_that_one_client_sends_counts_once(update: list[float], moved: float) -> None:
    """Three times 0.5 is longer than 1, three times 0.28 is not."""
    private = server(2, clip=1, lr=1, quantile=0.5)
    step(private, [sent(update, copies=3)])
    assert math.log(clips(private)[1]) == pytest.approx(moved)


@pytest.mark.parametrize(("quantile", "noise"), [(0.5, 1.0), (0.8, 0.0)])
def test_it_comes_to_the_quantile(quantile: float, noise: float) -> None:
    """Of lengths that are log-normal, from a start that is a hundred times too short."""
    rng, private = ANY(1), server(100, noise, clip=0.01, quantile=quantile)
    for round_ in range(150):
        lengths = rng.lognormal(size=100)
        step(private, [sent([length], client) for client, length in enumerate(lengths)], round_)
    found = np.exp(np.log(clips(private)[-60:]).mean())
    assert found == pytest.approx(np.quantile(rng.lognormal(size=10**5), quantile), rel=0.06)


def test_the_noise_is_gaussian_and_as_long_as_told() -> None:
    """Of updates sigma = z_delta * clip, z_delta by the paper's theorem 1, and of the count."""
    z, counted, clients = 1.5, 2.0, 20
    louder = (z**-2 - (2 * counted) ** -2) ** -0.5
    private = server(clients, z, clip=3, count_noise=counted, lr=0)
    model = np.linspace(-1, 1, 40_000, dtype=np.float32)
    noise = private.perturb(model, ANY(7)) - model
    assert kstest(noise, "norm", args=(0, louder * 3 / clients)).pvalue > 0.05
    plain = DpFedAvg(clip=3, noise_multiplier=louder)
    plain.prepare(LocalTraining(8, Sgd()), 100, clients)
    assert np.allclose(plain.perturb(model, ANY(7)) - model, noise, atol=1e-6)
    private = server(clients, z, clip=3, count_noise=counted, lr=0.1)
    for seed in range(1000):
        private.perturb(np.zeros(1, np.float32), ANY(seed))
    steps = np.diff(np.log(clips(private))) / -0.1
    assert kstest(steps, "norm", args=(0, counted / clients)).pvalue > 0.05


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), z=st.floats(0.1, 3), counted=st.floats(1.6, 20))
def test_no_client_moves_both_sums_further_than_noise_of_z_hides(
    seed: int, z: float, counted: float
) -> None:
    """In standard deviations of what hides each: 1 / z together, as in a round of `dp_fedavg`."""
    rng, bound, clients = ANY(seed), 0.7, 6
    louder = (z**-2 - (2 * counted) ** -2) ** -0.5
    updates = rng.normal(size=(5, 4)) * rng.exponential(size=(5, 1))
    arrived = [sent(update, client) for client, update in enumerate(updates)]

    def told(heard: list[Contribution]) -> tuple[Params, float]:
        """Return what the two sums are, without noise."""
        private = server(clients, clip=bound, lr=1, quantile=0.5)
        return step(private, heard) * clients, -math.log(clips(private)[1] / bound) * clients

    for gone in range(5):
        others = [one for one in arrived if one.result.order.client != gone]
        (sum_, count), (less, fewer) = told(arrived), told(others)
        far = np.linalg.norm(sum_ - less) / (louder * bound), abs(count - fewer) / counted
        assert abs(count - fewer) == pytest.approx(0.5)
        assert math.hypot(*far) <= 1 / z * (1 + 1e-5)
        if np.linalg.norm(updates[gone]) > bound:
            assert math.hypot(*far) == pytest.approx(1 / z, rel=1e-4)


def test_as_another_library_has_it() -> None:
    """`adaptive_clip_noise_params` of TensorFlow Federated: a twentieth, unless it is told."""
    assert server(100, 1.0).louder(100) == pytest.approx((1 - 1 / 100) ** -0.5)
    assert server(100, 1.0, count_noise=0.8).louder(100) == pytest.approx((1 - 1 / 2.56) ** -0.5)
    assert server(4).louder(4) == server(4, count_noise=1.0).louder(4) == 1


def test_count_noise_must_hide_what_the_count_tells() -> None:
    def told(aggregator: DpFedAvgAdaptive, clients: int) -> list[str]:
        return list(aggregator.objections(circumstances(clients=clients)))

    assert not told(server(11, 1.0), 11)
    assert not told(server(10, 0.0), 10)
    assert not told(server(4, 1.0, count_noise=0.6), 4)
    [message] = told(server(10, 1.0), 10)
    assert message.endswith(
        "needs a `count_noise` above half of its `noise_multiplier`, 0.5, but it is 0.5, a "
        "twentieth of `rounds.clients`"
    )
    [message] = told(server(10, 1.0, count_noise=0.25), 10)
    assert message.endswith("0.5, but it is 0.25")
