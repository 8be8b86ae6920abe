"""The differential privacy that a run has spent: epsilon at the delta of its aggregator."""

from collections.abc import Sequence
from typing import Any

from simfl.core.epsilon import UNKNOWN, Spent
from simfl.scenario.parts.experiment import Experiment
from simfl.scenario.privacy import privacy_of, why_no_epsilon


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
