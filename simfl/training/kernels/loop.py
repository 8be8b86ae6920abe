"""One client after another with plain autograd: whatever lanes would not make faster."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import nn
from typing_extensions import override

from simfl.components.local_training import LocalTraining
from simfl.core.machine.allocator import keep_freed_memory
from simfl.core.seeds import generator
from simfl.core.types import Floats
from simfl.training.augment import Augmenter
from simfl.training.flat import Layout
from simfl.training.kernels.base import Kernel, Lane, Progress
from simfl.training.kernels.optimize import LaneOptimizer
from simfl.training.segments import Segment

BLOCK_BYTES = 4 * 2**20
"""Inputs gathered at once."""


class LoopKernel(Kernel):
    """Any module at all.

    The module's parameters are views of one flat vector.

    Args:
        module: the model; its parameters are taken over.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.layout = Layout.of(module)
        first = next(module.parameters(), torch.zeros(0))
        self.device = first.device
        self.channels_last = is_channels_last(module, self.device)
        self._flat = torch.zeros(self.layout.size, device=self.device)
        self._parameters = self._adopt(self._flat)

    @override
    def run(
        self, lanes: Sequence[Lane], x: torch.Tensor, y: torch.Tensor, training: LocalTraining
    ) -> Progress:
        if self.device.type == "cpu":
            keep_freed_memory()  # each step's tensors are as large as the last one's
        progress = Progress.none(lanes)
        self.module.train()
        for index, lane in enumerate(lanes):
            if lane.segment.steps:
                sums = self._run_lane(lane, x, y, training)
                progress.params[index] = self._leave()
                progress.losses[index], progress.squares[index] = sums
        return progress

    def _run_lane(
        self, lane: Lane, x: torch.Tensor, y: torch.Tensor, training: LocalTraining
    ) -> tuple[float, float]:
        """Train a lane; return the sums of its losses and of their squares.

        The trained model is left in the module's parameters.
        """
        segment, places = lane.segment, training.trains(self.layout.names)
        self._store(lane.start, self._flat)

        def views(flat: torch.Tensor) -> list[torch.Tensor]:
            """Return parts `(1, ...)` of a single lane, of parameters that are trained."""
            every = self._views(flat)
            return [of_one_lane(every[place]) for place in places]

        anchor = views(self._stored(lane.base) if training.proximal else self._flat)
        offset = None if lane.offset is None else views(self._stored(lane.offset))
        optimizer = LaneOptimizer(training, views(self._flat), anchor, offset)
        parameters = [self._parameters[place] for place in places]
        with np.errstate(over="ignore"):  # an infinite rate, of clients that diverge
            rates = torch.from_numpy(segment.rates.astype(np.float32)).to(self.device).view(-1, 1)
        weights = None
        if segment.weights is not None:
            weights = torch.from_numpy(segment.normalised).to(self.device, torch.float32)
        augment = None
        if training.augmentation is not None:
            augment = Augmenter(training.augmentation, segment)
        losses: list[torch.Tensor] = []
        devices = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):
            # Dropout layers draw from PyTorch's global generator.
            seed = int(generator(segment.seed, segment.dropout).integers(2**63))
            torch.default_generator.manual_seed(seed)
            if devices:
                torch.cuda.manual_seed_all(seed)
            for step, (first, inputs, labels) in enumerate(self._batches(x, y, segment)):
                if augment is not None:
                    inputs = augment(inputs, first)
                by_row = training.loss.checked_rows(self.module(inputs), labels)
                losses.append(by_row.detach())
                last = first + by_row.shape[0]
                loss = by_row.mean() if weights is None else by_row @ weights[first:last]
                gradients = torch.autograd.grad(loss, parameters, materialize_grads=True)
                with torch.no_grad():
                    parts = [of_one_lane(part) for part in _apart(gradients)]
                    optimizer.step(parts, rates[step : step + 1])
        return _sums(torch.cat(losses).cpu().numpy().astype(np.float64), segment)

    def _batches(
        self, x: torch.Tensor, y: torch.Tensor, segment: Segment
    ) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
        """Yield where each batch begins among the segment's rows, its inputs and its targets."""
        rows = torch.from_numpy(segment.rows).to(self.device)
        room = BLOCK_BYTES // (x[:1].numel() * x.element_size())
        ends = np.cumsum(segment.sizes)
        begin = t = 0
        while t < segment.steps:  # gathered a few batches at once
            last = max(int(np.searchsorted(ends, begin + room, side="right")), t + 1)
            gathered = rows[begin : ends[last - 1]]
            inputs = x.index_select(0, gathered)
            if self.channels_last and inputs.dim() == 4:
                inputs = inputs.contiguous(memory_format=torch.channels_last)
            sizes = segment.sizes[t:last].tolist()
            batches = torch.split_with_sizes(inputs, sizes)
            labels = torch.split_with_sizes(y.index_select(0, gathered), sizes)
            for size, batch, targets in zip(sizes, batches, labels, strict=True):
                yield begin, batch, targets
                begin += size
            t = last

    def _adopt(self, flat: torch.Tensor) -> list[nn.Parameter]:
        """Make the module's parameters views of `flat` and return them."""
        parameters = []
        for name, view in zip(self.layout.names, self._views(flat), strict=True):
            parameter = self.module.get_parameter(name)
            parameter.data = view
            parameters.append(parameter)
        return parameters

    def _views(self, flat: torch.Tensor) -> list[torch.Tensor]:
        """Return the parameters that lie in `flat` `(p,)`, convolutions channels last."""
        views = []
        for shape, offset in zip(self.layout.shapes, self.layout.offsets, strict=True):
            like = torch.empty(shape, device="meta")
            if self.channels_last and len(shape) == 4:
                like = like.to(memory_format=torch.channels_last)
            views.append(flat.as_strided(shape, like.stride(), offset))
        return views

    def _store(self, flat: torch.Tensor, into: torch.Tensor) -> torch.Tensor:
        """Copy a model `(p,)` into memory laid out as the module's parameters are; return it."""
        if not self.channels_last:
            return into.copy_(flat)
        for stored, view in zip(self._views(into), self.layout.views(flat).values(), strict=True):
            stored.copy_(view)
        return into

    def _stored(self, flat: torch.Tensor) -> torch.Tensor:
        return self._store(flat, torch.empty_like(flat)) if self.channels_last else flat

    def _leave(self) -> torch.Tensor:
        """Return the trained model `(p,)`, a copy."""
        flat = torch.empty_like(self._flat)
        if not self.channels_last:
            return flat.copy_(self._flat)
        for view, stored in zip(
            self.layout.views(flat).values(), self._views(self._flat), strict=True
        ):
            view.copy_(stored)
        return flat


