"""The differential privacy that a run has spent: epsilon at the delta of its aggregator."""

from collections.abc import Sequence
from typing import Any

from simfl.core.epsilon import UNKNOWN, Spent, rounds_until
from simfl.scenario.parts.experiment import Experiment
from simfl.scenario.privacy import privacy_of, why_no_epsilon


def rounds_within(scenario: Experiment, most: int) -> int | None:
    """Return after about how many rounds `rounds.stop.epsilon` ends a run (None: not by `most`).

    If each update counts that is asked for, of clients drawn with the same chance.
    """
    limit, privacy = scenario.rounds.stop.epsilon, privacy_of(scenario)
    if limit is None or privacy is None or why_no_epsilon(scenario):
        return None
    rate = min(scenario.rounds.policy.counted(scenario.rounds.clients) / scenario.devices, 1.0)
    updates = privacy.most_within(limit, most)
    rounds = rounds_until(updates, rate, scenario.devices)
    return rounds if updates < most and rounds < most else None


def privacy_spent(stages: Sequence[Experiment], last: Spent | None) -> dict[str, Any] | None:
    """Return what a summary says of privacy; None: the run does not protect any.

    Args:
        stages: its scenario, and what it was continued with.
        last: what was spent by the end of its last round (None: there was none).
    """
    first, *later = ((privacy_of(scenario), why_no_epsilon(scenario)) for scenario in stages)
    privacy, why = first
    if privacy is None:
        return None
    if any(terms != first for terms in later):
        why = "the rules have changed on the way"
    spent = UNKNOWN if why else last or privacy.spent(0, 0, 1)
    return {"delta": privacy.delta, **spent._asdict(), "why_none": why}
