"""What is known of linear layers without PyTorch is what is measured with it."""

import pytest

from simfl import Scenario
from simfl.build.model_facts import model_facts
from simfl.components.models import linear_layers
from tests.tiny import TINY


@pytest.mark.parametrize(("loss", "classes"), [("cross_entropy", 10), ("binary_cross_entropy", 2)])
@pytest.mark.parametrize(
    "model",
    [
        "logistic_regression",
        {"name": "logistic_regression", "head": "sigmoid"},
        {"name": "mlp", "hidden": []},
        {"name": "mlp", "hidden": [7], "dropout": 0.5, "activation": "tanh"},
        {"name": "mlp", "hidden": [7, 5], "activation": "sigmoid"},
        {"name": "mlp", "hidden": [2] * 16},
        {"name": "mlp", "hidden": [5, 1, 5]},
        {"name": "mlp", "hidden": [60_000]},
        {"name": "mlp", "hidden": [7], "frozen": ["1.*"]},
    ],
    ids=str,
)
def test_what_is_known_is_what_is_measured(
    model: object, loss: str, classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = {"dataset": {**TINY["data"]["dataset"], "classes": classes}}
    training = {**TINY["training"], "loss": loss}
    scenario = Scenario.from_dict({**TINY, "data": data, "model": model, "training": training})
    known = model_facts(scenario)
    monkeypatch.setattr(linear_layers, "layers_of", lambda *_: None)
    assert known == model_facts(scenario)
