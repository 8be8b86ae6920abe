"""FedCor and FedGP: schedule, samples, annealing and presets (docs/algorithms.md, A.5 and A.6)."""

from collections.abc import Sequence

import numpy as np
import pytest
from pydantic import ValidationError

from simfl.components.selectors.base import Probe, Reports
from simfl.components.selectors.fedcor import FedCor
from simfl.components.selectors.fedgp import FedGp
from simfl.components.selectors.mathematics.gaussian_process import Posterior, choose
from simfl.core.machine import memory
from simfl.errors import InputError
from simfl.testing.fake_server import FakeServer

QUICK = {"warmup_steps": 3, "update_steps": 3}


def asked_by_round(server: FakeServer, selector: FedCor, rounds: int, k: int) -> list[list[Probe]]:
    rng, log = np.random.default_rng(0), []
    for _ in range(rounds):
        server.asked.clear()
        server.finish(selector, server.choose(selector, k, rng))
        log.append(list(server.asked))
    return log


def test_schedule_of_probes() -> None:
    log = asked_by_round(FakeServer.random(12), FedCor(warmup=3, interval=5, **QUICK), 12, 4)
    kinds = [[f"{probe.report}@{probe.model}" for probe in probes] for probes in log]
    everybody, update = ["loss@global"], ["loss@global", "trial@global", "loss@trial"]
    # list index = round counted from 0: losses at w^0 .. w^4, then at 5 and 10 a throw-away round
    assert kinds == [everybody] * 5 + [update] + [[]] * 4 + [update] + [[]]
    base, trial, after = log[5]
    assert len(base.clients) == len(after.clients) == 12
    assert len(trial.clients) == 4


def test_paper_presets_update_where_the_paper_does() -> None:
    selector, server = FedCor(), FakeServer.random(20)
    losses = Reports(Probe("loss", np.arange(20)), np.arange(20), np.ones(20))
    updates, rng = [], np.random.default_rng(0)
    for t in range(500):
        server.rounds = t
        if selector.probe(server.view(5), (losses,), rng) is not None:  # the throw-away round
            updates.append(t)
        selector.select(server.view(5), (), 5, rng)
    assert updates == list(range(20, 500, 10))
    assert len(updates) == 48


def asked_at(selector: FedCor, server: FakeServer, rounds: list[int]) -> list[Sequence[str]]:
    """Return what is asked by selections in these rounds, several of which may be of one round."""
    asked, rng = list[Sequence[str]](), np.random.default_rng(0)
    for t in rounds:
        server.rounds, before = t, len(server.asked)
        server.choose(selector, 2, rng)
        asked.append([probe.report for probe in server.asked[before:]])
    return asked


def test_with_several_selections_a_round_each_asks_once() -> None:
    server, selector = FakeServer.random(8), FedCor(warmup=1, interval=2, **QUICK)
    asked = asked_at(selector, server, [0, 0, 0, 1, 1, 2, 2, 3, 4, 4])
    update = ["loss", "trial", "loss"]
    assert asked == [["loss"], [], [], ["loss"], [], update, [], [], update, []]
    assert not any((sample == 0).all() for sample in selector.state_dict()["_samples"][0])


def test_what_was_due_in_a_round_without_a_selection_is_done_in_the_next() -> None:
    server, selector = FakeServer.random(8), FedCor(warmup=1, interval=4, **QUICK)
    asked = asked_at(selector, server, [0, 1, 2, 3, 6, 7, 8])
    update = ["loss", "trial", "loss"]
    assert asked == [["loss"], ["loss"], ["loss"], [], update, [], update]


def test_a_warm_up_sample_is_the_change_of_consecutive_losses() -> None:
    server, selector = FakeServer.random(8), FedCor(warmup=3, **QUICK)
    losses = server.loss * server.decay ** np.arange(6)[:, None]
    asked_by_round(server, selector, 5, 3)
    samples = selector.state_dict()["_samples"][0]
    assert len(samples) == 4  # warmup + 1: rounds 0 to 3
    for t, sample in enumerate(samples):
        assert sample == pytest.approx(losses[t + 1] - losses[t])


