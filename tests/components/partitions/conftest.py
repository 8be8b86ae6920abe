import numpy as np
import pytest

from simfl.components.partitions.base import Source, partitions

# training and test images per digit
MNIST_TRAIN = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
MNIST_TEST = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


def _labelled(counts, seed=0):
    """A source with so many samples of each class, in random order."""
    labels = np.repeat(np.arange(len(counts)), counts)
    np.random.default_rng(seed).shuffle(labels)
    return Source(labels, len(counts))


@pytest.fixture(scope="session")
def labelled():
    return _labelled


@pytest.fixture(scope="session")
def balanced():
    """Labels like Fashion-MNIST's: 6,000 of each of ten classes."""
    return _labelled([6000] * 10)


@pytest.fixture(scope="session")
def mnist_train():
    return _labelled(MNIST_TRAIN)


@pytest.fixture(scope="session")
def mnist_pooled():
    return _labelled([a + b for a, b in zip(MNIST_TRAIN, MNIST_TEST, strict=True)])


@pytest.fixture
def deal():
    def run(name, source, clients, seed=0, /, **options):
        component = partitions.parse({"name": name, **options})
        dealt = component.deal(source, clients, np.random.default_rng(seed))
        assert len(dealt) == clients
        assert all(rows.dtype == np.int64 for rows in dealt)
        assert all(((rows >= 0) & (rows < len(source.labels))).all() for rows in dealt)
        return dealt

    return run
