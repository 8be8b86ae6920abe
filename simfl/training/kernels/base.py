"""The seam of kernels: start models and segments of mini-batches -> trained models."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from simfl.core.types import Floats
from simfl.core.work import LocalTraining
from simfl.training.passes import Segment


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


class Kernel(ABC):
    """One way to run SGD over lanes.

    The law: a lane's result has the same bits alone and in any company.  A kernel is chosen by
    model and device kind, never by the cohort or the executor.
    """

    @abstractmethod
    def run(
        self,
        start: Sequence[torch.Tensor],
        base: Sequence[torch.Tensor],
        x: torch.Tensor,
        y: torch.Tensor,
        segments: Sequence[Segment],
        training: LocalTraining,
        offsets: Sequence[torch.Tensor] | None = None,
    ) -> Progress:
        """Train each lane along its segment.

        Args:
            start: the model `(p,)` where each lane starts; not changed.
            base: the model `(p,)` that FedProx's term pulls it towards.
            x: `(n, ...)` inputs that the segments' rows index.
            y: `(n,)` targets.
            segments: one a lane.
            training: the optimizer's settings.
            offsets: what each lane adds to every gradient `(p,)`; None: nothing, which is faster.
        """
