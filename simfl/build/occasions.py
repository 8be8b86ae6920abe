"""What of a scenario's devices varies from time to time, and how much."""

from collections.abc import Sequence
from typing import Literal

from simfl.core.seeds import Seeds
from simfl.scenario.parts.fleet import Group
from simfl.scenario.parts.rate_jitter import RateJitter
from simfl.sim.failures import Failures
from simfl.sim.fleet import DeviceGroup
from simfl.sim.jitter import Jitter
from simfl.sim.occasions import VaryingGroup


def jitter(
    groups: Sequence[Group],
    devices: Sequence[DeviceGroup],
    seeds: Seeds,
    purpose: Literal["link", "compute"],
) -> Jitter | None:
    """Return how rates vary, None if they do not.

    Args:
        groups: as in a scenario.
        devices: theirs, in the same order.
        seeds: of the run.
        purpose: which rates.
    """
    asked: list[RateJitter | None] = [
        group.link_jitter if purpose == "link" else group.compute_jitter for group in groups
    ]
    varying = _varying(devices, [0.0 if one is None else one.sigma for one in asked])
    return Jitter(varying, seeds, purpose) if varying else None


def failures(
    groups: Sequence[Group], devices: Sequence[DeviceGroup], seeds: Seeds
) -> Failures | None:
    """Return which trainings fail, None if none does; arguments as of `jitter`."""
    varying = _varying(devices, [group.failures for group in groups])
    return Failures(varying, seeds, "failures") if varying else None


def _varying(devices: Sequence[DeviceGroup], amounts: Sequence[float]) -> list[VaryingGroup]:
    """Return groups of which each varies by an amount; none, if nothing does."""
    if not any(amounts):
        return []
    return [
        VaryingGroup(group.name, group.first, amount)
        for group, amount in zip(devices, amounts, strict=True)
    ]
