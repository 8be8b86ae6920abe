"""The update of ``torch.optim.SGD`` on flat vectors, in place, for all lanes at once."""

import torch

from simfl.work import LocalTraining


class FlatSGD:
    """FedProx's pull, clipping, weight decay, momentum without dampening, step: in this order.

    Args:
        training: the settings.
        params: `(l, p)` models, updated in place.
        base: `(l, p)` what the proximal term pulls towards.
    """

    def __init__(self, training: LocalTraining, params: torch.Tensor, base: torch.Tensor) -> None:
        self._training = training
        self._params = params
        self._base = base
        self._momentum: torch.Tensor | None = None
        self._spare = torch.empty_like(params) if training.proximal else None

    def step(self, gradient: torch.Tensor, minus_rates: torch.Tensor) -> None:
        """Update the first `a` lanes.

        Args:
            gradient: `(a, p)` mean gradients; overwritten.
            minus_rates: `(a, 1)` negative learning rates.
        """
        settings, lanes = self._training, len(gradient)
        params = self._params[:lanes]
        if self._spare is not None:
            apart = torch.sub(params, self._base[:lanes], out=self._spare[:lanes])
            gradient.add_(apart, alpha=settings.proximal)
        if settings.clip is not None:
            # One lane at a time: a batched norm may sum in another order when the batch changes.
            for lane in gradient:
                norm = torch.linalg.vector_norm(lane, dtype=torch.float64)
                lane.mul_((settings.clip / (norm + 1e-6)).clamp(max=1.0).to(lane.dtype))
        if settings.weight_decay:
            gradient.add_(params, alpha=settings.weight_decay)
        if settings.momentum:
            if self._momentum is None:
                self._momentum = gradient.clone()
            else:
                gradient = self._momentum[:lanes].mul_(settings.momentum).add_(gradient)
        params.addcmul_(gradient, minus_rates)
