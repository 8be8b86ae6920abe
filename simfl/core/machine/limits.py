"""What this process may use of the machine: its cores and memory, container limits respected."""

import math
import os
from collections.abc import Iterator
from pathlib import Path

_PROC, _CGROUP = Path("/proc"), Path("/sys/fs/cgroup")


def cores(proc: Path = _PROC, cgroup: Path = _CGROUP) -> int:
    """Return how many cores this process may keep busy: its affinity, or a container's share.

    Args:
        proc: where the kernel tells of processes.
        cgroup: where control groups are mounted, of either version.
    """
    affine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    shares = [float(affine or 1)]
    for group in _groups(proc, cgroup, "cpu"):
        quota, period = (*_words(group / "cpu.max"), "", "")[:2]
        if not quota:
            quota, period = (
                "".join(_words(group / f"cpu.cfs_{name}_us")) for name in ("quota", "period")
            )
        if quota.isdecimal() and period.isdecimal() and int(period):
            shares.append(int(quota) / int(period))
    return max(int(min(shares)), 1)


def free_memory(proc: Path = _PROC, cgroup: Path = _CGROUP) -> float:
    """Return how many more bytes this machine, or this container, has to give (unknown: inf)."""
    free = [math.inf]
    for line in _lines(proc / "meminfo"):
        if line.startswith("MemAvailable:"):
            free.append(float(line.split()[1]) * 1024)
    for group in _groups(proc, cgroup, "memory"):
        for limit, usage in (
            ("memory.max", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ):
            most, used = ("".join(_words(group / name)) for name in (limit, usage))
            if most.isdecimal() and used.isdecimal():
                free.append(max(float(most) - float(used) + _file_cache(group), 0.0))
    return min(free)


def free_addresses(proc: Path = _PROC) -> float:
    """Return how many more bytes this process may map (inf: any number, or unknown)."""
    try:
        import resource
    except ImportError:  # Windows
        return math.inf
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY:
        return math.inf
    pages = int((*_words(proc / "self/statm"), "0")[0])
    return float(most - pages * resource.getpagesize())


def _file_cache(group: Path) -> float:
    """Return the bytes of files that the kernel keeps for a group and gives up when asked."""
    kept = (line.split() for line in _lines(group / "memory.stat"))
    return sum(float(words[1]) for words in kept if words[0] == "inactive_file")


def _groups(proc: Path, cgroup: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of the control groups that limit this process, each within the next."""
    for line in _lines(proc / "self/cgroup"):
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        if number != "0" and controller not in controllers.split(","):
            continue
        mounts = [cgroup] if number == "0" else [cgroup / controllers, cgroup / controller]
        for mount in mounts:
            group = mount / path.strip("/")
            # Inside a container its own group may be mounted as the root.
            yield from [
                folder for folder in (group, *group.parents) if folder.is_relative_to(mount)
            ]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _words(path: Path) -> list[str]:
    return " ".join(_lines(path)).split()
