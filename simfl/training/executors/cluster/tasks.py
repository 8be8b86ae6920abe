"""Ray tasks of one batch: asked for, waited for and, if need be, asked for again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from typing import Any

from simfl.core.types import Floats
from simfl.core.work import OrderBatch, WorkOrder
from simfl.errors import RunError, SimflError
from simfl.training.executors.cluster import worker

RETRIES = 5
"""How often Ray itself does a task again whose worker or node was lost."""


@dataclass(eq=False)
class Asked:
    """A Ray task.

    Attributes:
        at: which orders of the batch it is about.
        again: hands it out anew; returns where what it returns will be.
        refs: where that will be, the answer first, then models that stay in the cluster.
        answer: the answer, once it is there.
    """

    at: Sequence[int]
    again: Callable[[], list[Any]]
    refs: list[Any]
    answer: Any = None


class RayTasks:
    """What is under way of a batch.

    Args:
        ray: the module, connected.
        batch: what to train.
        parcel: a reference to the packed task.
        models: references to the models that orders start from, by version.
        limit_s: (orders, failures) -> how long what is about these orders may take.
    """

    def __init__(
        self,
        ray: Any,
        batch: OrderBatch,
        parcel: Any,
        models: Mapping[int, Any],
        limit_s: Callable[[Sequence[WorkOrder], int], float],
    ) -> None:
        self.batch = batch
        self._ray, self._parcel, self._models = ray, parcel, models
        self._limit_s = limit_s
        self._under_way: list[Asked] = []
        self._remote = cache(ray.remote)

    def ask(self, at: Sequence[int], apart: bool = False, node: str | None = None) -> Asked:
        """Hand out a lane-group.

        Args:
            at: which orders.
            apart: its models are to stay in the cluster.
            node: where it is best computed.
        """
        part = self.batch.part(at)
        versions = list(part.bases)
        models = [self._models[version] for version in versions]
        given = [self._parcel], replace(part, bases={}), versions, *models
        compute = worker.compute_apart if apart else worker.compute
        returns = 1 + len(at) * apart

        def submit(**options: Any) -> list[Any]:
            return self._submit(compute, given, num_cpus=1, num_returns=returns, **options)

        return self._asked(Asked(at, submit, submit(**self._near(node))))

    def settle(self, asked: Asked) -> list[Asked]:
        """Wait for a lane-group; return it, answered, or the parts that it was trained in.

        If its workers die again and again, one half after the other is tried: for want of memory.

        Raises:
            SimflError: training failed in a worker, or Ray gave up.
        """
        errors = self._ray.exceptions
        try:
            self._wait_for(asked)
        except errors.RayError as error:
            crashed = isinstance(error, errors.WorkerCrashedError | errors.OutOfMemoryError)
            if not crashed or len(asked.at) < 2:
                raise self._gave_up(asked, error) from None
            middle, apart = len(asked.at) // 2, len(asked.refs) > 1
            halves = asked.at[:middle], asked.at[middle:]
            return [part for half in halves for part in self.settle(self.ask(half, apart))]
        if isinstance(asked.answer, SimflError):
            raise asked.answer
        return [asked]

    def ask_sum(self, at: Sequence[int], weights: Floats, models: Sequence[Any]) -> Asked:
        """Have models added up that stayed in the cluster: Ray does so where most of them are.

        It takes no CPU of the cluster's, or it would wait for those that train the next ones.

        Args:
            at: of which orders they are.
            weights: `(r,)` what each is multiplied by.
            models: references to them, `(p,)` each.
        """

        def submit() -> list[Any]:
            given = weights.tolist(), *models
            return self._submit(worker.add_up, given, num_cpus=0)

        return self._asked(Asked(at, submit, submit()))

    def sum_of(self, asked: Asked) -> Floats:
        """Wait for a sum; return it, `(p,)`.

        Raises:
            RunError: Ray gave up.
        """
        try:
            self._wait_for(asked)
        except self._ray.exceptions.RayError as error:
            raise self._gave_up(asked, error) from None
        total: Floats = asked.answer
        return total

    def nodes(self, parts: int) -> list[str | None]:
        """Return a node for each of so many lane-groups: consecutive ones keep together."""
        slots = [
            node["NodeID"]
            for node in self._ray.nodes()
            if node["Alive"]
            for _ in range(int(node["Resources"].get("CPU", 0)))
        ] or [None]
        return [slots[part * len(slots) // parts] for part in range(parts)]

    def cancel(self) -> None:
        """End whatever was not waited for."""
        for asked in self._under_way:
            self._ray.cancel(asked.refs[0], force=True)
        self._under_way = []

    def _asked(self, asked: Asked) -> Asked:
        self._under_way.append(asked)
        return asked

    def _submit(self, function: Any, given: Sequence[Any], **options: Any) -> list[Any]:
        remote = self._remote(function).options(max_retries=RETRIES, **options)
        refs = remote.remote(*given)
        return refs if isinstance(refs, list) else [refs]

    def _near(self, node: str | None) -> dict[str, Any]:
        if node is None:
            return {}
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return {"scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=True)}

    def _wait_for(self, asked: Asked) -> None:
        """Wait for an answer; the task is handed out anew whenever it takes much too long.

        How long it has waited for a CPU is not known, so the limit doubles and there is no last.
        """
        orders = [self.batch.orders[at] for at in asked.at]
        for failures in count():
            try:
                asked.answer = self._ray.get(asked.refs[0], timeout=self._limit_s(orders, failures))
            except self._ray.exceptions.GetTimeoutError:
                self._ray.cancel(asked.refs[0], force=True)
                asked.refs = asked.again()
            else:
                self._under_way.remove(asked)
                return

    def _gave_up(self, asked: Asked, error: Exception) -> RunError:
        clients = [self.batch.orders[at].client for at in asked.at]
        return RunError(f"Ray gave up on clients {clients}: {error}")
