"""Steps of an optimizer for all lanes at once, in place."""

from collections.abc import Sequence
from typing import cast

import torch

from simfl.components.local_training import LocalTraining
from simfl.core.blame import blaming
from simfl.core.returned import expect


class LaneOptimizer:
    """Offset, FedProx's pull, clipping, then the optimizer's own update: in this order.

    Args:
        training: the settings.
        params: parts `(l, ...)` of the models, updated in place.
        base: the same parts of what the proximal term pulls towards.
        offset: the same parts of what is added to every gradient (SCAFFOLD); None: nothing.
    """

    def __init__(
        self,
        training: LocalTraining,
        params: Sequence[torch.Tensor],
        base: Sequence[torch.Tensor],
        offset: Sequence[torch.Tensor] | None,
    ) -> None:
        self._optimizer, self._proximal = training.optimizer, training.proximal
        self._all_params, self._all_base, self._all_offset = params, base, offset
        self._adjusts = offset is not None or training.proximal or training.optimizer.clip
        self.plain = self._optimizer.plain and not self._adjusts
        """Whether a step adds minus the rate times the gradient, and nothing else."""
        with blaming(self._optimizer, "telling how many numbers it remembers"):
            buffers = self._optimizer.buffers
            sound = isinstance(buffers, int) and buffers >= 0
            expect(sound, "a whole number of `buffers`, zero or more", repr(buffers))
        self._all_memory = [[torch.zeros_like(part) for _ in range(buffers)] for part in params]
        self._steps = 0
        self.narrow(len(params[0]))

    def narrow(self, lanes: int) -> None:
        """Go on with the first `lanes` lanes only."""
        self._params = [part[:lanes] for part in self._all_params]
        self._base = [part[:lanes] for part in self._all_base]
        self._offset = [part[:lanes] for part in self._all_offset or ()]
        self._memory = [[buffer[:lanes] for buffer in buffers] for buffers in self._all_memory]

    def forget(self) -> None:
        """Begin anew, as if no step had been made."""
        self._steps = 0
        for buffers in self._all_memory:
            for buffer in buffers:
                buffer.zero_()

    def step(
        self,
        gradients: Sequence[torch.Tensor],
        rates: torch.Tensor,
        number: torch.Tensor | None = None,
    ) -> None:
        """Update the lanes.

        Args:
            gradients: parts `(a, ...)` of the mean gradients; overwritten.
            rates: `(a, 1)` learning rates.
            number: which step it is `()`, where it is recorded (None: the next).

        Raises:
            TypeError: the optimizer returns something.
        """
        self._steps += 1
        if self._adjusts:
            self._adjust(gradients)
        which = self._steps if number is None else cast("int", number)
        parts = zip(self._params, gradients, self._memory, strict=True)
        for params, gradient, memory in parts:
            done: object = self._optimizer.update(params, gradient, rates, memory, which)
            if done is not None:
                raise TypeError("`update` returned something, but it is to change `params` itself")

    def _adjust(self, gradients: Sequence[torch.Tensor]) -> None:
        if self._offset:
            for gradient, offset in zip(gradients, self._offset, strict=True):
                gradient.add_(offset)
        if self._proximal:
            for gradient, part, base in zip(gradients, self._params, self._base, strict=True):
                gradient.add_(part - base, alpha=self._proximal)
        if self._optimizer.clip is not None:
            _clip(gradients, self._optimizer.clip)


def _clip(gradients: Sequence[torch.Tensor], most: float) -> None:
    # One lane at a time: a batched norm may sum in another order when the batch changes.
    for lane in zip(*gradients, strict=True):
        squares = [torch.linalg.vector_norm(part, dtype=torch.float64) ** 2 for part in lane]
        scale = most / (torch.stack(squares).sum().sqrt() + 1e-6)
        for part in lane:
            part.mul_(scale.clamp(max=1.0).to(part.dtype))
