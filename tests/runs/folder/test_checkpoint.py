"""What a checkpoint holds comes back as it was."""

from pathlib import Path

import numpy as np
import pytest

from simfl.errors import RunError
from simfl.runs.folder.checkpoint import FILE, load, run_name, save
from simfl.runs.folder.folder import CHECKPOINT, PROVENANCE, SCENARIO
from simfl.testing.contract import same


@pytest.fixture
def a_run(tmp_path: Path) -> Path:
    """Return a folder with what names a run."""
    (tmp_path / SCENARIO).write_text("name: x")
    (tmp_path / PROVENANCE).write_text('{"variant": "default", "seed": 3}')
    return tmp_path


def save_one(folder: Path, state: dict) -> None:
    save(folder / CHECKPOINT, {"run": run_name(folder), "events": 7, **state})


def test_states_survive_a_checkpoint(a_run: Path) -> None:
    """Among them keys that NumPy counted, as ``{client: ...}`` made of an array has."""
    state = {
        "scalar": np.array(1.5),
        "empty": np.zeros((0, 3), dtype=np.float32),
        "transposed": np.arange(6).reshape(2, 3).T,
        "by_client": {client: np.ones(2) for client in np.array([3, 1])},
        "nested": [(1, 2.5, None, True), {"a": "b", (1, 2): np.array([True])}],
    }
    save_one(a_run, {"coordinator": state})
    found = load(a_run, recorded=7)
    assert found is not None
    assert found["events"] == 7
    assert same(found["coordinator"], state)
    assert found["coordinator"]["transposed"].dtype == np.int64


def test_what_could_not_be_read_again_is_not_saved(a_run: Path) -> None:
    with pytest.raises(RunError, match=r"can't hold state, .*, a .*Path: what a component"):
        save_one(a_run, {"coordinator": {"selector": [a_run]}})
    assert load(a_run, recorded=7) is None


def test_a_damaged_one_falls_back_to_the_one_before_it(
    a_run: Path, caplog: pytest.LogCaptureFixture
) -> None:
    save_one(a_run, {"coordinator": "first"})
    save_one(a_run, {"coordinator": "second"})
    path = a_run / CHECKPOINT / FILE
    sound = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in [0, 31, 32, len(sound) - 1, *rng.integers(len(sound), size=200).tolist()]:
        damaged = bytearray(sound)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        caplog.clear()
        found = load(a_run, recorded=7)
        assert found is not None
        assert found["coordinator"] == "first"
        assert "state.pt is not used" in caplog.text
    path.write_bytes(sound)
    found = load(a_run, recorded=7)
    assert found is not None
    assert found["coordinator"] == "second"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"seed": 4}, "another run (seed 4, not 3)"),
        ({"variant": "other"}, "another run (variant other, not default)"),
        ({"scenario": "00"}, "another run (scenario 00, not"),
        ({"simfl": "0.0.1"}, "another run (simfl 0.0.1, not"),
    ],
)
def test_the_state_of_another_run_is_refused(
    a_run: Path, caplog: pytest.LogCaptureFixture, changes: dict, why: str
) -> None:
    save_one(a_run, {"coordinator": {}, "run": run_name(a_run) | changes})
    assert load(a_run, recorded=7) is None
    assert why in caplog.text


def test_one_ahead_of_the_log_is_refused(a_run: Path, caplog: pytest.LogCaptureFixture) -> None:
    save_one(a_run, {"coordinator": {}})
    assert load(a_run, recorded=6) is None
    assert "ahead of the log: 7 events, 6 recorded" in caplog.text
