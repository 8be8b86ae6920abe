"""Batch norm without running statistics: the parameters stay the whole model.

Every layer normalises by the batch at hand, in evaluations too, as if it had been made with
``track_running_stats=False``.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import nn

BatchNorm = nn.modules.batchnorm._BatchNorm


def has_batch_norm(module: nn.Module) -> bool:
    """Whether a row's outputs depend on the rows beside it."""
    return any(isinstance(layer, BatchNorm) for layer in module.modules())


def use_batch_statistics(module: nn.Module) -> None:
    """Drop the running statistics of the batch norm layers in `module`.

    A batch that has one value per channel, which PyTorch refuses, becomes zero: what its formula
    gives.
    """
    for layer in module.modules():
        if isinstance(layer, BatchNorm):
            layer.track_running_stats = False
            layer.running_mean = layer.running_var = layer.num_batches_tracked = None
            layer.forward = partial(_forward, layer, layer.forward)  # type: ignore[method-assign]


def running_statistics(module: nn.Module) -> set[str]:
    """Return the names that state dicts have for the running statistics dropped of `module`."""
    statistics = ("running_mean", "running_var", "num_batches_tracked")
    return {
        f"{name}.{statistic}" if name else statistic
        for name, layer in module.named_modules()
        if isinstance(layer, BatchNorm)
        for statistic in statistics
    }


def _forward(
    layer: BatchNorm, forward: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor
) -> torch.Tensor:
    if x.dim() < 2 or x.numel() != x.shape[1]:
        return forward(x)
    nothing = x - x
    if not layer.affine:
        return nothing
    channels = (1, -1, *[1] * (x.dim() - 2))
    return nothing * layer.weight.view(channels) + layer.bias.view(channels)
