"""FedCor's Gaussian process: closed forms to 1e-9 and invariants (docs/algorithms.md, A.5)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfl.components.selectors.mathematics.gaussian_process import (
    Posterior,
    choose,
    grouped,
    objective,
    train,
)
from simfl.core.types import Floats

SIGMA = np.array([[4.0, 2, 0], [2, 9, -3], [0, -3, 16]])
P = np.array([0.5, 0.3, 0.2])
ONES = np.ones(3)


def embeddings(sigma: Floats) -> Floats:
    """X with X^T X = sigma."""
    return np.linalg.cholesky(sigma).T.astype(np.float64)


def dense(posterior: Posterior, n: int) -> Floats:
    return np.column_stack([posterior.column(i) for i in range(n)])


def test_two_step_selection() -> None:
    posterior = Posterior(embeddings(SIGMA), 0.0, P)
    first = posterior.scores(ONES)
    assert first == pytest.approx([1.3, 3.1 / 3, 0.575], abs=1e-9)
    posterior.condition(0)
    assert dense(posterior, 3) == pytest.approx(
        np.array([[0.0, 0, 0], [0, 8, -3], [0, -3, 16]]), abs=1e-9
    )
    assert posterior.scores(ONES) == pytest.approx([0, 1.8 / np.sqrt(8), 0.575], abs=1e-9)
    assert choose(Posterior(embeddings(SIGMA), 0.0, P), ONES, np.arange(3), 2) == [0, 1]


def test_lemma_2_gives_the_same_numbers() -> None:
    deviation = np.sqrt(np.diag(SIGMA))
    r = SIGMA / np.outer(deviation, deviation)
    single = r @ (P * deviation)
    posterior = Posterior(embeddings(SIGMA), 0.0, P)
    assert posterior.scores(ONES) == pytest.approx(single, abs=1e-9)
    posterior.condition(0)
    second = (single - r[0] * single[0])[1:] / np.sqrt(1 - r[0, 1:] ** 2)
    assert posterior.scores(ONES)[1:] == pytest.approx(second, abs=1e-9)
    assert second[0] == pytest.approx(0.6363961, abs=1e-7)


def test_annealing_changes_the_first_choice() -> None:
    alpha = np.array([0.5, 1, 1])
    posterior = Posterior(embeddings(SIGMA), 0.0, P)
    assert posterior.scores(alpha) == pytest.approx([0.65, 3.1 / 3, 0.575], abs=1e-9)
    assert choose(posterior, alpha, np.arange(3), 1) == [1]


def test_the_posterior_mean_is_that_worked_out_by_hand() -> None:
    posterior = Posterior(embeddings(SIGMA), 0.0, P)
    mean = posterior.column(0) / posterior.variance[0] * -2.0
    assert mean == pytest.approx([-2, -1, 0], abs=1e-9)
    assert P @ mean == pytest.approx(-posterior.scores(ONES)[0], abs=1e-9)


@pytest.mark.parametrize(
    ("noise", "value", "gradient"),
    [
        (1.0, 2.7429234676900394, (0.16861111, 0.32555556)),
        # exactly, in rational numbers; docs/algorithms.md prints the first as 56.194955
        (1e-4, 8.04723564054, (56.19495617927, -27.60728769745)),
    ],
)
def test_likelihood_and_gradient(noise: float, value: float, gradient: tuple[float, float]) -> None:
    found = objective(np.array([[1.0, 2.0]]), noise, grouped(np.array([[0.1, 0.3]]), np.ones(1)))
    assert found is not None
    assert found[0] == pytest.approx(value, abs=1e-9)
    assert found[1][0] == pytest.approx(gradient, abs=1e-8)


def random_case(seed: int, missing: bool) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(seed)
    X, samples = rng.normal(size=(3, 7)), rng.normal(size=(4, 7))
    if missing:
        samples[rng.random(samples.shape) < 0.3] = np.nan
        samples[2] = np.nan
    return X, samples, 0.9 ** np.arange(4.0)


@pytest.mark.parametrize("missing", [False, True])
def test_likelihood_is_the_marginal_one_of_whoever_reported(missing: bool) -> None:
    X, samples, discounts = random_case(0, missing)
    expected = 0.0
    for sample, discount in zip(samples, discounts, strict=True):
        seen = np.isfinite(sample)
        K, y = (X.T @ X + 0.01 * np.eye(7))[np.ix_(seen, seen)], sample[seen]
        fit = y @ np.linalg.solve(K, y) if seen.any() else 0.0
        logdet = np.linalg.slogdet(K)[1] if seen.any() else 0.0
        expected += discount * 0.5 * (fit + logdet + seen.sum() * np.log(2 * np.pi))
    found = objective(X, 0.01, grouped(samples, discounts))
    assert found is not None
    assert found[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("missing", [False, True])
def test_gradient_by_finite_differences(missing: bool) -> None:
    X, samples, discounts = random_case(1, missing)

    def value(at: Floats) -> float:
        found = objective(at, 0.1, grouped(samples, discounts))
        assert found is not None
        return found[0]

    numeric = np.zeros_like(X)
    for i in np.ndindex(*X.shape):
        step = np.zeros_like(X)
        step[i] = 1e-6
        numeric[i] = (value(X + step) - value(X - step)) / 2e-6
    found = objective(X, 0.1, grouped(samples, discounts))
    assert found is not None
    assert found[1] == pytest.approx(numeric, rel=1e-5, abs=1e-5)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 12), d=st.integers(1, 6))
def test_invariants_of_the_selection(seed: int, n: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    X, p, alpha = rng.normal(size=(d, n)), rng.dirichlet(np.ones(n)), rng.uniform(0.5, 1, n)
    posterior = Posterior(X, 1e-4, p)
    for chosen in choose(posterior, alpha, np.arange(n), n // 2):
        assert posterior.variance[chosen] == pytest.approx(0, abs=1e-9)
    K = dense(posterior, n)
    assert np.linalg.eigvalsh(K).min() > -1e-10
    assert posterior.variance == pytest.approx(np.diag(K), abs=1e-9)
    assert posterior.weighted == pytest.approx(K @ p, abs=1e-9)

    def order(at: Floats, noise: float) -> list[int]:
        return choose(Posterior(at, noise, p), alpha, np.arange(n), min(d, n))

    rotation, _ = np.linalg.qr(rng.normal(size=(d, d)))
    assert order(rotation @ X, 1e-4) == order(X, 1e-4)


def test_scale_does_not_matter_without_noise() -> None:
    rng = np.random.default_rng(0)
    X, p = rng.normal(size=(5, 20)), np.full(20, 0.05)
    orders = [
        choose(Posterior(s * X, 0.0, p), np.ones(20), np.arange(20), 4) for s in (1, 0.01, 50)
    ]
    assert orders[0] == orders[1] == orders[2]


@pytest.mark.parametrize("seed", range(5))
def test_one_client_of_each_planted_group(seed: int) -> None:
    groups = np.random.default_rng(seed).normal(size=(15, 10)) / np.sqrt(15)
    posterior = Posterior(np.repeat(groups, 10, axis=1), 1e-4, np.full(100, 0.01))
    chosen = choose(posterior, np.ones(100), np.arange(100), 10)
    assert sorted(client // 10 for client in chosen) == list(range(10))
    assert np.linalg.eigvalsh(dense(posterior, 100)).min() > -1e-15


def test_only_candidates_are_chosen_but_all_clients_count() -> None:
    # Client 2 can't be chosen, yet its covariance with client 1 makes client 1 worth choosing.
    X = np.array([[1.0, 0.0, 0.0], [0.0, 0.9, 3.0]])
    posterior = Posterior(X, 1e-6, np.array([0.4, 0.1, 0.5]))
    assert choose(posterior, np.ones(3), np.array([0, 1]), 1) == [1]


def test_clients_that_lost_their_variance_score_nothing() -> None:
    posterior = Posterior(np.zeros((2, 4)), 0.0, np.full(4, 0.25))
    assert posterior.scores(np.ones(4)).tolist() == [0, 0, 0, 0]
    assert choose(posterior, np.ones(4), np.arange(4), 3) == [0, 1, 2]


def test_training_raises_the_likelihood() -> None:
    X, samples, discounts = random_case(3, missing=True)
    before = objective(X, 0.01, grouped(samples, discounts))
    after = objective(
        train(X, 0.01, samples, discounts, 20, 1e-3), 0.01, grouped(samples, discounts)
    )
    assert before is not None
    assert after is not None
    assert after[0] < before[0]


def test_equal_losses_lead_to_selection_by_size() -> None:
    X = np.random.default_rng(0).normal(size=(3, 8)) / np.sqrt(3)
    X = train(X, 1e-4, np.zeros((1, 8)), np.ones(1), 3000, 0.01)
    assert np.abs(X).max() < 1e-3
    p = np.array([3, 9, 1, 8, 2, 7, 4, 6]) / 40
    assert choose(Posterior(X, 1e-4, p), np.ones(8), np.arange(8), 3) == [1, 3, 5]


def test_nothing_to_learn_from() -> None:
    X = np.ones((2, 3))
    assert train(X, 1e-4, np.full((2, 3), np.nan), np.ones(2), 5, 0.1) is X
    assert train(np.full((2, 3), 1e200), 1e-4, np.ones((1, 3)), np.ones(1), 5, 0.1).max() == 1e200


def test_training_is_adam_by_the_book_to_the_last_bit() -> None:
    """On more numbers than are worked on at a time; with everybody's answers, and without some."""
    rng = np.random.default_rng(0)
    start, samples = rng.normal(size=(3, 9_000)) / 2, rng.normal(size=(2, 9_000))
    for missing in (0, 4_000):
        samples[1, :missing] = np.nan
        groups, discounts = grouped(samples, np.array([1.0, 0.9])), np.array([1.0, 0.9])
        X, mean, square = start.copy(), np.zeros_like(start), np.zeros_like(start)
        for step in range(1, 6):
            found = objective(X, 1e-4, groups)
            assert found is not None
            mean = 0.9 * mean + 0.1 * found[1]
            square = 0.999 * square + 0.001 * found[1] ** 2
            root = np.sqrt(1 - 0.999**step)
            X -= 0.01 * (root / (1 - 0.9**step)) * mean / (np.sqrt(square) + 1e-8 * root)
        assert np.array_equal(train(start, 1e-4, samples, discounts, 5, 0.01), X)


def test_noise_of_observations_stands_only_in_the_denominators() -> None:
    """FedCor's code of July 2022: sum(K_k) sqrt(K_kk) / (K_kk + s), K - K_i K_i' / (K_ii + s)."""
    s, K = 2.0, SIGMA
    posterior = Posterior(embeddings(SIGMA), 0.0, P, s)
    for _ in range(2):
        variance = np.diag(K)
        expected = K @ P * np.sqrt(variance) / (variance + s)
        assert posterior.scores(ONES) == pytest.approx(expected, abs=1e-9)
        assert dense(posterior, 3) == pytest.approx(K, abs=1e-9)
        posterior.condition(0)
        K = K - np.outer(K[:, 0], K[0]) / (K[0, 0] + s)
