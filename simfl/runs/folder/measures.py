"""What is measured over a run's rounds, by the run itself and by who reads its tables."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from simfl.core.target import MetricTarget

TERMINAL_ROUNDS = 50
"""The last rounds, whose evaluations `terminal_accuracy` is the mean of."""


class RoundTimes(NamedTuple):
    """When a round with a deadline began and ended, virtual seconds.

    Attributes:
        start_s: its start.
        last_arrival_s: the last update that counted (None: none did).
        end_s: its end.
        deadline_s: how long it may last from when its orders go out, above zero.
    """

    start_s: float
    last_arrival_s: float | None
    end_s: float
    deadline_s: float


class NormalisedTimes(NamedTuple):
    """Means over rounds of parts of a round by its deadline, as in FedCore's Table 1.

    Attributes:
        last_arrival: of the time until the last update that counted.
        round_end: of the time until the round's end.
    """

    last_arrival: float
    round_end: float


def terminal_accuracy(evaluations: Iterable[tuple[int, float]], rounds: int) -> float | None:
    """Return the mean accuracy over the last `TERMINAL_ROUNDS` rounds (FedACS, section IV-A).

    Args:
        evaluations: rounds and accuracies; earlier ones may be left out.
        rounds: how many there were (None is returned if none of the last was evaluated).
    """
    last = [accuracy for round_, accuracy in evaluations if round_ > rounds - TERMINAL_ROUNDS]
    return sum(last) / len(last) if last else None


def normalised_times(rounds: Sequence[RoundTimes]) -> NormalisedTimes | None:
    """Return how long rounds took by their deadlines; None: there are none."""
    if not rounds:
        return None
    # What came while the server was busy with the round before was there from the start.
    lasts = [max(r.last_arrival_s or 0.0, r.start_s) for r in rounds]
    arrivals = [
        (last_s - r.start_s) / r.deadline_s for last_s, r in zip(lasts, rounds, strict=True)
    ]
    ends = [(r.end_s - r.start_s) / r.deadline_s for r in rounds]
    return NormalisedTimes(sum(arrivals) / len(rounds), sum(ends) / len(rounds))


def target_key(target: float) -> str:
    """Return by which name a target stands in a summary.

    >>> target_key(0.7), target_key(0.4324323), target_key(MetricTarget(0.5, "rmse"))
    ('0.7', '0.4324323', 'rmse 0.5')
    """
    return str(target) if isinstance(target, MetricTarget) else f"{target:.12g}"


def gini(counts: Sequence[int], clients: int) -> float:
    """Return the Gini coefficient of how often `clients` clients took part, in [0, 1).

    0 if all took part equally often; `counts` may leave out those who never did.

    >>> gini([2, 2, 2, 2], 4)
    0.0
    >>> gini([8], 4)
    0.75
    """
    if not (total := sum(counts)):
        return 0.0
    ranked = enumerate(sorted(counts), start=clients - len(counts) + 1)
    return (
        2 * sum(rank * count for rank, count in ranked) / (clients * total)
        - (clients + 1) / clients
    )
