"""FedSAE's selection: softmax over losses and its limits (docs/algorithms.md, A.9)."""

import numpy as np

from simfl.components.selectors.fedsae import FedSae
from simfl.testing.fake_server import FakeServer


def rates(selector: FedSae, server: FakeServer, k: int, draws: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    drawn = [server.choose(selector, k, rng) for _ in range(draws)]
    return np.bincount(np.concatenate(drawn), minlength=len(server.samples)) / draws


def test_first_draws_follow_the_softmax() -> None:
    server = FakeServer.random(4)
    server.samples[:], server.loss = 600, np.array([2.3, 1.0, 0.5, 4.0])
    weight = np.exp(0.01 * np.sqrt(600) * server.loss)
    expected = weight / weight.sum()
    assert np.all(
        np.abs(rates(FedSae(), server, 1, 8000) - expected)
        < 4 * np.sqrt(expected * (1 - expected) / 8000)
    )


def test_without_steepness_it_is_uniform() -> None:
    server = FakeServer.random(5)
    found = rates(FedSae(beta=0), server, 2, 10_000)
    assert np.all(np.abs(found - 0.4) < 4 * np.sqrt(0.4 * 0.6 / 10_000))


def test_top_loss_takes_the_largest_and_the_unknown_as_the_median() -> None:
    server = FakeServer.random(5)
    server.loss = np.array([3.0, 1.0, np.nan, 5.0, 2.0])  # the median is 2.5
    selector, rng = FedSae(top_loss=True), np.random.default_rng(0)
    assert server.choose(selector, 3, rng).tolist() == [0, 2, 3]


def test_everybody_is_asked_once_then_participants_at_the_new_model() -> None:
    server = FakeServer.random(6)
    log = server.play(FedSae(), 4, 2, np.random.default_rng(0))
    assert [probe.report for probe in server.asked] == ["loss"] * 4
    asked = [np.asarray(probe.clients).tolist() for probe in server.asked]
    assert asked == [list(range(6)), *[np.asarray(chosen).tolist() for chosen in log[:3]]]


def test_what_counts_is_the_loss_at_the_new_model_not_the_one_while_training() -> None:
    server, selector = FakeServer.random(4), FedSae(top_loss=True)
    rng = np.random.default_rng(0)
    server.loss = np.array([4.0, 3.0, 2.0, 1.0])
    chosen = server.choose(selector, 2, rng)
    assert chosen.tolist() == [0, 1]
    server.finish(selector, chosen)  # they say 4 and 3 of their training
    server.loss = np.array([1.5, 3.5, 0.0, 0.0])  # 2 and 3 are not asked again
    assert server.choose(selector, 2, rng).tolist() == [1, 2]


def test_steep_softmax_does_not_overflow() -> None:
    server = FakeServer.random(6)
    server.samples[:] = 100
    found = rates(FedSae(beta=1e6), server, 2, 20)
    assert np.flatnonzero(found == 1).tolist() == np.sort(np.argsort(-server.loss)[:2]).tolist()
