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


IMPORTING = """\
import os, signal, sys, time
from multiprocessing import forkserver
from pathlib import Path

folder = Path(os.environ["TMPDIR"])
(folder / "slowly.py").write_text(
    f"open({str(folder / 'begun')!r}, 'w').close()\\n"
    "for number in range(1000):\\n"
    "    try:\\n"
    "        __import__(f'nothing_{number}')\\n"
    "    except ImportError:\\n"
    "        __import__('time').sleep(0.02)\\n"
)
os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *sys.path])
forkserver.set_forkserver_preload(["simfl.core.machine.start_server", "slowly"])
forkserver.ensure_running()
while not (folder / "begun").exists():
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGKILL)
"""


FEW_FILES = """\
import resource, sys
from simfl.core.machine.processes import started
from simfl.errors import RunError

limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
try:
    started(id, "worker", daemon=True, needs_torch=False)[1].join()
except RunError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such server")
def test_a_server_that_too_few_files_end_does_so_without_a_word(tmp_path: Path) -> None:
    """Two tracebacks stood around the line that says what to do."""
    told, limit = "", 12
    while "the process that starts them is gone; try again, and" not in told:
        done = subprocess.run(
            [sys.executable, "-c", FEW_FILES, str(limit)],
            env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, text=True,
        )  # fmt: skip
        told, limit = done.stdout, limit + 1
        assert told, "a worker was started, and no server was left without files"
        assert not done.stderr


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


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such server")
def test_a_server_whose_process_is_gone_imports_nothing_more(tmp_path: Path) -> None:
    """It went on importing PyTorch, for seconds, and held the pipe that the command wrote to."""
    began = time.monotonic()
    subprocess.run(
        [sys.executable, "-c", IMPORTING],
        env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, check=False,
    )  # fmt: skip
    assert time.monotonic() - began < 20  # the end of the pipe came with the server's
    assert not list(tmp_path.glob("pymp-*"))
