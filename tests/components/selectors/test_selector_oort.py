"""Oort: utilities, bonus, penalty, pacer, blacklist and presets (docs/algorithms.md, A.12)."""

import numpy as np
import pytest
from pydantic import ValidationError

from simfl.components.selectors.base import RoundOutcome
from simfl.components.selectors.mathematics.oort_scores import freshness, slowness
from simfl.components.selectors.oort import Oort
from simfl.testing.fake_server import FakeServer


def outcome(ids: list[int], squared: list[float], round_: int = 1) -> RoundOutcome:
    arrived, zeros = np.array(ids), np.zeros(len(ids))
    extras = {"squared_loss": np.array(squared)}
    return RoundOutcome(round_, arrived, arrived, zeros, zeros, None, extras)


def test_utility_of_three_samples() -> None:
    server, selector = FakeServer.random(4), Oort()
    server.samples[:] = 3
    server.choose(selector, 2, np.random.default_rng(0))
    selector.observe(outcome([1], [(1 + 4 + 9) / 3]))
    utility = selector.state_dict()["_utility"]
    assert utility[1] == pytest.approx(6.480741, abs=1e-6)
    assert np.isnan(utility[[0, 2, 3]]).all()


def test_slow_clients_are_penalised() -> None:
    factor = slowness(np.array([20.0, 10.0, 5.0, np.nan]), 10.0, 2.0)
    assert factor.tolist() == [0.25, 1, 1, 1]
    assert 6.480741 * factor[0] == pytest.approx(1.620185, abs=1e-6)
    assert slowness(np.array([1e9]), float("inf"), 2.0).tolist() == [1]


def test_bonus_for_age() -> None:
    assert freshness(50, np.array([40]))[0] == pytest.approx(0.098894, abs=1e-6)
    assert freshness(1, np.array([-1]))[0] == 0


def test_a_budget_limits_the_samples_that_count() -> None:
    server, selector = FakeServer.random(4), Oort(budget=2)
    server.samples[:] = [1, 5, 5, 5]
    server.choose(selector, 2, np.random.default_rng(0))
    selector.observe(outcome([0, 1], [4.0, 4.0]))
    assert selector.state_dict()["_utility"][:2].tolist() == [2, 4]


def played(
    options: dict[str, object], rounds: int, n: int = 40, k: int = 10
) -> tuple[FakeServer, Oort]:
    server, selector = FakeServer.random(n, 1), Oort.model_validate(options)
    server.play(selector, rounds, k, np.random.default_rng(0))
    return server, selector


def test_exploration_fades() -> None:
    assert played({}, 1)[1].state_dict()["_exploring"] == 0.9
    assert played({}, 4)[1].state_dict()["_exploring"] == pytest.approx(0.9 * 0.98**3)
    assert played({}, 200)[1].state_dict()["_exploring"] == 0.2
    assert played({"preset": "code"}, 3)[1].state_dict()["_exploring"] == pytest.approx(
        0.9 * 0.95**3
    )


@pytest.mark.parametrize("preset", ["paper", "code"])
def test_whoever_wants_no_exploration_has_none(preset: str) -> None:
    """It was a fifth: the least share of new clients overruled the first."""
    _, selector = played({"preset": preset, "exploration": 0}, 3)
    assert selector.state_dict()["_exploring"] == 0
    assert played({"preset": preset, "exploration": 0.1}, 3)[1].state_dict()["_exploring"] == 0.1


def test_it_fades_by_rounds_however_many_selections_they_have() -> None:
    server, selector, rng = FakeServer.random(30), Oort(), np.random.default_rng(0)
    for round_ in (0, 0, 0, 1, 1, 3):
        server.rounds = round_
        server.choose(selector, 1, rng)
    assert selector.state_dict()["_exploring"] == pytest.approx(0.9 * 0.98**3)


def test_who_are_chosen_singly_are_exploited_as_often_as_they_should() -> None:
    selector = Oort(exploration=0.2, least_exploration=0.2, decay=1, blacklist=None)
    server, rng = FakeServer.random(2000), np.random.default_rng(0)
    server.choose(selector, 1, rng)
    server.finish(selector, np.arange(20))
    known = [int(server.choose(selector, 1, rng)[0]) < 20 for _ in range(1000)]
    assert np.mean(known) == pytest.approx(0.8, abs=4 * np.sqrt(0.8 * 0.2 / 1000))


@pytest.mark.parametrize("preset", ["paper", "code"])
def test_where_nobody_is_new_all_are_drawn_by_score(preset: str) -> None:
    selector = Oort.model_validate({"preset": preset, "blacklist": None, "cutoff": 0.01})
    server, rng = FakeServer.random(12), np.random.default_rng(0)
    server.duration_s[:] = 1.0
    server.choose(selector, 4, rng)
    server.finish(selector, np.arange(12))
    chosen = [tuple(server.choose(selector, 4, rng)) for _ in range(300)]
    counts = np.bincount(np.concatenate(chosen), minlength=12)
    assert (counts > 0).sum() > 8
    assert counts.max() < 300  # nobody's place is certain


