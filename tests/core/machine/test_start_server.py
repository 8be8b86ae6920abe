"""What is left in the folder for temporary files by a process that started others."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

KILLED = """\
import multiprocessing, os, signal

server = multiprocessing.get_context("forkserver")
server.set_forkserver_preload(["simfl.core.machine.start_server"])
process = server.Process(target=os.getpid)
process.start()
process.join()
print(*os.listdir(os.environ["TMPDIR"]), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such server")
def test_a_killed_process_leaves_no_socket_behind(tmp_path: Path) -> None:
    """Each killed run left a folder `pymp-*`, and nobody removed it."""
    command = [sys.executable, "-c", KILLED]
    done = subprocess.run(
        command, env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert done.stdout.startswith("pymp-")
    until = time.monotonic() + 30
    while list(tmp_path.iterdir()) and time.monotonic() < until:
        time.sleep(0.02)
    assert not list(tmp_path.iterdir())
