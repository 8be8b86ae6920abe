"""Sampling in proportion to data: closed forms of docs/algorithms.md, A.2."""

import numpy as np
import pytest

from simfl.components.selectors.mathematics.draws import known_or_median, log_shares, successive
from simfl.components.selectors.weighted import Weighted
from simfl.testing.fake_server import FakeServer

DRAWS = 20_000


def fleet(samples: list[int]) -> FakeServer:
    server = FakeServer.random(len(samples))
    server.samples[:] = samples
    return server


def close(observed: float, expected: float, draws: int = DRAWS) -> bool:
    return abs(observed - expected) <= 4 * np.sqrt(expected * (1 - expected) / draws)


def test_with_replacement_the_mean_model_is_unbiased() -> None:
    server, rng = fleet([5, 3, 2]), np.random.default_rng(0)
    selector = Weighted(replacement=True)
    drawn = np.array([server.choose(selector, 2, rng) for _ in range(DRAWS)])
    assert close(float(np.mean((drawn == 0).any(axis=1))), 0.75)
    assert close(float(np.mean((drawn == [0, 1]).all(axis=1))), 0.30)
    models = np.array([3.0, -1.0, 4.0])
    means = models[drawn].mean(axis=1)
    error = means.std() / np.sqrt(DRAWS)
    assert abs(means.mean() - models @ [0.5, 0.3, 0.2]) < 4 * error


def test_with_replacement_it_draws_even_where_everybody_could_take_part() -> None:
    server, rng = fleet([8, 1, 1]), np.random.default_rng(0)
    drawn = np.array([server.choose(Weighted(replacement=True), 3, rng) for _ in range(DRAWS)])
    assert close(float(np.mean((drawn == 0).all(axis=1))), 0.8**3)


def test_without_replacement_one_after_the_other() -> None:
    rng = np.random.default_rng(1)
    drawn = np.array([successive(log_shares(np.array([5, 3, 2])), 2, rng) for _ in range(DRAWS)])
    assert close(float(np.mean((drawn == [0, 1]).all(axis=1))), 0.5 * 0.3 / 0.5)
    assert close(float(np.mean((drawn == [2, 1]).all(axis=1))), 0.2 * 0.3 / 0.8)


def test_the_selector_draws_successively() -> None:
    server, rng = fleet([5, 3, 2]), np.random.default_rng(2)
    drawn = np.array([server.choose(Weighted(), 2, rng) for _ in range(DRAWS)])
    pair = float(np.mean((drawn == [0, 1]).all(axis=1)))
    assert close(pair, 0.5 * 0.3 / 0.5 + 0.3 * 0.5 / 0.7)


def test_weightless_clients_come_last() -> None:
    rng = np.random.default_rng(3)
    weights = log_shares(np.array([0, 1, 0, 10**9]))
    drawn = np.array([successive(weights, 3, rng) for _ in range(200)])
    assert np.all(np.sort(drawn[:, :2]) == [1, 3])
    assert 50 < np.sum(drawn[:, 2] == 0) < 150


def test_unknown_values_count_as_the_median() -> None:
    assert known_or_median(np.array([1.0, np.nan, 9.0, np.inf, 2.0])) == pytest.approx(
        [1, 2, 9, 2, 2]
    )
    assert known_or_median(np.array([np.nan])) == pytest.approx([0])