def test_tiers_and_edges_each_compare_their_own_losses() -> None:
    """Between those of one and of another nobody's had changed: nothing was learned of anybody."""
    server, selector = FakeServer.random(8), FedCor(warmup=1, interval=3, **QUICK)
    for server.rounds in range(4):
        for server.part in (0, 1):
            server.available = np.arange(4) + 4 * server.part
            server.choose(selector, 2, np.random.default_rng(0))
    samples = selector.state_dict()["_samples"]
    assert [len(samples[part]) for part in (0, 1)] == [3, 3]
    for part in (0, 1):
        for sample in samples[part]:
            assert np.isfinite(sample).tolist() == [client // 4 == part for client in range(8)]


def test_a_later_sample_is_the_change_by_the_trial() -> None:
    server, selector = FakeServer.random(8), FedCor(warmup=0, interval=3, **QUICK)
    asked_by_round(server, selector, 4, 3)
    sample = selector.state_dict()["_samples"][0][-1]
    expected = -0.1 * np.abs(server.vectors[:, 0]) * server.loss * server.decay**3
    assert sample == pytest.approx(expected)


def test_only_the_last_samples_are_kept() -> None:
    server, selector = FakeServer.random(8), FedCor(warmup=14, **QUICK)
    asked_by_round(server, selector, 16, 3)
    assert len(selector.state_dict()["_samples"][0]) == 11


def test_samples_can_begin_late_in_the_warm_up() -> None:
    """From round 10 on: losses before rounds 10 to 15 and after the last, five loss changes."""
    server = FakeServer.random(8)
    selector = FedCor(warmup=14, samples_from=10, interval=None, **QUICK)
    log = asked_by_round(server, selector, 18, 3)
    assert [t for t, asked in enumerate(log) if asked] == list(range(10, 16))
    assert len(selector.state_dict()["_samples"][0]) == 5


def test_who_was_chosen_counts_less_until_the_next_sample() -> None:
    server, selector = FakeServer.random(8), FedCor(warmup=1, interval=4, beta=0.5, **QUICK)
    rng = np.random.default_rng(0)
    expected = np.ones(8)
    for t in range(9):
        chosen = server.choose(selector, 3, rng)
        if t in (4, 8):
            expected[:] = 1
        if t > 1:
            expected[chosen] *= 0.5
        assert selector.state_dict()["_annealing"] == pytest.approx(expected)
        server.finish(selector, chosen)
        assert selector.state_dict()["_annealing"] == pytest.approx(expected)


def test_who_never_delivers_is_not_chosen_for_ever() -> None:
    """Rounds in which nobody arrives, as before a deadline that the chosen can't meet."""
    server, selector = FakeServer.random(6), FedCor(warmup=0, interval=None, beta=0.5, **QUICK)
    rng = np.random.default_rng(0)
    server.play(selector, 2, 1, rng)
    chosen = set()
    for _ in range(20):
        chosen |= set(server.choose(selector, 1, rng).tolist())
        server.rounds += 1
    assert len(chosen) > 1


def test_silent_clients_are_left_out_of_the_likelihood() -> None:
    server, selector = FakeServer.random(10), FedCor(warmup=2, interval=3, **QUICK)
    server.silent = frozenset({3, 7})
    server.loss[5] = np.nan
    log = asked_by_round(server, selector, 7, 3)
    sample = selector.state_dict()["_samples"][0][-1]
    assert np.flatnonzero(~np.isfinite(sample)).tolist() == [3, 5, 7]
    assert np.isfinite(selector.diagnostics()["embeddings"]).all()
    assert log[3][2].clients.tolist() == [0, 1, 2, 4, 5, 6, 8, 9]


def test_nobody_answers_the_trial() -> None:
    server, selector = FakeServer.random(6), FedCor(warmup=0, interval=1, **QUICK)
    rng = np.random.default_rng(0)
    server.play(selector, 1, 2, rng)
    server.silent = frozenset(range(6))
    assert len(server.choose(selector, 2, rng)) == 2


def test_chooses_by_algorithm_1_after_the_warm_up() -> None:
    server, selector = FakeServer.random(9), FedCor(warmup=1, interval=None, dimension=3, **QUICK)
    rng = np.random.default_rng(0)
    server.play(selector, 4, 3, rng)
    found = selector.diagnostics()
    posterior = Posterior(found["embeddings"].T, 1e-4, server.samples / server.samples.sum())
    expected = choose(posterior, found["annealing"], np.arange(9), 3)
    assert server.choose(selector, 3, rng).tolist() == sorted(expected)


def test_a_client_that_joins_late_gets_an_embedding() -> None:
    selector, rng = FedCor(warmup=1, interval=2, **QUICK), np.random.default_rng(0)
    FakeServer.random(6).play(selector, 3, 2, rng)
    grown = FakeServer.random(9)
    grown.rounds = 3
    grown.play(selector, 4, 3, rng)
    assert selector.diagnostics()["embeddings"].shape == (9, 15)


def test_embeddings_cluster_by_planted_group() -> None:
    """Loss changes that depend on the group alone separate the groups (G.6: above 0.3)."""
    rng, groups = np.random.default_rng(0), np.repeat(np.arange(5), 8)
    server = FakeServer.random(40)
    server.samples[:] = 10
    selector, level = FedCor(), np.full(40, 2.0)
    for _ in range(17):
        server.loss = level / server.decay**server.rounds
        server.finish(selector, server.choose(selector, 5, rng))
        level = level + rng.normal(0, 0.05, size=5)[groups] + rng.normal(0, 0.002, size=40)
    X = selector.diagnostics()["embeddings"]
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    cosine, alike = X @ X.T, groups[:, None] == groups
    off = ~np.eye(40, dtype=bool)
    assert cosine[alike & off].mean() - cosine[~alike].mean() > 0.3


def test_presets_and_what_overrides_them() -> None:
    def schedule(selector: FedCor) -> tuple[object, ...]:
        reuse = (selector.warmup_reuse, selector.reuse)
        return (selector.warmup, selector.interval, selector.beta, selector.theta, *reuse)

    assert schedule(FedCor()) == schedule(FedCor(preset="fmnist")) == (15, 10, 0.95, 0.9, 10, 1)
    assert schedule(FedCor(preset="cifar")) == (20, 50, 0.9, 0.99, 10, 1)
    assert schedule(FedGp()) == (15, 10, 0.95, 0.9, 1, 1)
    assert schedule(FedGp(preset="cifar")) == (15, 50, 0.97, 0.99, 1, 1)
    assert FedCor(preset="cifar", beta=0.97).beta == 0.97
    assert FedCor.model_validate(FedCor(preset="cifar", beta=0.97).model_dump()) == FedCor(
        preset="cifar", beta=0.97
    )


def test_fedgp_chooses_as_fedcor_given_the_same_state() -> None:
    server, fedcor = FakeServer.random(9), FedCor(warmup=2, **QUICK)
    server.play(fedcor, 5, 3, np.random.default_rng(0))
    fedgp = FedGp(warmup=2, **QUICK)
    fedgp.load_state_dict(fedcor.state_dict())
    choices = [server.choose(s, 3, np.random.default_rng(1)).tolist() for s in (fedcor, fedgp)]
    assert choices[0] == choices[1]


def test_bad_options_are_refused() -> None:
    with pytest.raises(ValidationError, match="fmnist"):
        FedCor.model_validate({"preset": "imagenet"})
    with pytest.raises(ValidationError, match="fmnist"):
        FedCor.model_validate({"preset": ["fmnist"]})
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        FedCor(beta=1.5)
    with pytest.raises(ValidationError, match=r"samples_from \(16\) must be at most warmup \(15\)"):
        FedCor(samples_from=16, interval=None)
    assert FedCor(samples_from=16).interval == 10  # learns later


def test_embeddings_without_room_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model or the data set was said not to fit into memory."""
    monkeypatch.setattr(memory, "free_memory", lambda: float(2**30))
    server, rng = FakeServer.random(6), np.random.default_rng(0)
    told = r"'fedcor' with 6 clients of 5,000,000 dimensions .* 1\.1 GiB.* smaller `dimension`"
    with pytest.raises(InputError, match=told):
        server.choose(FedCor(dimension=5_000_000), 3, rng)


@pytest.mark.parametrize(("noise_in", "chosen"), [("diagonal", 1), ("denominators", 0)])
def test_where_the_noise_stands_can_decide(noise_in: str, chosen: int) -> None:
    """Uncorrelated, deviations a = (10, 3), noise 10, annealed by 0.3 and 1.

    sqrt(a^2 + 10): 0.3 * 10.5 < 4.4; a^3 / (a^2 + 10): 0.3 * 9.1 > 1.4.
    """
    server = FakeServer.random(2)
    server.samples = np.ones(2, dtype=np.int64)
    selector = FedCor(warmup=0, interval=None, noise=10, noise_in=noise_in, **QUICK)
    server.play(selector, 3, 1, np.random.default_rng(0))
    state = {"_embeddings": np.diag([10.0, 3.0]), "_annealing": np.array([0.3, 1.0])}
    selector.load_state_dict({**selector.state_dict(), **state})
    assert server.choose(selector, 1, np.random.default_rng(0)).tolist() == [chosen]
