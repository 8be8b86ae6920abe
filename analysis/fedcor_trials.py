"""FedCor, Figs. 2, 3, 9 and 12: how loss changes are distributed over random cohorts.

    python -m analysis.fedcor_trials --data-dir DIR [--item fedcor/table1-fmnist-2spc]
        [--trials 1000] [--rounds 16,26,36] [--results docs/results/fedcor/trials-2spc.csv]

Uniform selection trains the model.  At each of those rounds (16 is the warm-up's last) many random
cohorts make one round each from the same model, on trial, and all clients' losses before and after
it are compared: `(trials, N)` loss changes.  Of these it writes

- the first principal components' shares of the variance, skewness, excess of kurtosis and distance
  of their distribution functions from a normal one's (Kolmogorov and Smirnov's; 1.63 / sqrt(trials)
  is what one in a hundred samples of a normal distribution exceeds): Figs. 2 and 12;
- the cosine of the covariances of one time and the next (algorithms.md, G.6), and of two halves of
  the trials at one time, which is what estimating them from so few costs: Figs. 3 and 9.
"""

import argparse
import csv
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from simfl.build.builder import Builder
from simfl.coordinators.training import TrainingCoordinator
from simfl.core.types import Floats, Params
from simfl.core.work import OrderBatch, WorkOrder
from simfl.papers.item import items
from simfl.scenario.scenario import read
from simfl.training.executors.base import executors

TOGETHER = 50
"""Trials that are trained at the same time."""
COMPONENTS = 5
"""Principal components that are looked at."""


class Trials:
    """Rounds from given models, by clients chosen at random."""

    def __init__(self, item: str, seed: int, data_dir: Path) -> None:
        [known] = items(item)
        document = known.document.set("variants={}", "selection=uniform", f"seed={seed}")
        self.scenario = read(document)
        self.builder = Builder(self.scenario, data_dir, False, executors.parse("inline"))
        coordinator = self.builder.coordinator  # which starts the executor
        assert isinstance(coordinator, TrainingCoordinator)
        self.initial = coordinator.model
        self.everybody = list(range(self.scenario.devices))

    def cohort(self, *address: str | int) -> list[int]:
        """Return the clients that a random stream of this address chooses."""
        rng = self.builder.seeds.stream(*address)
        chosen = rng.choice(len(self.everybody), self.scenario.rounds.clients, replace=False)
        return [int(client) for client in chosen]

    def after(self, model: Params, round_: int, cohorts: Sequence[Sequence[int]]) -> list[Params]:
        """Return the models `(p,)` after one round of each cohort."""
        plan = self.builder.settings.nominal
        orders = [
            WorkOrder(
                client, trial, round_, 0, plan,
                self.builder.seeds.number("trial", client, round_, trial),
            )
            for trial, cohort in enumerate(cohorts)
            for client in cohort
        ]  # fmt: skip
        results = self.builder.executor.train(OrderBatch({0: model}, orders))
        params = np.array([result.params for result in results], dtype=np.float64)
        means = params.reshape(len(cohorts), -1, params.shape[1]).mean(axis=1)
        return list(means.astype(np.float32))

    def losses(self, model: Params) -> Floats:
        """Return each client's loss `(N,)` at `model`."""
        return self.builder.executor.measure("loss", model, self.everybody)

    def changes(self, model: Params, round_: int, trials: int) -> Floats:
        """Return each client's loss change `(trials, N)` by one round of each random cohort."""
        before, changes = self.losses(model), []
        for first in range(0, trials, TOGETHER):
            numbers = range(first, min(first + TOGETHER, trials))
            cohorts = [self.cohort("trial", round_, number) for number in numbers]
            changes += [self.losses(after) - before for after in self.after(model, round_, cohorts)]
        return np.array(changes)

    def by_round(self, rounds: Sequence[int], trials: int) -> Iterator[tuple[int, Floats]]:
        """Yield the loss changes at those rounds of a run by uniform selection."""
        model = self.initial
        for round_ in range(1, max(rounds) + 1):
            if round_ in rounds:
                yield round_, self.changes(model, round_, trials)
            [model] = self.after(model, round_, [self.cohort("real", round_)])


@dataclass(frozen=True)
class Line:
    """What the loss changes at one round are like along one principal component.

    The cosines, of the whole covariances, stand in the first component's line.
    """

    item: str
    seed: int
    round: int
    trials: int
    component: int
    share: float
    skewness: float
    excess_kurtosis: float
    distance_from_normal: float
    cosine_with_next: float | None
    cosine_of_halves: float | None


def cosine(one: Floats, other: Floats) -> float:
    """Return the cosine of two covariance matrices, as vectors."""
    return float((one * other).sum() / (np.linalg.norm(one) * np.linalg.norm(other)))


def lines(
    item: str, seed: int, round_: int, changes: Floats, later: Floats | None
) -> Iterator[Line]:
    """Yield what `changes` `(trials, N)` are like, component by component.

    Args:
        item: whose clients.
        seed: of the run.
        round_: at whose model.
        changes: loss changes.
        later: those of the next time, None if there is none.
    """
    centred = changes - changes.mean(axis=0)
    _, sizes, components = np.linalg.svd(centred, full_matrices=False)
    shares = sizes**2 / (sizes**2).sum()
    half = len(changes) // 2
    halves = [np.cov(part, rowvar=False) for part in (changes[:half], changes[half:])]
    own = np.cov(changes, rowvar=False)
    for number, (share, component) in enumerate(zip(shares, components, strict=True), 1):
        if number > COMPONENTS:
            break
        along, first = stats.zscore(centred @ component), number == 1
        yield Line(
            item,
            seed,
            round_,
            len(changes),
            number,
            float(share),
            float(stats.skew(along)),
            float(stats.kurtosis(along)),
            float(stats.kstest(along, "norm").statistic),
            cosine(own, np.cov(later, rowvar=False)) if first and later is not None else None,
            cosine(*halves) if first else None,
        )


def of_item(item: str, seed: int, data_dir: Path, rounds: Sequence[int], n: int) -> Iterator[Line]:
    """Yield what `n` trials at each of these rounds of one item are like."""
    found = dict(Trials(item, seed, data_dir).by_round(rounds, n))
    for (round_, changes), later in zip(found.items(), [*rounds[1:], 0], strict=True):
        yield from lines(item, seed, round_, changes, found.get(later))


def main() -> None:
    """Write the file, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--item", default="fedcor/table1-fmnist-2spc")
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--rounds", default="16,26,36")
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    rounds = [int(text) for text in options.rounds.split(",")]
    told = list(of_item(options.item, options.seed, options.data_dir, rounds, options.trials))
    deal = options.item.rpartition("-")[2]
    docs = Path(__file__).parents[1] / "docs"
    results = options.results or docs / "results" / "fedcor" / f"trials-{deal}.csv"
    with results.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(asdict(told[0])), lineterminator="\n")
        table.writeheader()
        table.writerows(map(asdict, told))
    print(results.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
