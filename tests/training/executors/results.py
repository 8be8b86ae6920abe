"""What tests of executors have in common: which orders, and when results are the same."""

from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]
SIZES = [40, 7, 0, 64, 1, 33, 8, 20, 90]

slow = pytest.mark.slow
quiet = pytest.mark.filterwarnings("default")  # Ray's own warnings are not ours


def same(results, others):
    for one, other in zip(results, others, strict=True):
        assert one.order == other.order
        assert one.params.tobytes() == other.params.tobytes()
        assert np.array([one.loss]).tobytes() == np.array([other.loss]).tobytes()


def weigh(orders):
    return np.arange(1.0, len(orders) + 1)


def same_sum(added, expected):
    assert added.total.tobytes() == expected.total.tobytes()
    assert added.discarded == expected.discarded
    same(added.results, expected.results)
