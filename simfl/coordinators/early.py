"""Results that are there before they count: a client's filter had to see the update."""

from collections.abc import Sequence

from simfl.coordinators.ledger import Execute
from simfl.core.work import WorkOrder, WorkResult


class EarlyResults:
    """Keeps results until they are needed, or forgets them if they never are.

    Those from before an interruption are lost with it; they are computed again when needed.

    Args:
        execute: computes them again.
    """

    def __init__(self, execute: Execute) -> None:
        self._execute = execute
        self._kept: dict[tuple[int, int], tuple[WorkOrder, WorkResult | None]] = {}

    def __contains__(self, order: WorkOrder) -> bool:
        return order.key in self._kept

    @property
    def orders(self) -> list[WorkOrder]:
        """Whose results are kept."""
        return [order for order, _ in self._kept.values()]

    def keep(self, order: WorkOrder, result: WorkResult | None) -> None:
        """Keep the result of `order`; None: it is lost."""
        self._kept[order.key] = order, result

    def forget(self, order: WorkOrder) -> bool:
        """Forget the result of `order`; return whether there was one."""
        return self._kept.pop(order.key, None) is not None

    def take(self, orders: Sequence[WorkOrder]) -> list[WorkResult]:
        """Return the results of those `orders` that were computed early, to be kept no longer."""
        taken = [self._kept.pop(order.key) for order in orders if order in self]
        lost = [order for order, result in taken if result is None]
        return [result for _, result in taken if result is not None] + list(self._execute(lost))
