"""Compute on a Ray cluster (Moritz et al., OSDI 2018; https://docs.ray.io), or a local one.

The task and each model version are put into the object store once; a worker fetches the task the
first time it is given one of its orders, and keeps it.  Orders travel in lane-groups of about equal
work, one Ray task each, one CPU and one thread each.  Orders are pure, so Ray may compute a group
again wherever it likes when a worker or a node is lost: no bit changes.
"""

import logging
import os
import pickle
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field, PrivateAttr
from typing_extensions import override

from simfl.core.extras import extra
from simfl.core.types import Params
from simfl.core.work import OrderBatch, WorkResult
from simfl.errors import InputError, RunError, SimflError
from simfl.training.executors.base import Executor, executors
from simfl.training.executors.groups import lane_groups_of, work_of
from simfl.training.executors.patience import Patience

if TYPE_CHECKING:
    from simfl.training.task import Task

RETRIES = 5
"""How often a lane-group is computed again when its worker or its node was lost."""

TASKS_KEPT = 4
"""Tasks that a worker remembers (variants of a scenario may share the workers)."""


@executors.register("ray")
class Ray(Executor):
    """Train on all nodes of a Ray cluster; the results are those of `inline`, byte for byte."""

    workers: int | None = Field(
        None, ge=1, description="lane-groups at a time, one CPU each (default: all CPUs)"
    )
    address: str | None = Field(
        None, description="of the cluster (default: $RAY_ADDRESS, else a local one is started)"
    )

    _parcel: Any = PrivateAttr(None)
    _models: dict[int, Any] = PrivateAttr(default_factory=dict)
    _patience: Patience = PrivateAttr(default_factory=Patience)

    @override
    def start(self, task: "Task") -> None:
        """Connect to the cluster and put the task there.

        Raises:
            InputError: Ray is not installed, or the cluster does not answer.
        """
        import torch

        from simfl.training.executors.sharing import pack_arrays

        self.close()
        torch.set_num_threads(1)
        ray = connect(self.address, self.workers)
        self._parcel = ray.put((sys.path, pack_arrays(task)))
        super().start(task)

    @property
    @override
    def side_by_side(self) -> int:
        return self.workers or _cpus(connect(self.address, self.workers))

    @override
    def train(self, batch: OrderBatch) -> list[WorkResult]:
        """Return the results of the batch's orders, in their order.

        Raises:
            RunError: Ray gave up on some orders, or training failed in a worker.
        """
        task = self.task
        if not batch.orders:
            return []
        import ray

        # Versions that this call no longer offers will not be asked for again.
        kept = {version: self._models.get(version) for version in batch.bases}
        self._models = {
            version: ray.put(batch.bases[version]) if model is None else model
            for version, model in kept.items()
        }
        groups = lane_groups_of(task, batch.orders, self.workers or _cpus(ray))
        asked = [self._ask(ray, batch, group) for group in groups]
        results: dict[int, WorkResult] = {}
        try:
            with self._asking(batch):
                for place, group in enumerate(groups):
                    answer = self._answer(ray, batch, group, asked, place)
                    results.update(zip(group, answer, strict=True))
        except ray.exceptions.RayError as error:
            _cancel(ray, asked)
            clients = [batch.orders[at].client for at in group]
            raise RunError(f"Ray gave up on clients {clients}: {error}") from None
        except BaseException:
            _cancel(ray, asked)
            raise
        return [results[at] for at in range(len(batch.orders))]

    def _ask(self, ray: Any, batch: OrderBatch, group: Sequence[int]) -> Any:
        """Hand out a lane-group; return where its answer will be."""
        part = batch.part(group)
        versions = list(part.bases)
        models = [self._models[version] for version in versions]
        compute = ray.remote(num_cpus=1, max_retries=RETRIES)(_compute)
        return compute.remote([self._parcel], replace(part, bases={}), versions, *models)

    def _answer(
        self, ray: Any, batch: OrderBatch, group: Sequence[int], asked: list[Any], place: int
    ) -> Sequence[WorkResult]:
        """Return the results of a group, handed out anew whenever it takes much too long.

        How long it has waited for a CPU is not known, so the limit doubles and there is no last.
        If its workers die again and again, one half after the other is tried: for want of memory.

        Raises:
            SimflError: training failed in a worker.
        """
        work = sum(work_of(self.task, batch.part(group).orders))
        for failures in count():
            try:
                answer = ray.get(asked[place], timeout=self._patience.limit_s(work, failures))
                if isinstance(answer, SimflError):
                    raise answer
                return list(answer)
            except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError):
                if len(group) < 2:
                    raise
                halves = group[: len(group) // 2], group[len(group) // 2 :]
                answers = list[WorkResult]()
                for half in halves:
                    asked[place] = self._ask(ray, batch, half)
                    answers += self._answer(ray, batch, half, asked, place)
                return answers
            except ray.exceptions.GetTimeoutError:
                _cancel(ray, [asked[place]])
                asked[place] = self._ask(ray, batch, group)
        raise AssertionError

    @override
    def close(self) -> None:
        """The connection to Ray stays, for the next run of this process."""
        super().close()
        self._parcel = None
        self._models = {}


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
        ray.init(
            log_to_driver=False,
            logging_level=logging.ERROR,
            **(local if address is None else {"address": address}),
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        where = "start a local Ray" if address is None else f"reach the Ray cluster at {address}"
        raise InputError(f"can't {where}: {error}") from None
    return ray


def at_once(
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
                under_way.append(make.remote(sys.path, pickle.dumps(waiting.pop())))
            done, under_way = ray.wait(under_way)
            for reference in done:
                failure = ray.get(reference)
                if failure is not None:
                    raise failure
    except ray.exceptions.RayError as error:
        raise RunError(f"Ray gave up on a run: {error}") from None
    finally:
        _cancel(ray, under_way)


def _call(path: Sequence[str], call: bytes) -> SimflError | None:
    _find_code(path)
    try:
        pickle.loads(call)()
    except SimflError as error:
        return error
    return None


def _find_code(path: Sequence[str]) -> None:
    """Let this worker import what the user's process can: code may lie beside a scenario."""
    sys.path += [folder for folder in path if folder not in sys.path]


def _cpus(ray: Any) -> int:
    """Return how many CPUs the cluster has now."""
    return max(int(ray.cluster_resources().get("CPU", 1)), 1)


def _cancel(ray: Any, asked: Sequence[Any]) -> None:
    for reference in asked:
        ray.cancel(reference, force=True)


_tasks: "dict[Any, Task]" = {}
"""In a worker: the tasks it has seen, the last used last."""


def _compute(
    parcel: Sequence[Any],
    batch: OrderBatch,
    versions: Sequence[int],
    *models: Params,
) -> list[WorkResult] | SimflError:
    """Train a lane-group in a Ray worker.

    Args:
        parcel: a reference to the packed task; in a list, or Ray would fetch it every time.
        batch: what to train, without the models that it starts from.
        versions: of those models.
        models: those models, in memory that can't be written.
    """
    import torch

    from simfl.training.executors.worker import attempt

    torch.set_num_threads(1)
    bases = {version: np.array(model) for version, model in zip(versions, models, strict=True)}
    return attempt(_task(parcel[0]), replace(batch, bases=bases))


def _task(reference: Any) -> "Task":
    task = _tasks.pop(reference, None)
    if task is None:
        import ray

        from simfl.training.executors.sharing import unpack_arrays

        path, packed = ray.get(reference)
        _find_code(path)
        task = unpack_arrays(*packed)
    _tasks[reference] = task
    while len(_tasks) > TASKS_KEPT:
        del _tasks[next(iter(_tasks))]
    return task
