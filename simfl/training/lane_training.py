"""Clients trained side by side, a lane each: full epochs, coresets, and what else is wanted.

A lane's result depends on its order, its base model, its correction and the task alone.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from simfl.components.coresets.base import Coreset
from simfl.components.local_training import LocalTraining
from simfl.core.blame import blaming
from simfl.core.returned import check_places, expect
from simfl.core.seeds import generator
from simfl.core.types import Floats, Ids, Params
from simfl.core.work import NO_MODEL, OrderBatch, Purpose, WorkOrder, WorkResult
from simfl.errors import InputError
from simfl.training.evaluate import load_to_evaluate
from simfl.training.features import sample_features
from simfl.training.gpu import on_device
from simfl.training.kernels import Lane
from simfl.training.measure import mean_gradient, measure
from simfl.training.personal import personal_layout
from simfl.training.program import program_of
from simfl.training.segments import Segment, coreset_segment, full_segments
from simfl.training.task import Task

Extras = dict[str, NDArray[np.float32]]


class LaneTraining:
    """A lane per order: its model, and what its steps so far add up to.

    Args:
        task: the learning task.
        batch: what to train; lanes are numbered as its orders.

    Attributes:
        models: `(p,)` of each lane, on the model's device: its base, until it is trained.
    """

    def __init__(self, task: Task, batch: OrderBatch) -> None:
        orders = batch.orders
        self._task, self._orders, self._bases = task, orders, batch.bases
        self._program = program_of(task)
        clients, rounds = [order.client for order in orders], [order.round for order in orders]
        self._cohort = task.data.training_in(clients, rounds)
        self._x = self._program.to_device(self._cohort.x)
        self._y = self._program.to_device(self._cohort.y)
        models = {
            version: self._program.model_to_device(batch.bases[version])
            for version in sorted({order.base for order in orders})
        }
        self._base = [models[order.base] for order in orders]
        self.models = list(self._base)
        self._offsets: list[torch.Tensor | None] = [None] * len(orders)
        if (corrections := batch.corrections) is not None:
            self._offsets = [
                self._sent(np.array(corrections[order.key], np.float32)) for order in orders
            ]
        self._steps = np.zeros(len(orders), dtype=np.int64)
        self._rate_sums = np.zeros(len(orders))
        self._samples_seen = np.zeros(len(orders), dtype=np.int64)  # as often as they were
        self._loss_sums = np.zeros(len(orders))
        self._squared_loss_sums = np.zeros(len(orders))

    def results(self, with_models: bool) -> list[WorkResult]:
        """Train: full epochs, then coresets; return what came of it, with the models or without."""
        training = self._task.training
        rows = self._cohort.rows
        everyone = list(range(len(self._orders)))
        for how, segments in self._phases(full_segments(self._orders, rows, training)):
            self._advance(everyone, segments, how)
        on_coreset = [lane for lane in everyone if self._has_coreset_steps(lane)]
        if on_coreset:
            segments = [self._coreset_segment(lane) for lane in on_coreset]
            self._advance(on_coreset, segments, training)
        losses = self._means_seen(self._loss_sums).tolist()
        squares = self._means_seen(self._squared_loss_sums)
        steps, rate_sums = self._steps.tolist(), self._rate_sums.tolist()
        return [
            WorkResult(
                order,
                self._trained(lane) if with_models else NO_MODEL,
                losses[lane],
                steps[lane],
                len(rows[lane]),
                self._extras(lane, squares[lane]) if self._task.wants else {},
                rate_sums[lane],
            )
            for lane, order in enumerate(self._orders)
        ]

    def _sent(self, array: NDArray[Any]) -> torch.Tensor:
        return on_device(array, self._program.device)

    def _means_seen(self, sums: Floats) -> Floats:
        """Return `(l,)` means over the samples that each lane's steps saw; NaN: there were none."""
        seen, means = self._samples_seen, np.full(len(sums), np.nan)
        np.divide(sums, seen, out=means, where=seen > 0)
        return means

    def _trained(self, lane: int) -> Params:
        """Return the lane's model `(p,)` in memory of its own, which the base's is not."""
        params = self.models[lane].cpu()
        return (params.clone() if params is self._base[lane] else params).numpy()

    def _phases(self, full: list[Segment]) -> Iterator[tuple[LocalTraining, list[Segment]]]:
        """Yield how each lane trains along the parts of its segment `full`, one after the other."""
        training = self._task.training
        if training.personal_epochs is None:
            yield training, full
            return
        personal = frozenset(personal_layout(self._program.module, self._task.model).names)
        shared = frozenset(self._program.layout.names) - personal
        steps = [
            training.personal_epochs * -(-len(rows) // training.batch_size)
            for rows in self._cohort.rows
        ]
        parts = zip(*(of.cut(count) for of, count in zip(full, steps, strict=True)), strict=True)
        for names, segments in zip((personal, shared), parts, strict=True):
            yield replace(training, only=names), list(segments)

    def _advance(self, lanes: list[int], segments: list[Segment], training: LocalTraining) -> None:
        """Train each of `lanes` along its segment, and add up what its steps came to."""
        progress = self._program.kernel.run(
            [
                Lane(self.models[lane], self._base[lane], segment, self._offsets[lane])
                for lane, segment in zip(lanes, segments, strict=True)
            ],
            self._x,
            self._y,
            training,
        )
        for lane, params in zip(lanes, progress.params, strict=True):
            self.models[lane] = params
        self._steps[lanes] += [segment.steps for segment in segments]
        rates = {id(segment.rates): segment.rates for segment in segments}  # many share theirs
        rate_sums = {key: some.sum() for key, some in rates.items()}
        self._rate_sums[lanes] += [rate_sums[id(segment.rates)] for segment in segments]
        self._samples_seen[lanes] += [len(segment.rows) for segment in segments]
        self._loss_sums[lanes] += progress.losses
        self._squared_loss_sums[lanes] += progress.squares

    def _has_coreset_steps(self, lane: int) -> bool:
        plan = self._orders[lane].plan
        wanted = plan.steps is None and plan.coreset_epochs > 0 and plan.coreset_size > 0
        left = plan.stop_after is None or plan.stop_after > self._steps[lane]
        return wanted and left and len(self._cohort.rows[lane]) > 0

    def _coreset_segment(self, lane: int) -> Segment:
        order, rows = self._orders[lane], self._cohort.rows[lane]
        if self._task.coreset is None:
            raise InputError("a plan asks for a coreset, but the scenario names no coreset method")
        kept, weights = self._choose(self._task.coreset, order, rows, self.models[lane])
        done = int(self._steps[lane])
        return coreset_segment(order, rows[kept], weights, self._task.training, done)

    def _choose(
        self, coreset: Coreset, order: WorkOrder, rows: Ids, params: torch.Tensor
    ) -> tuple[Ids, Floats]:
        """Return `(b,)` places among the client's `rows` that are kept, and their `(b,)` weights.

        Args:
            coreset: the method.
            order: of the client; says how many to keep.
            rows: `(n,)` of the cohort.
            params: `(p,)` the model that features are taken from, where they are not the inputs.
        """
        kind = coreset.uses(self._program.convex)
        altered = self._task.data.altered(order.client, order.round)
        key = (order.client, order.plan.coreset_size, altered)
        if kind == "inputs" and key in self._task.static_coresets:
            return self._task.static_coresets[key]
        # Features that no training changes: chosen once, whichever participation is the first.
        seed = self._task.seed + order.client if kind == "inputs" else order.seed
        index = self._sent(rows)
        x, y = self._x[index], self._y[index]
        load_to_evaluate(self._program, params)
        features = sample_features(kind, self._program.module, self._task.training.loss, x, y)
        size, rng = order.plan.coreset_size, generator(seed, Purpose.CORESET)
        with blaming(coreset, f"choosing a coreset of client {order.client}"):
            chosen = coreset.choose(features, y.cpu().numpy(), size, rng)
            pair = isinstance(chosen, tuple) and len(chosen) == 2
            expect(pair, "rows and their weights", chosen)
            kept, weights = chosen
            check_places(kept, len(rows))
            expect(len(kept) == len(weights), f"{len(kept)} weights", len(weights))
            sound = np.isfinite(weights).all() and (np.asarray(weights) > 0).all()
            expect(sound, "weights above 0", weights)
        if kind == "inputs":
            self._task.static_coresets[key] = chosen
        return chosen

    def _extras(self, lane: int, square: np.float64) -> Extras:
        """Return what is wanted besides: measured at the base, but for the steps' squared loss.

        Args:
            lane: whose.
            square: the mean of that loss.

        Raises:
            InputError: nobody knows how to measure it.
        """
        extras: Extras = {}
        for name in self._task.wants:
            if name == "gradient":
                rows = self._sent(self._cohort.rows[lane])
                load_to_evaluate(self._program, self._base[lane])
                loss = self._task.training.loss
                extras[name] = mean_gradient(self._program, loss, self._x[rows], self._y[rows])
            elif name == "loss":
                order = self._orders[lane]
                model = self._bases[order.base]
                [mean] = measure(self._task, "loss", model, [order.client], round_=order.round)
                extras[name] = np.array(mean, dtype=np.float32)
            elif name == "squared_loss":
                with np.errstate(over="ignore"):  # of a client that diverged
                    extras[name] = np.array(square, dtype=np.float32)
            else:
                raise InputError(f"participants can't measure {name!r}")
        return extras
