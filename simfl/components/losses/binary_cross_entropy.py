"""Cross-entropy of sigmoid outputs, as in ``torch.nn.BCEWithLogitsLoss``."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from simfl.components.data_targets import Targets
from simfl.components.losses.base import Loss, losses
from simfl.core.circumstances import Circumstances

if TYPE_CHECKING:
    from torch import Tensor


@losses.register("binary_cross_entropy")
class BinaryCrossEntropy(Loss):
    """The mean over a sample's labels, each yes or no: one for two classes, or several labels.

    With two classes the model has a single output, the logit of the second.  An answer's accuracy
    is the share of its labels that are right.
    """

    takes: ClassVar[tuple[Targets, ...]] = ("classes", "labels")

    @override
    def outputs(self, classes: int, targets: Targets) -> int:
        """One for two classes, else one for each label."""
        return 1 if targets == "classes" else classes

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        yield from super().objections(circumstances)
        if circumstances.targets == "classes" and circumstances.classes != 2:
            yield (
                f"loss {self.name!r} tells two classes apart, but there are "
                f"{circumstances.classes}; use cross_entropy"
            )

    @override
    def rows(self, outputs: "Tensor", targets: "Tensor") -> "Tensor":
        from torch.nn import functional as F

        truths = targets.reshape(outputs.shape).to(outputs.dtype)
        by_label = F.binary_cross_entropy_with_logits(outputs, truths, reduction="none")
        return by_label.mean(-1)

    @override
    def hits(self, outputs: "Tensor", targets: "Tensor") -> "Tensor":
        right = (outputs > 0) == (targets.reshape(outputs.shape) > 0)
        # Nine labels of ten are 90%, in double precision.
        return right.double().mean(-1)
