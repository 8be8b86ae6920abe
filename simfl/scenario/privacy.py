"""What the noise of a scenario protects, as far as an epsilon can tell."""

from simfl.components.aggregators.dp_fedavg import DpFedAvg
from simfl.components.attacks.base import Attack
from simfl.components.selectors.uniform import Uniform
from simfl.core.component import overrides
from simfl.core.epsilon import Privacy
from simfl.scenario.parts.experiment import Experiment

LEAST = 1e-3
"""Noise multiplier of which an epsilon is told: of less it is in the millions."""


def why_no_epsilon(scenario: Experiment) -> str:
    """Return why no epsilon can be told of `scenario` ("": it can)."""
    aggregator, selector = scenario.aggregation, scenario.selection
    looks = selector.needs_training or selector.needs_updates or selector.wants or selector.oracle
    if not isinstance(aggregator, DpFedAvg):
        return f"aggregator {aggregator.name!r} adds no noise"
    if aggregator.noise_multiplier < LEAST:
        return "there is hardly any noise"
    if looks:
        return f"selector {selector.name!r} chooses by what clients report without noise"
    if scenario.training.filter.stage != "none":
        return f"filter {scenario.training.filter.name!r} judges updates before there is noise"
    for _, attack in scenario.attackers.values():
        if overrides(attack, Attack.agree):
            return f"attack {attack.name!r} lets devices send what others have learned"
    return ""


def privacy_of(scenario: Experiment) -> Privacy | None:
    """Return what a round of `scenario` spends; None: its aggregator protects nobody.

    Whether an epsilon can be told of it says `why_no_epsilon`.
    """
    aggregator, rounds = scenario.aggregation, scenario.rounds
    if not isinstance(aggregator, DpFedAvg):
        return None
    there = all(g.availability.name == "always" and g.battery is None for g in scenario.fleet)
    alike = type(scenario.selection) is Uniform and there
    asked = rounds.policy.asked(rounds.clients) if alike else None
    return Privacy(aggregator.noise_multiplier, aggregator.delta, asked)
