"""Cores and memory that a process may use, in and out of containers of either version."""

import math
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from simfl.core.machine.limits import cores, free_addresses, free_memory

ALL = len(os.sched_getaffinity(0))
GIB = 2**30
V2 = {"proc/self/cgroup": "0::/user.slice/mine\n"}
V1 = {"proc/self/cgroup": "9:name=systemd:/\n4:memory:/mine\n2:cpu,cpuacct:/mine\n"}
MEMINFO = {"proc/meminfo": f"MemTotal: {64 * 2**20} kB\nMemAvailable: {8 * 2**20} kB\n"}


def machine(top: Path, files: Mapping[str, str]) -> tuple[Path, Path]:
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    return top / "proc", top / "cgroup"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, ALL),
        ({**V2, "cgroup/user.slice/mine/cpu.max": "max 100000\n"}, ALL),
        ({**V2, "cgroup/user.slice/mine/cpu.max": "100000 100000\n"}, 1),
        ({**V2, "cgroup/user.slice/mine/cpu.max": "50000 100000\n"}, 1),
        ({**V2, "cgroup/user.slice/mine/cpu.max": f"{(ALL + 9) * 100000} 100000\n"}, ALL),
        ({**V2, "cgroup/user.slice/cpu.max": "100000 100000\n"}, 1),
        ({**V2, "cgroup/cpu.max": "100000 100000\n"}, 1),
        ({**V2, "cgroup/cpu.max": "nonsense\n"}, ALL),
        (
            {
                **V1,
                "cgroup/cpu/mine/cpu.cfs_quota_us": "100000\n",
                "cgroup/cpu/mine/cpu.cfs_period_us": "100000\n",
            },
            1,
        ),
        (
            {
                **V1,
                "cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
                "cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            },
            ALL,
        ),
    ],
)
def test_cores_are_those_that_a_container_allows(
    tmp_path: Path, files: Mapping[str, str], expected: int
) -> None:
    assert cores(*machine(tmp_path, files)) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, math.inf),
        (MEMINFO, 8 * GIB),
        ({**MEMINFO, **V2, "cgroup/user.slice/mine/memory.max": "max\n"}, 8 * GIB),
        (
            {
                **MEMINFO,
                **V2,
                "cgroup/user.slice/memory.max": f"{3 * GIB}\n",
                "cgroup/user.slice/memory.current": f"{2 * GIB}\n",
                "cgroup/user.slice/memory.stat": f"anon {GIB}\ninactive_file {GIB}\n",
            },
            2 * GIB,
        ),
        (
            {
                **MEMINFO,
                **V1,
                "cgroup/memory/mine/memory.limit_in_bytes": f"{GIB}\n",
                "cgroup/memory/mine/memory.usage_in_bytes": f"{2 * GIB}\n",
            },
            0,
        ),
    ],
)
def test_free_memory_is_what_a_container_leaves(
    tmp_path: Path, files: Mapping[str, str], expected: float
) -> None:
    assert free_memory(*machine(tmp_path, files)) == expected


def test_what_a_process_may_still_map_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource")
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "statm").write_text("100 50 20 1 0 40 0\n")
    for limit, left in ((10**9, 10**9 - 100 * resource.getpagesize()), (-1, math.inf)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, limit=limit: (limit, -1))
        assert free_addresses(tmp_path) == left
