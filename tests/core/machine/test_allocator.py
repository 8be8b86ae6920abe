"""Memory that is freed and asked for again needs no new pages."""

import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, resource
from simfl.core.machine.allocator import keep_freed_memory

if not keep_freed_memory():
    raise SystemExit(3)
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
for _ in range(2):  # the first time it is new
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    block = ctypes.c_void_p(libc.malloc(40_000_000))
    ctypes.memset(block, 1, 40_000_000)
    libc.free(block)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_a_large_block_that_was_freed_is_given_out_again():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    if done.returncode == 3:
        pytest.skip("another C library, or the user's own settings")
    assert int(done.stdout) < 500  # a page has 4 KiB: thousands of them
