"""The mini-batches of a chunk of lanes, in the order in which they run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simfl.core.types import Floats, Ids
from simfl.training.segments import Segment


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


def filled_up(sizes: Ids, width: int) -> tuple[Ids, NDArray[np.bool_]]:
    """Return which samples batches have once they are filled up with copies of their last one.

    Args:
        sizes: `(s,)` samples of each batch, which lie one after the other.
        width: rows that each is filled up to.

    Returns:
        `(s, width)` samples, and which of them are only fillers.
    """
    column = np.arange(width)
    begins = np.cumsum(sizes) - sizes
    taken = begins[:, None] + np.minimum(column, sizes[:, None] - 1)
    return taken, column >= sizes[:, None]


@dataclass(frozen=True)
class Steps:
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
    def of(cls, segments: Sequence[Segment], width: int) -> "Steps":
        """Return the batches of lanes with `segments`, longest first, filled up to `width`."""
        lengths = np.array([segment.steps for segment in segments])
        active = np.searchsorted(-lengths, -np.arange(lengths[0]), side="left")
        starts = np.concatenate([[0], np.cumsum(active)])
        # Lane after lane first, then reordered: step by step.
        sizes = np.concatenate([segment.sizes for segment in segments])
        lane = np.repeat(np.arange(len(segments)), lengths)
        step = np.arange(len(lane)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        place = np.empty(len(lane), dtype=np.int64)
        place[starts[step] + lane] = np.arange(len(lane))
        taken, filler = (part[place] for part in filled_up(sizes, width))
        weights = np.concatenate([segment.normalised for segment in segments])[taken]
        weights[filler] = 0.0
        weights = weights.astype(np.float32)
        with np.errstate(over="ignore"):  # an infinite rate, of clients that diverge
            rates = np.concatenate([s.rates for s in segments])[place].astype(np.float32)
        return cls(
            lengths,
            active,
            starts,
            np.concatenate([segment.rows for segment in segments])[taken],
            weights,
            rates,
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
        """Return `(lanes,)` sums of losses and of squared losses, each batch in its turn."""
        lanes = len(self.lengths)
        with np.errstate(over="ignore", invalid="ignore"):  # of a client that diverged
            weighted = self.weights.astype(np.float64) * losses
            batch = weighted.sum(axis=1) * self.sizes
            square = (weighted * losses).sum(axis=1) * self.sizes
        loss, squared = np.zeros(lanes), np.zeros(lanes)
        np.add.at(loss, self.lane, batch)
        np.add.at(squared, self.lane, square)
        return loss, squared
