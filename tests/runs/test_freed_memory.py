"""What is freed is kept for the next step while a run trains, and by nobody after it."""

import ctypes
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from simfl import Options, run
from simfl.core.machine.allocator import keep_freed_memory, return_freed_memory
from simfl.runs.evaluation.evaluate import evaluate
from tests.tiny import TINY

ROOT = Path(__file__).parents[2]
BLOCK_BYTES = 40_000_000
HALF = BLOCK_BYTES / 2
BY_PYTORCH = {
    **TINY,
    "data": {**TINY["data"], "local_validation": "20%"},
    "model": {"name": "resnet", "blocks": [1], "channels": 4},
    "rounds": {"clients": 1, "stop": {"rounds": 1}},
}


def held_bytes() -> int:
    """Return how much memory this process has."""
    return resource.getpagesize() * int(Path("/proc/self/statm").read_text().split()[1])


def left_by_a_block() -> int:
    """Return how much more memory this process has once a large block was used and freed."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    before = held_bytes()
    block = ctypes.c_void_p(libc.malloc(BLOCK_BYTES))
    ctypes.memset(block, 1, BLOCK_BYTES)
    libc.free(block)
    return held_bytes() - before


def test_freed_memory_is_kept_while_a_run_trains_and_returned_at_its_end(tmp_path: Path) -> None:
    if not keep_freed_memory():
        pytest.skip("another C library, or the user's own settings")
    return_freed_memory()
    kept: list[int] = []
    held: list[int] = []

    def listen(_: float, kind: str, facts: dict[str, Any]) -> None:
        if kind == "round_end":
            kept.append(left_by_a_block())
            held.append(held_bytes())

    run(BY_PYTORCH, tmp_path, Options(executor="inline"), listen=lambda _: [listen])
    assert kept[0] > HALF
    assert held[-1] - held_bytes() > HALF


def left_by_blocks(folder: Path) -> list[int]:
    """Return what large blocks leave after a run, and after clients have trained its model on."""
    [result] = run(BY_PYTORCH, folder, Options(executor="inline"))
    after_run = left_by_a_block()
    evaluate(result, Options(executor="inline"), fine_tune=1)
    return [after_run, left_by_a_block()]


@pytest.mark.slow
def test_nothing_is_kept_that_others_free_after_a_run(tmp_path: Path) -> None:
    """In a process of its own: in that of many tests there are gaps as large as any block."""
    script = (
        "from tests.runs.test_freed_memory import *; "
        f"print(left_by_blocks(Path({str(tmp_path)!r})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert max(json.loads(done.stdout.splitlines()[-1])) < HALF
