"""The mean squared error of regression, as in ``torch.nn.MSELoss``."""

import math
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from simfl.components.data_targets import Targets
from simfl.components.losses.base import Loss, losses

if TYPE_CHECKING:
    from torch import Tensor


@losses.register("mean_squared_error")
class MeanSquaredError(Loss):
    """The squared difference, averaged over a sample's outputs; RMSE is the root of its mean.

    There is no accuracy: where tables have one it stays empty, and comparisons show the RMSE.
    """

    error: ClassVar[str] = "rmse"

    takes: ClassVar[tuple[Targets, ...]] = ("numbers", "labels")

    @override
    def error_of(self, mean: float) -> float:
        return math.sqrt(mean)

    @override
    def rows(self, outputs: "Tensor", targets: "Tensor") -> "Tensor":
        error = outputs - targets.reshape(outputs.shape)
        return (error * error).mean(-1)