def test_new_clients_are_drawn_among_the_largest() -> None:
    server, rng = FakeServer.random(20), np.random.default_rng(0)
    server.samples[:] = np.arange(1, 21)
    selector = Oort(exploration=1, least_exploration=1, decay=1, sample_window=3)
    drawn = np.concatenate([server.choose(selector, 2, rng) for _ in range(300)])
    assert set(drawn.tolist()) == set(range(14, 20))  # 3 * 2 of 20


@pytest.mark.parametrize(("preset", "earned"), [("paper", 6.0), ("code", 3.0)])
def test_the_pacer_looks_at_sums_or_means(preset: str, earned: float) -> None:
    selector = Oort.model_validate({"preset": preset, "exploration": 0, "least_exploration": 0})
    server, rng = FakeServer.random(2), np.random.default_rng(0)
    server.samples[:] = 3
    server.choose(selector, 2, rng)
    selector.observe(outcome([0, 1], [1.0, 1.0]))
    assert selector.state_dict()["_earned"] == [pytest.approx(earned)]


def test_exploits_the_useful_and_fast() -> None:
    server, selector = (
        FakeServer.random(20),
        Oort(exploration=0, least_exploration=0, blacklist=None),
    )
    server.samples[:], server.loss[:] = 10, np.linspace(0.1, 2, 20)
    server.duration_s[:] = 1.0
    server.duration_s[19] = 100.0  # the most useful is far too slow
    rng = np.random.default_rng(0)
    server.choose(selector, 3, rng)
    server.finish(selector, np.arange(20))
    assert server.choose(selector, 3, rng).tolist() == [16, 17, 18]


def test_new_clients_are_drawn_by_size() -> None:
    server, rng = FakeServer.random(3), np.random.default_rng(0)
    server.samples[:] = [1, 3, 6]
    selector = Oort(exploration=1, least_exploration=1, decay=1)
    drawn = [int(server.choose(selector, 1, rng)[0]) for _ in range(5000)]
    rate, p = np.bincount(drawn, minlength=3) / 5000, np.array([0.1, 0.3, 0.6])
    assert np.all(np.abs(rate - p) < 4 * np.sqrt(p * (1 - p) / 5000))


def test_the_blacklist_takes_the_busiest_but_not_too_many() -> None:
    server, selector = FakeServer.random(10), Oort(blacklist=2, exploration=0, least_exploration=0)
    rng = np.random.default_rng(0)
    server.choose(selector, 2, rng)
    server.finish(selector, np.arange(10))
    server.history.participations[:] = [9, 8, 7, 6, 5, 1, 1, 1, 1, 1]
    for _ in range(50):
        assert not set(server.choose(selector, 2, rng).tolist()) & {0, 1, 2}  # 30% of ten
    assert {3, 4} & set(server.choose(selector, 7, rng).tolist())
    assert len(server.choose(selector, 9, rng)) == 9


def test_where_too_few_others_are_left_the_best_of_those_blacklisted_fill_up() -> None:
    server, rng = FakeServer.random(10), np.random.default_rng(0)
    selector = Oort(blacklist=2, blacklist_share=1, exploration=0, least_exploration=0)
    server.choose(selector, 2, rng)
    server.finish(selector, np.arange(10))
    server.history.participations[:] = 9
    score, _ = selector.scores(server.view(3))
    worst, *_, second, best = np.argsort(score).tolist()
    server.history.participations[worst] = 2
    assert set(server.choose(selector, 3, rng).tolist()) == {worst, second, best}


def test_of_a_tier_or_edge_a_share_is_blacklisted() -> None:
    server, rng = FakeServer.random(10), np.random.default_rng(0)
    server.available = server.members = np.arange(0, 10, 2)
    selector = Oort(
        blacklist=2, blacklist_share=0.4, exploration=0, least_exploration=0, cutoff=0.01
    )
    server.choose(selector, 2, rng)
    server.finish(selector, np.arange(10))
    server.history.participations[:] = [9, 3, 8, 3, 7, 3, 6, 3, 5, 3]
    chosen = {int(i) for _ in range(50) for i in server.choose(selector, 2, rng)}
    assert chosen == {4, 6, 8}


def test_a_share_of_the_clients_is_blacklisted_as_people_reckon() -> None:
    """29% of 100 are 29, whatever floats say."""
    server = FakeServer.random(100)
    selector = Oort(blacklist=2, blacklist_share=0.29, exploration=0, least_exploration=0)
    rng = np.random.default_rng(0)
    server.choose(selector, 2, rng)
    server.finish(selector, np.arange(100))
    server.history.participations[:] = np.arange(110, 10, -1)
    for _ in range(50):
        assert server.choose(selector, 71, rng).tolist() == list(range(29, 100))


