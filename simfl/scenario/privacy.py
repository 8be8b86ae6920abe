"""Whether the noise of a scenario protects clients as far as an epsilon could tell."""

from simfl.components.aggregators.dp_fedavg import DpFedAvg
from simfl.components.attacks.base import Attack
from simfl.core.component import overrides
from simfl.scenario.parts.experiment import Experiment

LEAST = 1e-3
"""Noise multiplier of which an epsilon is told: of less it is in the millions."""


def why_no_epsilon(scenario: Experiment) -> str:
    """Return why no epsilon can be told of `scenario`, whose updates are clipped ("": it can)."""
    aggregator, selector = scenario.aggregation, scenario.selection
    looks = selector.needs_training or selector.needs_updates or selector.wants or selector.oracle
    if not isinstance(aggregator, DpFedAvg) or aggregator.noise_multiplier < LEAST:
        return "there is hardly any noise"
    if looks:
        return f"selector {selector.name!r} chooses by what it learns of clients without noise"
    if scenario.training.filter.stage != "none":
        return f"filter {scenario.training.filter.name!r} judges updates before there is noise"
    for _, attack in scenario.attackers.values():
        if overrides(attack, Attack.agree):
            return f"attack {attack.name!r} has devices send what others have learned"
    return ""
