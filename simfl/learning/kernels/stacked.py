"""Lanes: many clients' SGD steps as one sequence of batched operations.

Lanes of like batch width run together, longest first, and are sliced away as they finish, so
nothing is padded to the longest.  A short last batch is filled up with copies of its last row at
weight zero, whose products are exact zeros.  The width that a lane is filled up to follows from
its own batches alone.

Two rules keep a lane's bits the same wherever it lies (measured, torch 2.13 with MKL and AVX-512).
Every matrix of a lane begins at a multiple of 64 bytes, for a product may round differently on
memory aligned otherwise.  And elementwise functions run over a multiple of 64 numbers, for a
vectorised `sigmoid` or `exp` rounds otherwise in the few left over at the end of a tensor.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import torch
from numpy.typing import NDArray

from simfl.learning.kernels.base import Kernel, Progress
from simfl.learning.kernels.sgd import LaneSGD
from simfl.learning.passes import Segment, stream
from simfl.work import Floats, Ids, LocalTraining

LANE_BYTES = 64 * 2**20
"""Most memory that the parameters and gradients of the lanes of one chunk may take."""
BLOCK_BYTES = 4 * 2**20
"""Targets, dropout masks and logits that are there at once."""
INPUT_BYTES = 2**19
"""Inputs gathered at once: they are read twice, and should still be in the cache then."""
MOST_LANES = 1024
ALIGNED = 64
"""Numbers that the memory of a lane's parameters is a multiple of."""


