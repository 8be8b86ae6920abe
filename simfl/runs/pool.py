"""Several runs at once, in processes that make one after the other.

The user's main module is not run in the processes.  What is free when fewer runs are left than
cores goes to those under way, whose `auto` executor may hire workers.  Nobody outlives this
process: each sees its channel close.
"""

import contextlib
import gc
import logging
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from typing import Any

from simfl.core.processes import portable, started
from simfl.errors import RunError

_LOG = logging.getLogger(__name__)

Tell = Callable[[Any], None]
"""Takes what a call has to say of its progress."""

Call = Callable[[Tell], object]
"""What one process does; it and what it raises are pickled."""


class Died(RunError):
    """A process ended without a word."""


class _Worker:
    """A process that makes one call after the other, and the conversation with it.

    Attributes:
        number: of the call under way.
        channel: to the process.
    """

    number: int

    def __init__(self) -> None:
        # No daemon: it may have workers of its own.
        self.channel, self._process = started(_serve, "simfl-run", daemon=False)

    def begin(self, number: int, call: Call) -> None:
        """Let it make a call."""
        self.number, self._cores = number, 1
        self._send((dict(os.environ), pickle.dumps(call)))

    def allow(self, cores: int) -> None:
        """Let it use so many cores, if that is more than before."""
        if cores > self._cores:
            self._cores = cores
            self._send(cores)

    def hear(self, tell: Tell) -> tuple[bool, BaseException | None]:
        """Take what it says next; return whether it has ended, and of what it failed if it did."""
        try:
            what, value = self.channel.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            self._process.join()
            code = self._process.exitcode or 0
            how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            why = ", perhaps for want of memory" if code == -signal.SIGKILL else ""
            return True, Died(f"a run's process {how}{why}")
        if what == "told":
            tell(value)
            return False, None
        return True, value

    def dismiss(self) -> None:
        """Let the process come to its end; it has nothing to do."""
        self._send(None)
        self._process.join()
        self.close()

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self.channel.close()
        self._process.kill()
        self._process.join()
        self._process.close()

    def _send(self, value: object) -> None:
        with contextlib.suppress(OSError):  # if it is dead already, `hear` says so
            self.channel.send(value)


def call_all(
    calls: Sequence[Call],
    costs: Sequence[float],
    processes: int,
    cores: int,
    tell: Callable[[int, Any], None],
    first: int = 0,
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

    Raises:
        RunError: it has room for none.
    """
    crew = _Crew(calls, costs, processes, first)
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
        self, calls: Sequence[Call], costs: Sequence[float], processes: int, first: int
    ) -> None:
        def place(number: int) -> tuple[bool, float, int]:
            return number >= first, -costs[number], number

        self.failures: dict[int, BaseException] = {}
        self._calls, self._processes, self._first = calls, processes, first
        self._waiting = deque(sorted(range(len(calls)), key=place))
        self._busy: dict[Connection, _Worker] = {}
        self._idle: list[_Worker] = []

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
                worker = self._idle.pop() if self._idle else _Worker()
            except RunError as error:
                if not self._busy:
                    raise
                self._processes = len(self._busy)
                _LOG.warning("no more than %d at once: %s", self._processes, error)
                break
            number = self._waiting.popleft()
            worker.begin(number, self._calls[number])
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

    def close(self) -> None:
        """End all processes, whatever they are doing."""
        for worker in (*self._busy.values(), *self._idle):
            worker.close()


def _serve(channel: Connection) -> None:
    """Make in a new process the calls that come over `channel`, and say over it how they go."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    gc.freeze()  # what was there before the runs need not be looked through after each of them
    lock = threading.Lock()

    def say(what: str, value: object) -> None:
        with lock, contextlib.suppress(OSError):
            channel.send((what, value))

    calls: SimpleQueue[tuple[dict[str, str], bytes] | None] = SimpleQueue()
    threading.Thread(target=_obey, args=(channel, calls.put), daemon=True).start()
    while (work := calls.get()) is not None:
        environment, payload = work
        os.environ.clear()
        os.environ.update(environment)
        try:
            pickle.loads(payload)(lambda value: say("told", value))
        except Exception as error:
            say("ended", portable(error))
        else:
            gc.collect()  # devices, processes and events refer to each other
            say("ended", None)


def _obey(channel: Connection, begin: Callable[[Any], None]) -> None:
    """Take note of calls, and of how many cores may be used; end with the parent."""
    from simfl.training.executors.auto import allow

    allow(1)
    while True:
        try:
            said = channel.recv()
        except (EOFError, OSError):
            os._exit(1)
        if isinstance(said, int):
            allow(said)
            continue
        allow(1)
        begin(said)
        if said is None:
            return
