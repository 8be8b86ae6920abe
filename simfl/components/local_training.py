"""How every client of a run trains."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from simfl.components.losses.base import Loss
from simfl.components.losses.cross_entropy import CrossEntropy
from simfl.components.optimizers.base import Optimizer
from simfl.components.schedules.base import Schedule
from simfl.components.schedules.constant import Constant
from simfl.core.blame import blaming
from simfl.core.returned import expect
from simfl.core.types import Floats

MOST_KEPT = 1000
"""Learning rates that are kept, of a round and a number of steps."""


@dataclass(frozen=True, slots=True)
class Augmentation:
    """How a client's images are changed each time it trains on them.

    Attributes:
        crop: pixels by which an image is padded on each side before one of its own size is cut
            out of it at random.
        flip: whether every other image, at random, is mirrored.
        border: what it is padded with in each channel; (): 0.
    """

    crop: int = 0
    flip: bool = False
    border: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class LocalTraining:
    """How every client of a run trains.

    Attributes:
        batch_size: mini-batch size; the short last batch is kept.
        optimizer: what it does with a gradient.
        schedule: how the learning rate changes over the rounds.
        loss: what it minimises.
        proximal: FedProx's mu: the gradient gains ``mu * (w - w_base)``.
        lr_epochs: the scenario's nominal local epochs, for schedules by epoch.
        augmentation: how images are changed (None: not at all).
        shuffle: whether passes over all samples are drawn anew each time.
        personal_epochs: of a participation's epochs, the first that train personal parameters
            alone; the others train shared ones alone (None: all train both).
        only: the names of those that are trained for now (None: all).
    """

    batch_size: int
    optimizer: Optimizer
    schedule: Schedule = field(default_factory=Constant)
    loss: Loss = field(default_factory=CrossEntropy)
    proximal: float = 0.0
    lr_epochs: int = 1
    augmentation: Augmentation | None = None
    shuffle: bool = True
    personal_epochs: int | None = None
    only: frozenset[str] | None = None
    _rates: dict[tuple[int, range, int], Floats] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def trains(self, names: Sequence[str]) -> list[int]:
        """Return the places among parameters' `names` of those that are trained for now."""
        return [i for i, name in enumerate(names) if self.only is None or name in self.only]

    def rates(self, round_: int, epochs: range, steps: int = 1) -> Floats:
        """Return `(epochs * steps,)` learning rates of a round; a whole cohort asks for the same.

        Args:
            round_: 1-based.
            epochs: 0-based.
            steps: of each epoch, which has one rate.
        """
        if (rates := self._rates.get((round_, epochs, steps))) is None:
            if steps > 1:
                rates = self.rates(round_, epochs).repeat(steps)
            else:
                rates = np.array([self.rate(round_, epoch) for epoch in epochs])
            if len(self._rates) > MOST_KEPT:
                self._rates.clear()
            rates.flags.writeable = False
            self._rates[round_, epochs, steps] = rates
        return rates

    def rate(self, round_: int, epoch: int = 0) -> float:
        """Return the learning rate in `epoch` (0-based) of `round_` (1-based)."""
        with blaming(self.schedule, f"setting the learning rate of round {round_}"):
            multiplier = self.schedule.multiplier(round_, epoch, self.lr_epochs)
            sound = isinstance(multiplier, int | float) and 0 <= multiplier < math.inf
            expect(sound, "a finite number of zero or more", repr(multiplier))
        return self.optimizer.lr * multiplier
