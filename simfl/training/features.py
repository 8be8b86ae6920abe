"""Per-sample features that coresets are chosen by (docs/algorithms.md, B.3).

Gradients are of a sample's loss.  With `h` the input of the last linear layer, and `d` the gradient
with respect to its output (for cross-entropy `p - y`, times the slope of an output sigmoid, if
there is one):

- `last_layer_gradient` is that with respect to the layer's bias and weight, ``[d, d (x) h]``;
- `input_gradient` is that with respect to `h`, ``W^T d`` (FedCore, section 4.3);
- `logit_gradient` is that with respect to the model's output, `p - y`;
- `inputs` are the samples themselves, flattened.

Rows are never divided by the batch size.
"""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from simfl.components.coresets.base import Features
from simfl.components.losses.base import Loss
from simfl.core.types import Floats
from simfl.errors import InputError
from simfl.training.linear_calls import last_layer

CHUNK = 256
"""Samples in one forward pass; begins anew for each client, so its features depend on it alone."""


def sample_features(
    kind: Features, module: nn.Module, loss: Loss, x: torch.Tensor, y: torch.Tensor
) -> Floats:
    """Return `(m, d)` features of samples at the parameters that `module` has now.

    Args:
        kind: which features; `none` gives `(m, 0)`.
        module: the model.
        loss: what it is trained to minimise.
        x: `(m, ...)` inputs.
        y: `(m,)` targets.

    Raises:
        InputError: the model has no linear layer whose gradient could be taken.
    """
    if kind == "none":
        return np.zeros((len(x), 0))
    if kind == "inputs":
        return x.flatten(1).cpu().numpy().astype(np.float64)
    last = None if kind == "logit_gradient" else last_layer(module, x[:1])
    module.eval()
    parts = [
        _chunk_features(kind, module, loss, last, x[i : i + CHUNK], y[i : i + CHUNK])
        for i in range(0, len(x), CHUNK)
    ]
    return torch.cat(parts).cpu().numpy() if parts else np.zeros((0, 0))


def _chunk_features(
    kind: Features,
    module: nn.Module,
    loss: Loss,
    last: nn.Linear | None,
    x: torch.Tensor,
    y: torch.Tensor,
) -> torch.Tensor:
    """Return `(b, features)` of the samples `x` `(b, ...)` with targets `y`, in float64.

    `last` is the layer whose inputs and outputs gradients are of (None: the outputs alone).
    """
    if last is None:
        with torch.no_grad():
            return _output_gradient(loss, module(x).detach().double(), y)
    seen: list[torch.Tensor] = []

    def look(_: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> torch.Tensor:
        seen.append(inputs[0].detach())
        seen.append(output.detach().requires_grad_())
        return seen[1].clone()  # for the layer after may work in place

    handle = last.register_forward_hook(look)
    try:
        with torch.enable_grad():
            logits = module(x)
    finally:
        handle.remove()
    hidden, output = seen
    if hidden.dim() != 2:
        raise InputError("gradient features need a last linear layer that sees each sample once")
    (delta,) = torch.autograd.grad(loss.checked_rows(logits, y).sum(), output)
    delta = delta.double()
    if kind == "input_gradient":
        return delta @ last.weight.detach().double()
    outer = delta.unsqueeze(2) * hidden.double().unsqueeze(1)
    return torch.cat([delta, outer.flatten(1)], 1)


def _output_gradient(loss: Loss, outputs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if loss.softmax:
        return torch.softmax(outputs, 1) - F.one_hot(y, outputs.shape[1])
    leaf = outputs.requires_grad_()
    with torch.enable_grad():
        total = loss.checked_rows(leaf, y).sum()
    return torch.autograd.grad(total, leaf)[0]
