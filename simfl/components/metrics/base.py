"""The seam of metrics: what a model says of all samples it is judged on -> one number."""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar, Literal

from numpy.typing import NDArray
from typing_extensions import override

from simfl.components.data_targets import Targets, unfit
from simfl.core.circumstances import Circumstances
from simfl.core.component import Component
from simfl.core.registry import Registry
from simfl.core.types import Floats

Better = Literal["more", "less", ""]
"""Whether more or less of something is better ("": not known)."""
BETTER: tuple[Better, ...] = ("more", "less")
"""Those that tell."""


class QualityMetric(Component, ABC):
    """What evaluations measure beside accuracy and loss.

    No decision of a run depends on it, but for its end where a value of it is waited for.
    """

    takes: ClassVar[tuple[Targets, ...]] = ("classes",)
    """Which targets it can be computed for."""

    within: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    """The least and the most that it can be."""

    better: ClassVar[Better] = ""
    """Whether more or less is better, without which nothing can wait for a value of it."""

    of_answers: ClassVar[bool] = False
    """Whether it needs right and wrong answers, which not every loss knows."""

    @classmethod
    @override
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Refuse what `within` can't be, where the class is written.

        Raises:
            TypeError: it is no pair of numbers.
        """
        within: Any = cls.within
        match within:
            case (Real() as low, Real() as high) if low <= high:
                return
        raise TypeError(
            f"{cls.__name__}.within: expected the least and the most that it can be, such as "
            f"(0.0, 1.0), got {within!r}"
        )

    @property
    def label(self) -> str:
        """Its column of `rounds.csv`: the class's name in small letters, macro_f1 of MacroF1."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(self).__name__).lower()

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        yield from unfit(self, self.takes, quality_metrics, circumstances)
        loss = circumstances.training.loss
        if self.of_answers and not loss.has_accuracy:
            yield (
                f"metric {self.name!r} needs right and wrong answers, which loss {loss.name!r} has "
                "not"
            )

    @abstractmethod
    def of(self, outputs: Floats, targets: NDArray[Any]) -> float:
        """Return the measure; NaN: these samples give none.  Nothing is remembered in between.

        Args:
            outputs: `(n, c)` what the model says of each sample, such as logits; one column, the
                logit of the second class, under `binary_cross_entropy` with two classes.
            targets: `(n,)` classes, or `(n, c)` as the data set has them.
        """


quality_metrics: Registry[QualityMetric] = Registry("metric", "simfl.components.metrics")
