"""One thread for linear algebra: runs and lanes fill the cores, and their number changes no bit.

A library's thread that waits for a core which another program uses spins meanwhile: beside two busy
programs a choice of `k_dpp` took three times the CPU.  Libraries read this when they are loaded.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def limit_threads() -> None:
    """Have libraries that this process loads from now on, and its children's, use one thread.

    What the user has set stays.
    """
    for name in VARIABLES:
        os.environ.setdefault(name, "1")


@contextmanager
def limited_threads() -> Iterator[None]:
    """Likewise for processes that are started meanwhile alone."""
    before = {name: os.environ.get(name) for name in VARIABLES}
    limit_threads()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
