"""FL-DP3S: planted groups, profiles and their costs (docs/algorithms.md, A.7 and G.2)."""

from itertools import combinations

import numpy as np
import pytest

from simfl.components.selectors import k_dpp
from simfl.components.selectors.k_dpp import KDppSelector
from simfl.components.selectors.mathematics.determinantal import similarity
from simfl.components.selectors.mathematics.sketch import Sketch
from simfl.components.selectors.mathematics.vectors import Vectors, distances
from simfl.components.selectors.uniform import Uniform
from simfl.testing.fake_server import FakeServer

GROUPS = np.repeat(np.arange(10), 10)


def planted(noise: float, seed: int = 0) -> FakeServer:
    """100 clients of 10 single-label groups whose profiles spread by `noise` times the groups'."""
    rng, server = np.random.default_rng(seed), FakeServer.random(100)
    centres = rng.normal(size=(10, 50))
    server.vectors = centres[GROUPS] + noise * rng.normal(size=(100, 50))
    server.samples[:] = 600
    return server


def mean_gemd(server: FakeServer, selector: KDppSelector | Uniform, rounds: int) -> float:
    log = server.play(selector, rounds, 10, np.random.default_rng(1))
    shares = np.array([np.bincount(GROUPS[chosen], minlength=10) / 10 for chosen in log])
    return float(np.abs(shares - 0.1).sum(axis=1).mean())


