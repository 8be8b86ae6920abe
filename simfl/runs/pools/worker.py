"""One process that makes runs, one call after the other, and the conversation with it."""

import contextlib
import gc
import os
import pickle
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from simfl.build.shared_data import DataKey, hold
from simfl.core.arguments import called_alike
from simfl.core.machine.allocator import freed_memory_returned
from simfl.core.machine.garbage import tidy
from simfl.core.machine.processes import begin_thread, portable, started
from simfl.core.machine.shared import Shared, receive_shared
from simfl.errors import RunError

Tell = Callable[[Any], None]
"""Takes what a call has to say of its progress."""

Call = Callable[[Tell], object]
"""What one process does; it and what it raises are pickled."""


class Died(RunError):
    """A process ended without a word."""


@dataclass(frozen=True)
class _Work:
    """A call as it is sent, and the key of its data: pickled, as they need the environment first.

    Attributes:
        environment: variables.
        payload: the pickle.
        data_follow: whether the data are sent behind it, and are others than before.
    """

    environment: dict[str, str]
    payload: bytes
    data_follow: bool


class Worker:
    """A process that makes one call after the other, and the conversation with it.

    Args:
        needs_torch: whether the calls need PyTorch.

    Attributes:
        number: of the call under way.
        channel: to the process.
    """

    number: int

    def __init__(self, needs_torch: bool) -> None:
        # No daemon: it may have workers of its own.
        self.channel, self._process = started(
            _serve, "simfl-run", daemon=False, needs_torch=needs_torch
        )
        self._has: Shared | None = None

    def begin(self, number: int, call: Call, data: tuple[DataKey, Shared] | None = None) -> None:
        """Let it make a call.

        Args:
            number: of the call.
            call: what it does.
            data: which samples it shares with others, and these (None: it loads its own).
        """
        self.number, self._cores = number, 1
        key, shared = data or (None, None)
        follow = shared is not None and shared is not self._has
        self._has = shared
        self._send(_Work(dict(os.environ), pickle.dumps((called_alike(call), key)), follow))
        if shared is not None and follow:
            with contextlib.suppress(OSError):  # as `_send` does
                shared.send(self.channel)

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


def _serve(channel: Connection) -> None:
    """Make in a new process the calls that come over `channel`, and say over it how they go."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    gc.freeze()  # what was there before the runs need not be looked through after each of them
    lock = threading.Lock()

    def say(what: str, value: object) -> None:
        with lock, contextlib.suppress(OSError):
            channel.send((what, value))

    calls: SimpleQueue[tuple[_Work, Shared | None] | None] = SimpleQueue()
    begin_thread(_obey, channel, calls.put)
    while (said := calls.get()) is not None:
        work, data = said
        os.environ.clear()
        os.environ.update(work.environment)
        try:
            with freed_memory_returned():
                call, key = pickle.loads(work.payload)
                hold(key, data)
                call(lambda value: say("told", value))
                tidy()
        except Exception as error:
            say("ended", portable(error))
        else:
            say("ended", None)


def _obey(channel: Connection, begin: Callable[[Any], None]) -> None:
    """Take note of calls, and of how many cores may be used; end with the parent."""
    from simfl.training.executors.auto import allow

    allow(1)
    while True:
        try:
            said = channel.recv()
            follow = isinstance(said, _Work) and said.data_follow
            data = receive_shared(channel) if follow else None
        except (EOFError, OSError):
            os._exit(1)
        if isinstance(said, int):
            allow(said)
            continue
        allow(1)
        if said is None:
            begin(None)
            return
        begin((said, data))