def aligned(numbers: int) -> int:
    """Return the least multiple of `ALIGNED` that is not less than `numbers`."""
    return -(-numbers // ALIGNED) * ALIGNED


class Lanes:
    """Matrices `(lanes, rows, columns)`, one behind the other, and a little memory after them.

    Args:
        lanes: how many at most.
        rows: of each matrix.
        columns: of each matrix.
        device: where.
    """

    def __init__(self, lanes: int, rows: int, columns: int, device: torch.device) -> None:
        self._flat = torch.zeros(aligned(lanes * rows * columns) + ALIGNED, device=device)
        self._rows, self._columns = rows, columns
        self.every = self._flat[: lanes * rows * columns].view(lanes, rows, columns)

    def take(self, first: int, last: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the matrices of some lanes, and flat memory that begins like them.

        The flat memory holds a multiple of 64 numbers; the few beyond the last matrix are
        meaningless, and free to be overwritten if what follows is written later.
        """
        size = self._rows * self._columns
        return self.every[first:last], self._flat[first * size :][: aligned((last - first) * size)]


class Record:
    """What the steps of one block leave behind for the loss: see `Workspace.compute`.

    Args:
        batches: room for so many.
        width: rows of each.
        classes: logits of each row.
        device: where.
    """

    def __init__(self, batches: int, width: int, classes: int, device: torch.device) -> None:
        self._logits = torch.empty(batches, width, classes, device=device)
        self._sums = Lanes(batches, width, 1, device)
        self._shifts = torch.zeros(batches, width, 1, device=device)

    def split(self, counts: Sequence[int]) -> Iterator[tuple[torch.Tensor, ...]]:
        """Return ``(logits, sums, shifts)`` of each step, given how many batches each has."""
        n = sum(counts)
        whole = self._logits, self._sums.every, self._shifts
        return zip(*(torch.split_with_sizes(part[:n], counts) for part in whole), strict=True)

    def losses(self, labels: torch.Tensor) -> torch.Tensor:
        """Return the cross-entropies `(s, width)`, given labels `(s, width, 1)`."""
        batches = labels.shape[0]
        sums, flat = self._sums.take(0, batches)
        flat.log_()
        right = self._logits[:batches].gather(2, labels)
        return (sums + self._shifts[:batches] - right).squeeze(2)


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


class StackedKernel(Kernel):
    """Schedules lanes; subclasses say how a batched gradient is computed.

    Args:
        size: parameters p of the model.
        classes: number of logits c.
    """

    def __init__(self, size: int, classes: int) -> None:
        self.classes = classes
        self.most_lanes = int(np.clip(LANE_BYTES // max(8 * size, 1), 2, MOST_LANES))

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
        x = self.inputs(x)
        with torch.no_grad():
            for width, lanes in self._chunks(segments, training.batch_size):
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

    def _chunks(self, segments: Sequence[Segment], batch: int) -> Iterator[tuple[int, Ids]]:
        multiple = self.row_multiple()
        widths = np.array([batch_width(segment, batch, multiple) for segment in segments])
        steps = np.array([segment.steps for segment in segments])
        for width in np.unique(widths[steps > 0]):
            lanes = np.flatnonzero((widths == width) & (steps > 0))
            lanes = lanes[np.argsort(-steps[lanes], kind="stable")]
            for first in range(0, len(lanes), self.most_lanes):
                yield int(width), lanes[first : first + self.most_lanes]

    def _run_chunk(
        self,
        workspace: Workspace,
        optimizer: LaneSGD,
        x: torch.Tensor,
        y: torch.Tensor,
        segments: Sequence[Segment],
        width: int,
    ) -> tuple[Floats, Floats]:
        steps, device = _Steps.of(segments, width), x.device
        starts = steps.starts.tolist()
        minus_rates = torch.from_numpy(-steps.rates).to(device).unsqueeze(1)
        losses = np.empty((len(steps.rates), width))
        numbers = width * (self.classes + workspace.masks + 4)
        blocks = list(steps.blocks(BLOCK_BYTES // (4 * numbers)))
        record = Record(
            max(starts[t1] - starts[t0] for t0, t1 in blocks), width, self.classes, device
        )
        reader = _Reader(x, width, int(steps.active[0]))
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
        steps: "_Steps",
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


class _Reader:
    """Gathers inputs, a few steps at a time, always into the same memory.

    Args:
        x: `(n, ...)` inputs.
        width: rows of each batch.
        lanes: batches of the largest step.
    """

    def __init__(self, x: torch.Tensor, width: int, lanes: int) -> None:
        self._x, self._width = x, width
        self._room = max(INPUT_BYTES // (width * x[:1].numel() * x.element_size()), lanes)
        self._buffer = x.new_empty(self._room * width, *x.shape[1:])

    def read(self, rows: torch.Tensor, counts: Sequence[int]) -> Iterator[torch.Tensor]:
        """Yield the inputs `(a, width, ...)` of each step.

        Args:
            rows: of all the steps' batches, one after the other.
            counts: batches of each step.
        """
        ends = list(accumulate(counts))
        first = begin = 0
        while first < len(counts):
            last = max(bisect_right(ends, begin + self._room), first + 1)
            some = rows[begin * self._width : ends[last - 1] * self._width]
            inputs = torch.index_select(self._x, 0, some, out=self._buffer[: some.shape[0]])
            matrices = inputs.view(-1, self._width, *self._x.shape[1:])
            yield from torch.split_with_sizes(matrices, counts[first:last])
            first, begin = last, ends[last - 1]


def batch_width(segment: Segment, batch: int, multiple: int = 1) -> int:
    """Return how many rows the batches of `segment` are filled up to.

    Lanes of like width run together, so small data sets are rounded up to few widths; the width
    depends on the lane itself, the batch size and the shape of an input only.
    """
    largest = int(segment.sizes.max()) if segment.steps else 0
    width = 8
    while width < largest:
        width += max(8, width // 32 * 8)
    width = min(width, max(batch, 8))
    return -(-width // multiple) * multiple


@dataclass(frozen=True)
class _Steps:
    """The mini-batches of a chunk of lanes in the order they run: all first steps, all second ...

    Attributes:
        lengths: `(l,)` steps of each lane, descending.
        active: `(t,)` lanes that still run at each step.
        starts: `(t + 1,)` where each step's batches begin among all `s` batches.
        rows: `(s, width)` rows of each batch.
        weights: `(s, width)` float32, their normalised weights, 0 for fillers.
        rates: `(s,)` float32 learning rates.
        sizes: `(s,)` samples in each batch.
        lane: `(s,)` whose batch it is.
    """

    lengths: Ids
    active: Ids
    starts: Ids
    rows: Ids
    weights: NDArray[np.float32]
    rates: NDArray[np.float32]
    sizes: Ids
    lane: Ids

    @classmethod
    def of(cls, segments: Sequence[Segment], width: int) -> "_Steps":
        lengths = np.array([segment.steps for segment in segments])
        active = np.searchsorted(-lengths, -np.arange(lengths[0]), side="left")
        starts = np.concatenate([[0], np.cumsum(active)])
        # Lane after lane first, then reordered: step by step.
        sizes = np.concatenate([segment.sizes for segment in segments])
        lane = np.repeat(np.arange(len(segments)), lengths)
        step = np.arange(len(lane)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        place = np.empty(len(lane), dtype=np.int64)
        place[starts[step] + lane] = np.arange(len(lane))
        column = np.arange(width)
        begins = np.cumsum(sizes) - sizes
        taken = begins[:, None] + np.minimum(column, sizes[:, None] - 1)
        taken = taken[place]
        weights = np.concatenate([segment.normalised for segment in segments])[taken]
        weights[column >= sizes[place][:, None]] = 0.0
        weights = weights.astype(np.float32)
        return cls(
            lengths,
            active,
            starts,
            np.concatenate([segment.rows for segment in segments])[taken],
            weights,
            np.concatenate([segment.rates for segment in segments])[place].astype(np.float32),
            sizes[place],
            lane[place],
        )

    def blocks(self, batches: int) -> Iterator[tuple[int, int]]:
        """Return ranges of steps with about so many batches each."""
        first = 0
        while first < len(self.active):
            last = int(np.searchsorted(self.starts, self.starts[first] + batches, side="right")) - 1
            last = max(last, first + 1)
            yield first, last
            first = last

    def sums(self, losses: Floats) -> tuple[Floats, Floats]:
        """Return per lane the sums of losses and of squared losses, each batch in its turn."""
        lanes = len(self.lengths)
        with np.errstate(over="ignore", invalid="ignore"):  # of a client that diverged
            weighted = self.weights.astype(np.float64) * losses
            batch = weighted.sum(axis=1) * self.sizes
            square = (weighted * losses).sum(axis=1) * self.sizes
        loss, squared = np.zeros(lanes), np.zeros(lanes)
        np.add.at(loss, self.lane, batch)
        np.add.at(squared, self.lane, square)
        return loss, squared
