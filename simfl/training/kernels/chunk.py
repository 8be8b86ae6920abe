"""Lanes that run together: their steps, block by block, and what these are given."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from simfl.components.local_training import LocalTraining
from simfl.core.seeds import generator
from simfl.core.types import Floats
from simfl.training.flat import Layout
from simfl.training.kernels.base import Lane
from simfl.training.kernels.lanes import Reader
from simfl.training.kernels.objectives import Objective, RowObjective, SoftmaxObjective
from simfl.training.kernels.optimize import LaneOptimizer
from simfl.training.kernels.stages import Stage, dropouts, make_factors
from simfl.training.kernels.steps import Steps
from simfl.training.kernels.workspace import Step, Workspace

BLOCK_BYTES = 4 * 2**20
"""Targets, dropout masks and logits that are there at once."""


class Chunk:
    """Lanes that run together, longest first.

    Args:
        layout: of the model's flat vector.
        stages: its layers.
        lanes: which.
        width: rows of a batch.
        training: optimizer and loss.
    """

    def __init__(
        self,
        layout: Layout,
        stages: Sequence[Stage],
        lanes: Sequence[Lane],
        width: int,
        training: LocalTraining,
    ) -> None:
        self._width, self._classes, self._loss = width, stages[-1].outputs, training.loss
        self._steps = Steps.of([lane.segment for lane in lanes], width)
        start = [lane.start for lane in lanes]
        self._workspace = workspace = Workspace(layout, stages, start, width, training.loss)
        anchor: Sequence[torch.Tensor] = workspace.params
        if training.proximal:
            anchor = workspace.load([lane.base for lane in lanes])
        offsets = [lane.offset for lane in lanes if lane.offset is not None]
        offset = workspace.load(offsets) if offsets else None
        self._trained = training.trains(workspace.names)
        """Places of the parts that steps change."""
        self._optimizer = LaneOptimizer(
            training,
            self._those(workspace.params),
            self._those(anchor),
            None if offset is None else self._those(offset),
        )
        self._plain = self._optimizer.plain and training.only is None
        self._masks = [(width * outputs, p) for outputs, p in dropouts(stages)]
        """Of each dropout layer how many factors a batch needs, and what share it drops."""
        self._streams = []
        if self._masks:
            self._streams = [generator(lane.segment.seed, lane.segment.dropout) for lane in lanes]

    def run(self, x: torch.Tensor, y: torch.Tensor) -> tuple[Floats, Floats]:
        """Make all steps; return each lane's sums of losses and of squared losses.

        Args:
            x: `(n, inputs)` float32, which the segments' rows index.
            y: `(n, ...)` targets.
        """
        steps, width = self._steps, self._width
        losses = np.empty((len(steps.rates), width))
        numbers = width * (self._classes + 4) + self._mask_columns
        blocks = list(steps.blocks(BLOCK_BYTES // (4 * numbers)))
        most = int(max(steps.starts[last] - steps.starts[first] for first, last in blocks))
        objective: Objective
        if self._loss.softmax:
            objective = SoftmaxObjective(most, width, self._classes)
        else:
            objective = RowObjective(most, width)
        lanes = int(steps.active[0])
        reader = Reader(x, width, lanes)
        for block in blocks:
            batches = slice(*steps.starts[list(block)].tolist())
            rows = torch.from_numpy(steps.rows[batches].ravel())
            targets = y.index_select(0, rows).view(-1, width, *y.shape[1:])
            for step in self._block(block, reader, rows, targets, objective):
                if len(step.x) < lanes:
                    lanes = len(step.x)
                    self._workspace.narrow(lanes)
                    self._optimizer.narrow(lanes)
                if self._plain:
                    self._workspace.fused(step)
                else:
                    self._optimizer.step(self._those(self._workspace.compute(step)), step.rates)
            losses[batches] = objective.losses(targets).numpy()
        return steps.sums(losses)

    def result(self) -> list[torch.Tensor]:
        """Return each lane's model `(p,)`."""
        return self._workspace.result()

    def _those(self, parts: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Return of `parts` `(l, n_i)` of all parameters those that steps change."""
        return [parts[place] for place in self._trained]

    def _block(
        self,
        block: tuple[int, int],
        reader: Reader,
        rows: torch.Tensor,
        targets: torch.Tensor,
        objective: Objective,
    ) -> Iterator[Step]:
        """Yield the steps of a block ``first, last``, whose batches have `rows` and `targets`."""
        steps = self._steps
        batches = slice(*steps.starts[list(block)].tolist())
        counts = steps.active[slice(*block)].tolist()
        rates = torch.from_numpy(steps.rates[batches]).unsqueeze(1)
        weights = torch.from_numpy(steps.weights[batches]).unsqueeze(2)
        if self._plain:
            weights = weights * -rates.unsqueeze(2)
        masks: Sequence[torch.Tensor | None] = [None] * len(counts)
        if self._masks:
            masks = torch.split_with_sizes(self._factors(*block), counts)
        return map(
            Step,
            reader.read(rows, counts),
            torch.split_with_sizes(objective.targets(targets, weights), counts),
            torch.split_with_sizes(weights, counts),
            torch.split_with_sizes(rates, counts),
            objective.split(counts),
            masks,
        )

    @property
    def _mask_columns(self) -> int:
        """Dropout factors that a batch needs."""
        return sum(columns for columns, _ in self._masks)

    def _factors(self, first: int, last: int) -> torch.Tensor:
        """Return the dropout factors `(s, width * masks)` of the batches of some steps."""
        steps, columns = self._steps, self._mask_columns
        begin, end = steps.starts[first], steps.starts[last]
        factors = np.empty((end - begin, columns), dtype=np.float32)
        for lane in range(steps.active[first]):
            stop = min(last, steps.lengths[lane])
            numbers = self._streams[lane].random((stop - first, columns), dtype=np.float32)
            make_factors(numbers, self._masks)
            factors[steps.starts[first:stop] - begin + lane] = numbers
        return torch.from_numpy(factors)
