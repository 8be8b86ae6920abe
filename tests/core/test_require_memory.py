"""What does not fit is refused before it is allocated."""

import numpy as np
import pytest

from simfl.components.selectors.base import History, View, selectors
from simfl.core import memory
from simfl.errors import InputError

GIB = 2**30


@pytest.fixture(autouse=True)
def three_gib(monkeypatch: pytest.MonkeyPatch) -> None:
    """That much is left of a container's memory; what others in it have taken does not count."""
    monkeypatch.setattr(memory, "free_memory", lambda: 3.0 * GIB)


def test_little_fits_and_too_much_does_not() -> None:
    memory.require_memory(3 * GIB, "all of it")
    with pytest.raises(InputError, match=r"a matrix needs 4\.5 GiB of memory, and 3\.0 are left"):
        memory.require_memory(9 * GIB // 2, "a matrix")


def test_a_selector_that_compares_everybody_with_everybody_says_so_in_time() -> None:
    n = 10_000_000  # 3 PB
    view = View(1, 0.0, History.empty(np.ones(n, dtype=np.int64)), lambda: np.arange(n), k=5)
    with pytest.raises(InputError, match=r"'clustered' with 10,000,000 clients needs"):
        selectors.parse("clustered").select(view, (), 5, np.random.default_rng(0))
