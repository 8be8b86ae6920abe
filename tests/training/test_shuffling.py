"""Orders of batches have the bits of NumPy's generator, whatever computes them."""

import numpy as np
import pytest

from simfl.core.seeds import generator
from simfl.training.shuffling import shuffle


@pytest.mark.parametrize("n", [0, 1, 2, 3, 8, 9, 64, 65, 1000])
@pytest.mark.parametrize(("passes", "seed", "purpose"), [(0, 0, 1), (1, 2**64 - 1, 4), (7, -5, 1)])
def test_rows_are_shuffled_as_numpy_does(n, passes, seed, purpose):
    rows = np.empty((passes, n), dtype=np.int64)
    rows[:] = np.arange(n) + 10**10
    expected = generator(seed, purpose).permuted(rows, axis=1)
    shuffle(rows, seed, purpose)
    assert np.array_equal(rows, expected)
