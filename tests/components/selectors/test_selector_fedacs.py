"""FedACS: rewards, duels, Thompson sampling, and its bandit on true label skew (A.10, H.5)."""

import functools
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from simfl.components.selectors.fedacs import (
    FedAcs,
    duels,
    rewards,
    thompson,
    thompson_by_groups,
)
from simfl.testing.fake_server import FakeServer


def test_duels_are_won_by_the_higher_reward_and_a_tie_by_nobody() -> None:
    wins, losses = duels(np.array([-1.0, -2.0, -2.0, -3.0]))
    assert wins.tolist() == [3, 1, 1, 0]
    assert losses.tolist() == [0, 1, 1, 3]


def test_a_broken_reward_loses_every_duel() -> None:
    wins, losses = duels(np.array([-1.0, np.nan, -2.0, np.nan]))
    assert wins.tolist() == [3, 0, 2, 0]
    assert losses.tolist() == [0, 2, 1, 2]


def test_rewards_are_negated_distances_to_the_mean_update() -> None:
    updates = np.array([[1.0, 0], [0, 1], [1, 1]])
    assert rewards(updates) == pytest.approx([-0.745356, -0.745356, -0.471405], abs=1e-6)
    assert rewards(updates, layers=(1, 1)) == pytest.approx([-1, -1, -2 / 3])
    with_broken = rewards(np.array([[1.0, 0], [np.nan, 1], [0, 1], [1, 1]]))
    assert with_broken[[0, 2, 3]] == pytest.approx(rewards(updates))
    assert np.isnan(with_broken[1])


@pytest.mark.parametrize("reward", ["one_step", "reuse_update"])
def test_each_duel_is_counted_on_both_sides(reward: str) -> None:
    server, selector = FakeServer.random(20), FedAcs.model_validate({"reward": reward})
    server.play(selector, 10, 5, np.random.default_rng(0))
    found = selector.diagnostics()
    assert found["wins"].sum() == found["losses"].sum() == 10 * 10
    assert len(found["reward"]) == 10
    assert (found["reward"] < 0).all()


def test_what_it_asks_of_participants() -> None:
    assert FedAcs().wants == ("gradient",)
    assert not FedAcs().needs_updates
    assert FedAcs(reward="reuse_update").wants == ()
    assert FedAcs(reward="reuse_update").needs_updates


def test_layer_sums_need_the_layers() -> None:
    chosen = []
    for norm in ("global", "layer_sum"):
        server, selector = FakeServer.random(20), FedAcs.model_validate({"norm": norm})
        server.finish(selector, np.arange(5))
        chosen.append(selector.diagnostics()["reward"][0])
        expected = rewards(server.vectors[:5], server.layers if norm == "layer_sum" else ())
        assert chosen[-1] == pytest.approx(expected.mean())
    assert chosen[0] != chosen[1]


def test_a_fresh_start_is_uniform_and_the_pool_has_its_size() -> None:
    draws, rng = 4000, np.random.default_rng(0)
    inside = np.zeros(10)
    for _ in range(draws):
        picked = thompson(np.ones(10), np.ones(10), 4, rng)
        assert len(set(picked)) == 4
        inside[picked] += 1
    assert np.all(np.abs(inside / draws - 0.4) < 4 * np.sqrt(0.4 * 0.6 / draws))


DRAWS = 5000


@functools.cache
def as_written(wins: tuple[float, ...], losses: tuple[float, ...]) -> Counter[tuple[int, ...]]:
    """Return how often which three are drawn, as Algorithm 1 has it: one after the other."""
    rng = np.random.default_rng(1)

    def draw() -> tuple[int, ...]:
        left, picked = list(range(len(wins))), []
        for _ in range(3):
            theta = rng.beta(np.array(wins)[left], np.array(losses)[left])
            picked.append(left.pop(int(np.argmax(theta))))
        return tuple(picked)

    return Counter(draw() for _ in range(DRAWS))


WINS = [[3.0, 1, 5, 2, 1, 8], pytest.param([3.0, 1, 1, 1, 1, 3], marks=pytest.mark.slow)]


