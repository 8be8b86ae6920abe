"""Updates, models and clocks that grow beyond all numbers."""

from typing import Any

import pytest
import torch

from simfl.errors import RunError
from tests.tiny import RunTiny


def test_diverged_updates_are_discarded_and_the_model_survives(run_tiny: RunTiny) -> None:
    result = run_tiny({"training.optimizer.lr": 1e30})
    assert (result.clients.outcome == "discarded").all()
    assert result.rounds.discarded.sum() == len(result.clients)
    state = torch.load(result.folder / "model.pt", weights_only=True)
    assert all(tensor.isfinite().all() for tensor in state.values())


def test_training_that_diverges_at_once_raises_no_warning(run_tiny: RunTiny) -> None:
    """Warnings are errors here; numpy's own stood on the terminal."""
    result = run_tiny({"training.optimizer.lr": 1e300})
    assert result.rounds.discarded.sum() == len(result.clients)


@pytest.mark.parametrize(
    "changes",
    [
        {"aggregation": {"name": "fedadam", "lr": 1e300}},
        {"aggregation": {"name": "fedavgm", "lr": 1e300}},
        {"training.lr_schedule": {"name": "exponential", "decay": 1e300}},
        {"training.lr_schedule": {"name": "step", "milestones": [1, 2], "factor": 1e300}},
    ],
)
def test_what_grows_beyond_all_numbers_is_told(run_tiny: RunTiny, changes: Any) -> None:
    """It was a warning of numpy's, or an internal error: an OverflowError."""
    with pytest.raises(RunError, match=r"'\w+', .* expected (a|386) finite number.* got (inf|386)"):
        run_tiny(changes)


def test_an_instant_that_no_clock_tells_ends_a_run(run_tiny: RunTiny) -> None:
    """It was an internal error of the report's."""
    with pytest.raises(RunError, match=r"the clock is at 6e\+17 s \(computed\), and beyond 4e"):
        run_tiny({"fleet.compute": "1e-16 samples/s"})
