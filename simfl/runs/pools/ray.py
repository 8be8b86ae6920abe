"""Several runs at once beside a Ray cluster, whose workers train what all of them ask for."""

import os
import pickle
import sys
from collections.abc import Callable, Sequence
from typing import Any

from simfl.core.arguments import called_alike
from simfl.errors import RunError, SimflError
from simfl.training.executors.cluster.connection import connect
from simfl.training.executors.cluster.worker import find_code


def call_all(
    calls: Sequence[Callable[[], object]], address: str | None = None, cpus: int | None = None
) -> None:
    """Make `calls` in processes of this machine, several at a time, each connected to the cluster.

    They take no CPU of the cluster's: what they do is wait for the orders that they issue.

    Args:
        calls: functions that can be pickled, as can what they raise.
        address: see `connect`.
        cpus: see `connect`.

    Raises:
        SimflError: what the first of them raised that failed; those under way are ended.
    """
    ray = connect(address, cpus)
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    make = ray.remote(num_cpus=0, max_retries=0, scheduling_strategy=here)(_call)
    waiting, under_way = list(reversed(calls)), list[Any]()
    try:
        while waiting or under_way:
            while waiting and len(under_way) < (os.cpu_count() or 1):
                under_way.append(make.remote(sys.path, pickle.dumps(called_alike(waiting.pop()))))
            done, under_way = ray.wait(under_way)
            for reference in done:
                failure = ray.get(reference)
                if failure is not None:
                    raise failure
    except ray.exceptions.RayError as error:
        raise RunError(f"Ray gave up on a run: {error}") from None
    finally:
        for reference in under_way:
            ray.cancel(reference, force=True)


def _call(path: Sequence[str], call: bytes) -> SimflError | None:
    find_code(path)
    try:
        pickle.loads(call)()
    except SimflError as error:
        return error
    return None
