"""Shares of a core, by the quotas of cgroup v1: the other way for a device to be slow.

A client's thread is in its device's group only while it trains, for its packets are not what is to
be slow.  Groups are told from others' by their names, as namespaces are.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from testbed.messages import Floats

CPU = Path("/sys/fs/cgroup/cpu")
PERIOD_US = 20_000
LEAST_US = 1_000
"""The kernel's smallest quota."""


def make(name: str, share: float) -> None:
    """Make a group that may use `share` of a core.

    Raises:
        OSError: there is no such controller here, or nobody may write to it.
        ValueError: the share is less than the kernel can give.
    """
    if share * PERIOD_US < LEAST_US:
        raise ValueError(f"a quota of {share:.1%} of a core is less than the kernel can give")
    (CPU / name).mkdir()
    (CPU / name / "cpu.cfs_period_us").write_text(str(PERIOD_US))
    (CPU / name / "cpu.cfs_quota_us").write_text(f"{share * PERIOD_US:.0f}")


def remove(prefix: str) -> None:
    """Remove the groups whose names begin so; who is in one goes to the root."""
    for group in CPU.glob(f"{prefix}*"):
        for thread in (group / "tasks").read_text().split():
            with suppress(OSError):
                (CPU / "tasks").write_text(thread)
        with suppress(OSError):
            group.rmdir()


@contextmanager
def within(name: str) -> Iterator[None]:
    """Keep this thread to the share of a group."""
    lines = Path("/proc/thread-self/cgroup").read_text().splitlines()
    [before] = [path for _, what, path in (x.split(":") for x in lines) if "cpu" in what.split(",")]
    thread = str(threading.get_native_id())
    (CPU / name / "tasks").write_text(thread)
    try:
        yield
    finally:
        (CPU / before.lstrip("/") / "tasks").write_text(thread)


def speed(train: Callable[[Floats, int], Floats], model: Floats, samples: float) -> float:
    """Return how many samples a second of this processor trains; the best of three."""
    seconds = []
    for seed in range(4):  # the first warms up
        began = time.thread_time()
        train(model, seed)
        seconds.append(time.thread_time() - began)
    return samples / min(seconds[1:])
