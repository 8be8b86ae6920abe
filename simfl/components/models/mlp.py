"""Multilayer perceptron: fully connected layers of any number and width."""

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import override

from simfl.components.models.base import Model, models
from simfl.components.models.shapes import flat_size

if TYPE_CHECKING:
    from torch import nn


@models.register("mlp")
class Mlp(Model):
    """Linear layers with an activation and, if asked for, dropout after each hidden one."""

    hidden: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        (64, 30), description="units of each hidden layer; [64, 30] in FedCor"
    )
    dropout: float = Field(
        0.0, ge=0, lt=1, description="probability that a hidden unit is left out of a step"
    )
    activation: Literal["relu", "tanh", "sigmoid"] = Field(
        "relu", description="nonlinearity of the hidden layers"
    )

    @model_validator(mode="after")
    def _has_units_to_leave_out(self) -> Self:
        if self.dropout and not self.hidden:
            raise ValueError(
                f"dropout ({self.dropout}) leaves out units of `hidden`, which has none"
            )
        return self

    @override
    def build(self, shape: tuple[int, ...], classes: int) -> "nn.Module":
        from torch import nn

        activation = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid}[self.activation]
        layers: list[nn.Module] = [nn.Flatten()]
        width = flat_size(self.name, shape)
        for units in self.hidden:
            layers += [nn.Linear(width, units), activation()]
            if self.dropout:
                layers.append(nn.Dropout(self.dropout))
            width = units
        layers.append(nn.Linear(width, classes))
        return nn.Sequential(*layers)
