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

from testbed.namespaces import Loopback, Namespaces

FORK = multiprocessing.get_context("fork")


def start(network: Namespaces | Loopback, end: str, work: Callable[[], None]) -> BaseProcess:
    """Start a process that does `work` at this end, and dies with this one."""
    parent = os.getpid()

    def main() -> None:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: die with the parent
        if os.getppid() != parent:
            os._exit(1)
        network.enter(end)
        work()

    process = FORK.Process(target=main, daemon=True)
    process.start()
    return process


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
