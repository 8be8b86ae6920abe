"""How orders are split among workers: in groups of about equal work."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from simfl.core.work import WorkOrder

if TYPE_CHECKING:
    from simfl.training.task import Task


def work_of(task: "Task", orders: Sequence[WorkOrder]) -> list[float]:
    """Return how many samples each order has to go through."""
    sizes, batch = task.data.sizes, task.training.batch_size
    return [order.plan.units(int(sizes[order.client]), batch) for order in orders]


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


def even_parts(n: int, workers: int, unit: int) -> list[slice]:
    """Return up to one slice of ``range(n)`` per worker, cut at multiples of `unit`.

    >>> even_parts(2500, 2, 1000)
    [slice(0, 2000, None), slice(2000, 2500, None)]
    """
    units = -(-n // unit)
    parts = max(min(workers, units), 1)
    cuts = [min(-(-units * i // parts) * unit, n) for i in range(parts + 1)]
    return [slice(first, last) for first, last in pairwise(cuts)]
