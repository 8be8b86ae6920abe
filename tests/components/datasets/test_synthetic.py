import numpy as np
import pytest
from pydantic import ValidationError

from simfl.components.datasets.synthetic import Synthetic
from simfl.core.machine import memory
from simfl.core.seeds import Seeds
from simfl.errors import InputError

# docs/algorithms.md, D.6, for the legacy generator with seed 0
PUBLISHED_SIZES = [1909, 171, 436, 4876, 2337, 57, 415, 90, 94, 174]


def load(seed=0, **options):
    return Synthetic(**options).load(None, Seeds(seed))


@pytest.mark.parametrize("ab", [0, 0.5, 1])
def test_the_published_sizes(ab):
    corpus = load(alpha=ab, beta=ab)
    train = np.array([len(rows) for rows in corpus.natural])
    assert train[:10].tolist() == [int(0.9 * n) for n in PUBLISHED_SIZES]
    assert train.sum() + len(corpus.test) == 22_349
    assert (train.sum(), train.min(), train.max()) == (20_101, 45, 4645)
    assert round(train.mean(), 2) == 670.03
    assert round(train.std(), 2) == 1147.77


def test_the_stream_is_that_of_the_released_generator():
    """The recipe of D.6, word for word, with NumPy's own multivariate normal draws."""
    rng = np.random.RandomState(0)
    sizes = rng.lognormal(4, 2, 3).astype(int) + 50
    mean_w = rng.normal(0, 0.5, 3)
    mean_x = rng.normal(0, 2.0, 3)
    centres = [rng.normal(mean_x[k], 1, 60) for k in range(3)]
    covariance = np.diag(np.arange(1, 61) ** -1.2)
    corpus = load(alpha=0.5, beta=2, clients=3)
    tests = np.split(np.arange(len(corpus.test)), np.cumsum(sizes - (0.9 * sizes).astype(int))[:-1])
    for k in range(3):
        w, b = rng.normal(mean_w[k], 1, (60, 10)), rng.normal(mean_w[k], 1, 10)
        x = rng.multivariate_normal(centres[k], covariance, sizes[k])
        y = np.argmax(x @ w + b, axis=1)
        mine = np.concatenate([corpus.train.x[corpus.natural[k]], corpus.test.x[tests[k]]])
        labels = np.concatenate([corpus.train.y[corpus.natural[k]], corpus.test.y[tests[k]]])
        order, expected = np.lexsort(mine.T), np.lexsort(x.T)
        np.testing.assert_allclose(mine[order], x[expected], rtol=1e-6, atol=1e-6)
        assert labels[order].tolist() == y[expected].tolist()


def test_few_labels_per_client():
    corpus = load()
    labels = [len(np.unique(corpus.train.y[rows])) for rows in corpus.natural]
    assert min(labels) >= 1
    assert max(labels) <= 6


def test_natural_rows_cover_the_training_part_once():
    corpus = load()
    assert np.concatenate(corpus.natural).tolist() == list(range(len(corpus.train)))


def test_the_data_belong_to_the_generator_seed_alone():
    first, again, other = load(seed=1), load(seed=2), load(generator_seed=7)
    assert np.array_equal(first.train.x, again.train.x)
    assert len(first.train) != len(other.train)


def test_without_a_generator_seed_the_run_decides():
    one, two = load(seed=1, generator_seed=None), load(seed=2, generator_seed=None)
    assert len(one.train) != len(two.train)


def test_iid_clients_share_one_truth_and_one_centre():
    """A linear model fitted on half of the clients predicts the other half's labels."""
    corpus = load(iid=True, clients=20)
    assert len(np.unique(corpus.train.y)) == 10
    half = len(corpus.train) // 2
    x = np.c_[corpus.train.x, np.ones(len(corpus.train))].astype(float)
    targets = np.eye(10)[corpus.train.y]
    weights = np.linalg.lstsq(x[:half], targets[:half], rcond=None)[0]
    right = np.argmax(x[half:] @ weights, axis=1) == corpus.train.y[half:]
    assert right.mean() > 0.6
    assert abs(corpus.train.x.mean()) < 0.01


@pytest.mark.parametrize("options", [{"alpha": -1}, {"clients": 0}, {"generator_seed": -1}])
def test_bad_options_are_refused(options):
    with pytest.raises(ValidationError):
        Synthetic(**options)


@pytest.mark.parametrize(("clients", "gib"), [(2**31, "74,400.0"), (20_000, "6.")])
def test_what_no_memory_holds_is_refused_before_it_is_made(clients, gib, monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: float(2**30))
    with pytest.raises(InputError, match=f"'synthetic' with .* clients needs {gib}"):
        load(clients=clients)
