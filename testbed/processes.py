"""Processes at the ends of a network."""

import asyncio
import ctypes
import multiprocessing
import os
import selectors
import signal
from collections.abc import Callable, Coroutine
from multiprocessing.process import BaseProcess

from typing_extensions import override

from testbed.network import Network

FORK = multiprocessing.get_context("fork")
_DEATH_SIGNAL = 1
"""Of Linux's `prctl`: PR_SET_PDEATHSIG."""


def start(network: Network, end: str, work: Callable[[], None]) -> BaseProcess:
    """Start a process that does `work` at this end, and dies with this one."""
    parent = os.getpid()

    def main() -> None:
        die_with_parent()
        if os.getppid() != parent:
            os._exit(1)
        network.enter(end)
        work()

    process = FORK.Process(target=main, daemon=True)
    process.start()
    return process


def die_with_parent() -> None:
    """Let this process be killed as soon as the one that made it ends."""
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)


class _Punctual(selectors.SelectSelector):
    """Waits that end when they should, to a tenth of a millisecond.

    Those of `epoll` are rounded up to a millisecond, and the kernel lets any of them last a
    thousandth longer: who asks again shortly before the end waits for the rest only.
    """

    @override
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(None if timeout is None else 0.99 * timeout)


def to_the_end(work: Coroutine[None, None, None]) -> None:
    """Run `work` in this process, with a loop of events that is punctual."""
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(_Punctual())) as runner:
        runner.run(work)
