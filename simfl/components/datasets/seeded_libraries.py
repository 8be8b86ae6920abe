"""Code of others that draws from the global state of libraries: the same numbers every time."""

import random  # noqa: TID251  # its state is set for others
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def seeded_libraries(seed: int = 0) -> Iterator[None]:
    """Let what draws from `random`, `numpy.random` and `torch` meanwhile draw by `seed`.

    Afterwards their states are as before.
    """
    import torch

    before, numpys = random.getstate(), np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # noqa: TID251
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        try:
            yield
        finally:
            random.setstate(before)
            np.random.set_state(numpys)  # noqa: NPY002
