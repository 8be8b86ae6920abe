"""How long a choice takes the server, after what is prepared once."""

import time

import numpy as np
import pytest

from simfl.components.selectors.base import selectors
from simfl.testing.fake_server import FakeServer

ALLOWED_S = {"clustered": 1.0}
"""Beyond 50 ms: Ward's linkage of everybody in each round."""
CUBIC = {"k_dpp"}
"""To choose a hundred of ten thousand clients, their kernel is decomposed: minutes."""


def seconds(name: str, n: int, k: int) -> float:
    """Return the least time of three choices, after two rounds."""
    server, selector = FakeServer.random(n, dimension=100), selectors.get(name)()
    rng = np.random.default_rng(0)
    if name in ("fedcor", "fedgp"):
        selector = selectors.get(name).model_validate({"warmup": 0, "interval": 100})
    server.play(selector, 2, k, rng)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        chosen = server.choose(selector, k, rng)
        times.append(time.perf_counter() - start)
        server.finish(selector, chosen)
    return min(times)


@pytest.mark.slow
@pytest.mark.parametrize("name", selectors.names())
def test_ten_of_a_thousand(name: str) -> None:
    assert seconds(name, 1000, 10) < ALLOWED_S.get(name, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in selectors.names() if name not in CUBIC])
def test_a_hundred_of_ten_thousand(name: str) -> None:
    assert seconds(name, 10_000, 100) < 2.0


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CUBIC))
def test_ten_of_ten_thousand(name: str) -> None:
    assert seconds(name, 10_000, 10) < 1.0
