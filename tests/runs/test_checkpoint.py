"""What a checkpoint holds comes back as it was."""

from pathlib import Path

import numpy as np
import pytest

from simfl.errors import RunError
from simfl.runs.checkpoint import FILE, load, save
from simfl.runs.folder import CHECKPOINT
from simfl.testing.selectors import same


def test_states_survive_a_checkpoint(tmp_path: Path) -> None:
    """Among them keys that NumPy counted, as ``{client: ...}`` made of an array has."""
    state = {
        "scalar": np.array(1.5),
        "empty": np.zeros((0, 3), dtype=np.float32),
        "transposed": np.arange(6).reshape(2, 3).T,
        "by_client": {client: np.ones(2) for client in np.array([3, 1])},
        "nested": [(1, 2.5, None, True), {"a": "b", (1, 2): np.array([True])}],
    }
    save(tmp_path / CHECKPOINT / FILE, {"events": 7, "coordinator": state})
    found = load(tmp_path)
    assert found is not None
    assert found["events"] == 7
    assert same(found["coordinator"], state)
    assert found["coordinator"]["transposed"].dtype == np.int64


def test_what_could_not_be_read_again_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"can't hold a .*Path: the `state_dict` of a selector"):
        save(tmp_path / CHECKPOINT / FILE, {"events": 7, "coordinator": {"selector": [tmp_path]}})
    assert load(tmp_path) is None
