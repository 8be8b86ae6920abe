"""Compute on a Ray cluster (Moritz et al., OSDI 2018; https://docs.ray.io), or a local one.

The task and each model version are put into the object store once; a worker fetches the task the
first time it is given one of its orders, and keeps it.  Orders travel in lane-groups of about equal
work, one Ray task each, one CPU and one thread each.  Where only a sum of large models is asked for
they stay where they were trained, and a sum of each group of them comes back.  Orders are pure, so
Ray may compute a group again wherever it likes when a worker or a node is lost: no bit changes.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pydantic import Field, PrivateAttr
from typing_extensions import override

from simfl.components.aggregators.weighting import GROUP
from simfl.core.types import Floats
from simfl.core.work import OrderBatch, WorkOrder, WorkResult
from simfl.training.executors.base import Executor, executors
from simfl.training.executors.cluster.connection import connect, count_cpus
from simfl.training.executors.cluster.sums import AddingUp
from simfl.training.executors.cluster.tasks import RayTasks
from simfl.training.executors.groups import lane_groups, work_of
from simfl.training.executors.patience import Patience
from simfl.training.executors.sums import Sum

if TYPE_CHECKING:
    from simfl.training.task import Task

STAY_BYTES = 4 * 2**20
"""Models from here on are added up where they were trained: below, tasks cost more than bytes."""


@executors.register("ray")
class Ray(Executor):
    """Train on all nodes of a Ray cluster; the results are those of `inline`, byte for byte."""

    workers: int | None = Field(
        None, ge=1, description="lane groups at a time, one CPU each (default: all CPUs)"
    )
    address: str | None = Field(
        None,
        description="address of the cluster (default: $RAY_ADDRESS, otherwise a local one is "
        "started)",
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
        return self.workers or count_cpus(connect(self.address, self.workers))

    @override
    def train(self, batch: OrderBatch) -> list[WorkResult]:
        """Return the results of the batch's orders, in their order.

        Raises:
            RunError: Ray gave up on some orders, or training failed in a worker.
        """
        task = self.task
        if not batch.orders:
            return []
        with self._under_way(batch) as tasks:
            groups = lane_groups(work_of(task, batch.orders), self.side_by_side)
            asked = [tasks.ask(group) for group in groups]
            results: dict[int, WorkResult] = {}
            for group in asked:
                for part in tasks.settle(group):
                    results.update(zip(part.at, part.answer, strict=True))
        return [results[at] for at in range(len(batch.orders))]

    @override
    def worth_adding_up(self, models: int, model_bytes: int) -> bool:
        """A sum is as large as two models."""
        stay = models > 2 and self._stay(models, model_bytes)
        return stay or super().worth_adding_up(models, model_bytes)

    def _stay(self, models: int, model_bytes: int) -> bool:
        """Whether models stay where they were trained: large ones that the stores have room for."""
        if model_bytes < STAY_BYTES:
            return False
        stores = connect(self.address).cluster_resources().get("object_store_memory", 0)
        return bool(min(models, 2 * self._wave(model_bytes)) * model_bytes <= stores)

    def _wave(self, model_bytes: int) -> int:
        """Return how many models may be there at the same time: whole groups of their sum."""
        return -(-self._at_once(model_bytes) // GROUP) * GROUP

    @override
    def _sum(self, batch: OrderBatch, weights: Floats) -> Sum:
        if not self._stay(len(batch.orders), batch.model_bytes):
            return super()._sum(batch, weights)
        workers, wave = self.side_by_side, self._wave(batch.model_bytes)
        places = range(len(batch.orders))
        with self._under_way(batch) as tasks:
            adding = AddingUp(tasks, weights)
            for first in places[::wave]:
                adding.ask(places[first : first + wave], workers)
                if first or self.workers:  # the next are trained while these are added up
                    adding.take()
            return adding.result()

    @contextmanager
    def _under_way(self, batch: OrderBatch) -> "Iterator[RayTasks]":
        """Offer to have a batch's orders computed; what is not waited for in the end is ended."""
        task = self.task
        import ray

        # Versions that this call no longer offers will not be asked for again.
        kept = {version: self._models.get(version) for version in batch.bases}
        self._models = {
            version: ray.put(batch.bases[version]) if model is None else model
            for version, model in kept.items()
        }

        def limit_s(orders: Sequence[WorkOrder], failures: int) -> float:
            return self._patience.limit_s(sum(work_of(task, orders)), failures)

        tasks = RayTasks(ray, batch, self._parcel, self._models, limit_s)
        try:
            with self._asking(batch):
                yield tasks
        finally:
            tasks.cancel()

    @override
    def close(self) -> None:
        """The connection to Ray stays, for the next run of this process."""
        super().close()
        self._parcel = None
        self._models = {}