def is_channels_last(module: nn.Module, device: torch.device) -> bool:
    """Whether images go through `module` channels last, which is faster on a CPU."""
    convolutions = [part for part in module.modules() if isinstance(part, nn.Conv2d)]
    return device.type == "cpu" and bool(convolutions) and not any(map(_is_overrun, convolutions))


def _is_overrun(convolution: nn.Conv2d) -> bool:
    """Whether oneDNN may write past the memory of its gradient, channels last.

    So it does where channels are fewer than a vector register holds (oneDNN's issue 6035).
    """
    steps = max(convolution.stride)
    return set(convolution.kernel_size) == {1} and steps > 1 and convolution.in_channels < 16


def _sums(losses: Floats, segment: Segment) -> tuple[float, float]:
    starts = np.cumsum(segment.sizes) - segment.sizes
    weighted = segment.normalised * np.repeat(segment.sizes, segment.sizes)
    with np.errstate(over="ignore", invalid="ignore"):  # of a client that diverged
        batch = np.add.reduceat(weighted * losses, starts)
        square = np.add.reduceat(weighted * losses**2, starts)
    return float(batch.sum()), float(square.sum())


def _apart(gradients: Sequence[torch.Tensor]) -> Iterator[torch.Tensor]:
    """Yield the gradients, each in memory of its own: who overwrites one changes no other number.

    Autograd gives two parameters that are added up the same, and one that is summed up a single
    number, as large as it.
    """
    taken = set[int]()
    for part in gradients:
        memory = part.untyped_storage().data_ptr()
        repeats = 0 in part.stride()
        yield part.clone() if memory in taken or repeats else part
        taken.add(memory)


def of_one_lane(part: torch.Tensor) -> torch.Tensor:
    """Return `part` as `(1, ...)`, a single number as `(1, 1)`: rates `(1, 1)` multiply it."""
    return part.unsqueeze(0) if part.dim() else part.reshape(1, 1)