@pytest.mark.parametrize(
    ("pacer", "earned", "start", "percentile"),
    [
        ("lower", [4, 4, 3, 3], 10, 15),
        ("lower", [4, 4, 3, 3], 97, 100),
        ("lower", [3, 3, 4, 4], 10, 10),
        ("lower", [3, 4, 4, 3], 10, 10),
        ("flat", [4, 4, 4, 4.5], 10, 15),
        ("flat", [5, 5, 5, 6], 10, 15),
        ("flat", [5, 5, 5, 6.01], 10, 10),
        ("flat", [1, 1, 5, 6.99], 10, 10),
        ("flat", [1, 1, 5, 7], 12, 7),
        ("flat", [1, 1, 9, 9], 10, 5),
        ("flat", [1, 1, 9, 9], 7, 5),
    ],
)
def test_the_pacer_moves_the_percentile_by_what_was_earned(
    pacer: str, earned: list[float], start: float, percentile: float
) -> None:
    selector = Oort.model_validate({"pacer": pacer, "window": 2})
    selector.load_state_dict({"_earned": earned, "_percentile": start})
    FakeServer.random(5).choose(selector, 2, np.random.default_rng(0))
    assert selector.state_dict()["_percentile"] == percentile
    assert selector.state_dict()["_earned"] == earned[2:]


def test_where_slowness_counts() -> None:
    """A slow client of high utility loses more where the penalty comes after scaling to [0, 1]."""

    def chosen(penalise: str, seed: int) -> list[int]:
        server, selector = FakeServer.random(30, seed), Oort.model_validate({"penalise": penalise})
        rng = np.random.default_rng(seed)
        server.choose(selector, 5, rng)
        server.finish(selector, np.arange(30))
        return server.choose(selector, 5, rng).tolist()

    assert any(chosen("score", seed) != chosen("utility", seed) for seed in range(10))


def test_scores_as_the_authors_code_reckons_them() -> None:
    """By their `getTopK` and `get_norm`, written out for five clients of one age and duration."""
    server, selector = FakeServer.random(5), Oort(preset="code", clip=60)
    server.samples[:], server.duration_s[:] = 1, 1.0
    server.choose(selector, 2, np.random.default_rng(0))
    server.finish(selector, np.arange(5))
    utility = np.array([1.0, 2.0, 3.0, 5.0, 9.0])
    selector.load_state_dict({"_utility": utility})
    clipped = np.minimum(utility, 5.0)  # the element int(5 * .6) of the sorted list
    bonus = np.sqrt(0.1 * np.log(2) / 1)
    expected = (clipped - 0.999) / (9.0 - 0.999) + bonus
    assert selector.scores(server.view(2))[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("preset", "low", "high"),
    [
        ("paper", 2.0, 5.0),  # of all who were tried, be they there or not
        ("code", 0.999 * 1.0, 8.0),  # of new ones who are there: their sizes count
    ],
)
def test_the_range_of_utilities_is_that_of_who_was_tried_or_can_be_chosen(
    preset: str, low: float, high: float
) -> None:
    """The code's, too, was that of who was tried, wherever they were."""
    options = {"preset": preset, "clip": 100, "penalty": 0, "blacklist": None}
    server, selector = FakeServer.random(6), Oort.model_validate(options)
    server.samples[:], server.duration_s[:] = [7, 1, 1, 9, 8, 1], 1.0
    server.choose(selector, 2, np.random.default_rng(0))
    server.finish(selector, np.array([0, 1, 2]))
    utility = np.array([5.0, 3.0, 2.0, np.nan, np.nan, np.nan])
    selector.load_state_dict({"_utility": utility})
    server.available = np.array([1, 2, 4, 5])
    bonus = np.sqrt(0.1 * np.log(2) / 1)
    expected = (utility[:3] - low) / (high - low) + bonus
    assert selector.scores(server.view(2))[0][:3] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("arithmetic", "drawn"), [("paper", {3, 4}), ("code", {2, 3, 4})])
def test_the_cut_off_is_a_share_of_the_kth_score_or_of_the_next(
    arithmetic: str, drawn: set[int]
) -> None:
    server = FakeServer.random(5)
    server.samples[:], server.duration_s[:] = 1, 1.0
    options = {"exploration": 0, "least_exploration": 0, "cutoff": 1, "arithmetic": arithmetic}
    selector, rng = Oort.model_validate(options), np.random.default_rng(0)
    server.choose(selector, 2, rng)
    server.finish(selector, np.arange(5))
    selector.load_state_dict({"_utility": np.array([1.0, 2.0, 3.0, 5.0, 9.0])})
    assert {i for _ in range(200) for i in server.choose(selector, 2, rng).tolist()} == drawn


def test_presets_are_the_defaults_of_the_paper_and_of_the_code() -> None:
    paper, code = Oort(), Oort(preset="code")
    assert (paper.clip, paper.decay, paper.cutoff, paper.blacklist, paper.pacer) == (
        95, 0.98, 0.95, 10, "lower"
    )  # fmt: skip
    assert (code.clip, code.decay, code.cutoff, code.blacklist, code.pacer) == (
        98, 0.95, 0.7, None, "flat"
    )  # fmt: skip
    assert Oort(preset="code", blacklist=5).blacklist == 5


def test_a_window_smaller_than_what_is_drawn_is_refused() -> None:
    """Half as many as are asked for would be nobody where one is."""
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        Oort(sample_window=0.5)
