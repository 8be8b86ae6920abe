"""Several runs at once beside a Ray cluster, whose workers train what all of them ask for."""

import os
import pickle
import sys
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from simfl.build.shared_data import DataKey, hold
from simfl.core.arguments import called_alike
from simfl.errors import RunError, SimflError
from simfl.runs.pools.stock import Stock
from simfl.training.executors.cluster.connection import connect
from simfl.training.executors.cluster.worker import find_code


def call_all(
    calls: Sequence[Callable[[], object]],
    address: str | None = None,
    cpus: int | None = None,
    data: Sequence[DataKey | None] = (),
) -> None:
    """Make `calls` in processes of this machine, several at a time, each connected to the cluster.

    They take no CPU of the cluster's: what they do is wait for the orders that they issue.

    Args:
        calls: functions that can be pickled, as can what they raise.
        address: see `connect`.
        cpus: see `connect`.
        data: which samples each shares with others, in memory (None, or (): none).

    Raises:
        SimflError: what the first of them raised that failed; those under way are ended.
    """
    ray = connect(address, cpus)
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    make = ray.remote(num_cpus=0, max_retries=0, scheduling_strategy=here)(_call)
    stock = Stock(data or [None] * len(calls))
    waiting, under_way = deque(range(len(calls))), dict[Any, int]()  # numbers of calls
    try:
        while waiting or under_way:
            while waiting and len(under_way) < (os.cpu_count() or 1):
                number = waiting.popleft()
                key, shared = stock.get(number) or (None, None)
                call = called_alike(calls[number]), key, shared and shared.named()
                under_way[make.remote(sys.path, pickle.dumps(call))] = number
            done, _ = ray.wait([*under_way])
            for reference in done:
                del under_way[reference]
                failure = ray.get(reference)
                if failure is not None:
                    raise failure
            stock.keep_for([*waiting, *under_way.values()])
    except ray.exceptions.RayError as error:
        raise RunError(f"Ray gave up on a run: {error}") from None
    finally:
        for reference in under_way:
            ray.cancel(reference, force=True)
        stock.keep_for([])


def _call(path: Sequence[str], call: bytes) -> SimflError | None:
    find_code(path)
    try:
        function, key, named = pickle.loads(call)
        hold(key, named and named.open())
        function()
    except SimflError as error:
        return error
    return None
