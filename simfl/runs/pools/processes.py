"""Several runs at once, in processes that make one after the other.

The user's main module is not run in the processes.  What is free when fewer runs are left than
cores goes to those under way, whose `auto` executor may hire workers.  Nobody outlives this
process: each sees its channel close.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any

from simfl.build.shared_data import DataKey
from simfl.errors import RunError
from simfl.runs.pools.stock import Stock
from simfl.runs.pools.worker import Call, Worker

_LOG = logging.getLogger(__name__)


def call_all(
    calls: Sequence[Call],
    costs: Sequence[float],
    processes: int,
    cores: int,
    tell: Callable[[int, Any], None],
    first: int = 0,
    needs_torch: bool = True,
    data: Sequence[DataKey | None] = (),
) -> Mapping[int, BaseException]:
    """Make all calls, so many at once, the costliest first; return which failed, and of what.

    An error of one does not stop the others, unless it is one of the `first`.

    Args:
        calls: what to do.
        costs: of each, for the order.
        processes: how many at once; fewer where the machine has room for some only.
        cores: how many they share.
        tell: is told a call's number and what it says, in this process.
        first: so many are made before all others, which are made only if none of these fails.
        needs_torch: whether they need PyTorch.
        data: which samples each shares with others, in memory (None, or (): none).

    Raises:
        RunError: it has room for none.
    """
    stock = Stock(data or [None] * len(calls))
    crew = _Crew(calls, costs, processes, first, needs_torch, stock)
    try:
        while crew.is_needed:
            crew.fill()
            crew.share(cores)
            crew.listen(tell)
    finally:
        crew.close()
    return crew.failures


class _Crew:
    """Processes at work, and what is left for them to do.

    Attributes:
        failures: what calls failed of, by their number.
    """

    def __init__(
        self,
        calls: Sequence[Call],
        costs: Sequence[float],
        processes: int,
        first: int,
        needs_torch: bool,
        stock: Stock,
    ) -> None:
        def place(number: int) -> tuple[bool, float, int]:
            return number >= first, -costs[number], number

        self.failures: dict[int, BaseException] = {}
        self._calls, self._processes, self._first = calls, processes, first
        self._needs_torch, self._stock = needs_torch, stock
        self._waiting = deque(sorted(range(len(calls)), key=place))
        self._busy: dict[Connection, Worker] = {}
        self._idle: list[Worker] = []

    @property
    def is_needed(self) -> bool:
        """Whether there is anything left to do, or under way."""
        return bool(self._waiting or self._busy)

    def fill(self) -> None:
        """Begin calls until everybody is busy; dismiss those for whom there is none.

        Raises:
            RunError: the machine has room for no process at all.
        """
        while self._waiting and len(self._busy) < self._processes and self._may_begin():
            try:
                worker = self._idle.pop() if self._idle else Worker(self._needs_torch)
            except RunError as error:
                if not self._busy:
                    raise
                self._processes = len(self._busy)
                _LOG.warning("no more than %d at once: %s", self._processes, error)
                break
            number = self._waiting.popleft()
            worker.begin(number, self._calls[number], self._stock.get(number))
            self._busy[worker.channel] = worker
        while self._idle and not self._waiting:
            self._idle.pop().dismiss()

    def _may_begin(self) -> bool:
        """Whether the next call is one of the first, or none of these is under way."""
        next_is_first = self._waiting[0] < self._first
        return next_is_first or all(w.number >= self._first for w in self._busy.values())

    def share(self, cores: int) -> None:
        """Let those at work have what is free; more than now, as long as nobody waits for it."""
        each = cores // (self._processes if self._waiting else len(self._busy))
        for worker in self._busy.values():
            worker.allow(each)

    def listen(self, tell: Callable[[int, Any], None]) -> None:
        """Wait until somebody says something, and take note of who has ended."""
        for channel in wait(list(self._busy)):
            worker = self._busy[channel]  # type: ignore[index]
            ended, failure = worker.hear(partial(tell, worker.number))
            if ended:
                self._idle.append(self._busy.pop(worker.channel))
            if failure is not None:
                self.failures[worker.number] = failure
                self._idle.pop().close()  # who knows what it left behind
                if worker.number < self._first:
                    self._waiting = deque(n for n in self._waiting if n < self._first)
        self._stock.keep_for([*self._waiting, *(worker.number for worker in self._busy.values())])

    def close(self) -> None:
        """End all processes, whatever they are doing."""
        for worker in (*self._busy.values(), *self._idle):
            worker.close()
        self._stock.keep_for([])
