"""Lanes: many clients' SGD steps as one sequence of batched operations.

Lanes of like batch width run together, longest first, and are sliced away as they finish, so
nothing is padded to the longest.  A short last batch is filled up with copies of its last row at
weight zero, whose products are exact zeros.  The width that a lane is filled up to follows from
its own batches alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from typing_extensions import override

from simfl.core.types import Floats, Ids
from simfl.core.work import LocalTraining
from simfl.training.kernels.base import Kernel, Progress
from simfl.training.kernels.lanes import Reader, Record
from simfl.training.kernels.sgd import LaneSGD
from simfl.training.kernels.steps import Steps, batch_width
from simfl.training.passes import Segment, stream

CACHE_BYTES = 8 * 2**20
"""Most memory that the lanes of one chunk may take on a CPU: parameters, gradients and one batch of
inputs.  Each step reads them all, and should find them in the cache: 40 lanes of W1 train up
to a tenth faster in chunks of 13 than all at once (``python -m benchmarks.parts``)."""
CARD_SHARE = 8
"""On a GPU they may take this part of the card's memory: 1 / CARD_SHARE."""
BLOCK_BYTES = 4 * 2**20
"""Targets, dropout masks and logits that are there at once."""
MOST_LANES = 1024


class Workspace(ABC):
    """Buffers of one chunk of lanes, and how to get their gradients."""

    masks: int = 0
    """Dropout masks needed per row, in numbers."""
    fuses: bool = False
    """Whether `step` is there: plain SGD without gradients ever being stored."""
    params: Sequence[torch.Tensor]
    """Parts `(l, n_i)` of the models; the optimizer changes them in place."""

    @abstractmethod
    def load(self, models: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """Return the parts `(l, n_i)` of models `(p,)`, copied into memory laid out like mine."""

    @abstractmethod
    def narrow(self, lanes: int) -> None:
        """Go on with the first `lanes` lanes only."""

    @abstractmethod
    def compute(
        self,
        x: torch.Tensor,
        targets: torch.Tensor,
        weights: torch.Tensor,
        masks: torch.Tensor | None,
        record: tuple[torch.Tensor, ...],
    ) -> Sequence[torch.Tensor]:
        """Return parts `(a, n_i)` of the gradients of the lanes that still run.

        Args:
            x: `(a, width, ...)` inputs.
            targets: `(a, width, c)` one-hot targets times `weights`.
            weights: `(a, width, 1)` weight of each row in its batch's loss.
            masks: `(a, width * masks)` dropout factors.
            record: to be written: logits `(a, width, c)`, the row-wise sums `(a, width, 1)` of
                ``exp(logits - shifts)`` and the shifts `(a, width, 1)`, zero unless written.
        """

    def step(
        self,
        x: torch.Tensor,
        targets: torch.Tensor,
        weights: torch.Tensor,
        masks: torch.Tensor | None,
        record: tuple[torch.Tensor, ...],
    ) -> None:
        """Add the gradients to the parameters; as `compute`, but `weights` hold the step size."""
        raise NotImplementedError

    @abstractmethod
    def result(self) -> list[torch.Tensor]:
        """Return the models `(p,)`."""


def lane_bytes(device: torch.device) -> int:
    """Return how much memory the lanes of a chunk may take."""
    if device.type == "cuda":
        card = torch.cuda.get_device_properties(device)
        return int(card.total_memory) // CARD_SHARE
    return CACHE_BYTES


class StackedKernel(Kernel):
    """Schedules lanes; subclasses say how a batched gradient is computed.

    Args:
        size: parameters p of the model.
        classes: number of logits c.
        device: where it runs.
    """

    def __init__(self, size: int, classes: int, device: torch.device) -> None:
        self.classes = classes
        self._size, self._room = size, lane_bytes(device)

    def most_lanes(self, batch_bytes: int) -> int:
        """Return how many lanes may run at once if a batch of inputs takes so many bytes."""
        return int(np.clip(self._room // (8 * self._size + batch_bytes), 2, MOST_LANES))

    @abstractmethod
    def workspace(self, start: Sequence[torch.Tensor], width: int) -> Workspace:
        """Return buffers for lanes that start at models `(p,)`, with `width` rows a batch."""

    def draw_masks(self, rng: np.random.Generator, steps: int, width: int) -> NDArray[np.float32]:
        """Return `(steps, width * masks)` dropout factors; only called if there is dropout."""
        raise NotImplementedError

    def inputs(self, x: torch.Tensor) -> torch.Tensor:
        """Return `x` `(n, ...)` in the shape that batches are gathered in."""
        return x

    def row_multiple(self) -> int:
        """Return what the rows of a batch must be a multiple of."""
        return 1

    @override
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
        progress = Progress(list(start), np.zeros(len(segments)), np.zeros(len(segments)))
        x = self.inputs(x)
        with torch.no_grad():
            row_bytes = x[:1].numel() * x.element_size()
            for width, lanes in self._chunks(segments, training.batch_size, row_bytes):
                workspace = self.workspace([start[lane] for lane in lanes], width)
                anchor = workspace.params
                if training.proximal:
                    anchor = workspace.load([base[lane] for lane in lanes])
                offset = None
                if offsets is not None:
                    offset = workspace.load([offsets[lane] for lane in lanes])
                optimizer = LaneSGD(training, workspace.params, anchor, offset)
                chosen = [segments[lane] for lane in lanes]
                sums = self._run_chunk(workspace, optimizer, x, y, chosen, width)
                progress.losses[lanes], progress.squares[lanes] = sums
                for lane, params in zip(lanes, workspace.result(), strict=True):
                    progress.params[lane] = params
        return progress

    def _chunks(
        self, segments: Sequence[Segment], batch: int, row_bytes: int
    ) -> Iterator[tuple[int, Ids]]:
        """Yield chunks of lanes, longest first, and their batch width."""
        multiple = self.row_multiple()
        widths = np.array([batch_width(segment, batch, multiple) for segment in segments])
        steps = np.array([segment.steps for segment in segments])
        for width in np.unique(widths[steps > 0]):
            lanes = np.flatnonzero((widths == width) & (steps > 0))
            lanes = lanes[np.argsort(-steps[lanes], kind="stable")]
            most = self.most_lanes(int(width) * row_bytes)
            for first in range(0, len(lanes), most):
                yield int(width), lanes[first : first + most]

    def _run_chunk(
        self,
        workspace: Workspace,
        optimizer: LaneSGD,
        x: torch.Tensor,
        y: torch.Tensor,
        segments: Sequence[Segment],
        width: int,
    ) -> tuple[Floats, Floats]:
        steps, device = Steps.of(segments, width), x.device
        starts = steps.starts.tolist()
        minus_rates = torch.from_numpy(-steps.rates).to(device).unsqueeze(1)
        losses = np.empty((len(steps.rates), width))
        numbers = width * (self.classes + workspace.masks + 4)
        blocks = list(steps.blocks(BLOCK_BYTES // (4 * numbers)))
        record = Record(
            max(starts[t1] - starts[t0] for t0, t1 in blocks), width, self.classes, device
        )
        reader = Reader(x, width, int(steps.active[0]))
        streams = []
        if workspace.masks:
            streams = [stream(segment.seed, segment.dropout) for segment in segments]
        lanes = len(segments)
        fused = workspace.fuses and optimizer.plain
        for t0, t1 in blocks:
            begin, end = starts[t0], starts[t1]
            counts = steps.active[t0:t1].tolist()
            rows = torch.from_numpy(steps.rows[begin:end].ravel()).to(device)
            labels = y.index_select(0, rows).view(-1, width, 1)
            weights = torch.from_numpy(steps.weights[begin:end]).to(device).unsqueeze(2)
            if fused:
                weights = weights * minus_rates[begin:end].unsqueeze(2)
            targets = torch.zeros(end - begin, width, self.classes, device=device)
            targets.scatter_(2, labels, weights)
            masks: Sequence[torch.Tensor | None] = [None] * (t1 - t0)
            if workspace.masks:
                drawn = self._masks(workspace, steps, streams, t0, t1, width).to(device)
                masks = torch.split_with_sizes(drawn, counts)
            for count, step_x, step_targets, step_weights, step_masks, rates, rows_of in zip(
                counts,
                reader.read(rows, counts),
                torch.split_with_sizes(targets, counts),
                torch.split_with_sizes(weights, counts),
                masks,
                torch.split_with_sizes(minus_rates[begin:end], counts),
                record.split(counts),
                strict=True,
            ):
                if count < lanes:
                    lanes = count
                    workspace.narrow(lanes)
                    optimizer.narrow(lanes)
                batch = step_x, step_targets, step_weights, step_masks, rows_of
                if fused:
                    workspace.step(*batch)
                else:
                    optimizer.step(workspace.compute(*batch), rates)
            losses[begin:end] = record.losses(labels).cpu().numpy()
        return steps.sums(losses)

    def _masks(
        self,
        workspace: Workspace,
        steps: Steps,
        streams: Sequence[np.random.Generator],
        t0: int,
        t1: int,
        width: int,
    ) -> torch.Tensor:
        begin, end = steps.starts[t0], steps.starts[t1]
        masks = np.empty((end - begin, width * workspace.masks), dtype=np.float32)
        for lane in range(steps.active[t0]):
            ends = min(t1, steps.lengths[lane])
            at = steps.starts[t0:ends] - begin + lane
            masks[at] = self.draw_masks(streams[lane], ends - t0, width)
        return torch.from_numpy(masks)
