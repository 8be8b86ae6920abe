"""Samples in another order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simfl.components.datasets import rearrange
from simfl.components.datasets.clients import Samples
from simfl.components.datasets.rearrange import rearranged


def samples(n: int) -> Samples:
    x = np.arange(n * 6, dtype=np.float32).reshape(n, 2, 3)
    return Samples(x, np.arange(n, dtype=np.int64) * 10)


@given(st.data())
@pytest.mark.parametrize("in_place", [False, True])
def test_rows_come_in_the_order_asked(in_place: bool, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12))
    kept = data.draw(st.integers(0, n))
    order = np.array(data.draw(st.permutations(range(n)))[:kept], dtype=np.int64)
    given_, expected = samples(n), samples(n)
    found = rearranged(given_, order, in_place)
    assert np.array_equal(found.x, expected.x[order])
    assert np.array_equal(found.y, expected.y[order])
    if not in_place:
        assert np.array_equal(given_.x, expected.x)


@pytest.mark.parametrize("part_bytes", [1, 5 * 4 * 2, 2**20])
def test_in_place_uses_the_same_memory(monkeypatch: pytest.MonkeyPatch, part_bytes: int) -> None:
    monkeypatch.setattr(rearrange, "PART_BYTES", part_bytes)
    mine, order = samples(5), np.array([4, 0, 3, 1, 2])
    found = rearranged(mine, order, in_place=True)
    assert np.shares_memory(found.x, mine.x)
    assert np.array_equal(found.x, samples(5).x[order])


def test_read_only_samples_are_copied() -> None:
    mine = samples(4)
    mine.x.flags.writeable = False
    assert np.array_equal(rearranged(mine, np.array([3, 1]), True).x, samples(4).x[[3, 1]])


def test_samples_that_lie_right_already_are_not_moved() -> None:
    mine = samples(4)
    assert np.shares_memory(rearranged(mine, np.arange(3), False).x, mine.x)
