"""Round robin: whose turn it is."""

import numpy as np

from simfl.components.selectors.round_robin import RoundRobin
from simfl.testing.fake_server import FakeServer


def test_everybody_in_turn() -> None:
    log = FakeServer.random(5).play(RoundRobin(), 5, 2, np.random.default_rng(0))
    assert log == [[0, 1], [2, 3], [0, 4], [1, 2], [3, 4]]


def test_whoever_is_away_loses_the_turn() -> None:
    server, selector, rng = FakeServer.random(6), RoundRobin(), np.random.default_rng(0)
    assert server.choose(selector, 2, rng).tolist() == [0, 1]
    server.available = np.array([0, 1, 4, 5])
    assert server.choose(selector, 2, rng).tolist() == [4, 5]
    server.available = np.array([1, 2, 3])
    assert server.choose(selector, 2, rng).tolist() == [1, 2]
