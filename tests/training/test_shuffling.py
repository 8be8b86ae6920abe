"""Orders of batches have the bits of NumPy's generator, whatever computes them."""

import numpy as np
import pytest

from simfl.core.seeds import generator
from simfl.training.shuffling import shuffled_passes


@pytest.mark.parametrize("company", [[], [5, 0, 70]])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 8, 9, 64, 65, 1000])
@pytest.mark.parametrize(("passes", "seed", "purpose"), [(0, 0, 1), (1, 2**64 - 1, 4), (7, -5, 1)])
def test_rows_are_shuffled_as_numpy_does(n, passes, seed, purpose, company):
    rows = np.arange(n) + 10**10
    expected = generator(seed, purpose).permuted(np.tile(rows, (passes, 1)), axis=1).ravel()
    others = [np.arange(size) for size in company]
    counts, seeds = [2, 0, 1][: len(company)], [seed, 8, 9][: len(company)]
    *_, shuffled = shuffled_passes([*others, rows], [*counts, passes], [*seeds, seed], purpose)
    assert np.array_equal(shuffled, expected)
