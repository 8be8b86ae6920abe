"""Elementwise layers over lanes: there in place, and back again."""

import torch
from torch import nn

from simfl.training.kernels.lanes import Pair

_OPS = torch.ops.aten


Undo = list[tuple[nn.Module, torch.Tensor]]


def apply(layers: tuple[nn.Module, ...], z: Pair, sites: list[torch.Tensor]) -> tuple[Pair, Undo]:
    """Run elementwise `layers` on `z`, in place where the backward pass allows."""
    undo: Undo = []
    for layer in layers:
        saved = any(not isinstance(former, nn.Dropout) for former, _ in undo)
        if saved and not (isinstance(undo[-1][0], nn.ReLU) and isinstance(layer, nn.Dropout)):
            z = z.copy()  # the backward pass needs the output of the layer before as it is
        if isinstance(layer, nn.Dropout):
            mask = sites.pop(0)
            z.matrix.mul_(mask)
            undo.append((layer, mask))
            continue
        if isinstance(layer, nn.ReLU):
            z.whole.relu_()
        elif isinstance(layer, nn.Sigmoid):
            z.whole.sigmoid_()
        else:
            z.whole.tanh_()
        undo.append((layer, z.matrix))
    return z, undo


def undo_all(applied: Undo, delta: torch.Tensor, out: torch.Tensor) -> None:
    """Write the gradient with respect to the layers' input, given that to their output."""
    for layer, saved in reversed(applied):
        if isinstance(layer, nn.Dropout):
            torch.mul(delta, saved, out=out)
        elif isinstance(layer, nn.ReLU):
            _OPS.threshold_backward.grad_input(delta, saved, 0, grad_input=out)
        elif isinstance(layer, nn.Sigmoid):
            _OPS.sigmoid_backward.grad_input(delta, saved, grad_input=out)
        else:
            _OPS.tanh_backward.grad_input(delta, saved, grad_input=out)
        delta = out
