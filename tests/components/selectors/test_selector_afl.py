"""AFL: its closed form, its limits and what it asks (docs/algorithms.md, A.3)."""

import numpy as np
import pytest

from simfl.components.selectors.afl import Afl
from simfl.testing.fake_server import FakeServer


def fleet(values: list[float]) -> FakeServer:
    """Clients whose valuations sqrt(n) * loss are `values`."""
    server = FakeServer.random(len(values))
    server.samples[:] = 4
    server.loss[:] = np.array(values) / 2
    return server


def test_probabilities_of_the_survivors() -> None:
    draws, server = 8000, fleet([10.0 * i for i in range(1, 9)])
    selector, rng = Afl(uniform_share=0), np.random.default_rng(0)
    chosen = np.array([server.choose(selector, 1, rng)[0] for _ in range(draws)])
    assert set(chosen.tolist()) == {6, 7}
    p = 1 / (1 + np.exp(0.1))
    assert p == pytest.approx(0.475021, abs=1e-6)
    assert abs(np.mean(chosen == 6) - p) < 4 * np.sqrt(p * (1 - p) / draws)


@pytest.mark.parametrize(
    ("options", "support"),
    [
        ({"sharpness": 0, "uniform_share": 0}, [6, 7]),
        ({"discarded": 0, "uniform_share": 1}, range(8)),
    ],
)
def test_limits_are_uniform(options: dict[str, float], support: list[int]) -> None:
    draws, server = 8000, fleet([10.0 * i for i in range(1, 9)])
    selector, rng = Afl(**options), np.random.default_rng(1)
    chosen = [int(server.choose(selector, 1, rng)[0]) for _ in range(draws)]
    rate = np.bincount(chosen, minlength=8)[list(support)] / draws
    p = 1 / len(support)
    assert np.all(np.abs(rate - p) < 4 * np.sqrt(p * (1 - p) / draws))


@pytest.mark.parametrize(("k", "by_value"), [(5, 4), (10, 9)])
def test_nine_tenths_are_chosen_by_value(k: int, by_value: int) -> None:
    values = [1.0] * 100
    values[-by_value:] = [1000.0] * by_value  # sure to be drawn first
    server, selector = fleet(values), Afl(sharpness=1)
    for seed in range(30):
        chosen = server.choose(selector, k, np.random.default_rng(seed))
        assert set(range(100 - by_value, 100)) <= set(chosen.tolist())
        assert len(chosen) == k


def test_huge_values_do_not_overflow() -> None:
    server = fleet([1e8, 2e8, 3e8, 4e8])
    chosen = server.choose(Afl(discarded=0, uniform_share=0), 2, np.random.default_rng(0))
    assert chosen.tolist() == [2, 3]


def test_too_few_survivors_are_topped_up() -> None:
    server = fleet([10.0 * i for i in range(1, 9)])
    chosen = server.choose(Afl(uniform_share=0), 5, np.random.default_rng(0))
    assert {6, 7} < set(chosen.tolist())


def test_everybody_is_asked_once_and_participants_refresh_their_value() -> None:
    server, selector, rng = fleet([1.0, 2, 3, 4, 5]), Afl(), np.random.default_rng(0)
    server.play(selector, 3, 2, rng)
    assert [probe.clients.tolist() for probe in server.asked] == [[0, 1, 2, 3, 4]]
    participants = server.history.participations > 0
    loss = selector.state_dict()["_loss"]
    assert np.array_equal(loss[~participants], server.loss[~participants])
    assert np.array_equal(loss[participants], server.history.loss[participants])


def test_what_several_selections_asked_at_first_is_all_remembered() -> None:
    """Tiers ask their own clients side by side, before any of them has chosen."""
    server, rng = fleet([10, 20, 30, 40]), np.random.default_rng(0)
    selector = Afl(discarded=0, uniform_share=0, sharpness=1e6)
    asked = []
    for tier in ([0, 1], [2, 3]):
        server.available = np.array(tier)
        view = server.view(1)
        probe = selector.probe(view, (), rng)
        assert probe is not None
        asked.append((view, (server.answer(probe),)))
    assert [selector.select(*question, 1, rng).tolist() for question in asked] == [[1], [3]]
    server.available = np.arange(4)
    assert server.choose(selector, 2, rng).tolist() == [2, 3]
