"""What a Ray cluster adds to a round: per task, per byte put and fetched, per result.

    python -m benchmarks.cluster

Starts two Ray nodes of one CPU each on this machine: fetching goes through a socket, as between
machines, but at the speed of memory.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np

from benchmarks.report import leave

MB = 2**20
MODELS = 48
"""Of which a mean is taken: three groups of the sum."""


def median_s(call: Callable[[], object], repeats: int) -> float:
    """Return the median seconds of `call`, after one to warm up."""
    took = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        call()
        took.append(time.perf_counter() - began)
    return statistics.median(took[1:])


def costs(size: int, repeats: int) -> list[dict[str, Any]]:
    """Return the coefficients, for arrays of `size` bytes."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = ray.get_runtime_context().get_node_id()
    there = next(node["NodeID"] for node in ray.nodes() if node["NodeID"] != here)

    def on(node: str, function: Callable[..., object]) -> Any:
        where = NodeAffinitySchedulingStrategy(node, soft=False)
        return ray.remote(num_cpus=1, scheduling_strategy=where)(function)

    def nothing() -> None:
        return None

    def touch(array: np.ndarray) -> float:
        return float(array[::512].sum())

    def make(n: int) -> np.ndarray:
        return np.ones(n // 8)

    array = np.ones(size // 8)
    kept = ray.put(array)
    empty = on(here, nothing)
    near, far, sent = on(here, touch), on(there, touch), on(there, make)

    def fetched_s() -> float:
        fresh = ray.put(array)  # what another node has fetched once, it keeps
        began = time.perf_counter()
        ray.get(far.remote(fresh))
        return time.perf_counter() - began

    task_s = median_s(lambda: ray.get([empty.remote() for _ in range(100)]), repeats) / 100
    put_s = median_s(lambda: ray.put(array), repeats)
    near_s = median_s(lambda: ray.get(near.remote(kept)), repeats)
    far_s = statistics.median([fetched_s() for _ in range(repeats + 1)][1:])
    sent_s = median_s(lambda: ray.get(sent.remote(size)), repeats)
    gb = size / 1e9
    return [
        {"cost": "a task that does nothing", "milliseconds": 1e3 * task_s, "GB_per_s": None},
        {"cost": "put into the store", "milliseconds": 1e3 * put_s, "GB_per_s": gb / put_s},
        {"cost": "read on the same node", "milliseconds": 1e3 * near_s, "GB_per_s": gb / near_s},
        {"cost": "fetch to another node", "milliseconds": 1e3 * far_s, "GB_per_s": gb / far_s},
        {"cost": "result from another node", "milliseconds": 1e3 * sent_s, "GB_per_s": gb / sent_s},
    ]


def exchanges(address: str, size: int, models: int, repeats: int) -> list[dict[str, Any]]:
    """Return what the mean of models of `size` bytes takes, that nobody needs to train."""
    from simfl.components.aggregators.weighting import GROUP
    from simfl.components.models.logistic_regression import LogisticRegression
    from simfl.core.work import OrderBatch
    from simfl.testing.learning import orders, random_task
    from simfl.training.executors.base import Executor
    from simfl.training.executors.ray import Ray

    # A client without samples returns what it starts from.
    task = random_task(LogisticRegression(), (size // 40,), 10, [1] + [0] * models)
    base = np.ones(10 * (size // 40) + 10, dtype=np.float32)
    batch = OrderBatch({0: base}, orders(models + 1)[1:])
    weights = np.full(models, 1 / models)
    rows = []
    with closing(Ray(address=address)) as ray:
        ray.start(task)
        for way, call, received in (
            ("models come here, are added up here", Executor._sum, models),
            ("models are added up on the nodes", Ray._sum, 2 * -(-models // GROUP)),
        ):
            cpu = time.process_time()
            took_s = median_s(partial(call, ray, batch, weights), repeats)
            cpu_s = (time.process_time() - cpu) / (repeats + 1)
            rows.append(
                {
                    "exchange": way,
                    "seconds": took_s,
                    "cpu_s_here": cpu_s,
                    "MB_received": received * base.nbytes / 1e6,
                }
            )
    return rows


def main() -> None:
    """Measure, print, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    from simfl.training.executors.cluster.connection import connect

    size = given.megabytes * MB
    node = {"num_cpus": 1, "object_store_memory": 20 * size}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    cluster.add_node(**node)
    cluster.wait_for_nodes(60)
    ray = connect(cluster.address)
    try:
        rows = costs(size, given.repeats)
        means = exchanges(cluster.address, size // 4, MODELS, given.repeats)
    finally:
        ray.shutdown()
        cluster.shutdown()
    leave(
        "cluster",
        {
            f"Two Ray nodes on this machine, arrays of {given.megabytes} MiB": rows,
            f"The mean of {MODELS} models of {given.megabytes / 4:g} MiB": means,
        },
    )


if __name__ == "__main__":
    main()
