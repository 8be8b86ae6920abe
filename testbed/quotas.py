"""Shares of a core, by the quotas of cgroup v1: the other way for a device to be slow.

A client's thread is in its device's group only while it trains, for its packets are not what is to
be slow.  Groups are told from others' by their names, as namespaces are.
"""

import multiprocessing
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path

from testbed.messages import Floats

CPU = Path("/sys/fs/cgroup/cpu")
PERIOD_US = 20_000
LEAST_US = 1_000
"""The kernel's smallest quota."""
PREFIX = "simfltb-"
"""Of the names of groups and namespaces."""
TRIES = 3
"""Of finding shares, each from the ones before."""


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


def shares(
    rates: Sequence[float], train: Callable[[Floats, int], Floats], model: Floats, size: int
) -> list[float]:
    """Return what share of a core lets each device train at its rate while all others train too.

    Found as a device in a laboratory is set: by its clock.  A second of processor does less for a
    thread that is stopped and woken fifty times a second, and less where a core has two threads.

    Args:
        rates: of the devices, samples/s.
        train: trains once, from a model and a seed.
        model: to begin with.
        size: samples that it trains on.

    Raises:
        OSError: there are no quotas here.
        ValueError: the shares are less than the kernel can give, or more than a core.
    """
    found = [rate * _seconds(train, model) / size for rate in rates]
    for _ in range(TRIES):
        if max(found) > 1:
            raise ValueError("the devices train faster than a core of this machine")
        groups = [f"{PREFIX}try{number}" for number in range(len(rates))]
        try:
            for group, share in zip(groups, found, strict=True):
                make(group, share)
            with multiprocessing.get_context("fork").Pool(len(rates)) as pool:
                seconds = pool.map(partial(_seconds, train, model), groups, chunksize=1)
        finally:
            remove(f"{PREFIX}try")
        found = [
            share * rate * second / size
            for share, rate, second in zip(found, rates, seconds, strict=True)
        ]
    return found


def _seconds(train: Callable[[Floats, int], Floats], model: Floats, group: str = "") -> float:
    """Return how long a training takes in `group`, the median of three; one before warms up."""
    seconds = []
    with within(group) if group else nullcontext():
        for seed in range(4):
            began = time.perf_counter()
            train(model, seed)
            seconds.append(time.perf_counter() - began)
    return statistics.median(seconds[1:])
