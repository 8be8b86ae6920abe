"""Whom the final models of one variant serve better than those of another, seed by seed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from simfl.runs.evaluation.client_evaluation import HEARD, NEVER_HEARD, ClientEvaluation, Spread
from simfl.runs.results.grouping import by_variant, require_variant
from simfl.runs.results.paired import paired_difference
from simfl.runs.results.statistics import ANY, Figure

Statistic = Literal["mean", "worst_tenth", "best_tenth", "std"]
STATISTICS: tuple[Statistic, ...] = ("mean", "worst_tenth", "best_tenth", "std")
"""Of a `Spread`, those of which there are differences."""


@dataclass(frozen=True)
class ClientDifference:
    """By how much more a variant has than the baseline, over the seeds that both have.

    Attributes:
        variant: which is compared.
        whom: everybody, or a group (not who was heard: those are others in each variant).
        fine_tuned: whether by the models that clients have fine-tuned.
        of: how well they are served, by statistic.
    """

    variant: str
    whom: str
    fine_tuned: bool
    of: dict[Statistic, Figure]


def by_variants(evaluations: Sequence[ClientEvaluation]) -> dict[str, list[ClientEvaluation]]:
    """Return evaluations by variant, as `by_variant` tells their runs apart."""
    of = {evaluation.run.folder.resolve(): evaluation for evaluation in evaluations}
    groups = by_variant(evaluation.run for evaluation in evaluations)
    return {name: [of[run.folder.resolve()] for run in runs] for name, runs in groups.items()}


def client_differences(
    evaluations: Sequence[ClientEvaluation], baseline: str
) -> list[ClientDifference]:
    """Return what each other variant differs by from the `baseline`.

    Variants that are judged by another measure, or on other samples (kept aside, or not), have no
    differences.

    Args:
        evaluations: of runs of several variants, all of them fine-tuned or none.
        baseline: the variant that the others are compared with.

    Raises:
        InputError: there is no such variant.
    """
    groups = by_variants(evaluations)
    require_variant(baseline, {name: [e.run for e in own] for name, own in groups.items()})
    base = groups.pop(baseline)
    found: list[ClientDifference] = []
    for variant, own in groups.items():
        if {*map(_judged, own)} == {*map(_judged, base)}:
            found += _differences(variant, own, base, fine_tuned=False)
            found += _differences(variant, own, base, fine_tuned=True)
    return found


def _judged(evaluation: ClientEvaluation) -> tuple[str, bool]:
    return evaluation.measure, evaluation.kept_aside


def _differences(
    variant: str,
    own: Sequence[ClientEvaluation],
    base: Sequence[ClientEvaluation],
    *,
    fine_tuned: bool,
) -> Iterator[ClientDifference]:
    spreads, others = (
        {e.run.seed: _of_clients(e, fine_tuned) for e in evaluations} for evaluations in (own, base)
    )
    possible = (0.0, 1.0) if own[0].measure == "accuracy" else ANY
    for whom in dict.fromkeys(whom for seed in spreads.values() for whom in seed):
        of = {
            statistic: paired_difference(
                _by_seed(spreads, whom, statistic),
                _by_seed(others, whom, statistic),
                possible=possible,
                in_steps=True,
            )
            for statistic in STATISTICS
        }
        if of["mean"].seeds:
            yield ClientDifference(variant, whom, fine_tuned, of)


def _of_clients(evaluation: ClientEvaluation, fine_tuned: bool) -> dict[str, Spread]:
    """Return how everybody and each group is served, by whom."""
    spreads = evaluation.fine_tuned_spreads if fine_tuned else evaluation.spreads
    return {s.whom: s for s in spreads if s.whom not in (HEARD, NEVER_HEARD)}


def _by_seed(
    spreads: dict[int, dict[str, Spread]], whom: str, statistic: Statistic
) -> dict[int, float]:
    return {seed: float(getattr(s[whom], statistic)) for seed, s in spreads.items() if whom in s}
