"""The seam of losses: a model's outputs and what they should be -> a number for each sample."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from simfl.components.data_targets import Targets, unfit
from simfl.core.circumstances import Circumstances
from simfl.core.component import Component, overrides
from simfl.core.registry import Registry
from simfl.core.returned import expect

if TYPE_CHECKING:
    from torch import Tensor


class Loss(Component, ABC):
    """What training minimises the mean of."""

    takes: ClassVar[tuple[Targets, ...]] = ("classes",)
    """Which targets it can be computed for."""

    error: ClassVar[str] = ""
    """What `error_of` the mean loss is called, such as rmse; comparisons show it where there is no
    accuracy, and less is better ("": there is none)."""

    @property
    def softmax(self) -> bool:
        """Whether it is cross-entropy as it stands, which kernels and evaluation have by heart."""
        return False

    @property
    def has_accuracy(self) -> bool:
        """Whether answers can be right, see `hits`."""
        return overrides(self, Loss.hits)

    def error_of(self, mean: float) -> float:
        """Return the error, in the unit of the targets, of a model of such a mean loss."""
        return mean

    def outputs(self, classes: int, targets: Targets) -> int:
        """Return how many outputs a model must have for a data set of so many classes."""
        return classes

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        yield from unfit(self, self.takes, losses, circumstances)
        if circumstances.awaits_accuracy and not self.has_accuracy:
            yield (
                f"loss {self.name!r} has no accuracy, so neither `rounds.stop.accuracy` nor "
                "accuracies among `evaluation.targets` can ever be reached; there, and as "
                f"`rounds.stop.target`, values of others can, such as '{self.error or 'loss'} 0.5'"
            )

    @abstractmethod
    def rows(self, outputs: "Tensor", targets: "Tensor") -> "Tensor":
        """Return the loss `(...)` of each sample; PyTorch can differentiate it.

        A sample's loss depends on nobody else's.  It is computed from outputs of any floating type.

        Args:
            outputs: `(..., c)` the model's outputs.
            targets: `(...)` or `(..., c)`, as the data set has them.
        """

    def checked_rows(self, outputs: "Tensor", targets: "Tensor") -> "Tensor":
        """Return `rows`, `(...)`.

        Raises:
            Unexpected: it is no tensor of a number for each sample.
        """
        rows = self.rows(outputs, targets)
        if (shape := getattr(rows, "shape", None)) != outputs.shape[:-1]:
            got = type(rows).__name__ if shape is None else f"one of shape {tuple(shape)}"
            expect(False, f"a tensor of shape {tuple(outputs.shape[:-1])}, a loss each", got)
        return rows

    def checked_hits(self, outputs: "Tensor", targets: "Tensor") -> "Tensor | None":
        """Return `hits`, `(...)`.

        Raises:
            Unexpected: they are no tensor of a number for each answer.
        """
        hits = self.hits(outputs, targets)
        shape = getattr(hits, "shape", None)
        if hits is not None and shape not in (outputs.shape[:-1], targets.shape):
            got = type(hits).__name__ if shape is None else f"one of shape {tuple(shape)}"
            expect(False, f"a tensor of shape {tuple(targets.shape)}, a hit for each answer", got)
        return hits

    def hits(self, outputs: "Tensor", targets: "Tensor") -> "Tensor | None":
        """Return how right each answer is `(...)`, from 0 to 1; None: there is no right or wrong.

        Their mean is the accuracy; without it a run has none, and can't wait for one.
        """
        return None


losses: Registry[Loss] = Registry("loss", "simfl.components.losses", "cross_entropy")
