"""Lanes: many clients' SGD steps as one sequence of batched operations.

Lanes of like batch width run together, longest first, and are sliced away as they finish, so
nothing is padded to the longest.  A short last batch is filled up with copies of its last row at
weight zero, whose products are exact zeros.  The width that a lane is filled up to follows from
its own batches alone.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from typing_extensions import override

from simfl.components.local_training import LocalTraining
from simfl.components.losses.base import Loss
from simfl.core.seeds import generator
from simfl.core.types import Floats, Ids
from simfl.training.kernels.base import Kernel, Lane, Progress
from simfl.training.kernels.lanes import Reader
from simfl.training.kernels.objectives import Objective
from simfl.training.kernels.optimize import LaneOptimizer
from simfl.training.kernels.steps import Steps, batch_width
from simfl.training.kernels.workspace import Step, Workspace
from simfl.training.passes import Segment

CACHE_BYTES = 8 * 2**20
"""Most memory that the lanes of one chunk may take: parameters, gradients and one batch of inputs.
Each step reads them all, and should find them in the cache."""
BLOCK_BYTES = 4 * 2**20
"""Targets, dropout masks and logits that are there at once."""
MOST_LANES = 1024


class StackedKernel(Kernel):
    """Schedules lanes; subclasses say how a batched gradient is computed.

    Args:
        size: parameters p of the model.
        classes: number of logits c.
    """

    def __init__(self, size: int, classes: int) -> None:
        self.classes, self._size = classes, size

    def most_lanes(self, batch_bytes: int) -> int:
        """Return how many lanes may run at once if a batch of inputs takes so many bytes."""
        return int(np.clip(CACHE_BYTES // (8 * self._size + batch_bytes), 2, MOST_LANES))

    @abstractmethod
    def workspace(self, start: Sequence[torch.Tensor], width: int, loss: Loss) -> Workspace:
        """Return buffers for lanes that start at models `(p,)`, with `width` rows a batch."""

    @abstractmethod
    def objective(self, loss: Loss, batches: int, width: int, device: torch.device) -> Objective:
        """Return what `loss` is over blocks of up to so many batches."""

    @abstractmethod
    def draw_masks(self, rng: np.random.Generator, steps: int, width: int) -> NDArray[np.float32]:
        """Return `(steps, width * masks)` dropout factors."""

    @abstractmethod
    def inputs(self, x: torch.Tensor) -> torch.Tensor:
        """Return `x` `(n, ...)` in the shape that batches are gathered in."""

    @abstractmethod
    def row_multiple(self) -> int:
        """Return what the rows of a batch must be a multiple of."""

    @override
    def run(
        self, lanes: Sequence[Lane], x: torch.Tensor, y: torch.Tensor, training: LocalTraining
    ) -> Progress:
        progress = Progress.none(lanes)
        x = self.inputs(x)
        with torch.no_grad():
            row_bytes = x[:1].numel() * x.element_size()
            segments = [lane.segment for lane in lanes]
            for width, places in self._chunks(segments, training.batch_size, row_bytes):
                chunk = _Chunk(self, [lanes[place] for place in places], width, training)
                progress.losses[places], progress.squares[places] = chunk.run(x, y)
                for place, params in zip(places, chunk.workspace.result(), strict=True):
                    progress.params[place] = params
        return progress

    def _chunks(
        self, segments: Sequence[Segment], batch: int, row_bytes: int
    ) -> Iterator[tuple[int, Ids]]:
        """Yield the batch width and the places of a chunk of lanes, longest first."""
        multiple = self.row_multiple()
        widths = np.array([batch_width(segment, batch, multiple) for segment in segments])
        steps = np.array([segment.steps for segment in segments])
        for width in np.unique(widths[steps > 0]):
            places = np.flatnonzero((widths == width) & (steps > 0))
            places = places[np.argsort(-steps[places], kind="stable")]
            most = self.most_lanes(int(width) * row_bytes)
            for first in range(0, len(places), most):
                yield int(width), places[first : first + most]


class _Chunk:
    """Lanes that run together, longest first.

    Args:
        kernel: how they run.
        lanes: which.
        width: rows of a batch.
        training: the optimizer's settings.
    """

    def __init__(
        self, kernel: StackedKernel, lanes: Sequence[Lane], width: int, training: LocalTraining
    ) -> None:
        self._kernel, self._width, self._loss = kernel, width, training.loss
        self._steps = Steps.of([lane.segment for lane in lanes], width)
        start = [lane.start for lane in lanes]
        self.workspace = workspace = kernel.workspace(start, width, training.loss)
        anchor = workspace.params
        if training.proximal:
            anchor = workspace.load([lane.base for lane in lanes])
        offsets = [lane.offset for lane in lanes if lane.offset is not None]
        offset = workspace.load(offsets) if offsets else None
        self._optimizer = LaneOptimizer(training, workspace.params, anchor, offset)
        self._fused = workspace.fused if self._optimizer.plain else None
        self._streams = []
        if workspace.masks:
            self._streams = [generator(lane.segment.seed, lane.segment.dropout) for lane in lanes]

    def run(self, x: torch.Tensor, y: torch.Tensor) -> tuple[Floats, Floats]:
        """Make all steps; return each lane's sums of losses and of squared losses.

        Args:
            x: `(n, ...)` inputs that the segments' rows index.
            y: `(n,)` targets.
        """
        steps, width = self._steps, self._width
        losses = np.empty((len(steps.rates), width))
        numbers = width * (self._kernel.classes + self.workspace.masks + 4)
        blocks = list(steps.blocks(BLOCK_BYTES // (4 * numbers)))
        most = max(steps.starts[last] - steps.starts[first] for first, last in blocks)
        objective = self._kernel.objective(self._loss, int(most), width, x.device)
        reader = Reader(x, width, int(steps.active[0]))
        lanes = int(steps.active[0])
        for block in blocks:
            batches = slice(*steps.starts[list(block)].tolist())
            rows = torch.from_numpy(steps.rows[batches].ravel()).to(x.device)
            targets = y.index_select(0, rows).view(-1, width, *y.shape[1:])
            for step in self._block(block, reader, rows, targets, objective):
                if len(step.x) < lanes:
                    lanes = len(step.x)
                    self.workspace.narrow(lanes)
                    self._optimizer.narrow(lanes)
                if self._fused is not None:
                    self._fused(step)
                else:
                    self._optimizer.step(self.workspace.compute(step), step.rates)
            losses[batches] = objective.losses(targets).cpu().numpy()
        return steps.sums(losses)

    def _block(
        self,
        block: tuple[int, int],
        reader: Reader,
        rows: torch.Tensor,
        targets: torch.Tensor,
        objective: Objective,
    ) -> Iterator[Step]:
        """Yield the steps of a block ``first, last``, whose batches have `rows` and `targets`."""
        steps, device = self._steps, targets.device
        batches = slice(*steps.starts[list(block)].tolist())
        counts = steps.active[slice(*block)].tolist()
        rates = torch.from_numpy(steps.rates[batches]).to(device).unsqueeze(1)
        weights = torch.from_numpy(steps.weights[batches]).to(device).unsqueeze(2)
        if self._fused is not None:
            weights = weights * -rates.unsqueeze(2)
        masks: Sequence[torch.Tensor | None] = [None] * len(counts)
        if self.workspace.masks:
            masks = torch.split_with_sizes(self._masks(*block).to(device), counts)
        return map(
            Step,
            reader.read(rows, counts),
            torch.split_with_sizes(objective.targets(targets, weights), counts),
            torch.split_with_sizes(weights, counts),
            torch.split_with_sizes(rates, counts),
            objective.split(counts),
            masks,
        )

    def _masks(self, first: int, last: int) -> torch.Tensor:
        """Return the dropout factors `(s, width * masks)` of steps `first` to `last`."""
        steps, width = self._steps, self._width
        begin, end = steps.starts[first], steps.starts[last]
        masks = np.empty((end - begin, width * self.workspace.masks), dtype=np.float32)
        for lane in range(steps.active[first]):
            stop = min(last, steps.lengths[lane])
            at = steps.starts[first:stop] - begin + lane
            masks[at] = self._kernel.draw_masks(self._streams[lane], stop - first, width)
        return torch.from_numpy(masks)
