"""Worker processes of one task, and how groups of orders are shared out among them.

A worker that dies, or does not answer for much longer than its work should take, is replaced and
its group computed again, in halves: orders are pure.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any

from numpy.typing import NDArray

from simfl.core.types import Floats, Params
from simfl.core.work import OrderBatch
from simfl.errors import RunError
from simfl.training.executors.patience import Patience
from simfl.training.executors.sharing import Packed
from simfl.training.executors.worker import Worker

DEATHS = 3
"""How often the worker of one group, or of a part of it, may die before the run is given up."""


@dataclass
class Group:
    """Orders that one worker computes.

    Attributes:
        at: where they are in the batch.
        work: how many samples they go through.
        weights: `(r,)` of the sum that is wanted instead of their models (None: the models).
        failures: how often a worker has died of them, or of what they were part of.
        asked_s: when they were handed out.
        due_s: when they should be back.
    """

    at: list[int]
    work: float
    weights: Floats | None = None
    failures: int = 0
    asked_s: float = 0.0
    due_s: float = 0.0

    def again(self) -> "list[Group]":
        """Return what to try next: smaller, in case it was for want of memory.

        A sum's models are not all there at once, and it can't be cut without changing its bits.
        """
        middle = 0 if self.weights is not None else len(self.at) // 2
        parts = [part for part in (self.at[:middle], self.at[middle:]) if part]
        return [Group(part, self.work, self.weights, self.failures + 1) for part in parts]


Take = Callable[[Group, Any], None]
"""Is handed a group, or a part of one, and what came of it: results, or a `Sum`."""


class Crew:
    """Workers of one task, hired when they are needed.

    Args:
        task: as it is to be sent; who has packed it closes it.
        patience: how long they may take.
    """

    def __init__(self, task: Packed, patience: Patience) -> None:
        self._task, self._patience = task, patience
        self._workers: list[Worker] = []

    def __len__(self) -> int:
        return len(self._workers)

    def fill(self, size: int) -> None:
        """Hire who is missing, one by one: `dismiss` ends them, too, if there is no room for all.

        Raises:
            RunError: the machine has no room for so many processes.
        """
        while len(self._workers) < size:
            self._workers.append(Worker(self._task))

    def compute(self, batch: OrderBatch, groups: Sequence[Group], take: Take, size: int) -> None:
        """Have groups computed by so many workers.

        Args:
            batch: what they are of.
            groups: in the order in which they are handed out.
            take: is handed each, or a part of it, as its answer comes.
            size: how many workers there are to be.

        Raises:
            RunError: workers died again and again, or there is no room for them.
            SimflError: training failed in one.
        """
        try:
            self.fill(size)
            self._share_out(batch, groups, take)
        except BaseException:
            self.dismiss()  # whoever is still busy would answer the next call with old results
            raise

    def logits(
        self, inputs: Packed, params: Params, parts: Sequence[slice]
    ) -> "list[NDArray[Any] | None]":
        """Return the logits `(rows, classes)` of each part of `inputs`; None: its worker is dead.

        Args:
            inputs: a task and the tensor `(n, ...)`, packed; each worker is sent them once.
            params: `(p,)` the model.
            parts: which rows, at most one part for each worker.
        """
        try:
            for worker, part in zip(self._workers, parts, strict=False):
                worker.ask_logits(inputs, params, part)
            return [
                worker.answer(self._patience.limit_s(part.stop - part.start))
                for worker, part in zip(self._workers, parts, strict=False)
            ]
        except BaseException:
            self.dismiss()
            raise

    def dismiss(self) -> None:
        """End all workers, whatever they are doing."""
        for worker in self._workers:
            worker.stop()
        self._workers = []

    def _share_out(self, batch: OrderBatch, groups: Sequence[Group], take: Take) -> None:
        waiting = deque(groups)
        busy: dict[int, Group] = {}
        while waiting or busy:
            for slot, worker in enumerate(self._workers):
                if waiting and slot not in busy:
                    busy[slot] = group = waiting.popleft()
                    group.asked_s = time.monotonic()
                    group.due_s = group.asked_s + self._patience.limit_s(group.work, group.failures)
                    worker.ask(batch.part(group.at), batch.bases, group.weights)
            for slot in self._wait_for_answers(busy):
                answer = self._workers[slot].answer()
                group = busy.pop(slot)
                if answer is not None:
                    self._patience.learn(group.work, time.monotonic() - group.asked_s)
                    take(group, answer)
                    continue
                if group.failures + 1 >= DEATHS:
                    raise _gave_up(batch, group)
                gone, self._workers[slot] = self._workers[slot], Worker(self._task)
                gone.stop()
                waiting.extendleft(group.again())

    def _wait_for_answers(self, busy: Mapping[int, Group]) -> list[int]:
        """Wait; return who has answered or died.  Who is overdue is killed, as if it had died."""
        channels = {self._workers[slot].channel: slot for slot in busy}
        left_s = min(group.due_s for group in busy.values()) - time.monotonic()
        ready = {channels[channel] for channel in wait(list(channels), min(max(left_s, 0.0), 1e6))}  # type: ignore[index]
        for slot, group in busy.items():
            if slot not in ready and time.monotonic() >= group.due_s:
                self._workers[slot].kill()
                ready.add(slot)
        return sorted(ready)


def _gave_up(batch: OrderBatch, group: Group) -> RunError:
    return RunError(
        f"{DEATHS} worker processes died, the last while it trained clients "
        f"{[batch.orders[at].client for at in group.at]} in round "
        f"{batch.orders[0].round} (killed, stopped, out of memory, in code that "
        "never ends, or started by a script without `if __name__ == '__main__':`?)"
    )
