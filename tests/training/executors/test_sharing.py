"""Large tensors and arrays travel in memory that processes share."""

import multiprocessing
import os
import sys
from typing import Any

import numpy as np
import pytest
import torch

from simfl.core.machine.movable import LARGE_BYTES, movable_array
from simfl.training.executors import sharing
from simfl.training.executors.sharing import pack


def test_large_tensors_travel_by_file_descriptor():
    big, small = torch.arange(100_000.0).view(100, 1000), torch.arange(3)
    packed = pack({"big": big.t(), "small": small})
    assert len(packed.payload) < 5000
    assert len(packed.fds) == 1
    copy, again = packed.unpack(), packed.unpack()
    assert torch.equal(copy["big"], big.t())
    assert torch.equal(copy["small"], small)
    copy["big"][0, 0] = 7  # what one writes is its own
    assert again["big"][0, 0] == 0
    packed.close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is copied")
def test_samples_that_can_be_moved_are_not_copied():
    """Workers had a copy of a whole data set beside that of the run, which kept its own."""
    array = movable_array((LARGE_BYTES // 4000 + 1, 1000), np.float32)
    array[:] = np.arange(1000)
    packed = pack(torch.from_numpy(array)[7:])
    copy = packed.unpack()
    packed.close()
    assert torch.equal(copy, torch.from_numpy(array[7:]))
    array[7, 0] = 3  # one memory
    assert copy[0, 0] == 3


def test_large_arrays_of_a_message_lie_in_memory_that_is_mapped(monkeypatch):
    monkeypatch.setattr(sharing, "MAPPED_BYTES", 1000)
    one, other = multiprocessing.Pipe()
    rng = np.random.default_rng(0)
    large = [
        rng.normal(size=n).astype(kind) for n, kind in ((1001, "f4"), (333, "f8"), (501, "i2"))
    ]
    message: dict[str, Any] = {
        "large": large,
        "small": np.arange(3),
        "turned": rng.normal(size=(40, 30)).T,
        "text": "x",
    }
    with one, other:
        before = len(os.listdir("/proc/self/fd"))
        for value in (message, "nothing large"):
            sharing.send(one, value)
            found = sharing.receive(other)
            if value is message:
                for array, sent in zip(found["large"], large, strict=True):
                    assert array.dtype == sent.dtype
                    assert np.array_equal(array, sent)
                    array[0] = 7  # may be written to, and the sender's stays
                    assert sent[0] != 7
                assert np.array_equal(found["turned"], message["turned"])
        assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_nothing_stays_open_if_nobody_is_there_to_receive(monkeypatch):
    monkeypatch.setattr(sharing, "MAPPED_BYTES", 1000)
    one, other = multiprocessing.Pipe()
    other.close()
    with one:
        before = len(os.listdir("/proc/self/fd"))
        with pytest.raises(OSError, match="pipe"):
            sharing.send(one, np.zeros(10_000))
        assert len(os.listdir("/proc/self/fd")) == before
