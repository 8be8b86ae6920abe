"""What of a scenario's devices varies from time to time, and how much."""

from collections.abc import Sequence
from itertools import repeat
from typing import Literal

import numpy as np

from simfl.core.seeds import Seeds
from simfl.core.units import SAMPLE_TIME
from simfl.scenario.distributions import Draw
from simfl.scenario.parts.fleet import Group
from simfl.sim.fleet import DeviceGroup
from simfl.sim.occasions import Failures, Jitter, Law, VaryingGroup


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
    if purpose == "link":
        sigmas = [group.link_jitter and group.link_jitter.sigma for group in groups]
        varying = _varying(devices, [sigma or 0.0 for sigma in sigmas])
    else:
        speeds = [group.compute_jitter for group in groups]
        laws = [_rate_law(speed.anew) if speed and speed.anew else None for speed in speeds]
        amounts = [0.0 if speed is None else speed.sigma or 1.0 for speed in speeds]
        varying = _varying(devices, amounts, laws)
    return Jitter(varying, seeds, purpose) if varying else None


def _rate_law(draw: Draw) -> Law:
    """Return what rate, in samples/s, a uniform number stands for."""
    takes_time = draw.unit == SAMPLE_TIME.base
    nobodys = np.ones(1, dtype=np.int64)  # samples, which it does not depend on

    def law(uniform: float) -> float:
        # As where devices are drawn: who is fast takes little time.
        [value] = draw.values(np.array([1 - uniform if takes_time else uniform]), nobodys)
        return float(1 / value if takes_time else value)

    return law


def failures(
    groups: Sequence[Group], devices: Sequence[DeviceGroup], seeds: Seeds
) -> Failures | None:
    """Return which trainings fail, None if none does; arguments as of `jitter`."""
    varying = _varying(devices, [group.failures for group in groups])
    return Failures(varying, seeds, "failures") if varying else None


def _varying(
    devices: Sequence[DeviceGroup], amounts: Sequence[float], laws: Sequence[Law | None] = ()
) -> list[VaryingGroup]:
    """Return groups of which each varies by an amount, or a law; none, if nothing does."""
    if not any(amounts):
        return []
    return [
        VaryingGroup(group.name, group.first, amount, law)
        for group, amount, law in zip(devices, amounts, laws or repeat(None), strict=False)
    ]
