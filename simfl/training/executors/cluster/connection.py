"""This process's connection to a Ray cluster, or to a local one that it starts."""

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from simfl.core.extras import extra
from simfl.errors import InputError


def connect(address: str | None = None, cpus: int | None = None) -> Any:
    """Connect this process to Ray, unless it already is; return Ray's module.

    Args:
        address: of a cluster (None: ``RAY_ADDRESS``, else start a local one).
        cpus: of the local one (None: all).

    Raises:
        InputError: Ray is not installed, or the cluster does not answer.
    """
    ray = extra("ray", "ray", "executor 'ray'")
    if ray.is_initialized():
        return ray
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    address = address or os.environ.get("RAY_ADDRESS") or None
    local: dict[str, Any] = {"address": "local", "include_dashboard": False, "num_cpus": cpus}
    try:
        with _sigterm_kept():
            ray.init(
                log_to_driver=False,
                logging_level=logging.ERROR,
                **(local if address is None else {"address": address}),
            )
    except (ConnectionError, ValueError, RuntimeError) as error:
        where = "start a local Ray" if address is None else f"reach the Ray cluster at {address}"
        raise InputError(f"can't {where}: {error}") from None
    return ray


@contextmanager
def _sigterm_kept() -> Iterator[None]:
    """Leave SIGTERM to this process's own handler, if it has one: Ray sets another."""
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if callable(handler) and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)


def count_cpus(ray: Any) -> int:
    """Return how many CPUs the cluster has now."""
    return max(int(ray.cluster_resources().get("CPU", 1)), 1)
