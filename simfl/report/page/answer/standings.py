"""How variants did at a target, the best first, each beside the first."""

from dataclasses import dataclass, replace

from simfl.runs.results.grouping import Groups
from simfl.runs.results.metric import BYTES, ROUNDS, TIME, figure, times
from simfl.runs.results.paired import Ratio, Times, paired_ratio, zero_cost
from simfl.runs.results.signs import Signs, signs
from simfl.runs.results.statistics import ENOUGH, Figure


@dataclass(frozen=True)
class Standing:
    """How one variant did at one target.

    Attributes:
        name: the variant.
        time_s: what it took.
        rounds: the same in rounds.
        bytes: the same in bytes.
        ratio: its time by that of the first, seed by seed (None: it is the first, they share no
            seed, one of them took nothing, or nobody got there in what is known of both).
        shared: seeds that it and the first both have.
        zero_cost: whether it or the first was at the target from the start, with one of these.
        surely_later: whether the first was, with each of these, and it with none; of enough.
        behind: with how many of these the first was sooner (None: it is the first).
    """

    name: str
    time_s: Figure
    rounds: Figure
    bytes: Figure
    ratio: Ratio | None = None
    shared: int = 0
    zero_cost: bool = False
    surely_later: bool = False
    behind: Signs | None = None

    @property
    def never(self) -> bool:
        """Whether no seed got there."""
        return self.time_s.missing == self.time_s.seeds

    @property
    def order(self) -> tuple[float, float]:
        """Key that puts the best first: those that got there with every seed, then by time."""
        return (self.absence, self.time_s.middle)

    @property
    def absence(self) -> float:
        """The share of seeds that did not get there."""
        return self.time_s.missing / self.time_s.seeds

    @property
    def sooner(self) -> bool:
        """Whether it was surely sooner than the first, seed by seed."""
        return self.ratio is not None and self.ratio.surely_less

    @property
    def level(self) -> bool:
        """Whether it and the first were compared seed by seed, and can't be told apart."""
        return self.ratio is not None and self.ratio.level


def standings(groups: Groups, target: float) -> list[Standing]:
    """Return every variant's standing at `target`, the best first."""
    by_seed = {name: times(runs, TIME, target) for name, runs in groups.items()}
    standings = {
        name: Standing(
            name,
            figure(runs, TIME, target),
            figure(runs, ROUNDS, target),
            figure(runs, BYTES, target),
        )
        for name, runs in groups.items()
    }

    def place(standing: Standing) -> tuple[tuple[float, float], bool]:
        own = by_seed[standing.name]
        better = [standings[n].order for n, known in by_seed.items() if _only_lucky(own, known)]
        return max([standing.order, *better]), bool(better)

    ranked = sorted(standings.values(), key=place)
    first = by_seed[ranked[0].name]
    return ranked[:1] + [_beside(other, by_seed[other.name], first) for other in ranked[1:]]


def _only_lucky(own: Times, other: Times) -> bool:
    """Whether `other` has further seeds, and with each one of `own` was as soon or sooner."""
    if not own.reached.keys() < other.reached.keys():  # as of most pairs of a thousand variants
        return False
    pairs = [(mine, other.reached[seed]) for seed, mine in own.reached.items()]
    return all(theirs is not None and (mine is None or theirs <= mine) for mine, theirs in pairs)


def _beside(standing: Standing, own: Times, first: Times) -> Standing:
    shared = own.reached.keys() & first.reached.keys()
    return replace(
        standing,
        ratio=paired_ratio(own, first),
        shared=len(shared),
        zero_cost=zero_cost(own, first),
        surely_later=len(shared) >= ENOUGH
        and all(first.reached[seed] == 0 != own.reached[seed] for seed in shared),
        behind=signs(first, own),
    )
