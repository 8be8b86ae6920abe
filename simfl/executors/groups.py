"""How orders are split among workers: in groups of about equal work."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simfl.work import WorkOrder

if TYPE_CHECKING:
    from simfl.learning.task import Task


def lane_groups_of(task: "Task", orders: Sequence[WorkOrder], workers: int) -> list[list[int]]:
    """Return `lane_groups` of orders, by the samples that each has to go through."""
    sizes, batch = task.data.sizes, task.training.batch_size
    return lane_groups([one.plan.units(int(sizes[one.client]), batch) for one in orders], workers)


def lane_groups(work: Sequence[float], workers: int) -> list[list[int]]:
    """Return up to one group per worker, the heaviest first, each a list of indices.

    The largest order goes to the group with the least work so far, and so on (longest processing
    time first).  Few and large groups: lanes are fastest in company.

    >>> lane_groups([5, 1, 1, 1, 1, 1], 2)
    [[0], [1, 2, 3, 4, 5]]
    """
    groups: list[list[int]] = [[] for _ in range(min(workers, len(work)))]
    loads = [0.0] * len(groups)
    for index in sorted(range(len(work)), key=lambda i: (-work[i], i)):
        least = min(range(len(groups)), key=lambda g: (loads[g], g))
        groups[least].append(index)
        loads[least] += work[index]
    heaviest = sorted(range(len(groups)), key=lambda g: (-loads[g], g))
    return [sorted(groups[g]) for g in heaviest]
