"""Samples that runs side by side share are dealt as those that each has of its own."""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl.build.data import federate, loaded
from simfl.build.shared_data import DataKey, held, hold, key_to_share
from simfl.components.datasets.base import datasets
from simfl.components.datasets.clients import ClientData, Samples
from simfl.components.partitions.base import partitions
from simfl.core.machine.shared import share
from simfl.core.seeds import Seeds
from simfl.scenario.parts.learning import Data
from tests.counted_data import SAMPLES, Counted

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere none are shared")


@pytest.fixture
def counted(tmp_path: Path) -> Iterator[Counted]:
    yield Counted(told=tmp_path / "told")
    hold(None, None)


def hold_samples(key: DataKey) -> None:
    hold(key, share(replace(loaded(key, Seeds(0)), disposable=False, shared=True)))


def dealt(dataset: Counted, named: Any, seed: int) -> tuple[ClientData, Samples]:
    return federate(dataset, partitions.parse(named), 21, 0.2, 0.2, None, Seeds(seed))


@pytest.mark.parametrize(
    "named", ["iid", {"name": "dirichlet", "alpha": 0.3}, "power_law_two_digits"]
)
def test_clients_have_the_samples_of_a_run_by_itself(counted: Counted, named: Any) -> None:
    own = [dealt(counted, named, seed) for seed in (0, 1)]
    key = DataKey(counted, partitions.parse(named).pools_test, None)
    hold_samples(key)
    loads = counted.told.read_text()
    shared = [dealt(counted, named, seed) for seed in (0, 1)]
    assert counted.told.read_text() == loads
    sent = held(key)
    assert sent is not None
    assert all(np.shares_memory(c.training(range(21)).x, sent.train.x) for c, _ in shared)
    for (mine, my_test), (theirs, their_test) in zip(own, shared, strict=True):
        for one, other in (
            (mine.training(range(21)), theirs.training(range(21))),
            (mine.validation(range(21)), theirs.validation(range(21))),
        ):
            for rows, other_rows in zip(one.rows, other.rows, strict=True):
                assert np.array_equal(one.x[rows], other.x[other_rows])
                assert np.array_equal(one.y[rows], other.y[other_rows])
        assert np.array_equal(mine.everybodys().x, theirs.everybodys().x)
        assert np.array_equal(my_test.x, their_test.x)


def test_one_run_after_the_other_has_what_was_sent_once(counted: Counted) -> None:
    key = DataKey(counted, False, None)
    hold_samples(key)
    first = held(key)
    assert held(key) is first is not None
    before = first.train.x.copy()
    first.train.x[:] = 0
    hold(replace(key), None)  # sent before
    again = held(key)
    assert again is not None
    assert np.array_equal(again.train.x, before)
    hold(DataKey(counted, True, None), None)
    assert held(key) is None


def test_a_file_that_has_changed_since_is_read_anew(counted: Counted, tmp_path: Path) -> None:
    """Its digest was noted, and what was there before was trained on: verify failed."""
    file = tmp_path / "own.csv"
    for rows in (20, 30):
        file.write_text("a,label,test\n" + "1,0,0\n2,1,1\n" * rows)
        dataset = datasets.parse({"name": "csv", "file": str(file), "label": "label"})
        key = DataKey(dataset, False, None)
        assert held(key) is None
        hold_samples(key)
        assert held(key) is not None


def test_a_folder_of_which_a_file_has_changed_is_read_anew(tmp_path: Path) -> None:
    """By the folder's own time it was as before, and so was the picture's size."""
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.pgm").write_bytes(b"P5 1 1 255 " + b"\0")
    dataset = datasets.parse({"name": "image_folder", "path": str(tmp_path), "size": 1})
    before = DataKey(dataset, False, None)
    assert before == DataKey(dataset, False, None)
    (tmp_path / "cat" / "1.pgm").write_bytes(b"P5 1 1 255 " + b"\1")
    os.utime(tmp_path / "cat" / "1.pgm", (0, 0))
    assert before != DataKey(dataset, False, None)


def test_large_data_sets_are_shared_that_are_the_same_for_each_seed(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def key(dataset: Any, folder: Path | None = None) -> DataKey | None:
        return key_to_share(Data.model_validate({"dataset": dataset, "partition": "iid"}), folder)

    folder = Path("data")
    assert key("cifar10", folder) == DataKey(datasets.parse("cifar10"), False, folder)
    assert key({"name": "cifar10", "normalise": "half"}) != key("cifar10")
    assert key("mnist") is key("synthetic_images") is key(counted) is None
    monkeypatch.setattr("simfl.build.shared_data.SHARED_BYTES", SAMPLES)
    assert key(counted, folder) == DataKey(counted, False, None)  # it reads nothing there
    assert key("synthetic_images") is None
    monkeypatch.setattr(sys, "platform", "darwin")
    assert key("cifar10") is None
