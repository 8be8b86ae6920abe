"""How orders are split among workers: in groups of about equal work."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
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


def parts_of_sum(work: Sequence[float], workers: int, group: int, uneven: float) -> list[slice]:
    """Return slices of orders that are groups of a sum, or parts of them, for workers to share.

    Groups are cut only where whole ones would leave somebody idle for long: where each worker's
    share of the work ends.

    Args:
        work: of each order.
        workers: how many there are.
        group: how many orders a group has.
        uneven: how much longer the busiest may take than if the work were shared out evenly.

    >>> parts_of_sum([1] * 7, 2, group=4, uneven=1.3)
    [slice(0, 4, None), slice(4, 7, None)]
    >>> parts_of_sum([1] * 6, 2, group=4, uneven=1.3)
    [slice(0, 3, None), slice(3, 4, None), slice(4, 6, None)]
    """
    n, until = len(work), [0.0, *accumulate(work)]
    cuts = {*range(0, n, group), n}
    loads = [0.0] * workers
    for first, last in pairwise(sorted(cuts)):
        least = min(range(workers), key=lambda w: loads[w])
        loads[least] += until[last] - until[first]
    share = until[n] / workers
    if max(loads) > uneven * share:
        ends = (share * worker for worker in range(1, workers))
        cuts |= {min(range(n + 1), key=lambda at: abs(until[at] - end)) for end in ends}
    return [slice(first, last) for first, last in pairwise(sorted(cuts))]


def even_parts(n: int, workers: int, unit: int) -> list[slice]:
    """Return up to one slice of ``range(n)`` per worker, cut at multiples of `unit`.

    >>> even_parts(2500, 2, 1000)
    [slice(0, 2000, None), slice(2000, 2500, None)]
    """
    units = -(-n // unit)
    parts = max(min(workers, units), 1)
    cuts = [min(-(-units * i // parts) * unit, n) for i in range(parts + 1)]
    return [slice(first, last) for first, last in pairwise(cuts)]
