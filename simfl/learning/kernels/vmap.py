"""Lanes of any module through ``torch.func``: what a GPU runs when the model is no linear stack.

A batched operation may round otherwise when its batch has another size, so lanes always come in
groups of exactly `LANES`, the last one filled up with copies.  On a CPU even the place within the
group shows in the last bits (memory alignment, see `stacked`), and autograd over one client at a
time is about as fast, so there this kernel is never chosen.
"""

from collections.abc import Callable, Sequence

import torch
from torch import nn
from torch.func import functional_call, grad, vmap

from simfl.learning.flat import Layout, example_input
from simfl.learning.kernels.stacked import Record, StackedKernel, Workspace

LANES = 16
COUPLED = (nn.modules.batchnorm._BatchNorm, nn.RNNBase, nn.modules.dropout._DropoutNd)
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
        super().__init__(self.layout.size, classes)
        self.most_lanes = max(self.most_lanes // LANES, 1) * LANES
        module.train()

        def loss(
            parameters: dict[str, torch.Tensor], x: torch.Tensor, targets: torch.Tensor
        ) -> tuple[torch.Tensor, torch.Tensor]:
            logits = functional_call(module, parameters, (x,))
            return -(torch.log_softmax(logits, 1) * targets).sum(), logits

        self.gradient: Gradient = vmap(grad(loss, has_aux=True))

    def workspace(self, start: torch.Tensor, width: int) -> Workspace:
        """See `StackedKernel.workspace`."""
        return _VmapWorkspace(self, start)


class _VmapWorkspace(Workspace):
    def __init__(self, kernel: VmapKernel, start: torch.Tensor) -> None:
        self._kernel = kernel
        self.params = [start.clone()]
        self._gradient = torch.zeros_like(start)
        self._views = kernel.layout.views(self._gradient)

    def load(self, lanes: torch.Tensor) -> Sequence[torch.Tensor]:
        return [lanes]

    def result(self) -> torch.Tensor:
        return self.params[0]

    def compute(
        self,
        x: torch.Tensor,
        targets: torch.Tensor,
        weights: torch.Tensor,
        masks: torch.Tensor | None,
        record: Record,
        first: int,
    ) -> Sequence[torch.Tensor]:
        logits = record.logits.every[first : first + len(x)]
        for begin in range(0, len(x), LANES):
            lanes = slice(begin, min(begin + LANES, len(x)))
            used = lanes.stop - lanes.start
            filled = [_filled(part[lanes]) for part in (self.params[0], x, targets)]
            parameters = self._kernel.layout.views(filled[0])
            gradients, outputs = self._kernel.gradient(parameters, *filled[1:])
            for name, part in gradients.items():
                self._views[name][lanes] = part[:used]
            logits[lanes] = outputs[:used]
        batches = slice(first, first + len(x))
        shifts = torch.amax(logits, 2, keepdim=True, out=record.shifts.every[batches])
        torch.sum((logits - shifts).exp(), 2, keepdim=True, out=record.sums.every[batches])
        return [self._gradient[: len(x)]]


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
