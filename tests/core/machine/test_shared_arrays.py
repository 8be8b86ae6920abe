"""Values whose large arrays several processes hold once."""

import errno
import multiprocessing
import os
import pickle
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simfl.core.machine import shared
from simfl.core.machine.movable import LARGE_BYTES, file_of, movable_array
from simfl.core.machine.shared import Shared, receive_shared, share

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such files")


def value() -> dict[str, Any]:
    moved = movable_array((LARGE_BYTES // 4000 + 1, 1000), np.float32)
    moved[:] = np.arange(1000)
    return {"moved": moved, "copied": np.ones(LARGE_BYTES, np.uint8), "small": np.arange(3)}


def shared_value() -> Shared:
    whole = share(value())
    assert whole is not None
    return whole


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def one_file_of(arrays: Sequence[np.ndarray[Any, Any]]) -> bool:
    places = [file_of(array.ctypes.data, array.nbytes) for array in arrays]
    return len({os.fstat(place[0]).st_ino for place in places if place is not None}) == 1


def test_large_arrays_are_there_once_and_what_one_writes_is_its_own() -> None:
    near, far = multiprocessing.Pipe()
    with near, far:
        whole = shared_value()
        assert len(whole.payload) < 5000
        whole.send(near)
        received = receive_shared(far)
    assert received is not None
    one, other, before = received.value(), whole.value(), value()
    received.close()
    whole.close()
    for name, array in before.items():
        assert np.array_equal(one[name], array)
        assert one[name].dtype == array.dtype
    for name in ("moved", "copied"):
        assert one_file_of([one[name], other[name]])
        one[name][:] = 7
        assert np.array_equal(other[name], before[name])


def test_nothing_stays_open() -> None:
    before = open_files()
    whole = shared_value()
    held = whole.value()
    assert open_files() > before
    whole.close()
    del whole, held
    assert open_files() == before


@pytest.mark.parametrize("who", ["send_handle", "recv_handle"])
def test_without_room_for_a_file_nothing_is_had_and_the_channel_goes_on(
    monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(shared, who, fail)
    near, far = multiprocessing.Pipe()
    whole = shared_value()
    before = open_files()
    with near, far:
        whole.send(near)
        near.send("next")
        assert receive_shared(far) is None
        assert far.recv() == "next"
    whole.close()
    assert open_files() < before


def test_without_such_files_nothing_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    before = open_files()
    assert share(value()) is None
    assert open_files() == before


def test_what_is_shared_can_be_had_by_name_while_it_is_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ray's processes can be sent nothing but a name."""
    whole = shared_value()
    named = pickle.loads(pickle.dumps(whole.named()))
    before = open_files()
    opened = named.open()
    assert opened is not None
    for name, array in opened.value().items():
        np.testing.assert_array_equal(array, value()[name])
    opened.close()
    another = replace(named, identities=[(0, 0, 0)] * len(named.paths))
    assert another.open() is None  # where that number is another process's
    assert open_files() == before
    whole.close()
    assert named.open() is None
