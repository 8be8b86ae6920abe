"""Fully connected stacks on a CPU: many clients' SGD steps as one sequence of batched operations.

Lanes of like batch width run together, longest first, and are sliced away as they finish, so
nothing is padded to the longest.  A short last batch is filled up with copies of its last row at
weight zero, whose products are exact zeros.  The width that a lane is filled up to follows from
its own batches alone.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from typing_extensions import override

from simfl.components.local_training import LocalTraining
from simfl.core.types import Ids
from simfl.training.flat import Layout
from simfl.training.kernels.base import Kernel, Lane, Progress
from simfl.training.kernels.chunk import Chunk
from simfl.training.kernels.lanes import row_multiple
from simfl.training.kernels.stages import Stage
from simfl.training.kernels.steps import batch_width
from simfl.training.segments import Segment

CACHE_BYTES = 8 * 2**20
"""Most memory that the lanes of one chunk may take: parameters, gradients and one batch of inputs.
Each step reads them all, and should find them in the cache."""
MOST_LANES = 1024


class LinearKernel(Kernel):
    """Stacks of `Linear`, `ReLU`, `Sigmoid`, `Tanh`, `Dropout`; a `Flatten` may come first.

    Args:
        layout: of the flat vector.
        stages: the layers.
    """

    def __init__(self, layout: Layout, stages: Sequence[Stage]) -> None:
        self._layout, self._stages = layout, stages

    @override
    def run(
        self, lanes: Sequence[Lane], x: torch.Tensor, y: torch.Tensor, training: LocalTraining
    ) -> Progress:
        progress = Progress.none(lanes)
        x = x.flatten(1).to(torch.float32)
        with torch.no_grad():
            segments = [lane.segment for lane in lanes]
            for width, places in self._chunks(segments, training.batch_size):
                own = [lanes[place] for place in places]
                chunk = Chunk(self._layout, self._stages, own, width, training)
                progress.losses[places], progress.squares[places] = chunk.run(x, y)
                for place, params in zip(places, chunk.result(), strict=True):
                    progress.params[place] = params
        return progress

    def _chunks(self, segments: Sequence[Segment], batch: int) -> Iterator[tuple[int, Ids]]:
        """Yield the batch width and the places of a chunk of lanes, longest first."""
        inputs = self._stages[0].inputs
        # Every matrix of a lane begins at a full 64 bytes.
        multiple = max(row_multiple(n) for n in [inputs, *(s.outputs for s in self._stages)])
        widths = np.array([batch_width(segment, batch, multiple) for segment in segments])
        steps = np.array([segment.steps for segment in segments])
        for width in np.unique(widths[steps > 0]):
            places = np.flatnonzero((widths == width) & (steps > 0))
            places = places[np.argsort(-steps[places], kind="stable")]
            lane_bytes = 8 * self._layout.size + 4 * inputs * int(width)
            most = int(np.clip(CACHE_BYTES // lane_bytes, 2, MOST_LANES))
            for first in range(0, len(places), most):
                yield int(width), places[first : first + most]
