import pickle
from functools import partial

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from simfl.build.data import Unfit, federate
from simfl.components.datasets.base import datasets
from simfl.components.datasets.generated import Generated
from simfl.components.partitions.natural import Natural
from simfl.core.machine import memory
from simfl.core.seeds import Seeds
from simfl.errors import InputError


def lazy(clients=100, seed=0, **options):
    return Generated(**options).lazy(clients, Seeds(seed))


def test_sizes_follow_the_bounded_log_normal():
    sizes = lazy(100_000).sizes
    assert sizes.dtype == np.int64
    assert (sizes.min(), sizes.max()) == (1, 1000)
    inside = np.log(sizes[(sizes > 5) & (sizes < 900)])
    assert abs(np.median(np.log(sizes)) - (np.log(69) - 0.5)) < 0.02
    assert abs(sizes.mean() - 69) < 2
    assert 0.9 < inside.std() < 1.0
    assert (lazy(50, spread=0).sizes == 69).all()


def test_a_spread_whose_square_is_no_number_is_refused():
    with pytest.raises(ValidationError, match="less than or equal to 100"):
        Generated(spread=1e300)
    assert set(lazy(50, spread=100).sizes) <= {1, 1000}


def test_a_client_is_the_same_whoever_asks_and_whatever_the_fleet():
    small, large = lazy(10), lazy(1000)
    large.client(500)
    for client in (0, 9):
        one, other = small.client(client), large.client(client)
        assert len(one) == small.sizes[client]
        assert np.array_equal(one.x, other.x)
        assert np.array_equal(one.y, other.y)
    assert not np.array_equal(lazy(10, seed=1).client(0).x, small.client(0).x)


def test_workers_can_be_given_the_recipe():
    corpus = lazy(10)
    copy = pickle.loads(pickle.dumps(corpus))
    assert np.array_equal(copy.client(3).x, corpus.client(3).x)
    assert len(pickle.dumps(corpus)) < 2000


def test_the_clients_teach_what_is_tested():
    corpus = lazy(500, noise=0.1)
    parts = [corpus.client(i) for i in range(500)]
    x = np.concatenate([part.x for part in parts]).astype(float)
    y = np.concatenate([part.y for part in parts])
    weights = np.linalg.lstsq(x, np.eye(10)[y], rcond=None)[0]
    right = (np.argmax(corpus.test.x @ weights, axis=1) == corpus.test.y).mean()
    assert right > 0.6
    assert len(np.unique(corpus.test.y)) == 10


def test_inputs_are_shifted_per_client():
    centres = np.stack([lazy(20, spread=0, shift=3.0).client(i).x.mean(axis=0) for i in range(20)])
    assert abs(centres.std() - 3) < 0.2
    centres = np.stack([lazy(20, spread=0, shift=0).client(i).x.mean(axis=0) for i in range(20)])
    assert centres.std() < 0.2


def test_it_deals_its_own_clients():
    data = datasets.parse("generated")
    with pytest.raises(InputError, match="deals its own clients"):
        data.load(None, Seeds(0))
    assert data.shape() == ((60,), 10)
    assert datasets.parse("synthetic").lazy(3, Seeds(0)) is None


def test_bounds_in_the_wrong_order_are_refused():
    with pytest.raises(ValidationError, match="must be at most max_samples"):
        Generated(min_samples=5, max_samples=4)


def test_as_client_data():
    corpus = lazy(10)
    cohort = corpus.training([7, 2])
    assert cohort.x.dtype == torch.float32
    assert cohort.y.dtype == torch.int64
    assert [len(rows) for rows in cohort.rows] == corpus.sizes[[7, 2]].tolist()
    assert np.array_equal(cohort.x[cohort.rows[1]].numpy(), corpus.client(2).x)
    assert np.array_equal(cohort.y[cohort.rows[0]].numpy(), corpus.client(7).y)
    again = corpus.validation([7])
    assert torch.equal(again.x, cohort.x[cohort.rows[0]])


def test_what_no_memory_holds_is_refused_before_it_is_made(monkeypatch):
    """Of a size near 2^31 the system ended the run, or no line was told."""
    monkeypatch.setattr(memory, "free_memory", lambda: float(2**30))
    made = partial(
        federate, partition=Natural(), clients=3, local_validation=0.0, test_share=0.0,
        folder=None, seeds=Seeds(0),
    )  # fmt: skip
    many = 2**31 - 1
    for options, told in (
        (
            {"test_samples": many},
            "'generated' with 2,147,483,647 test samples .* needs 1,776.0 GiB",
        ),
        ({"min_samples": many, "max_samples": many}, "with 2,147,483,647 samples of 60 features"),
        ({"features": many}, "samples of 2,147,483,647 features and 10 classes at once needs"),
        (
            {"features": 2**20, "classes": 2**10},
            "1,048,576 features of 1,024 classes needs 8.0 GiB",
        ),
    ):
        with pytest.raises(Unfit, match=told):
            made(Generated(**options))
