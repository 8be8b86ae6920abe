"""Processes at the ends of a network."""

import ctypes
import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.process import BaseProcess

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
