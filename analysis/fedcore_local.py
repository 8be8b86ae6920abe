"""Local training of FedCore's stragglers, epoch by epoch, by each of the methods compared."""

from dataclasses import replace
from functools import cached_property

import numpy as np
import torch

from simfl.build.builder import Builder
from simfl.components.workloads.base import Assignment
from simfl.coordinators.training import TrainingCoordinator
from simfl.core.types import Floats, Params
from simfl.core.work import OrderBatch, Plan, WorkOrder
from simfl.papers.item import items
from simfl.scenario.one_variant import variant
from simfl.scenario.scenario import read
from simfl.sim.server.deadlines import percentile
from simfl.training.evaluate import load_to_evaluate
from simfl.training.executors.base import executors
from simfl.training.features import sample_features
from simfl.training.measure import mean_gradient
from simfl.training.program import program_of

RANDOM = "training.workload={name: coreset, method: random}"
METHODS = {
    "FedAvg": ("FedAvg", ()),
    "FedCore": ("FedCore-30", ()),
    "random": ("FedCore-30", (RANDOM,)),
    "FedProx": ("FedProx-30", ()),
    "partial": ("FedProx-30", ("training.proximal=0",)),
}
"""Rows of the item that Table 1 is repeated by, and what else is changed."""
STRAGGLERS = 0.3


class Local:
    """Local training by one method on one set."""

    def __init__(self, data: str, method: str, seed: int) -> None:
        row, changes = METHODS[method]
        [item] = items("fedcore/table1-synthetic")
        document = variant(item.document, f"{data}-{row}").set(f"seed={seed}", *changes)
        self.scenario = read(document)
        self.builder = Builder(self.scenario, None, False, executors.parse("inline"))
        coordinator = self.builder.coordinator  # which starts the executor
        assert isinstance(coordinator, TrainingCoordinator)
        self.initial = coordinator.model
        self.samples = self.builder.fleet.samples

    @cached_property
    def stragglers(self) -> list[int]:
        """Who can't train ten epochs by the deadline."""
        return [int(client) for client in np.flatnonzero(self._full_s > self._deadline_s)]

    @cached_property
    def _full_s(self) -> Floats:
        epochs = self.builder.settings.epochs
        return np.asarray(epochs * self.samples / self.builder.fleet.rate)

    @cached_property
    def _deadline_s(self) -> float:
        return percentile(self._full_s, 1 - STRAGGLERS)

    def plan(self, client: int) -> Plan | None:
        """Return what a straggler trains; None: it is skipped."""
        settings, rate = self.builder.settings, self.builder.fleet.rate[client]
        return self.scenario.training.workload.plan(
            Assignment(
                client,
                int(self.samples[client]),
                settings.batch_size,
                settings.epochs,
                None,
                lambda units: units / rate <= self._deadline_s,
                0,
                settings.convex,
            )
        )

    def round_after(self, model: Params, round_: int) -> Params:
        """Return the model `(p,)` after one round of everybody's full work, cohorts uniform."""
        seeds, rounds = self.builder.seeds, self.scenario.rounds
        rng = seeds.stream("cohort", round_)
        chosen = np.sort(rng.choice(len(self.samples), rounds.clients, replace=False))
        orders = [
            WorkOrder(
                int(client), 0, round_, 0, self.builder.settings.nominal,
                seeds.number("train", int(client), round_),
            )
            for client in chosen
        ]  # fmt: skip
        results = self.builder.executor.train(OrderBatch({0: model}, orders))
        models = np.array([result.params for result in results], dtype=np.float64)
        return np.average(models, axis=0, weights=self.samples[chosen]).astype(np.float32)

    def epochs(self, model: Params, client: int, round_: int) -> list[tuple[int, Params]]:
        """Return the steps made and the model `(p,)` reached after each local epoch, from 0 on."""
        plan, size = self.plan(client), self.builder.settings.batch_size
        reached = [(0, model)]
        if plan is None:
            return reached
        steps = [_steps(plan, int(self.samples[client]), size, e) for e in _range(plan)]
        seed = self.builder.seeds.number("local", client, round_)
        orders = [
            WorkOrder(client, number, round_ + 1, 0, replace(plan, stop_after=stop), seed)
            for number, stop in enumerate(steps)
        ]
        results = self.builder.executor.train(OrderBatch({0: model}, orders))
        return [*reached, *zip(steps, (result.params for result in results), strict=True)]

    def loss(self, model: Params, client: int) -> float:
        """Return the mean loss over a client's own training samples."""
        return float(self.builder.executor.measure("loss", model, [client])[0])

    def gradient_error(self, model: Params, client: int, round_: int) -> float | None:
        """Return how far the coreset's gradient is from the whole, over the latter's length."""
        plan, coreset = self.plan(client), self.scenario.training.workload.coreset
        if plan is None or coreset is None or not plan.coreset_size:
            return None
        task = self.builder.executor.task
        program, loss, held = program_of(task), task.training.loss, task.data.training([client])
        rows = torch.from_numpy(held.rows[0])
        x, y = held.x[rows], held.y[rows]
        load_to_evaluate(program, model)
        features = sample_features(coreset.uses(program.convex), program.module, loss, x, y)
        rng = self.builder.seeds.stream("coreset", client, round_)
        kept, weights = coreset.choose(features, y.numpy(), plan.coreset_size, rng)
        whole = mean_gradient(program, loss, x, y)
        # As often as it stands for samples; those of `random` are all equal, but need not be whole.
        times = weights.astype(int) if not (weights % 1).any() else np.ones(len(kept), dtype=int)
        again = torch.from_numpy(np.repeat(kept, times))
        away = mean_gradient(program, loss, x[again], y[again]) - whole
        return float(np.linalg.norm(away) / np.linalg.norm(whole))


def _range(plan: Plan) -> range:
    return range(1, plan.full_epochs + plan.coreset_epochs + 1)


def _steps(plan: Plan, samples: int, batch_size: int, epochs: int) -> int:
    """Return the steps that so many epochs of `plan` make."""
    full = min(epochs, plan.full_epochs)
    return replace(plan, full_epochs=full, coreset_epochs=epochs - full).n_steps(
        samples, batch_size
    )