@pytest.mark.parametrize("decomposed", [2000, 0])
@pytest.mark.parametrize(("noise", "bound"), [(0.02, 0.01), (0.1, 0.05), (0.3, 0.2)])
def test_planted_groups_are_balanced(
    noise: float, bound: float, decomposed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(k_dpp, "DECOMPOSED", decomposed)
    assert mean_gemd(planted(noise), KDppSelector(), 300) < bound


def test_uniform_sampling_of_the_same_groups_is_not() -> None:
    # E|share - 0.1| summed over the groups: 2 C(90,10) / C(100,10) = 0.66095
    assert mean_gemd(planted(0.1), Uniform(), 2000) == pytest.approx(0.66095, abs=0.012)


@pytest.mark.parametrize(
    ("profile", "report"),
    [("fc1", "fc1_profile"), ("gradient", "gradient"), ("representative_gradient", "update")],
)
def test_everybody_is_profiled_once(profile: str, report: str) -> None:
    server = FakeServer.random(12)
    selector = KDppSelector.model_validate({"profile": profile})
    server.play(selector, 4, 3, np.random.default_rng(0))
    assert [(probe.report, len(probe.clients)) for probe in server.asked] == [(report, 12)]


def test_profiles_can_be_refreshed() -> None:
    server = FakeServer.random(12)
    server.play(KDppSelector(refresh_every=3), 7, 3, np.random.default_rng(0))
    assert [len(probe.clients) for probe in server.asked] == [12, 12, 12]


def test_whoever_was_away_is_profiled_later_and_a_broken_profile_only_once() -> None:
    server, selector, rng = FakeServer.random(10), KDppSelector(), np.random.default_rng(0)
    server.available, server.silent = np.arange(8), frozenset({1})
    server.vectors[2] = np.nan
    server.play(selector, 2, 3, rng)
    server.available, server.silent = np.arange(10), frozenset()
    server.play(selector, 2, 3, rng)
    asked = [probe.clients.tolist() for probe in server.asked]
    assert asked == [list(range(8)), [1], [1, 8, 9]]


def test_unprofiled_clients_fill_up_only() -> None:
    server, selector, rng = FakeServer.random(10), KDppSelector(), np.random.default_rng(0)
    server.silent = frozenset(range(3, 10))
    for _ in range(20):
        assert {0, 1, 2} < set(server.choose(selector, 5, rng).tolist())
        assert set(server.choose(selector, 2, rng).tolist()) <= {0, 1, 2}


@pytest.mark.parametrize("decomposed", [2000, 0])
@pytest.mark.parametrize(
    "available", [pytest.param([0, 1, 2, 3, 4, 5], marks=pytest.mark.slow), [0, 2, 3]]
)
def test_among_those_available_subsets_are_as_likely_as_their_minors(
    available: list[int], decomposed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(k_dpp, "DECOMPOSED", decomposed)
    server, selector, rng = (
        FakeServer.random(7, dimension=3),
        KDppSelector(),
        np.random.default_rng(0),
    )
    server.play(selector, 1, 2, rng)
    server.available = np.array(available)
    vectors = server.vectors.astype(np.float32)
    S = similarity(distances(vectors, vectors, "L2"))
    minors = {Y: np.linalg.det((S.T @ S)[np.ix_(Y, Y)]) for Y in combinations(available, 2)}
    counts = dict.fromkeys(minors, 0)
    draws = 4000
    for _ in range(draws):
        counts[tuple(server.choose(selector, 2, rng).tolist())] += 1
    for Y, count in counts.items():
        p = minors[Y] / sum(minors.values())
        assert abs(count / draws - p) <= 4 * np.sqrt(p * (1 - p) / draws)


def test_whoever_is_away_costs_no_decomposition(monkeypatch: pytest.MonkeyPatch) -> None:
    server, selector, rng = FakeServer.random(60), KDppSelector(), np.random.default_rng(0)
    server.play(selector, 1, 5, rng)
    monkeypatch.setattr(np.linalg, "eigh", None)
    for away in range(20):
        server.available = np.setdiff1d(np.arange(60), [away, away + 1, away + 2])
        assert np.isin(server.choose(selector, 5, rng), server.available).all()


def test_of_many_clients_a_few_are_chosen_without_their_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server, selector, rng = FakeServer.random(2500), KDppSelector(), np.random.default_rng(0)
    monkeypatch.setattr(k_dpp, "KDpp", None)
    for away in range(3):
        server.available = np.arange(300 * away, 2500)
        chosen = server.choose(selector, 8, rng)
        assert len(set(chosen.tolist())) == 8
        assert np.isin(chosen, server.available).all()


@pytest.mark.parametrize(("bound", "most"), [("POINTS", 0), ("DRAWS", 0)])
def test_of_many_clients_it_is_decomposed_where_nothing_else_helps(
    bound: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(k_dpp, "DECOMPOSED", 0)
    monkeypatch.setattr(k_dpp, bound, most)
    assert mean_gemd(planted(0.1), KDppSelector(), 100) < 0.05


def test_of_many_clients_only_those_whose_profiles_are_new_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[int] = []
    extend = Sketch.extend

    def counted(self: Sketch, profiles: Vectors) -> None:
        compared.append(len(profiles))
        extend(self, profiles)

    monkeypatch.setattr(Sketch, "extend", counted)
    server, rng = FakeServer.random(2600), np.random.default_rng(0)
    selector = KDppSelector(refresh_every=4)
    server.vectors[2500] = np.nan
    for many in (2500, 2590, 2600, 2600, 2600):
        server.available = np.arange(2600 - many, 2600)
        server.play(selector, 1, 4, rng)
    assert compared == [2499, 90, 10, 2599]  # in the fifth round everybody's are new


@pytest.mark.parametrize("decomposed", [2000, 0])
def test_the_decomposition_is_not_stored(decomposed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(k_dpp, "DECOMPOSED", decomposed)
    server, selector = FakeServer.random(10), KDppSelector()
    server.play(selector, 1, 3, np.random.default_rng(0))
    assert set(selector.state_dict()) == {"_profiles", "_part", "_answered", "_last"}


def test_whatever_is_remembered_few_of_many_are_chosen_by_the_same_bits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run that is resumed remembers less.  Profiles nearly alike tell the last bits."""
    monkeypatch.setattr(k_dpp, "DECOMPOSED", 60)
    monkeypatch.setattr(k_dpp, "POINTS", 0)
    server, rng = FakeServer.random(70), np.random.default_rng(0)
    server.vectors = rng.normal(size=(7, 5)).repeat(10, axis=0) + 1e-4 * rng.normal(size=(70, 5))
    selector, again = KDppSelector(), KDppSelector()
    for many in (62, 66, 70):  # profiles come part by part
        server.available = np.arange(70 - many, 70)
        server.play(selector, 1, 20, rng)
    again.load_state_dict(selector.state_dict())
    server.available = np.arange(55)
    chosen, anew = (
        [server.choose(one, 20, np.random.default_rng(seed)).tolist() for seed in range(20)]
        for one in (selector, again)
    )
    assert chosen == anew


def test_with_several_selections_a_round_everybody_is_profiled_anew_once() -> None:
    server, selector = FakeServer.random(9), KDppSelector(refresh_every=2)
    asked, rng = [], np.random.default_rng(0)
    for round_ in (0, 0, 1, 2, 2, 5):  # none in rounds 3 and 4
        server.rounds, before = round_, len(server.asked)
        server.choose(selector, 2, rng)
        asked.append(len(server.asked) - before)
    assert asked == [1, 0, 0, 1, 0, 1]
