"""FedCore, Fig. 6: what a straggler's loss does within a round, one local epoch after the other.

    python -m analysis.fedcore_epochs [--rounds 0,10,50] [--seed 0]

The three Synthetic sets, 30% of stragglers.  FedAvg trains the global model for so many rounds (of
cohorts drawn uniformly); each straggler then trains from it, once in each way:

- `FedAvg`: ten epochs over all samples, whatever the deadline;
- `FedCore`: one, and nine over a coreset that meets the deadline; `random` the same over as many
  samples drawn at random;
- `FedProx`: as many whole epochs as meet the deadline, held back by the proximal term; `partial`
  the same without that term.

For each it writes the mean loss over the client's own samples after every epoch, and how many steps
that took; of a coreset, after the first epoch, how far its gradient is from that of all samples, as
a share of the latter's length (Eq. 6).  The paper: FedCore makes more steps than FedProx, and gets
further.
"""

import argparse
import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from matplotlib.figure import Figure

from simfl.build.builder import Builder
from simfl.components.workloads.base import Assignment
from simfl.coordinators.training import TrainingCoordinator
from simfl.core.types import Floats, Params
from simfl.core.work import OrderBatch, Plan, WorkOrder
from simfl.papers.item import items
from simfl.scenario.scenario import read
from simfl.scenario.variants import variant
from simfl.sim.server.deadlines import percentile
from simfl.training.evaluate import hold
from simfl.training.executors.base import executors
from simfl.training.features import sample_features
from simfl.training.measure import mean_gradient
from simfl.training.program import program_of

T = TypeVar("T")
SETS = {"a0": "alpha = beta = 0", "a0.5": "alpha = beta = 0.5", "a1": "alpha = beta = 1"}
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
HEAD = [
    "set",
    "round",
    "client",
    "method",
    "samples",
    "coreset",
    "epochs",
    "steps",
    "gradient_error",
]


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
        hold(program, model)
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


@dataclass(frozen=True)
class Line:
    """One straggler's training in one way.

    Attributes:
        round: rounds that the global model has been trained for.
        losses: over its own samples before it and after each epoch.
    """

    data: str
    round: int
    client: int
    method: str
    samples: int
    coreset: int
    epochs: int
    steps: int
    gradient_error: float | None
    losses: Sequence[float]

    def cells(self, most: int) -> list[str]:
        """Return the line's cells, with `most` epochs."""
        fixed = [self.data, self.round, self.client, self.method, self.samples, self.coreset]
        error = "" if self.gradient_error is None else f"{self.gradient_error:.4f}"
        losses = [f"{loss:.5f}" for loss in self.losses]
        return [
            *map(str, [*fixed, self.epochs, self.steps]),
            error,
            *losses,
            *[""] * (most + 1 - len(losses)),
        ]

    @property
    def fall(self) -> float:
        """By how much the loss fell."""
        return self.losses[0] - self.losses[-1]

    def after(self, epoch: int) -> float:
        """Return the loss after so many epochs, or its last one if it made fewer."""
        return self.losses[min(epoch, len(self.losses) - 1)]


def lines(data: str, rounds: Sequence[int], seed: int) -> Iterator[Line]:
    """Yield what every straggler does at the global models after `rounds`."""
    ways = {method: Local(data, method, seed) for method in METHODS}
    model = ways["FedAvg"].initial
    for round_ in range(max(rounds) + 1):
        if round_ in rounds:
            for client in ways["FedAvg"].stragglers:
                for method, way in ways.items():
                    yield _line(data, method, way, model, client, round_)
        model = ways["FedAvg"].round_after(model, round_ + 1)


def _line(data: str, method: str, way: Local, model: Params, client: int, round_: int) -> Line:
    reached = way.epochs(model, client, round_)
    plan = way.plan(client)
    after_one = reached[min(1, len(reached) - 1)][1]
    return Line(
        data,
        round_,
        client,
        method,
        int(way.samples[client]),
        0 if plan is None else plan.coreset_size,
        len(reached) - 1,
        reached[-1][0],
        way.gradient_error(after_one, client, round_),
        [way.loss(params, client) for _, params in reached],
    )


def summary(found: Sequence[Line]) -> Iterator[str]:
    """Yield in words what came out at each set and round, and how near the coresets' gradients are.

    How far a loss falls is told as a share of how far it falls by FedAvg's ten epochs.
    """
    for data, round_ in sorted({(line.data, line.round) for line in found}):
        here = [line for line in found if (line.data, line.round) == (data, round_)]
        of = {name: [line for line in here if line.method == name] for name in METHODS}
        falls = {name: np.mean([line.fall for line in own]) for name, own in of.items()}
        parts = [
            f"{name} {falls[name] / falls['FedAvg']:.1%} by "
            f"{np.mean([line.steps for line in own]):.0f} steps"
            for name, own in of.items()
        ]
        lower = [
            f"{name} on {sum(x.fall > y.fall for x, y in _pairs(of['FedCore'], of[name]))}"
            for name in ("FedProx", "partial", "random")
        ]
        yield (
            f"{data}, round {round_}: {', '.join(parts)}; FedCore ends below "
            f"{', '.join(lower)} of {len(of['FedCore'])} stragglers"
        )
    errors = {
        name: [line.gradient_error or 0.0 for line in found if line.method == name]
        for name in ("FedCore", "random")
    }
    nearer = sum(own < other for own, other in _pairs(*errors.values()))
    medians = " and ".join(f"{np.median(own):.3f}" for own in errors.values())
    yield (
        f"gradients of medoids and of random samples are off by {medians} (median), those of "
        f"medoids by less in {nearer} of {len(errors['random'])}"
    )


def _pairs(one: Sequence[T], other: Sequence[T]) -> Iterator[tuple[T, T]]:
    return zip(one, other, strict=True)


def draw(found: Mapping[tuple[str, str], Sequence[Line]], most: int, path: Path) -> None:
    """Write the mean loss over stragglers by epoch, a panel per set."""
    figure = Figure(figsize=(9, 3), layout="constrained")
    grid = figure.subplots(1, len(SETS))
    for axes, (data, title) in zip(grid, SETS.items(), strict=True):
        for method in METHODS:
            own = found[data, method]
            epochs = range(most + 1)
            mean = [np.mean([line.after(epoch) for line in own]) for epoch in epochs]
            axes.plot(epochs, mean, "--" if method == "random" else "-", label=method)
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("local epoch")
    grid[0].set_ylabel("loss over the client's own samples")
    grid[-1].legend(fontsize=8)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Write the table, draw the picture and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", default="0,10,50")
    parser.add_argument("--drawn", type=int, default=10, help="round of the picture")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--docs", type=Path, default=Path(__file__).parents[1] / "docs")
    options = parser.parse_args()
    rounds = [int(text) for text in options.rounds.split(",")]
    found = [line for data in SETS for line in lines(data, rounds, options.seed)]
    most = max(line.epochs for line in found)
    results = options.docs / "results" / "fedcore" / "local-epochs.csv"
    with results.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([*HEAD, *(f"loss_{epoch}" for epoch in range(most + 1))])
        table.writerows(line.cells(most) for line in found)
    drawn = {
        (data, method): [
            line
            for line in found
            if (line.data, line.method, line.round) == (data, method, options.drawn)
        ]
        for data in SETS
        for method in METHODS
    }
    draw(drawn, most, options.docs / "images" / "fedcore_local-epochs.png")
    print("\n".join(summary(found)))


if __name__ == "__main__":
    main()
