"""Several runs at once, each in a process of its own.

The user's main module is not run in the processes.  What is free when fewer runs are left than
cores goes to those under way, whose `auto` executor may hire workers.  Nobody outlives this
process: each sees its channel close.
"""

import contextlib
import os
import pickle
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any

from simfl.core.processes import started
from simfl.errors import RunError, SimflError

Tell = Callable[[Any], None]
"""Takes what a call has to say of its progress."""

Call = Callable[[Tell], object]
"""What one process does; it and what it raises are pickled."""


class Died(RunError):
    """A process ended without a word."""


class _Running:
    """One call under way, and the conversation with its process."""

    def __init__(self, number: int, call: Call) -> None:
        self.number = number
        # No daemon: it may have workers of its own.
        self.channel, self._process = started(_serve, "simfl-run", daemon=False)
        self._cores = 1
        with contextlib.suppress(OSError):  # if it is dead already, `hear` says so
            self.channel.send((dict(os.environ), pickle.dumps(call)))

    def allow(self, cores: int) -> None:
        """Let it use so many cores, if that is more than before."""
        if cores > self._cores:
            self._cores = cores
            with contextlib.suppress(OSError):
                self.channel.send(cores)

    def hear(self, tell: Tell) -> tuple[bool, BaseException | None]:
        """Take what it says next; return whether it has ended, and of what it failed if it did."""
        try:
            what, value = self.channel.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            self._process.join()
            code = self._process.exitcode or 0
            how = f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            return True, Died(f"its process was {how}, perhaps for want of memory")
        if what == "told":
            tell(value)
            return False, None
        self._process.join()
        return True, value

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self.channel.close()
        self._process.kill()
        self._process.join()
        self._process.close()


def call_all(
    calls: Sequence[Call],
    costs: Sequence[float],
    processes: int,
    cores: int,
    tell: Callable[[int, Any], None],
) -> Mapping[int, BaseException]:
    """Make all calls, so many at once, the costliest first; return which failed, and of what.

    An error of one does not stop the others.

    Args:
        calls: what to do.
        costs: of each, for the order.
        processes: how many at once.
        cores: how many they share.
        tell: is told a call's number and what it says, in this process.
    """
    waiting = deque(sorted(range(len(calls)), key=lambda number: (-costs[number], number)))
    running: dict[Connection, _Running] = {}
    failures: dict[int, BaseException] = {}
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                number = waiting.popleft()
                started = _Running(number, calls[number])
                running[started.channel] = started
            for run in running.values():
                run.allow(cores // (processes if waiting else len(running)))
            for channel in wait(list(running)):
                run = running[channel]  # type: ignore[index]
                ended, failure = run.hear(partial(tell, run.number))
                if ended:
                    running.pop(run.channel).close()
                if failure is not None:
                    failures[run.number] = failure
    finally:
        for run in running.values():
            run.close()
    return failures


def _serve(channel: Connection) -> None:
    """Do in a new process what comes over `channel`, and say over it how that goes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    try:
        environment, payload = channel.recv()
    except (EOFError, OSError):
        return
    os.environ.clear()
    os.environ.update(environment)
    lock = threading.Lock()

    def say(what: str, value: object) -> None:
        with lock, contextlib.suppress(OSError):
            channel.send((what, value))

    from simfl.training.executors.auto import allow

    allow(1)
    threading.Thread(target=_obey, args=(channel,), daemon=True).start()
    try:
        pickle.loads(payload)(lambda value: say("told", value))
    except Exception as error:
        say("ended", portable(error))
    else:
        say("ended", None)


def _obey(channel: Connection) -> None:
    """Take note of how many cores may be used; end with the parent."""
    from simfl.training.executors.auto import allow

    while True:
        try:
            allow(channel.recv())
        except (EOFError, OSError):
            os._exit(1)


def portable(error: Exception) -> BaseException:
    """Return `error`, or the nearest thing to it that can be sent to another process."""
    for kind in type(error).__mro__:
        if not issubclass(kind, SimflError):
            break
        with contextlib.suppress(Exception):
            same = kind(str(error))
            if str(pickle.loads(pickle.dumps(same))) == str(error):
                return same
    with contextlib.suppress(Exception):
        if str(pickle.loads(pickle.dumps(error))) == str(error):
            error.add_note("".join(traceback.format_exception(error)))
            return error
    return RunError("".join(traceback.format_exception(error)))
