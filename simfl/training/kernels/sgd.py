"""The update of ``torch.optim.SGD``, in place, for all lanes at once."""

from collections.abc import Sequence

import torch

from simfl.core.work import LocalTraining


class LaneSGD:
    """Offset, FedProx's pull, clipping, weight decay, momentum, step: in this order.

    Momentum is without dampening, as there by default.

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
        offset: Sequence[torch.Tensor] | None = None,
    ) -> None:
        self._training = training
        self._all_params, self._all_base, self._all_offset = params, base, offset
        self._all_momentum: list[torch.Tensor] | None = None
        self.plain = offset is None and not (
            training.proximal or training.clip or training.weight_decay or training.momentum
        )
        """Whether a step adds minus the rate times the gradient, and nothing else."""
        self._first = True
        if training.momentum:
            self._all_momentum = [torch.empty_like(part) for part in params]
        self.narrow(len(params[0]))

    def narrow(self, lanes: int) -> None:
        """Go on with the first `lanes` lanes only."""
        self._params = [part[:lanes] for part in self._all_params]
        if not self.plain:
            self._base = [part[:lanes] for part in self._all_base]
            self._offset = [part[:lanes] for part in self._all_offset or ()]
            self._momentum = [part[:lanes] for part in self._all_momentum or ()]

    def step(self, gradients: Sequence[torch.Tensor], minus_rates: torch.Tensor) -> None:
        """Update the lanes.

        Args:
            gradients: parts `(a, ...)` of the mean gradients; overwritten.
            minus_rates: `(a, 1)` negative learning rates.
        """
        if not self.plain:
            gradients = self._adjusted(gradients)
        for part, gradient in zip(self._params, gradients, strict=True):
            part.addcmul_(gradient, minus_rates)

    def _adjusted(self, gradients: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        settings = self._training
        if self._offset:
            for gradient, offset in zip(gradients, self._offset, strict=True):
                gradient.add_(offset)
        if settings.proximal:
            for gradient, part, base in zip(gradients, self._params, self._base, strict=True):
                gradient.add_(part - base, alpha=settings.proximal)
        if settings.clip is not None:
            self._clip(gradients, settings.clip)
        if settings.weight_decay:
            for gradient, part in zip(gradients, self._params, strict=True):
                gradient.add_(part, alpha=settings.weight_decay)
        if not settings.momentum:
            return gradients
        for velocity, gradient in zip(self._momentum, gradients, strict=True):
            if self._first:  # a fresh buffer begins as the gradient itself
                velocity.copy_(gradient)
            else:
                velocity.mul_(settings.momentum).add_(gradient)
        self._first = False
        return self._momentum

    @staticmethod
    def _clip(gradients: Sequence[torch.Tensor], most: float) -> None:
        # One lane at a time: a batched norm may sum in another order when the batch changes.
        for lane in zip(*gradients, strict=True):
            squares = [torch.linalg.vector_norm(part, dtype=torch.float64) ** 2 for part in lane]
            scale = most / (torch.stack(squares).sum().sqrt() + 1e-6)
            for part in lane:
                part.mul_(scale.clamp(max=1.0).to(part.dtype))
