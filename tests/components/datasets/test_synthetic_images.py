import numpy as np
import pytest

from simfl.components.datasets.synthetic_images import SyntheticImages
from simfl.core.seeds import Seeds


def load(seed=0, **options):
    return SyntheticImages(**options).load(None, Seeds(seed))


def test_shapes_types_and_balance():
    data = SyntheticImages(classes=5, channels=3, size=16, samples=100, test_samples=50)
    corpus = data.load(None, Seeds(0))
    assert corpus.train.x.shape == (100, 3, 16, 16)
    assert corpus.train.x.dtype == np.float32
    assert data.shape() == (corpus.train.x.shape[1:], corpus.classes)
    assert np.bincount(corpus.train.y).tolist() == [20] * 5
    assert np.bincount(corpus.test.y).tolist() == [10] * 5


def test_training_pictures_tell_the_class_of_test_pictures():
    corpus = load(samples=500, test_samples=200)
    means = np.stack([corpus.train.x[corpus.train.y == c].mean(axis=0) for c in range(10)])
    distance = ((corpus.test.x[:, None] - means) ** 2).sum(axis=(2, 3, 4))
    assert (distance.argmin(axis=1) == corpus.test.y).mean() > 0.95


def test_without_noise_only_the_prototypes_are_left():
    corpus = load(samples=40, test_samples=40, noise=0)
    assert len(np.unique(corpus.train.x.reshape(40, -1), axis=0)) == 10


def test_neighbouring_pixels_are_alike():
    x = load(samples=10, noise=0).train.x
    assert np.abs(np.diff(x, axis=-1)).mean() < 0.3 * x.std()


@pytest.mark.parametrize("generator_seed", [0, None])
def test_which_seed_decides(generator_seed):
    one, two = (load(seed, samples=20, generator_seed=generator_seed) for seed in (0, 1))
    assert np.array_equal(one.train.x, two.train.x) == (generator_seed is not None)
