"""The seam of coresets: per-sample features -> which samples stand for all, with what weights."""

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

from simfl.core.component import Component
from simfl.core.registry import Registry
from simfl.core.types import Floats, Ids, Rng

Features = Literal["last_layer_gradient", "input_gradient", "logit_gradient", "inputs", "none"]


class Coreset(Component, ABC):
    """Chooses rows that stand for a whole local data set."""

    features: ClassVar[Features] = "none"

    @abstractmethod
    def choose(self, features: Floats, labels: Ids, size: int, rng: Rng) -> tuple[Ids, Floats]:
        """Return a coreset.

        Args:
            features: `(m, d)` one row a sample.
            labels: `(m,)` class of each sample; where the data set's targets are no classes,
                `(m, ...)` numbers as it has them.
            size: how many samples to keep, 1 <= size.
            rng: the participation's own stream.

        Returns:
            rows `(b,)`, ascending and distinct, b = min(size, m), and positive weights `(b,)` that
            sum to m.
        """

    def uses(self, convex: bool) -> Features:
        """Return which features it wants of a model that is convex (no hidden layer) or deep."""
        return self.features


coresets: Registry[Coreset] = Registry("coreset", "simfl.components.coresets", "k_medoids")
