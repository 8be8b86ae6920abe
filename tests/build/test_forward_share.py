"""What a forward pass costs a device that is asked for its loss: its share of training's FLOPs."""

from pathlib import Path

import pytest

from simfl import Scenario, run
from tests.run_folders import events

ASKING = {
    "data": {"dataset": {"name": "synthetic_images", "samples": 100, "test_samples": 5, "size": 6}},
    "fleet": {"count": 5, "compute": "10 samples/s"},
    "rounds": {"clients": 2, "stop": {"rounds": 1}},
    "selection": {"name": "power_of_choice", "candidates": 5},
}
# Forward, the weights' gradients, and their inputs' but for the first layer: two FLOPs each.
FIRST, SECOND = 36 * 8, 8 * 10


@pytest.mark.parametrize(
    ("model", "share"),
    [
        ("logistic_regression", 1 / 2),
        ({"name": "mlp", "hidden": [8]}, (FIRST + SECOND) / (2 * FIRST + 3 * SECOND)),
    ],
)
def test_a_loss_is_charged_by_its_operations(tmp_path: Path, model: object, share: float) -> None:
    scenario = Scenario.from_dict({**ASKING, "model": model})
    [result] = run(scenario, tmp_path)
    [answered] = events(result.folder, "probed")
    assert answered["t"] == pytest.approx(share * 20 / 10, rel=1e-12)
