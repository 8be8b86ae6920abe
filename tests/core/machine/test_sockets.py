"""Sockets between processes, where the folder for temporary files has a long name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

STARTED = """\
import os
from simfl.core.machine.processes import started


def answer(channel):
    channel.send(os.getpid())


if __name__ == "__main__":
    channel, process = started(answer, "who answers", daemon=True, with_main=True)
    assert channel.recv() == process.pid
    process.join()
    print(len(os.listdir(os.environ["TMPDIR"])))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such names")
def test_a_long_name_of_the_temporary_folder_is_no_obstacle(tmp_path: Path) -> None:
    """As on clusters: no worker could be started, since 'the process that starts them is gone'."""
    (long := tmp_path / ("long" * 20)).mkdir()
    (script := tmp_path / "script.py").write_text(STARTED)
    done = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "TMPDIR": str(long)},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("0\n", "")
