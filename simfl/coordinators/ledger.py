"""The one door between virtual time and real computation.

The clock calls `issue` when a device is given work and `drop` when that work will never arrive;
only `collect` computes anything.  So an update that misses its deadline costs time, bytes and
energy, and is never trained.
"""

from collections.abc import Callable, Iterable, Sequence

from simfl.core.types import OrderKey
from simfl.core.work import WorkOrder, WorkResult
from simfl.errors import RunError

Execute = Callable[[Sequence[WorkOrder]], Sequence[WorkResult]]


class Ledger:
    """Keeps orders until their results are needed, or forgets them if they never are.

    Whatever is told of an order that is not open raises `RunError`.

    Args:
        execute: orders -> their results, in the same order.

    Attributes:
        issued: orders handed to devices.
        dropped: those of them whose results never arrive.
        computed: those whose results were needed.
    """

    def __init__(self, execute: Execute) -> None:
        self._execute = execute
        self._open: dict[OrderKey, WorkOrder] = {}
        self.issued = self.dropped = self.computed = 0

    @property
    def open(self) -> list[WorkOrder]:
        """Orders neither computed nor dropped, in canonical order."""
        return [self._open[key] for key in sorted(self._open)]

    def issue(self, order: WorkOrder) -> WorkOrder:
        """Record that `order` was handed to its device.

        Raises:
            RunError: one of the same client and issue is open.
        """
        key = order.key
        if key in self._open:
            raise RunError(f"client {order.client} was given issue {order.issue} twice")
        self._open[key] = order
        self.issued += 1
        return order

    def amend(self, order: WorkOrder) -> WorkOrder:
        """Replace the open order of the same client and issue, e.g. by a salvaged shorter one."""
        self._take(order)
        self._open[order.key] = order
        return order

    def drop(self, order: WorkOrder) -> None:
        """Record that the result of `order` will never arrive."""
        self._take(order)
        self.dropped += 1

    def collect(self, orders: Iterable[WorkOrder]) -> Sequence[WorkResult]:
        """Compute `orders` now and return their results in canonical order."""
        wanted = sorted(orders, key=lambda order: order.key)
        self.count_computed(wanted)
        return self._execute(wanted) if wanted else []

    def count_computed(self, orders: Iterable[WorkOrder]) -> None:
        """Count `orders` as computed: by others, before an interruption, or without training."""
        for order in orders:
            self._take(order)
            self.computed += 1

    def replay_aside(self, count: int) -> None:
        """Count trainings that a probe issued and collected before the run was interrupted."""
        self.issued += count
        self.computed += count

    def check(self) -> None:
        """Assert the accounting law.

        Raises:
            RunError: orders were lost or counted twice.
        """
        if self.computed != self.issued - self.dropped - len(self._open):
            raise RunError(
                f"ledger out of balance: {self.issued} issued, {self.dropped} dropped, "
                f"{self.computed} computed, {len(self._open)} open"
            )

    def _take(self, order: WorkOrder) -> None:
        if self._open.pop(order.key, None) is None:
            raise RunError(f"order {order.key} is not open")
