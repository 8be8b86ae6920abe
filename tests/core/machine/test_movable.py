"""Arrays whose memory becomes a file's under whoever uses them."""

import mmap
import os
import sys

import numpy as np
import pytest

from simfl.core.machine.movable import LARGE_BYTES, SHIFT_BYTES, file_of, movable_array

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such files")
N = LARGE_BYTES // 4 + 1
"""Numbers of an array that is large, and does not fill its last page."""


def numbers():
    array = movable_array((N,), np.float32)
    array[:] = np.arange(N)
    return array


def place_of(array):
    place = file_of(array.ctypes.data, array.nbytes)
    assert place is not None
    return place


def test_users_of_an_array_notice_nothing_and_others_map_it():
    array = numbers()
    part = array[1000:]
    file, offset = place_of(part)
    with mmap.mmap(file, 4 * N + SHIFT_BYTES) as memory:
        theirs = np.frombuffer(memory, np.float32, offset=offset - 4000)
        assert np.array_equal(theirs, np.arange(N, dtype=np.float32))
        array[-1] = 7
        assert theirs[-1] == part[-1] == 7
        del theirs
    assert place_of(array) == (file, offset - 4000)


def test_its_file_is_closed_with_it():
    array = numbers()
    file, _ = place_of(array)
    del array
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(file)


def test_other_memory_has_no_file():
    array, small = numbers(), movable_array((3,), np.float32)
    assert file_of(small.ctypes.data, small.nbytes) is None
    assert file_of(array.ctypes.data, array.nbytes + 1) is None
    assert file_of(id(array), 1) is None


def test_without_room_for_the_file_it_stays_where_it_is(monkeypatch):
    array, moved = numbers(), list[int]()

    def write(file, data, place):
        if moved:
            raise OSError(28, "No space left on device")
        moved.append(place)
        return real(file, data, place)

    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", write)
    monkeypatch.setattr("simfl.core.machine.movable.STEP_BYTES", LARGE_BYTES // 2)
    assert file_of(array.ctypes.data, array.nbytes) is None
    assert moved == [0]
    assert np.array_equal(array, np.arange(N, dtype=np.float32))


def test_a_python_that_makes_no_such_files_has_ordinary_arrays(monkeypatch):
    """Some were built with a C library that is older than `memfd_create`."""
    monkeypatch.delattr(os, "memfd_create")
    array = numbers()
    assert file_of(array.ctypes.data, array.nbytes) is None
