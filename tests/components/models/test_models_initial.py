"""Initialisations: the variances of their papers, from the seed alone."""

import pytest
from torch import nn

from simfl.components.models.base import models
from simfl.training.flat import build, flatten


@pytest.mark.parametrize(
    ("init", "fan", "factor"),
    [
        ("pytorch", "in", 1 / 3),
        ("kaiming_uniform", "in", 2),
        ("kaiming_normal", "in", 2),
        ("xavier_uniform", "both", 2),
        ("xavier_normal", "both", 2),
    ],
)
def test_initialisations_have_their_variances(init: str, fan: str, factor: float) -> None:
    """A weight's variance is factor / fan; a uniform one ends at the root of three times that."""
    module = build(models.parse({"name": "dp3s_cnn", "init": init}), (1, 28, 28), 10)
    assert isinstance(module, nn.Sequential)
    for place, inputs, outputs in ((3, 20 * 25, 50 * 25), (7, 800, 500)):
        layer = module[place]
        assert isinstance(layer, nn.Conv2d | nn.Linear)
        assert layer.bias is not None
        variance = factor / (inputs if fan == "in" else inputs + outputs)
        weights = layer.weight.detach()
        assert float(weights.var()) == pytest.approx(variance, rel=0.03)
        assert (float(weights.abs().max()) < (3 * variance) ** 0.5 + 1e-6) == ("normal" not in init)
        assert float(layer.bias.detach().abs().max()) <= inputs**-0.5


def test_initialisations_come_from_the_seed_alone() -> None:
    model = models.parse({"name": "dp3s_cnn", "init": "kaiming_normal"})
    first, again, other = (flatten(build(model, (1, 28, 28), 10, seed)) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).mean() > 0.99
