"""The testbed's namespaces: refused where they can't be, gone afterwards whatever happens."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from testbed import namespaces
from testbed.namespaces import PREFIX, Namespaces, Refused

ROOT = Path(__file__).parents[2]
RATE = (8e6, 4e6)
HOLD = "import time; from testbed.namespaces import Namespaces as N\n"
HOLD += "with N((1e7, 1e7), [(8e6, 4e6)]): print('up', flush=True); time.sleep(60)"


def test_without_root_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(Refused, match="must be root"), Namespaces(RATE, [RATE]):
        pass


def test_without_tc_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda tool: None if tool == "tc" else tool)
    with pytest.raises(Refused, match="needs `tc`: apt-get install iproute2"):
        namespaces.check()


def ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


def links() -> list[str]:
    """Return this machine's own interfaces, as `ip` numbers and names them."""
    return [" ".join(line.split()[:2]) for line in ip("-o", "link").splitlines()]


needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("ip") is None or shutil.which("tc") is None,
    reason="makes network namespaces: needs root, ip and tc",
)


def hold() -> "subprocess.Popen[str]":
    """Return a process that holds a testbed until it is killed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


@pytest.mark.slow
@needs_root
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
@needs_root
def test_who_is_terminated_cleans_up_and_who_is_killed_is_cleaned_up_after() -> None:
    process = hold()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert PREFIX not in ip("netns", "list")
    process = hold()
    process.kill()
    process.communicate(timeout=30)
    assert PREFIX in ip("netns", "list")
    time.sleep(0.1)
    with Namespaces(RATE, []):
        assert f"{PREFIX}c0" not in ip("netns", "list")
    assert PREFIX not in ip("netns", "list")
