"""The seam of kernels: start models and segments of mini-batches -> trained models."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from simfl.components.local_training import LocalTraining
from simfl.core.types import Floats
from simfl.training.segments import Segment


@dataclass(frozen=True, slots=True)
class Lane:
    """One client's training, as a kernel is given it.

    Attributes:
        start: the model `(p,)` where it starts; not changed.
        base: the model `(p,)` that FedProx's term pulls it towards.
        segment: its mini-batches.
        offset: what it adds to every gradient `(p,)`; None, as then in all lanes: nothing, which
            is faster.
    """

    start: torch.Tensor
    base: torch.Tensor
    segment: Segment
    offset: torch.Tensor | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """What came of some lanes' segments.

    Attributes:
        params: each lane's model `(p,)` after the last step.
        losses: `(l,)` sum over the steps of batch size times batch loss, before each step.
        squares: `(l,)` the same of the squared per-sample losses.
    """

    params: list[torch.Tensor]
    losses: Floats
    squares: Floats

    @classmethod
    def none(cls, lanes: Sequence[Lane]) -> "Progress":
        """Return what came of lanes before their first step."""
        return cls([lane.start for lane in lanes], np.zeros(len(lanes)), np.zeros(len(lanes)))


class Kernel(ABC):
    """One way to run SGD over lanes.

    The law: a lane's result has the same bits alone and in any company.  A kernel is chosen by
    model and device kind, never by the cohort or the executor.
    """

    @abstractmethod
    def run(
        self, lanes: Sequence[Lane], x: torch.Tensor, y: torch.Tensor, training: LocalTraining
    ) -> Progress:
        """Train each lane along its segment.

        Args:
            lanes: what to train.
            x: `(n, ...)` inputs that the segments' rows index.
            y: `(n,)` targets.
            training: optimizer and loss.
        """
