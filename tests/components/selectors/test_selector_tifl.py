"""TiFL: tiers, their chances and their credits (docs/algorithms.md, A.13)."""

import numpy as np
import pytest

from simfl.components.selectors.tifl import Tifl
from simfl.testing.fake_server import FakeServer


def fleet(n: int = 15, tiers: int = 3) -> FakeServer:
    """Clients of increasing duration, whose tier's loss is its number."""
    server = FakeServer.random(n)
    server.samples[:] = 10
    server.duration_s = np.arange(1.0, n + 1)
    server.loss = 1.0 + np.arange(float(n)) * tiers // n
    server.decay = 1.0
    return server


def test_a_round_stays_in_one_tier_of_equal_size() -> None:
    server, selector, rng = fleet(), Tifl(tiers=3, interval=100), np.random.default_rng(0)
    seen = set()
    for _ in range(60):
        chosen = server.choose(selector, 4, rng)
        assert len(set((chosen // 5).tolist())) == 1
        seen.add(int(chosen[0] // 5))
        server.finish(selector, chosen)
    assert seen == {0, 1, 2}
    assert [probe.report for probe in server.asked] == ["update", "loss"]


@pytest.mark.parametrize(
    ("probabilities", "expected"),
    [("paper", [0, 1 / 3, 2 / 3]), ("positive", [1 / 6, 1 / 3, 1 / 2])],
)
def test_worse_tiers_become_more_likely(probabilities: str, expected: list[float]) -> None:
    server, rng = fleet(), np.random.default_rng(0)
    selector = Tifl.model_validate({"tiers": 3, "interval": 1, "probabilities": probabilities})
    server.play(selector, 2, 2, rng)  # losses stay as they are: no improvement
    assert selector.state_dict()["_chances"][0] == pytest.approx(expected)
    log = [int(server.choose(selector, 1, rng)[0]) // 5 for _ in range(3000)]
    rate, p = np.bincount(log, minlength=3) / 3000, np.array(expected)
    assert np.all(np.abs(rate - p) <= 4 * np.sqrt(p * (1 - p) / 3000))


def test_chances_stay_while_the_present_tier_improves() -> None:
    server, selector = fleet(), Tifl(tiers=3, interval=1)
    server.decay = 0.5
    server.play(selector, 5, 2, np.random.default_rng(0))
    assert selector.state_dict()["_chances"] == {}


def test_tiers_and_edges_of_the_server_each_look_at_their_own_clients() -> None:
    """In each round only who came first did, for all."""
    server, selector, rng = fleet(), Tifl(tiers=3, interval=1), np.random.default_rng(0)
    for server.rounds in range(4):  # tiers stay as they are once everybody has been timed
        for server.part in (0, 1):
            server.available = np.arange(server.part, 15, 2)
            server.choose(selector, 2, rng)
    chances = selector.state_dict()["_chances"]
    for part in (0, 1):
        assert chances[part] == pytest.approx([0, 1 / 3, 2 / 3])


def test_credits_are_spent() -> None:
    server, selector = fleet(), Tifl(tiers=3, rounds=7, interval=100)
    log = server.play(selector, 9, 2, np.random.default_rng(0))
    tiers = [chosen[0] // 5 for chosen in log]
    assert np.bincount(tiers).tolist() == [3, 3, 3]  # ceil(7 / 3) each
    assert selector.state_dict()["_credits"][0].tolist() == [0, 0, 0]
    assert len(server.choose(selector, 2, np.random.default_rng(1))) == 2


def test_only_tiers_with_credits_share_the_chances() -> None:
    server, selector = fleet(), Tifl(tiers=3, interval=1, credits=5)
    server.play(selector, 1, 2, np.random.default_rng(0))
    selector.load_state_dict({"_credits": {0: np.array([2.0, 2.0, 0.0])}})
    server.play(selector, 1, 2, np.random.default_rng(0))
    assert selector.state_dict()["_chances"][0].tolist() == [0, 1, 0]


def test_a_tier_too_small_is_topped_up_from_the_nearest() -> None:
    server, selector, rng = fleet(), Tifl(tiers=3, interval=100), np.random.default_rng(0)
    server.choose(selector, 2, rng)
    server.available = np.array([0, 5, 10, 11, 12])
    for seed in range(20):
        chosen = server.choose(selector, 2, np.random.default_rng(seed)).tolist()
        assert chosen in ([0, 5], [10, 11], [10, 12], [11, 12])


def test_whoever_does_not_answer_has_no_tier_and_is_not_asked_again() -> None:
    server, selector, rng = fleet(), Tifl(tiers=3, interval=100), np.random.default_rng(0)
    server.silent = frozenset({3, 4})
    log = server.play(selector, 30, 3, rng)
    assert not {3, 4} & set(np.concatenate(log).tolist())
    assert len(server.asked) == 2
    assert {3, 4} <= set(server.choose(selector, 15, rng).tolist())


def test_rounds_stand_in_for_profiles_that_were_not_timed() -> None:
    server, selector, rng = fleet(), Tifl(tiers=3, interval=100), np.random.default_rng(0)
    server.silent = frozenset(range(15))
    server.choose(selector, 3, rng)
    server.history.duration_s = server.duration_s.copy()
    for _ in range(10):
        assert len(set((server.choose(selector, 3, rng) // 5).tolist())) == 1


@pytest.mark.parametrize(("profile", "first"), [("update", ["update", "loss"]), ("loss", ["loss"])])
def test_with_several_selections_a_round_each_asks_once(profile: str, first: list[str]) -> None:
    server, rng = fleet(), np.random.default_rng(0)
    selector = Tifl.model_validate({"tiers": 3, "interval": 2, "profile": profile})
    asked = []
    for round_ in (0, 0, 1, 2, 2, 5, 5):  # none in rounds 3 and 4
        server.rounds, before = round_, len(server.asked)
        server.choose(selector, 2, rng)
        asked.append([probe.report for probe in server.asked[before:]])
    assert asked == [first, [], [], ["loss"], [], ["loss"], []]


def test_a_loss_can_be_what_is_timed() -> None:
    server, selector, rng = fleet(), Tifl(tiers=3, profile="loss"), np.random.default_rng(0)
    chosen = server.choose(selector, 4, rng)
    assert len(set((chosen // 5).tolist())) == 1
    assert np.isfinite(selector.state_dict()["_duration_s"]).all()
