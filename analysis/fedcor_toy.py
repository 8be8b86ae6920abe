"""FedCor, Fig. 1: of clients with one sample each, which two should train?

    python -m analysis.fedcor_toy [--toys 1000] [--clients 20] [--separations 0,1,2,4]

The paper draws one toy and gives no numbers of it, so these toys are our own: points of two normal
classes in the plane, their means so many standard deviations apart, one point a client; a linear
classifier that begins anywhere; five steps of gradient descent on the logistic loss by each of two
clients, whose models are averaged.  Every pair is tried.  The covariance of loss changes over all
pairs is what FedCor's Algorithm 1 is given: it chooses as if its Gaussian process were perfect.

For the two largest losses (the paper's "Ind"), FedCor's pair ("Cor") and a random pair it writes in
which share of toys the global loss rises, which share of the best pair's fall ("Opt") is had in the
median toy, and how often the two are of both classes.
"""

import argparse
import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from simfl.components.selectors.mathematics.gaussian_process import Posterior, choose
from simfl.core.types import Floats, Rng

STEPS, RATE = 5, 0.5
"""Of local gradient descent."""


def sigmoid(values: Floats) -> Floats:
    """Return the logistic function of `values`."""
    return np.asarray(1 / (1 + np.exp(-values)))


@dataclass(frozen=True)
class Toy:
    """Clients of one sample each.

    Attributes:
        x: `(N, 3)` a point in the plane, and 1.
        y: `(N,)` its class, 1 or -1.
        w: `(3,)` the classifier.
    """

    x: Floats
    y: Floats
    w: Floats

    @classmethod
    def draw(cls, clients: int, separation: float, rng: Rng) -> "Toy":
        """Return a random toy, half of its clients of each class."""
        y = np.where(np.arange(clients) % 2, 1.0, -1.0)
        points = rng.normal(size=(clients, 2))
        points[:, 0] += y * separation / 2
        return cls(np.column_stack([points, np.ones(clients)]), y, rng.normal(size=3))

    def losses(self, w: Floats) -> Floats:
        """Return every client's loss `(m, N)` at each of the classifiers `(m, 3)`."""
        return np.asarray(np.logaddexp(0, -(w @ self.x.T) * self.y))

    def trained(self) -> Floats:
        """Return what every client makes of the classifier `(N, 3)`."""
        w = np.tile(self.w, (len(self.y), 1))
        for _ in range(STEPS):
            slope = -self.y * sigmoid(-self.y * (w * self.x).sum(axis=1))
            w = w - RATE * slope[:, None] * self.x
        return w


@dataclass(frozen=True)
class Choice:
    """What the choice of two clients did.

    Attributes:
        change: of the global loss.
        share: of the best pair's change.
        both: whether they are of both classes.
    """

    change: float
    share: float
    both: bool


def choices(toy: Toy, rng: Rng) -> dict[str, Choice]:
    """Return what each way to choose does to `toy`."""
    pairs = list(combinations(range(len(toy.y)), 2))
    own, before = toy.trained(), toy.losses(toy.w[None])[0]
    after = np.array([own[list(pair)].mean(axis=0) for pair in pairs])
    changes = toy.losses(after) - before  # (pairs, N)
    # Embeddings whose products are the covariance itself.
    centred = (changes - changes.mean(axis=0)) / np.sqrt(len(pairs))
    n = len(toy.y)
    posterior = Posterior(centred, 1e-9, np.full(n, 1 / n))
    chosen = {
        "largest losses": tuple(sorted(np.argsort(-before, kind="stable")[:2].tolist())),
        "FedCor": tuple(sorted(choose(posterior, np.ones(n), np.arange(n), 2))),
        "random": pairs[rng.integers(len(pairs))],
    }
    globally = changes.mean(axis=1)
    best = globally.min()

    def did(pair: tuple[int, ...]) -> Choice:
        change = float(globally[pairs.index((pair[0], pair[1]))])
        return Choice(change, change / best, bool(toy.y[pair[0]] != toy.y[pair[1]]))

    return {name: did(pair) for name, pair in chosen.items()}


def summary(separation: float, found: Sequence[dict[str, Choice]]) -> Iterator[list[str]]:
    """Yield a line for each way to choose: over many toys."""
    for name in found[0]:
        own = [choice[name] for choice in found]
        numbers = (
            np.mean([choice.change > 0 for choice in own]),
            np.median([choice.share for choice in own]),
            np.mean([choice.both for choice in own]),
        )
        yield [f"{separation:g}", name, str(len(own)), *(f"{number:.3f}" for number in numbers)]


def main() -> None:
    """Write the file, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--toys", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--separations", default="0,1,2,4")
    parser.add_argument("--seed", type=int, default=0)
    docs = Path(__file__).parents[1] / "docs"
    parser.add_argument("--results", type=Path, default=docs / "results" / "fedcor" / "toy.csv")
    options = parser.parse_args()
    lines = [["separation", "chosen", "toys", "rises", "share_of_best", "both_classes"]]
    for separation in map(float, options.separations.split(",")):
        rng = np.random.default_rng(options.seed)
        toys = (Toy.draw(options.clients, separation, rng) for _ in range(options.toys))
        lines += summary(separation, [choices(toy, rng) for toy in toys])
    with options.results.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)
    print(options.results.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
