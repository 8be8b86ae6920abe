"""One client after another with plain autograd: whatever lanes would not make faster.

On a CPU, convolutions run in the channels-last layout, about 1.5 times as fast as the default.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from simfl.learning.flat import Layout
from simfl.learning.kernels.base import Kernel, Progress
from simfl.learning.kernels.sgd import LaneSGD
from simfl.learning.passes import Segment, stream
from simfl.work import Floats, LocalTraining


class LoopKernel(Kernel):
    """Any module at all.

    The module's parameters and their gradients are views of two flat vectors, so that an update is
    a few operations on vectors whatever the number of layers.

    Args:
        module: the model; its parameters are taken over.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.layout = Layout.of(module)
        first = next(module.parameters(), torch.zeros(0))
        self.device = first.device
        self.channels_last = self.device.type == "cpu" and any(
            isinstance(layer, nn.Conv2d) for layer in module.modules()
        )
        self._flat = torch.zeros(1, self.layout.size, device=self.device)
        self._gradient = torch.zeros_like(self._flat)
        self._order = self._storage_order()
        self._inverse = None if self._order is None else torch.argsort(self._order)
        self._adopt()

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
        """See `Kernel.run`."""
        progress = Progress(list(start), np.zeros(len(segments)), np.zeros(len(segments)))
        self.module.train()
        for lane, segment in enumerate(segments):
            if segment.steps:
                offset = None if offsets is None else offsets[lane]
                sums = self._run_lane(start[lane], base[lane], x, y, segment, training, offset)
                progress.params[lane] = self._leave()
                progress.losses[lane], progress.squares[lane] = sums
        return progress

    def _run_lane(
        self,
        start: torch.Tensor,
        base: torch.Tensor,
        x: torch.Tensor,
        y: torch.Tensor,
        segment: Segment,
        training: LocalTraining,
        offset: torch.Tensor | None,
    ) -> tuple[float, float]:
        self._flat[0] = self._stored(start)
        anchor = [self._stored(base).unsqueeze(0)]
        extra = None if offset is None else [self._stored(offset).unsqueeze(0)]
        optimizer = LaneSGD(training, [self._flat], anchor, extra)
        minus_rates = torch.from_numpy(-segment.rates).to(self.device, torch.float32).view(-1, 1, 1)
        weights = None
        if segment.weights is not None:
            weights = torch.from_numpy(segment.normalised).to(self.device, torch.float32)
        rows = torch.from_numpy(segment.rows).to(self.device)
        losses: list[torch.Tensor] = []
        devices = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):
            # Dropout layers draw from PyTorch's global generator.
            seed = int(stream(segment.seed, segment.dropout).integers(2**63))
            torch.manual_seed(seed)  # noqa: TID251
            ends = np.cumsum(segment.sizes)
            for step, (first, last) in enumerate(zip(ends - segment.sizes, ends, strict=True)):
                batch = rows[first:last]
                inputs, labels = x[batch], y[batch]
                if self.channels_last and inputs.dim() == 4:
                    inputs = inputs.contiguous(memory_format=torch.channels_last)
                each = F.cross_entropy(self.module(inputs), labels, reduction="none")
                losses.append(each.detach())
                self._gradient.zero_()
                loss = each.mean() if weights is None else each @ weights[first:last]
                torch.autograd.backward(loss)
                with torch.no_grad():
                    optimizer.step([self._gradient], minus_rates[step])
        return _sums(torch.cat(losses).cpu().numpy().astype(np.float64), segment)

    def _storage_order(self) -> torch.Tensor | None:
        """Return where each number of the channels-last vector is in the flat one."""
        if not self.channels_last:
            return None
        index = torch.arange(self.layout.size)
        parts = []
        for view in self.layout.views(index).values():
            moved = view.permute(0, 2, 3, 1) if view.dim() == 4 else view
            parts.append(moved.reshape(-1))
        return torch.cat(parts)

    def _adopt(self) -> None:
        """Make the module's parameters and gradients views of the flat vectors."""
        for name, shape, offset in zip(
            self.layout.names, self.layout.shapes, self.layout.offsets, strict=True
        ):
            parameter = self.module.get_parameter(name)
            stride = torch.empty(shape, device="meta")
            if self.channels_last and len(shape) == 4:
                stride = stride.to(memory_format=torch.channels_last)
            parameter.data = self._flat.as_strided(shape, stride.stride(), offset)
            parameter.grad = self._gradient.as_strided(shape, stride.stride(), offset)

    def _stored(self, flat: torch.Tensor) -> torch.Tensor:
        return flat if self._order is None else flat[self._order]

    def _leave(self) -> torch.Tensor:
        return self._flat[0].clone() if self._inverse is None else self._flat[0][self._inverse]


def _sums(losses: Floats, segment: Segment) -> tuple[float, float]:
    starts = np.cumsum(segment.sizes) - segment.sizes
    weighted = segment.normalised * np.repeat(segment.sizes, segment.sizes)
    batch = np.add.reduceat(weighted * losses, starts)
    square = np.add.reduceat(weighted * losses**2, starts)
    return float(batch.sum()), float(square.sum())
