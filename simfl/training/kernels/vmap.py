"""Lanes of any module through ``torch.func``: what a GPU runs when the model is no linear stack.

A batched operation may round otherwise when its batch has another size, so lanes always come in
groups of exactly `LANES`, the last one filled up with copies.  On a CPU even the place within the
group shows in the last bits (memory alignment, see `lanes`), and autograd over one client at a
time is about as fast, so there this kernel is never chosen.
"""

from collections.abc import Callable, Sequence

import torch
from torch import nn
from torch.func import functional_call, grad, vmap
from typing_extensions import override

from simfl.components.losses.base import Loss
from simfl.training.batch_norm import BatchNorm
from simfl.training.flat import Layout, example_input
from simfl.training.kernels.stacked import StackedKernel, Step, Workspace

LANES = 16
COUPLED = (BatchNorm, nn.RNNBase, nn.modules.dropout._DropoutNd)
"""Layers whose samples are not independent, that `vmap` can't batch, or that draw numbers."""

Gradient = Callable[..., tuple[dict[str, torch.Tensor], torch.Tensor]]


class VmapKernel(StackedKernel):
    """Any module whose samples are independent and that draws no random numbers.

    Args:
        module: the model.
        classes: number of logits.
    """

    def __init__(self, module: nn.Module, classes: int) -> None:
        self.layout = Layout.of(module)
        super().__init__(self.layout.size, classes, next(module.parameters()).device)
        self._module = module.train()

    def gradient(self, loss: Loss) -> Gradient:
        """Return the gradient of the weighted loss of batches, and the losses of their rows."""

        def total(
            parameters: dict[str, torch.Tensor],
            x: torch.Tensor,
            targets: torch.Tensor,
            weights: torch.Tensor,
        ) -> tuple[torch.Tensor, torch.Tensor]:
            rows = loss.checked_rows(functional_call(self._module, parameters, (x,)), targets)
            return rows @ weights, rows

        return vmap(grad(total, has_aux=True))

    @override
    def most_lanes(self, batch_bytes: int) -> int:
        """Whole groups."""
        return max(super().most_lanes(batch_bytes) // LANES, 1) * LANES

    @override
    def workspace(self, start: Sequence[torch.Tensor], width: int, loss: Loss) -> Workspace:
        return _VmapWorkspace(self, start, loss)


class _VmapWorkspace(Workspace):
    def __init__(self, kernel: VmapKernel, start: Sequence[torch.Tensor], loss: Loss) -> None:
        self._layout, self._lane_gradients = kernel.layout, kernel.gradient(loss)
        self.params = self.load(start)
        self._gradient = torch.zeros_like(self.params[0])
        self._views = self._layout.views(self._gradient)
        self._lanes = len(start)

    def load(self, models: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        return [torch.stack(list(models))]

    def narrow(self, lanes: int) -> None:
        self._lanes = lanes

    def result(self) -> list[torch.Tensor]:
        return list(self.params[0].unbind())

    def compute(self, step: Step) -> Sequence[torch.Tensor]:
        [losses] = step.record
        batches = (self.params[0], step.x, step.targets, step.weights.squeeze(2))
        for first in range(0, self._lanes, LANES):
            lanes = slice(first, min(first + LANES, self._lanes))
            used = lanes.stop - lanes.start
            params, *batch = [_filled(part[lanes]) for part in batches]
            gradients, rows = self._lane_gradients(self._layout.views(params), *batch)
            for name, part in gradients.items():
                self._views[name][lanes] = part[:used]
            losses[lanes] = rows[:used]
        return [self._gradient[: self._lanes]]


def _filled(lanes: torch.Tensor) -> torch.Tensor:
    missing = LANES - len(lanes)
    return torch.cat([lanes, lanes[:1].expand(missing, *lanes.shape[1:])]) if missing else lanes


def can_vmap(module: nn.Module, shape: tuple[int, ...]) -> bool:
    """Say whether the kernel computes what the module alone would: tried on two small batches."""
    if any(isinstance(layer, COUPLED) for layer in module.modules()):
        return False
    generator = torch.Generator().manual_seed(0)
    x = example_input(module, shape, 4)
    if x.is_floating_point():
        x = torch.randn(x.shape, generator=generator).to(x.device)
    other = x.clone()
    other[1:] = other[1:].flip(0) * 2
    parameters = {name: p.detach().expand(2, *p.shape) for name, p in module.named_parameters()}

    def forward(parameters: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = functional_call(module, parameters, (x,))
        return logits

    try:
        with torch.no_grad():
            both = vmap(forward)(parameters, torch.stack([x, other]))
    except (RuntimeError, ValueError):
        return False
    return bool(torch.allclose(both[0, 0], both[1, 0], rtol=1e-4, atol=1e-5))
