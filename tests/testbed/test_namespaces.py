"""The testbed's namespaces: refused where they can't be, gone afterwards whatever happens."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from testbed import namespaces, quotas
from testbed.commands import Refused
from testbed.latency import latencies
from testbed.messages import Floats
from testbed.namespaces import PREFIX, Namespaces
from tests.testbed.marks import needs_namespaces

ROOT = Path(__file__).parents[2]
RATE = (8e6, 4e6)
HOLD = """
import subprocess, time
from testbed.namespaces import PREFIX, Namespaces
with Namespaces((1e7, 1e7), [(8e6, 4e6)], shares=[0.2], latencies=[0.01]):
    inside = ["ip", "netns", "exec", PREFIX + "c0", "sleep", "60"]
    alone = {"start_new_session": True, "stdout": subprocess.DEVNULL}
    print(subprocess.Popen(inside, **alone).pid, flush=True)
    time.sleep(60)
"""
"""Holds a testbed, and has a process in it that outlives its parent."""


def test_without_root_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(Refused, match="must be root"), Namespaces(RATE, [RATE]):
        pass


def test_without_tc_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda tool: None if tool == "tc" else tool)
    with pytest.raises(Refused, match="needs `tc`: apt-get install iproute2"):
        namespaces.check()


def test_a_group_gets_its_share_of_each_period(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quotas, "CPU", tmp_path)
    quotas.make(f"{PREFIX}c0", 0.25)
    group = tmp_path / f"{PREFIX}c0"
    quota, period = (int((group / f"cpu.cfs_{x}_us").read_text()) for x in ("quota", "period"))
    assert quota == period / 4
    with pytest.raises(ValueError, match=r"1.0% of a core is less than the kernel can give"):
        quotas.make(f"{PREFIX}c1", 0.01)


def ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


def links() -> list[str]:
    """Return this machine's own interfaces, as `ip` numbers and names them."""
    return [" ".join(line.split()[:2]) for line in ip("-o", "link").splitlines()]


needs_quotas = pytest.mark.skipif(
    not os.access(quotas.CPU / "tasks", os.W_OK), reason="needs the cpu controller of cgroup v1"
)


def hold() -> tuple["subprocess.Popen[str]", int]:
    """Return a process that holds a testbed until it is killed, and one inside."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def groups() -> list[str]:
    """Return the testbed's groups of processes."""
    return [path.name for path in quotas.CPU.glob(f"{PREFIX}*")]


def runs(process: int) -> bool:
    """Return whether a process is there, and not only its entry in the table."""
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.slow
@needs_namespaces
@needs_quotas
def test_a_training_thread_is_kept_to_its_share_and_leaves_the_group() -> None:
    with Namespaces((1e7, 1e7), [RATE], shares=[0.2]) as network:
        with quotas.within(network.group(0)):
            began, spent = time.monotonic(), time.thread_time()
            while time.monotonic() - began < 1.0:
                pass
            share = (time.thread_time() - spent) / (time.monotonic() - began)
        tasks = (quotas.CPU / network.group(0) / "tasks").read_text()
    assert share < 0.25  # a busy machine may give less
    assert tasks == ""


@pytest.mark.slow
@needs_namespaces
@needs_quotas
def test_a_share_is_what_training_needs_of_a_core_and_its_seconds_are_told_apart() -> None:
    def train(model: Floats, _: int) -> Floats:
        with quotas.within(group):
            began = time.thread_time()
            while time.thread_time() - began < 0.04:
                pass
        return model

    model, together = np.zeros(0, np.float32), list[None]()
    with Namespaces((1e7, 1e7), [RATE], shares=[0.9]) as network:
        group = network.group(0)
        quotas.settle(train, model, group, 0.2, lambda: together.append(None))
        assert len(together) == sum(quotas.ROUNDS)
        assert quotas.share(group) == pytest.approx(0.2, rel=0.05)
        clocks = quotas.Clocks(group)
        before, began = clocks(), time.monotonic()
        train(model, 0)
        lasted_s, after = time.monotonic() - began, clocks()
    spent = {name: after[name] - before[name] for name in quotas.CLOCKS}
    assert spent["cpu"] == pytest.approx(0.04, rel=0.2)
    assert spent["throttled"] > spent["cpu"]
    assert sum(spent.values()) - spent["loop"] < lasted_s + 0.01


@pytest.mark.slow
@needs_namespaces
def test_nothing_is_left_and_nothing_else_is_touched() -> None:
    before = links()
    with Namespaces((1e7, 1e7), [RATE, RATE]) as network:
        ours = ip("netns", "list")
        assert all(f"{PREFIX}{end}" in ours for end in ("hub", "s", "c0", "c1"))
        assert set(network.counters()) == {"s", "c0", "c1"}
        assert links() == before
        with pytest.raises(Refused, match="another testbed"), Namespaces(RATE, [RATE]):
            pass
    assert PREFIX not in ip("netns", "list")
    assert links() == before


@pytest.mark.slow
@needs_namespaces
def test_packets_take_as_long_as_they_are_told_to_and_only_theirs() -> None:
    with Namespaces((1e7, 1e7), [RATE, RATE, RATE], latencies=[0.0, 0.02, 0.08]) as network:
        near_s, far_s, farther_s = latencies(network, 3)
    assert near_s < 0.005
    assert 0.02 <= far_s < 0.03
    assert 0.08 <= farther_s < 0.09


@pytest.mark.slow
@needs_namespaces
@needs_quotas
def test_who_is_terminated_cleans_up_and_who_is_killed_is_cleaned_up_after() -> None:
    process, inside = hold()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert PREFIX not in ip("netns", "list")
    assert not groups()
    assert not runs(inside)
    process, inside = hold()
    process.kill()
    process.communicate(timeout=30)
    assert PREFIX in ip("netns", "list")
    assert groups() == [f"{PREFIX}c0"]
    assert runs(inside)
    before = links()
    with Namespaces(RATE, []):
        assert f"{PREFIX}c0" not in ip("netns", "list")
        assert not groups()
    time.sleep(0.1)
    assert not runs(inside)
    assert PREFIX not in ip("netns", "list")
    assert links() == before