@pytest.mark.parametrize("short_cut", [thompson, thompson_by_groups])
@pytest.mark.parametrize("wins", WINS)
@pytest.mark.parametrize("losses", [[2.0, 1, 5, 4, 3, 6], [2.0, 1, 1, 1, 3, 2]])
def test_the_short_cuts_draw_as_algorithm_1_does(
    short_cut: Callable[..., list[int]], wins: list[float], losses: list[float]
) -> None:
    a, b, rng = np.array(wins), np.array(losses), np.random.default_rng(2)
    quick = Counter(tuple(short_cut(a, b, 3, rng)) for _ in range(DRAWS))
    literal = as_written(tuple(wins), tuple(losses))
    for picked in quick.keys() | literal.keys():
        difference = quick[picked] - literal[picked]
        assert abs(difference) <= 4 * np.sqrt(quick[picked] + literal[picked])


@pytest.mark.parametrize("short_cut", [thompson, thompson_by_groups])
def test_a_sure_winner_is_always_in_the_pool(short_cut: Callable[..., list[int]]) -> None:
    a, rng = np.ones(50), np.random.default_rng(0)
    a[7] += 1e6
    assert all(7 in short_cut(a, np.ones(50), 5, rng) for _ in range(200))


def test_large_fleets_are_drawn_by_groups_and_everybody_may_be_in_the_pool() -> None:
    server, selector = FakeServer.random(60_000), FedAcs()
    chosen = server.play(selector, 3, 500, np.random.default_rng(0))
    assert all(len(set(clients)) == 500 for clients in chosen)
    spread = np.sort([client for clients in chosen for client in clients])
    assert stats.kstest(spread / 60_000, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("size", [1, 300, 999, 1000])
def test_all_sizes_of_a_pool_by_groups(size: int) -> None:
    a = np.repeat([1.0, 4.0, 9.0], [900, 60, 40])
    picked = thompson_by_groups(a, np.ones(1000), size, np.random.default_rng(0))
    assert len(set(picked)) == len(picked) == size


def test_full_tolerance_is_uniform_sampling() -> None:
    server, selector, rng = FakeServer.random(8), FedAcs(tolerance=1), np.random.default_rng(0)
    server.play(selector, 20, 2, rng)
    counts = np.bincount(
        np.concatenate([server.choose(selector, 2, rng) for _ in range(8000)]), minlength=8
    )
    assert np.all(np.abs(counts / 8000 - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 8000))


def test_the_smallest_tolerance_makes_the_pool_the_cohort() -> None:
    server, selector = FakeServer.random(40), FedAcs(tolerance=0.1)
    selector.load_state_dict(
        {"_wins": np.eye(40)[[3, 8, 21, 30]].sum(0) * 1e6, "_losses": np.full(40, 99.0)}
    )
    assert server.choose(selector, 4, np.random.default_rng(0)).tolist() == [3, 8, 21, 30]


def test_a_tier_or_edge_has_a_pool_of_its_own() -> None:
    server, selector = FakeServer.random(40), FedAcs(tolerance=0.5)
    server.available = server.members = np.arange(4, 40, 5)
    best = server.available[::2]
    selector.load_state_dict(
        {"_wins": np.bincount(best, minlength=40) * 1e6, "_losses": np.full(40, 99.0)}
    )
    assert server.choose(selector, 4, np.random.default_rng(0)).tolist() == best.tolist()


def test_one_participant_learns_nothing() -> None:
    server, selector = FakeServer.random(5), FedAcs()
    server.play(selector, 5, 1, np.random.default_rng(0))
    assert not selector.diagnostics()["wins"].any()


@pytest.mark.parametrize("seed", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in (1, 2))])
def test_the_bandit_finds_the_least_skewed_clients(seed: int) -> None:
    """Label shares in place of gradients, low heterogeneity: H.5 asks for 0.85 and 0.8."""
    rng = np.random.default_rng(seed)
    server = FakeServer.random(200)
    beta = np.concatenate([rng.uniform(1e-3, 0.2, 100), rng.uniform(0.2, 3, 100)])
    server.vectors = np.array([rng.dirichlet(np.full(10, b)) for b in beta])
    skew = np.linalg.norm(server.vectors - 0.1, axis=1)
    selector = FedAcs(tolerance=0.4)
    log = server.play(selector, 300, 10, rng)
    found = selector.diagnostics()
    skill = (found["wins"] + 1) / (found["wins"] + found["losses"] + 2)
    assert stats.spearmanr(skill, -skew).statistic > 0.85
    best = set(np.argsort(skew)[:80].tolist())
    pool = thompson(found["wins"] + 1, found["losses"] + 1, 80, rng)
    assert len(best & set(pool)) / 80 > 0.8
    first, last = (
        np.mean([skew[chosen].mean() for chosen in part]) for part in (log[:20], log[-50:])
    )
    assert 0.38 < first < 0.50
    assert 0.20 < last < 0.28
