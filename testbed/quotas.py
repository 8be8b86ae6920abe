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
PREFIX = "simfltb-"
"""Of the names of groups and namespaces."""
ROUNDS = (1, 8)
"""Of training, for each time that shares are found."""
CLOCKS = ("cpu", "throttled", "waited", "loop")
"""Seconds of a training: of a core; while its group had used its quota up; while it could have run
otherwise, but had no core.  What lacks until its end the host has taken.  And of a core, in a loop
right after it that needs no memory: it tells whether the core itself has become slower.
"""
LOOP = 100_000
"""Additions in that loop: two milliseconds."""


def make(name: str, share: float) -> None:
    """Make a group that may use `share` of a core.

    Raises:
        OSError: there is no such controller here, or nobody may write to it.
        ValueError: the share is less than the kernel can give.
    """
    (CPU / name).mkdir()
    (CPU / name / "cpu.cfs_period_us").write_text(str(PERIOD_US))
    allow(name, share)


def allow(name: str, share: float) -> None:
    """Let a group use `share` of a core from now on; raises as `make` does."""
    if share * PERIOD_US < LEAST_US:
        raise ValueError(f"a quota of {share:.1%} of a core is less than the kernel can give")
    (CPU / name / "cpu.cfs_quota_us").write_text(f"{share * PERIOD_US:.0f}")


def remove(prefix: str) -> None:
    """Remove the groups whose names begin so; who is in one goes to the root."""
    for group in CPU.glob(f"{prefix}*"):
        for thread in (group / "tasks").read_text().split():
            with suppress(OSError):
                (CPU / "tasks").write_text(thread)
        with suppress(OSError):
            group.rmdir()


def share(name: str) -> float:
    """Return what share of a core a group may use."""
    return int((CPU / name / "cpu.cfs_quota_us").read_text()) / PERIOD_US


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


class Clocks:
    """What is counted of a thread that is alone in a group while it trains.

    Args:
        group: which.
    """

    def __init__(self, group: str) -> None:
        self._group, self._loop_s = group, 0.0

    def __call__(self) -> dict[str, float]:
        """Return seconds so far, by `CLOCKS`; those in loops are in none of the others.

        To the kernel a thread of a group that is throttled waits as any other does.
        """
        runnable_s = float(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
        counted = (CPU / self._group / "cpu.stat").read_text().split()
        throttled_s = float(counted[counted.index("throttled_time") + 1]) / 1e9
        began_s = time.thread_time()
        cpu_s = began_s - self._loop_s
        sum(range(LOOP))
        self._loop_s += time.thread_time() - began_s
        times = (cpu_s, throttled_s, runnable_s - throttled_s, self._loop_s)
        return dict(zip(CLOCKS, times, strict=True))


def settle(
    train: Callable[[Floats, int], Floats],
    model: Floats,
    group: str,
    lasts_s: float,
    together: Callable[[], object],
) -> None:
    """Give `group` the share of a core with which a training takes so long.

    It is what a training needs of a core over how long it is to take: the mean of rounds that all
    begin together, as a federation's do, in the process that is to train.  A thread that is stopped
    and woken fifty times a second needs more than one that is left alone, and processes that do the
    same need more or less than each other for as long as they live.

    Args:
        train: trains once in the group, from a model and a seed.
        model: to begin with.
        group: has a share already, about right.
        lasts_s: how long a training is to take.
        together: returns when all others have called it, too.

    Raises:
        ValueError: the share is less than the kernel can give.
    """
    for rounds in ROUNDS:
        needed_s = 0.0
        for _ in range(rounds):
            together()
            needed_s += seconds(train, model)
        allow(group, needed_s / rounds / lasts_s)


def seconds(train: Callable[[Floats, int], Floats], model: Floats) -> float:
    """Return what a training needs of a core, in this thread."""
    began_s = time.thread_time()
    train(model, 0)
    return time.thread_time() - began_s
