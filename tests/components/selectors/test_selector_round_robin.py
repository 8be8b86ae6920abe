"""Round robin: whose turn it is."""

import numpy as np

from simfl.components.selectors.base import View
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


def test_tiers_and_edges_each_go_their_own_round() -> None:
    """One of them does not go on where another stopped: some of its own would never be asked."""
    selector, rng, history = RoundRobin(), np.random.default_rng(0), FakeServer.random(8).history
    views = [
        View(1, 0.0, history, available=lambda: np.arange(4), part=0),
        View(1, 0.0, history, available=lambda: np.arange(4, 8), part=1),
    ]
    asked = [selector.select(view, (), 2, rng).tolist() for view in views * 3]
    assert asked == [[0, 1], [4, 5], [2, 3], [6, 7], [0, 1], [4, 5]]
