"""Segments of training: which samples make up each mini-batch of a client, at what learning rate.

Everything here follows from the order alone: its plan, its round and its seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from simfl.components.local_training import LocalTraining
from simfl.core.types import Floats, Ids
from simfl.core.work import Plan, Purpose, WorkOrder
from simfl.training.shuffling import shuffled_passes


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive SGD steps of one client, with one optimizer.

    Attributes:
        rows: `(r,)` rows of the cohort's tensors, batch after batch.
        sizes: `(t,)` size of each mini-batch, r in all.
        rates: `(t,)` learning rate of each step.
        weights: `(r,)` weight of each row in its batch's loss, self-normalised; None: all equal.
        seed: the order's seed.
        dropout: which of the order's streams draws the dropout masks.
        augmentation: which of them draws crops and flips.
    """

    rows: Ids
    sizes: Ids
    rates: Floats
    weights: Floats | None
    seed: int
    dropout: Purpose
    augmentation: Purpose

    @property
    def steps(self) -> int:
        """Number of SGD steps."""
        return len(self.sizes)

    def cut(self, steps: int) -> "tuple[Segment, Segment]":
        """Return the first `steps` of it, all weighing alike, and those that follow."""
        rows = int(self.sizes[:steps].sum())
        first = replace(
            self, rows=self.rows[:rows], sizes=self.sizes[:steps], rates=self.rates[:steps]
        )
        rest = replace(
            self,
            rows=self.rows[rows:],
            sizes=self.sizes[steps:],
            rates=self.rates[steps:],
            dropout=Purpose.SHARED_DROPOUT,
            augmentation=Purpose.SHARED_AUGMENTATION,
        )
        return first, rest

    @property
    def normalised(self) -> Floats:
        """`(r,)` weights that sum to 1 within each batch."""
        if self.weights is None:
            return np.repeat(1.0 / self.sizes, self.sizes)
        starts = np.cumsum(self.sizes) - self.sizes
        totals = np.add.reduceat(self.weights, starts) if self.steps else np.zeros(0)
        return np.asarray(self.weights / np.repeat(totals, self.sizes), dtype=np.float64)


def full_segments(
    orders: Sequence[WorkOrder], rows: Sequence[Ids], training: LocalTraining
) -> list[Segment]:
    """Return each order's steps over all of its client's samples: epochs, or `plan.steps`.

    Args:
        orders: the orders.
        rows: `(n,)` of each order's client: its rows.
        training: batch size and schedule.
    """
    size = training.batch_size
    work = [_full_work(order.plan, len(r), size) for order, r in zip(orders, rows, strict=True)]
    passes = [len(epochs) for epochs, _ in work]
    if training.shuffle:
        seeds = [order.seed for order in orders]
        used = shuffled_passes(rows, passes, seeds, Purpose.BATCHES)
    else:
        used = [np.tile(some, count) for some, count in zip(rows, passes, strict=True)]
    return [
        _segment(order, some, None, len(r), training, *epochs_and_steps, Purpose.BATCHES)
        for order, some, r, epochs_and_steps in zip(orders, used, rows, work, strict=True)
    ]


def coreset_segment(
    order: WorkOrder, rows: Ids, weights: Floats, training: LocalTraining, done: int
) -> Segment:
    """Return the epochs over a coreset, which follow `done` steps over the full set.

    Args:
        order: the order.
        rows: `(b,)` the rows kept.
        weights: `(b,)` how many samples each stands for.
        training: batch size and schedule.
        done: steps made so far, counted by `plan.stop_after`.
    """
    plan, n = order.plan, len(rows)
    epochs = range(plan.full_epochs, plan.full_epochs + plan.coreset_epochs)
    steps = plan.coreset_epochs * -(-n // training.batch_size)
    steps = steps if plan.stop_after is None else min(steps, max(plan.stop_after - done, 0))
    purpose = Purpose.CORESET_BATCHES
    [places] = shuffled_passes([np.arange(n)], [len(epochs)], [order.seed], purpose)
    each = np.asarray(weights, dtype=np.float64)[places]
    return _segment(order, rows[places], each, n, training, epochs, steps, purpose)


def _full_work(plan: Plan, n: int, batch_size: int) -> tuple[range, int]:
    """Return the 0-based numbers of the passes over `n` samples, and how many steps are made."""
    per_pass = -(-n // batch_size)
    if not n:
        epochs, steps = 0, 0
    elif plan.steps is not None:
        epochs, steps = -(-plan.steps // per_pass), plan.steps
    else:
        epochs, steps = plan.full_epochs, plan.full_epochs * per_pass
    return range(epochs), steps if plan.stop_after is None else min(steps, plan.stop_after)


def _segment(
    order: WorkOrder,
    rows: Ids,
    weights: Floats | None,
    n: int,
    training: LocalTraining,
    epochs: range,
    steps: int,
    purpose: Purpose,
) -> Segment:
    """Return the first `steps` mini-batches of passes over `n` samples.

    Args:
        order: whose seed decides what is drawn.
        rows: `(passes * n,)` of the samples, pass after pass.
        weights: the same, how many each stands for (None: one, all of them).
        n: how many samples there are.
        training: batch size and schedule.
        epochs: 0-based numbers of the passes, which their learning rates depend on.
        steps: how many mini-batches at most.
        purpose: of the orders: full epochs or those of a coreset.
    """
    sizes, total = _sizes(n, training.batch_size, len(epochs), steps)
    rates = training.rates(order.round, epochs, -(-n // training.batch_size))
    full = purpose is Purpose.BATCHES
    return Segment(
        rows[:total],
        sizes,
        rates[:steps] if steps < len(rates) else rates,
        None if weights is None else weights[:total],
        order.seed,
        Purpose.DROPOUT if full else Purpose.CORESET_DROPOUT,
        Purpose.AUGMENTATION if full else Purpose.CORESET_AUGMENTATION,
    )


@lru_cache(maxsize=4096)
def _sizes(n: int, batch: int, passes: int, steps: int) -> tuple[Ids, int]:
    """Return `(m,)` the batch sizes of the first `steps` of so many passes, and their sum.

    The short last batch of a pass is kept.
    """
    once = np.full(-(-n // batch), batch, dtype=np.int64)
    if n % batch:
        once[-1] = n % batch
    sizes = np.tile(once, passes)[:steps]
    sizes.flags.writeable = False
    return sizes, int(sizes.sum())
