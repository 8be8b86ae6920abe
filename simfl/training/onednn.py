"""Linear layers that oneDNN computes when nothing is to be learnt from them.

A product of many rows with a weight is faster by oneDNN than by MKL, which PyTorch asks otherwise:
by a fifth in W1's evaluation (``python -m benchmarks.parts``).  The small products of local
training are not faster, so only evaluation goes this way.
"""

from typing import TypeGuard

import torch
from torch import nn
from torch.nn import functional as F


def available() -> bool:
    """Return whether this build of PyTorch can do it."""
    built: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return built and hasattr(torch.ops.mkldnn, "_linear_pointwise")


class OneDnnLinear(nn.Linear):
    """A `Linear` that shares the parameters of `layer`; with gradients it is an ordinary one."""

    def __init__(self, layer: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Return `(..., out_features)` of inputs `(..., in_features)`."""
        if torch.is_grad_enabled() or input.dtype != torch.float32:
            return F.linear(input, self.weight, self.bias)
        result: torch.Tensor = torch.ops.mkldnn._linear_pointwise(
            input, self.weight, self.bias, "none", [], ""
        )
        return result


def with_onednn(module: nn.Module) -> nn.Module:
    """Return `module` with every linear layer on a CPU a `OneDnnLinear`, where there is oneDNN."""
    if not available():
        return module
    if _fits(module):
        return OneDnnLinear(module)
    for parent in list(module.modules()):
        for name, layer in parent.named_children():
            if _fits(layer):
                setattr(parent, name, OneDnnLinear(layer))
    return module


def _fits(module: nn.Module) -> TypeGuard[nn.Linear]:
    return type(module) is nn.Linear and module.weight.device.type == "cpu"
