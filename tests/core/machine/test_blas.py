"""Linear algebra has one thread, wherever simfl computes."""

import os
import subprocess
import sys
from multiprocessing.connection import Connection

import pytest

from simfl.core.machine.blas import VARIABLES
from simfl.core.machine.processes import started


def tell_threads(channel: Connection) -> None:
    channel.send([os.environ.get(name) for name in VARIABLES])


def test_processes_have_one_thread_and_this_one_what_it_had(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    channel, process = started(tell_threads, "told", daemon=True)
    assert channel.recv() == ["1"] * len(VARIABLES)
    process.join()
    assert "OPENBLAS_NUM_THREADS" not in os.environ


@pytest.mark.parametrize(("given", "used"), [(None, "1"), ("3", "3")])
def test_the_command_has_one_thread_unless_it_is_told_otherwise(
    given: str | None, used: str
) -> None:
    code = (
        "import os, sys; sys.argv = ['simfl', '--version']; from simfl.cli import main; main(); "
        "print(os.environ['OPENBLAS_NUM_THREADS'])"
    )
    env = {k: v for k, v in os.environ.items() if k not in VARIABLES}
    env |= {} if given is None else {"OPENBLAS_NUM_THREADS": given}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == used, done.stderr
