"""What a scenario says that may not be what was meant: told, and done all the same."""

from collections.abc import Iterator

from simfl.core.at_work import users_own
from simfl.scenario.distributions import Constant
from simfl.scenario.language.place import Location
from simfl.scenario.parts.correlation import SAMPLES
from simfl.scenario.parts.fleet import Group
from simfl.scenario.scenario import Scenario

Caution = tuple[Location, str]
"""Where something stands, or could, and what is to be known of it."""


def cautions(scenario: Scenario) -> Iterator[Caution]:
    """Yield what of `scenario` may not be what was meant."""
    yield from _of_correlations(scenario)
    yield from _of_aggregation(scenario)


def _of_aggregation(scenario: Scenario) -> Iterator[Caution]:
    """Yield an aggregation that was not chosen for the policy, and one that does not suit it."""
    policy, aggregator, path = scenario.rounds.policy, scenario.aggregation, ("aggregation",)
    if policy.goes_with and path[0] not in scenario.model_fields_set:
        suited = " or ".join(policy.goes_with)
        yield path, f"{aggregator.name}, not given; policy {policy.name!r} goes with {suited}"
    elif aggregator.discounts_stale and not policy.may_be_stale and not users_own([policy]):
        yield path, f"its discount is without effect: under {policy.name!r} no update is stale"


def _of_correlations(scenario: Scenario) -> Iterator[Caution]:
    """Yield the correlations of what all devices of a group have the same of."""
    for pair in scenario.correlate:
        for number in pair.split("~"):
            alike = [group.name for group in scenario.fleet if not _varies(group, number)]
            if alike:
                where = "" if len(alike) == len(scenario.fleet) else f" in {', '.join(alike)}"
                yield (
                    ("correlate", pair),
                    f"without effect{where}: every device has the same {number}",
                )


def _varies(group: Group, number: str) -> bool:
    """Whether devices of a group can differ in a number that correlations have a name for."""
    if number == SAMPLES:
        return True
    if number == "battery":
        draw = None if group.battery is None else group.battery.capacity
    else:
        draw = getattr(group, number)
    return not (draw is None or isinstance(draw, Constant))
