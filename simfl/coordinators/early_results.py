"""Results that are there before they count: a client's filter had to see the update."""

from collections.abc import Sequence

from simfl.coordinators.ledger import Execute, Ledger
from simfl.core.types import OrderKey
from simfl.core.work import WorkOrder, WorkResult


class EarlyResults:
    """Keeps results until they are needed, or forgets them if they never are.

    Those from before an interruption are lost with it; they are computed again when needed.

    Args:
        ledger: has counted them, and computes all others.
        execute: computes those again that were lost.
    """

    def __init__(self, ledger: Ledger, execute: Execute) -> None:
        self._ledger, self._execute = ledger, execute
        self._kept: dict[OrderKey, tuple[WorkOrder, WorkResult | None]] = {}

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

    def collect(self, orders: Sequence[WorkOrder]) -> list[WorkResult]:
        """Return the results of `orders`, in canonical order; early ones are kept no longer."""
        taken = [self._kept.pop(order.key) for order in orders if order in self]
        lost = [order for order, result in taken if result is None]
        early = [result for _, result in taken if result is not None] + [*self._execute(lost)]
        there = {result.order.key for result in early}
        fresh = self._ledger.collect(order for order in orders if order.key not in there)
        return sorted([*early, *fresh], key=lambda result: result.order.key)
