"""Convolutional network of any depth and width."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import override

from simfl.components.models.base import models
from simfl.components.models.convolutions import Convolution, ConvolutionalModel, Layers


@models.register("cnn")
class Cnn(ConvolutionalModel):
    """Convolutions with ReLU and max-pooling, then fully connected layers with ReLU."""

    channels: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        (32, 64), min_length=1, description="outputs of each convolution"
    )
    kernel: int = Field(3, ge=1, description="height and width of the convolutions' window, pixels")
    padding: Literal["same", "valid"] = Field(
        "same", description="same: zeros around keep the size; valid: borders are lost"
    )
    pool: int = Field(
        2, ge=1, description="height and width of the max-pooling after each convolution; 1: none"
    )
    fc: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        (128,), description="units of each hidden fully connected layer"
    )
    dropout: float = Field(
        0.0, ge=0, lt=1, description="probability that a unit of `fc` is left out of a step"
    )

    @model_validator(mode="after")
    def _has_units_to_leave_out(self) -> Self:
        if self.dropout and not self.fc:
            raise ValueError(f"dropout ({self.dropout}) leaves out units of `fc`, which has none")
        return self

    @override
    def layers(self) -> Layers:
        same = self.padding == "same"
        convolutions = [Convolution(n, self.kernel, same, self.pool) for n in self.channels]
        return Layers(convolutions, self.fc, self.dropout)
