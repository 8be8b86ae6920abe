"""FedSAE's prediction of how much each client can train: Ira and Fassa.

Li et al., "FedSAE: A Novel Self-Adaptive Federated Learning Framework in Heterogeneous Systems",
IJCNN 2021, section III-B, Algorithms 2 and 3; docs/algorithms.md, A.9.
"""

from typing import Literal, NamedTuple

from pydantic import Field, PositiveFloat, PrivateAttr
from typing_extensions import override

from simfl.components.workloads.base import Assignment, Workload, workloads
from simfl.core.apportion import whole_share
from simfl.core.seeds import generator
from simfl.core.work import Plan

Outcome = Literal["complete", "half", "fail"]
_CAPACITY = 1 << 32
"""Purposes of a participation's seed from here on: see `simfl.core.work.Purpose`."""


class Pair(NamedTuple):
    """An easy and a difficult task, in epochs; the difficult one is tried first."""

    low: float
    high: float


def ira(pair: Pair, outcome: Outcome, inverse: float) -> Pair:
    """Return the next pair by the inverse-ratio rule: small tasks grow fast, large ones slowly."""
    low, high = pair
    if outcome == "complete":
        return _ordered(low + inverse / low, high + inverse / high)
    if outcome == "half":
        return _ordered(low + inverse / low, high / 2)
    return _ordered(low / 2, high / 2)


def fassa(pair: Pair, outcome: Outcome, threshold: float, fast: float, slow: float) -> Pair:
    """Return the next pair: fast growth below the client's usual workload, slow growth above."""
    low, high = pair
    if outcome == "fail":
        return _ordered(low / 2, high / 2)
    low += slow if threshold <= pair.low else fast
    if outcome == "half":
        return _ordered(low, high / 2)
    return _ordered(low, high + (fast if threshold > pair.high else slow))


def _ordered(a: float, b: float) -> Pair:
    least = 1e-6  # a client that always fails must not end at a task of nothing
    return Pair(max(min(a, b), least), max(a, b, least))


@workloads.register("fedsae")
class FedSae(Workload):
    """Asks each client for a difficult task, failing that for an easy one, and learns from it.

    What a client can afford is what its deadline leaves time for (`affordable: deadline`), or a
    number drawn for it as in the paper.  A client that can't afford the easy task either misses
    the deadline; where the number is drawn, it is skipped and its lost time is not charged.

    Cost: the epochs trained.
    """

    needs_epochs = True

    rule: Literal["ira", "fassa"] = Field("ira", description="how the pair of tasks adapts")
    affordable: Literal["deadline", "drawn"] = Field(
        "deadline",
        description="a client's capacity: what fits before its deadline, or epochs drawn from "
        "N(mu, sigma) above 0, with mu in (5, 10) and sigma in (mu/4, mu/2) for each "
        "client",
    )
    start: tuple[PositiveFloat, PositiveFloat] = Field(
        (1.0, 2.0), description="the first pair of tasks, epochs (section IV-A)"
    )
    most: PositiveFloat = Field(15.0, le=1e6, description="most epochs (authors' code)")
    inverse: PositiveFloat = Field(10.0, description="U of Ira (section IV-A)")
    fast: PositiveFloat = Field(3.0, description="growth below the threshold, epochs, Fassa's g1")
    slow: PositiveFloat = Field(1.0, description="growth above the threshold, epochs, Fassa's g2")
    smoothing: float = Field(0.95, ge=0, lt=1, description="of Fassa's threshold")

    _pairs: dict[int, Pair] = PrivateAttr(default_factory=dict)
    _done: dict[int, tuple[int, float]] = PrivateAttr(default_factory=dict)
    """By client, how often it was asked, and the smoothed mean of the whole epochs it did."""
    _talents: dict[int, tuple[float, float]] = PrivateAttr(default_factory=dict)
    _drawn: dict[int, tuple[int, int]] = PrivateAttr(default_factory=dict)

    @override
    def plan(self, assignment: Assignment) -> Plan | None:
        """Each call is one participation, from which the next one learns."""
        if not assignment.samples:
            return None
        pair = self.pair(assignment.client)
        outcome = self._outcome(assignment, pair)
        self._learn(assignment.client, pair, outcome)
        if outcome == "complete":
            return self.task(assignment, pair.high)
        asked = outcome == "half" or self.affordable == "deadline"
        return self.task(assignment, pair.low) if asked else None

    def pair(self, client: int) -> Pair:
        """Return what `client` will be asked for next."""
        return self._pairs.get(client, Pair(*sorted(self.start)))

    def task(self, assignment: Assignment, epochs: float) -> Plan | None:
        """Return so many epochs as whole passes and mini-batches, or None if that is nothing."""
        per_pass = -(-assignment.samples // assignment.batch_size)
        steps = whole_share(min(epochs, self.most), per_pass)
        whole, batches = divmod(steps, per_pass)
        if not batches:
            return Plan(full_epochs=whole) if whole else None
        return Plan(steps=steps)

    def _outcome(self, assignment: Assignment, pair: Pair) -> Outcome:
        drawn = self.draw(assignment) if self.affordable == "drawn" else None
        if self._affords(assignment, pair.high, drawn):
            return "complete"
        return "half" if self._affords(assignment, pair.low, drawn) else "fail"

    def _affords(self, assignment: Assignment, epochs: float, drawn: float | None) -> bool:
        """Return whether the client does what it is asked for of so many epochs, be it nothing."""
        if drawn is not None:
            return drawn >= min(epochs, self.most)
        task = self.task(assignment, epochs)
        return assignment.fits(assignment.units(task) if task else 0.0)

    def draw(self, assignment: Assignment) -> float:
        """Return the epochs that the client can afford this time, drawn anew at each call."""
        seed, tries = self._drawn.get(assignment.client, (-1, 0))
        tries = tries + 1 if seed == assignment.rng_seed else 0
        self._drawn[assignment.client] = assignment.rng_seed, tries
        # A participation that was skipped is tried again with the same seed, on another day.
        rng = generator(assignment.rng_seed, _CAPACITY + tries)
        if assignment.client not in self._talents:
            mean = rng.uniform(5, 10)
            self._talents[assignment.client] = mean, rng.uniform(mean / 4, mean / 2)
        mean, deviation = self._talents[assignment.client]
        while (epochs := rng.normal(mean, deviation)) < 0:
            pass
        return float(epochs)

    def _learn(self, client: int, pair: Pair, outcome: Outcome) -> None:
        told, threshold = self._done.get(client, (0, 0.0))
        if self.rule == "ira":
            self._pairs[client] = ira(pair, outcome, self.inverse)
        elif told < 2:
            self._pairs[client] = fassa(pair, outcome, 0.0, self.slow, self.slow)
        else:
            self._pairs[client] = fassa(pair, outcome, threshold, self.fast, self.slow)
        epochs = {"complete": pair.high, "half": pair.low, "fail": 0.0}[outcome]
        done = float(int(min(epochs, self.most)))
        mean = self.smoothing * threshold + (1 - self.smoothing) * done if told else done
        self._done[client] = told + 1, mean
