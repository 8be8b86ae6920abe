"""One worker process and the conversation with it."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable, Container, Iterator
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from simfl.core.machine.processes import begin_thread, needs_main, portable, started
from simfl.core.types import Floats, Params
from simfl.core.work import OrderBatch
from simfl.errors import RunError, SimflError
from simfl.training.executors import patience
from simfl.training.executors.sharing import Packed, receive, receive_packed, send
from simfl.training.executors.sums import add_up, models_at_once

Answer = TypeVar("Answer")


class Worker:
    """A process that trains orders of one task.

    Args:
        task: as it is to be sent, from `sharing.pack`.

    Raises:
        RunError: the machine has no room for another process.
    """

    def __init__(self, task: Packed) -> None:
        # A class of the main module is found there.
        self.channel, self._process = started(
            _serve, "simfl-worker", daemon=True, with_main=needs_main(task.payload)
        )
        self._versions: set[int] = set()
        self._inputs: Packed | None = None
        with contextlib.suppress(OSError):  # if it is dead already, the first answer says so
            task.send(self.channel)

    def ask(
        self, batch: OrderBatch, offered: Container[int], weights: Floats | None = None
    ) -> None:
        """Send orders, with those of their bases that it has not seen.

        Args:
            batch: what to train.
            offered: model versions that may be asked for again; it forgets all others.
            weights: `(r,)` of the sum that is wanted instead of the models (None: the models).
        """
        new = {v: params for v, params in batch.bases.items() if v not in self._versions}
        old = {version for version in self._versions if version not in offered}
        self._versions = (self._versions | set(batch.bases)) - old
        with self._kept_waiting(patience.LEAST_S), contextlib.suppress(OSError):
            send(self.channel, ("train", old, replace(batch, bases=new), weights))

    def ask_logits(self, inputs: Packed, params: Params, part: slice) -> None:
        """Ask for the logits of rows `part` of `inputs`, which it is given once.

        Args:
            inputs: a task and the tensor `(n, ...)`, packed.
            params: `(p,)` the model.
            part: which rows.
        """
        with self._kept_waiting(patience.LEAST_S), contextlib.suppress(OSError):
            if self._inputs is not inputs:
                self._inputs = inputs
                send(self.channel, ("inputs",))
                inputs.send(self.channel)
            send(self.channel, ("logits", params, part))

    def answer(self, patience_s: float | None = None) -> Any:
        """Return the answer to what was asked, or None if the process is dead.

        Args:
            patience_s: if it takes longer, even in the middle of its answer, it is killed (None:
                than `patience.LEAST_S`).

        Raises:
            SimflError: training failed there.
        """
        with self._kept_waiting(patience.LEAST_S if patience_s is None else patience_s):
            try:
                answer = receive(self.channel)
            except (EOFError, OSError, pickle.UnpicklingError):
                return None
        if isinstance(answer, SimflError):
            raise answer
        return answer

    @contextlib.contextmanager
    def _kept_waiting(self, patience_s: float) -> Iterator[None]:
        """Kill the process if what is done meanwhile takes longer, as it does if it is stopped."""
        impatience = threading.Timer(min(patience_s, threading.TIMEOUT_MAX), self.kill)
        impatience.daemon = True
        impatience.start()
        try:
            yield
        finally:
            impatience.cancel()

    def kill(self) -> None:
        """End the process, whatever it is doing, even if it is stopped."""
        self._process.kill()

    def stop(self) -> None:
        """End the process, and the conversation; for the last time."""
        self.channel.close()
        self.kill()
        self._process.join()
        self._process.close()


def _serve(channel: Connection) -> None:
    """Train what comes over `channel` until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    begin_thread(_die_with_parent)
    models: dict[int, Params] = {}
    with contextlib.suppress(EOFError, OSError):
        # Read first, import then: the parent is busy starting our colleagues.
        packed = receive_packed(channel)
        import torch

        from simfl.training.evaluate import logits_of
        from simfl.training.local import train

        torch.set_num_threads(1)
        task = packed.unpack()
        packed.close()
        while True:
            match receive(channel):
                case ("train", old, batch, weights):
                    models.update(batch.bases)
                    for version in old:
                        models.pop(version, None)
                    part = replace(batch, bases=models)
                    if weights is None:
                        send(channel, attempt(partial(train, task, part)))
                    else:
                        room = models_at_once(part.model_bytes)
                        adding = partial(add_up, partial(train, task), part, weights, room)
                        send(channel, attempt(adding))
                case ("inputs",):
                    packed = receive_packed(channel)
                    judged, x = packed.unpack()
                    packed.close()
                case ("logits", params, part):
                    send(channel, logits_of(judged, params, x, part).cpu().numpy())


def attempt(training: Callable[[], Answer]) -> Answer | SimflError:
    """Train in this process; return the results, or what went wrong, fit to travel."""
    try:
        return training()
    except SimflError as error:
        told = portable(error)
        return told if isinstance(told, SimflError) else RunError(str(error))
    except Exception:
        return RunError(f"training failed in a worker:\n{traceback.format_exc()}")


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
