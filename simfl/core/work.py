"""Work: frozen descriptions of what a client trains, and what came of it.  No time, no torch.

A `WorkOrder` is complete: equal orders with equal base models, equal corrections (if any) and equal
local training have equal results, bit for bit, whoever computes them and when.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache

import numpy as np
from numpy.typing import NDArray

from simfl.core.seeds import generator
from simfl.core.types import Corrections, Floats, Ids, OrderKey, Params

FORWARD_UNITS = 1 / 3
"""A forward pass over a sample, in what training on it takes, where no FLOPs are counted: the
backward pass takes twice as many."""
NO_MODEL = np.zeros(0, dtype=np.float32)
"""Of a result whose model is elsewhere, or was added to a sum."""


class Purpose(IntEnum):
    """What a participation's random numbers are for: with its seed the key of a generator.

    Workloads have those from 2^32 on.
    """

    COMPRESSION = 0
    BATCHES = 1
    DROPOUT = 2
    CORESET = 3
    CORESET_BATCHES = 4
    CORESET_DROPOUT = 5
    AUGMENTATION = 6
    CORESET_AUGMENTATION = 7
    FORGING = 8
    SHARED_DROPOUT = 9
    SHARED_AUGMENTATION = 10


@dataclass(frozen=True, slots=True)
class Plan:
    """How much a client trains in one participation: decided before anything is trained.

    First `full_epochs` passes over all of its samples, then `coreset_epochs` passes over a coreset
    of `coreset_size` of them (chosen after the full epochs).  `steps`, if set, replaces the epochs:
    exactly that many mini-batches, drawn from reshuffled passes over all samples.
    """

    full_epochs: int = 0
    coreset_epochs: int = 0
    coreset_size: int = 0
    steps: int | None = None
    extra_units: float = 0.0
    """Sample-units charged beside training, e.g. a coreset's feature pass."""
    stop_after: int | None = None
    """Salvage: keep only the first so many SGD steps (None: all)."""

    @staticmethod
    @cache
    def nominal(epochs: int, steps: int | None) -> "Plan":
        """Return the full workload: so many `steps` if they are given, else passes over all."""
        return Plan(full_epochs=epochs) if steps is None else Plan(steps=steps)

    def units(self, samples: int, batch_size: int) -> float:
        """Return the compute this plan costs, in sample-units (forward, backward and update)."""
        if self.steps is not None:
            per_pass = math.ceil(samples / batch_size) if samples else 1
            passes, rest = divmod(self.steps, per_pass)
            return float(passes * samples + min(rest * batch_size, samples)) + self.extra_units
        full = self.full_epochs * samples
        return float(full + self.coreset_epochs * self.coreset_size) + self.extra_units

    def n_steps(self, samples: int, batch_size: int) -> int:
        """Return the number of SGD steps, short last batches included."""
        if self.steps is not None:
            planned = self.steps if samples else 0
        else:
            planned = self.full_epochs * math.ceil(samples / batch_size)
            planned += self.coreset_epochs * math.ceil(self.coreset_size / batch_size)
        return planned if self.stop_after is None else min(planned, self.stop_after)

    def units_by_step(self, samples: int, batch_size: int) -> Floats:
        """Return `(n_steps,)` sample-units computed when each SGD step is finished.

        `extra_units` are spent between the full epochs and the coreset's.
        """

        def batches(size: int) -> list[int]:
            full, rest = divmod(size, batch_size)
            return [batch_size] * full + [rest] * (rest > 0)

        if self.steps is not None:
            one_pass = batches(samples) or [0]
            sizes = (one_pass * (self.steps // len(one_pass) + 1))[: self.steps]
            return np.cumsum(np.array(sizes, dtype=np.float64))
        full = batches(samples) * self.full_epochs
        core = batches(self.coreset_size) * self.coreset_epochs
        done = np.cumsum(np.array(full + core, dtype=np.float64))
        done[len(full) :] += self.extra_units
        return done


@dataclass(frozen=True, slots=True)
class WorkOrder:
    """What one client is to train: the unit that executors compute.

    Attributes:
        client: index of the client, 0-based.
        issue: how many orders this client was given before this one in this run; below zero: it
            answers a selector's question.
        round: the server's round (or model version count) when the order was issued, 1-based.
        base: version of the global model it starts from (0 is the initial model); below zero: of an
            edge server's.
        plan: how much it trains.
        seed: 64-bit seed of whatever is drawn for it, each `Purpose` apart.
    """

    client: int
    issue: int
    round: int
    base: int
    plan: Plan
    seed: int

    @property
    def key(self) -> OrderKey:
        """Canonical order of results, whatever computed them."""
        return (self.client, self.issue)

    @property
    def for_probe(self) -> bool:
        """Whether it answers a selector's question, and its update is part of no model."""
        return self.issue < 0


@dataclass(frozen=True, slots=True)
class OrderBatch:
    """Orders that are computed together, and what they start from.

    Attributes:
        bases: the model versions that the orders start from, `(p,)` each; there may be more.
        orders: what to train.
        corrections: what each order adds to every gradient; None: nothing.
    """

    bases: Mapping[int, Params]
    orders: Sequence[WorkOrder]
    corrections: Corrections | None = None

    @property
    def model_bytes(self) -> int:
        """Size of a model."""
        return next(iter(self.bases.values())).nbytes

    def part(self, places: Sequence[int]) -> "OrderBatch":
        """Return the orders at `places`, with what they need and nothing else."""
        orders = [self.orders[place] for place in places]
        versions = sorted({order.base for order in orders})
        corrections = self.corrections
        if corrections is not None:
            corrections = {order.key: corrections[order.key] for order in orders}
        return OrderBatch(
            {version: self.bases[version] for version in versions}, orders, corrections
        )


@dataclass(frozen=True, slots=True)
class WorkResult:
    """What came of one order.

    Attributes:
        order: the order.
        params: `(p,)` the client's model after local training, float32.
        loss: mean training loss per sample over the steps made, before each step (NaN: no step).
        steps: SGD steps made.
        samples: the client's training samples (its weight in a sample-weighted mean).
        extras: further arrays that an aggregator or selector asked for, by name.
        lr_sum: sum of the learning rates of the steps made.
    """

    order: WorkOrder
    params: Params
    loss: float
    steps: int
    samples: int
    extras: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    lr_sum: float = 0.0


@dataclass(frozen=True, slots=True)
class MiniBatch:
    """A random mini-batch of each client: `size` samples, drawn from a stream of `seed`."""

    size: int
    seed: int

    def rows(self, client: int, held: Ids) -> Ids:
        """Return the rows of `held` `(n,)` that `client` looks at, all if there are no more."""
        if len(held) <= self.size:
            return held
        rng = generator(self.seed, client)
        return held[np.sort(rng.choice(len(held), self.size, replace=False))]
