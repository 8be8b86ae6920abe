"""Logistic regression, the convex model of FedProx and FedCore (docs/algorithms.md, E)."""

from typing import TYPE_CHECKING, Literal

from pydantic import Field
from typing_extensions import override

from simfl.components.models.base import Model, models
from simfl.components.models.shapes import flat_size

if TYPE_CHECKING:
    from torch import nn


@models.register("logistic_regression")
class LogisticRegression(Model):
    """One linear layer; on 60 features and 10 classes 610 parameters."""

    head: Literal["softmax", "sigmoid"] = Field(
        "softmax",
        description="softmax: the linear outputs are the logits; sigmoid: each passes through a "
        "sigmoid first (FedCore's code, whose loss can't fall below ln(1 + 9/e) on 10 classes)",
    )

    @override
    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        from torch import nn

        layers: list[nn.Module] = [nn.Flatten(), nn.Linear(flat_size(self.name, shape), classes)]
        if self.head == "sigmoid":
            layers.append(nn.Sigmoid())
        return nn.Sequential(*layers)
