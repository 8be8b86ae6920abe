"""Cross-entropy of softmax outputs, as in ``torch.nn.CrossEntropyLoss``.

Label smoothing: Szegedy et al., 2016, arXiv:1512.00567, section 7.
"""

from typing import TYPE_CHECKING

from pydantic import Field
from typing_extensions import override

from simfl.components.losses.base import Loss, losses

if TYPE_CHECKING:
    from torch import Tensor


@losses.register("cross_entropy")
class CrossEntropy(Loss):
    """Minus the log of the right class's probability, in nats: for samples of one class each."""

    label_smoothing: float = Field(
        0.0, ge=0, le=1, description="share of the target that is spread evenly over all classes"
    )

    @property
    @override
    def softmax(self) -> bool:
        return type(self) is CrossEntropy and self.label_smoothing == 0

    @override
    def rows(self, outputs: "Tensor", targets: "Tensor") -> "Tensor":
        from torch.nn import functional as F

        flat = F.cross_entropy(
            outputs.reshape(-1, outputs.shape[-1]),
            targets.reshape(-1),
            reduction="none",
            label_smoothing=self.label_smoothing,
        )
        return flat.view(outputs.shape[:-1])

    @override
    def hits(self, outputs: "Tensor", targets: "Tensor") -> "Tensor":
        return outputs.max(-1).indices == targets  # as `argmax`, in two thirds of its time
