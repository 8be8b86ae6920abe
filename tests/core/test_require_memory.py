"""What does not fit is refused before it is allocated."""

import numpy as np
import pytest

from simfl.components.selectors.base import History, View, selectors
from simfl.core.memory import free_bytes, require_memory
from simfl.errors import InputError


def test_little_fits_and_too_much_does_not() -> None:
    free = free_bytes()
    if free is None:
        pytest.skip("this system does not tell")
    require_memory(1000, "nothing much")
    with pytest.raises(
        InputError, match=r"a matrix needs [\d,.]+ GiB of memory, and [\d,.]+ are left"
    ):
        require_memory(free * 100, "a matrix")


def test_a_selector_that_compares_everybody_with_everybody_says_so_in_time() -> None:
    if free_bytes() is None:
        pytest.skip("this system does not tell")
    n = 10_000_000  # 3 PB
    view = View(1, 0.0, History.empty(np.ones(n, dtype=np.int64)), lambda: np.arange(n), k=5)
    with pytest.raises(InputError, match=r"'clustered' with 10,000,000 clients needs"):
        selectors.parse("clustered").select(view, (), 5, np.random.default_rng(0))
