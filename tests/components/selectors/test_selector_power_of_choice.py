"""Power-of-choice: exact cases, limits and what it asks (docs/algorithms.md, A.4)."""

import numpy as np
import pytest
from pydantic import ValidationError

from simfl.components.selectors.power_of_choice import PowerOfChoice
from simfl.testing.fake_server import FakeServer


def fleet(losses: list[float], samples: list[int] | None = None) -> FakeServer:
    server = FakeServer.random(len(losses))
    server.loss[:] = losses
    if samples:
        server.samples[:] = samples
    return server


def choose(server: FakeServer, k: int, seed: int = 0, **options: object) -> list[int]:
    selector = PowerOfChoice.model_validate(options)
    return server.choose(selector, k, np.random.default_rng(seed)).tolist()


def test_takes_the_largest_losses_when_everybody_is_a_candidate() -> None:
    assert choose(fleet([3, 1, 2, 5]), 2, candidates=4) == [0, 3]


def test_more_candidates_than_clients_means_everybody() -> None:
    server = fleet([3, 1, 2, 5])
    assert choose(server, 1, candidates=99) == [3]
    assert server.asked[0].clients.tolist() == [0, 1, 2, 3]


def test_equal_losses_go_to_the_lowest_ids() -> None:
    assert choose(fleet([1.0] * 6), 3, candidates=6) == [0, 1, 2]


def test_unknown_losses_rank_first() -> None:
    assert choose(fleet([9.0, np.nan, 8.0]), 1, candidates=3) == [1]


def test_as_many_candidates_as_places_is_sampling_by_size() -> None:
    server = fleet([5.0, 1.0, 0.0, 2.0], samples=[1, 2, 3, 4])
    counts = np.bincount([choose(server, 1, s, candidates=1)[0] for s in range(4000)], minlength=4)
    expected = np.array([0.1, 0.2, 0.3, 0.4])
    assert np.all(np.abs(counts / 4000 - expected) < 4 * np.sqrt(expected * (1 - expected) / 4000))


def test_twice_as_many_candidates_as_places_by_default() -> None:
    server = fleet([1.0] * 30)
    choose(server, 5)
    assert len(server.asked[0].clients) == 10
    assert server.asked[0].report == "loss"
    assert server.asked[0].samples is None


def test_the_cheap_variants_ask_less() -> None:
    server = fleet([1.0] * 30)
    choose(server, 5, loss="minibatch", minibatch=8)
    assert server.asked[0].samples == 8
    choose(server, 5, loss="last")
    assert len(server.asked) == 1


def test_last_uses_what_clients_reported_before() -> None:
    server = fleet([1, 2, 3, 4])
    server.history.loss[:] = [7, 8, 1, 2]
    assert choose(server, 2, candidates=4, loss="last") == [0, 1]


def test_candidates_who_left_are_replaced() -> None:
    server, selector, rng = (
        fleet([3, 1, 2, 5]),
        PowerOfChoice(candidates=2),
        np.random.default_rng(0),
    )
    probe = selector.probe(server.view(2), (), rng)
    assert probe is not None
    report = server.answer(probe)
    server.available = np.setdiff1d(np.arange(4), probe.clients)
    chosen = selector.select(server.view(2), (report,), 2, rng)
    assert chosen.tolist() == server.available.tolist()


def test_bad_options_are_refused() -> None:
    with pytest.raises(ValidationError, match="greater than 0"):
        PowerOfChoice(candidates=0)
