"""Segments of training: which samples make up each mini-batch of a client, at what learning rate.

Everything here follows from the order alone: its plan, its round and its seed.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simfl.components.local_training import LocalTraining
from simfl.core.types import Floats, Ids
from simfl.core.work import Purpose, WorkOrder
from simfl.training.shuffling import shuffle


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

    @property
    def normalised(self) -> Floats:
        """`(r,)` weights that sum to 1 within each batch."""
        if self.weights is None:
            return np.repeat(1.0 / self.sizes, self.sizes)
        starts = np.cumsum(self.sizes) - self.sizes
        totals = np.add.reduceat(self.weights, starts) if self.steps else np.zeros(0)
        return np.asarray(self.weights / np.repeat(totals, self.sizes), dtype=np.float64)


def full_segment(order: WorkOrder, rows: Ids, training: LocalTraining) -> Segment:
    """Return the steps over all of a client's samples: full epochs, or exactly `plan.steps`.

    Args:
        order: the order.
        rows: `(n,)` the client's rows.
        training: batch size and schedule.
    """
    plan, n = order.plan, len(rows)
    per_pass = -(-n // training.batch_size)
    if not n:
        epochs, steps = 0, 0
    elif plan.steps is not None:
        epochs, steps = -(-plan.steps // per_pass), plan.steps
    else:
        epochs, steps = plan.full_epochs, plan.full_epochs * per_pass
    steps = steps if plan.stop_after is None else min(steps, plan.stop_after)
    return _passes(order, rows, None, training, range(epochs), steps, Purpose.BATCHES)


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
    plan = order.plan
    epochs = range(plan.full_epochs, plan.full_epochs + plan.coreset_epochs)
    steps = plan.coreset_epochs * -(-len(rows) // training.batch_size)
    steps = steps if plan.stop_after is None else min(steps, max(plan.stop_after - done, 0))
    return _passes(order, rows, weights, training, epochs, steps, Purpose.CORESET_BATCHES)


def _passes(
    order: WorkOrder,
    rows: Ids,
    weights: Floats | None,
    training: LocalTraining,
    epochs: range,
    steps: int,
    purpose: Purpose,
) -> Segment:
    """Return the first `steps` mini-batches of passes over `rows`, each in an order of its own.

    Args:
        order: whose seed decides the orders.
        rows: `(n,)` of the samples.
        weights: `(n,)` how many each stands for (None: one, all of them).
        training: batch size and schedule.
        epochs: 0-based numbers of the passes, which their learning rates depend on.
        steps: how many mini-batches at most.
        purpose: of the orders: full epochs or those of a coreset.
    """
    n, passes = len(rows), len(epochs)
    sizes, total = _sizes(n, training.batch_size, passes, steps)
    shuffled = np.empty((passes, n), dtype=np.int64)
    shuffled[:] = rows if weights is None else np.arange(n)
    full = purpose is Purpose.BATCHES
    if training.shuffle or not full:
        shuffle(shuffled, order.seed, purpose)
    used = shuffled.ravel()[:total]
    rates = training.rates(order.round, epochs, -(-n // training.batch_size))
    return Segment(
        used if weights is None else rows[used],
        sizes,
        rates[:steps] if steps < len(rates) else rates,
        None if weights is None else np.asarray(weights, dtype=np.float64)[used],
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
