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
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from matplotlib.figure import Figure

from analysis.fedcore_local import METHODS, Local
from simfl.core.types import Params

T = TypeVar("T")
SETS = {"a0": "alpha = beta = 0", "a0.5": "alpha = beta = 0.5", "a1": "alpha = beta = 1"}
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
