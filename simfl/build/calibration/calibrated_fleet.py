"""From calibrated devices to the fleet of a scenario.

How a group's trainings scatter becomes its ``compute_jitter``; how its transfers do does not become
``link_jitter``, for that may be the doing of others.  What devices differ by only because their
numbers are told from scattering measurements is no difference of theirs.
"""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.stats import chi2

from simfl.build.calibration.calibrate import Device
from simfl.core.types import Floats
from simfl.core.units import DATA_RATE, DURATION, SAMPLE_RATE, Dimension, format_quantity
from simfl.errors import InputError
from simfl.scenario.document import safe_name
from simfl.scenario.parts.part import NAME

MANY = 8
"""So many devices of a group are taken for a sample of a distribution; fewer stand for themselves.
"""
STEADY = 0.01
"""Trainings that scatter less (standard deviation of the logarithm) take as long as each other."""
_BY_CHANCE = 0.997
"""Share of samples whose spread by chance is smaller than what tells devices apart."""


def fleet(devices: Sequence[Device], count: int | None = None) -> list[dict[str, Any]]:
    """Return the groups of a scenario's `fleet`: a distribution where there are `MANY` devices.

    Args:
        devices: as `calibrated` returns them.
        count: how many devices there are to be (None: as many as were measured).

    Raises:
        InputError: `count` is too small for every group to have a device.
    """
    groups: list[tuple[str, list[Device]]] = []
    for name, mine in _members(devices).items():
        if len(mine) >= MANY:
            groups.append((name, mine))
        else:
            groups += [(f"{name}-{device.client}", [device]) for device in mine]
    names = _names([name for name, _ in groups])
    measured = np.cumsum([0, *(len(mine) for _, mine in groups)])
    counts = np.diff(np.rint(measured * ((count or len(devices)) / len(devices))).astype(int))
    if counts.min() < 1:
        raise InputError(f"{count} devices are too few for {len(groups)} groups")
    return [
        _group(name, mine, int(n)) for name, (_, mine), n in zip(names, groups, counts, strict=True)
    ]


def _names(wanted: Sequence[str]) -> list[str]:
    """Return a name for each group that a scenario can have, different from all others'."""
    names: list[str] = []
    for name in wanted:
        name = name if re.match(NAME, name) else safe_name(name)
        names.append(f"{name}-{len(names)}" if name in names else name)
    return names


def _members(devices: Sequence[Device]) -> dict[str, list[Device]]:
    names = list(dict.fromkeys(device.group for device in devices))
    return {name: [device for device in devices if device.group == name] for name in names}


def distributed(devices: Sequence[Device]) -> list[list[Device]]:
    """Return the groups of devices that `fleet` takes for samples of a distribution."""
    return [members for members in _members(devices).values() if len(members) >= MANY]


def lognormal(values: Floats, noise: float = 0.0) -> tuple[float, float]:
    """Return median and sigma of the log-normal distribution that `values` are a sample of.

    A spread that errors would show by chance is none.

    Args:
        values: `(n,)` of the devices.
        noise: variance of their logarithms that is an error of their fit, and no device's own.
    """
    logs, free = np.log(values), len(values) - 1
    variance = float(np.var(logs, ddof=1))
    if free * variance < noise * chi2.ppf(_BY_CHANCE, free):
        return math.exp(float(np.mean(logs))), 0.0
    return math.exp(float(np.mean(logs))), math.sqrt(variance - noise)


def compute_noise(devices: Sequence[Device]) -> float:
    """Return the variance of the logarithms of devices' compute rates that their jitter explains.

    The rates are medians of few trainings, which scatter too; as if of normal errors.
    """
    trained = np.array([len(device.errors.get("compute", ())) for device in devices])
    return _scatter(devices) ** 2 * float(np.mean(math.pi / 2 / (trained + math.pi / 2 - 1)))


def latency_noise(devices: Sequence[Device]) -> float:
    """Return the variance of the logarithms of devices' latencies that their fit explains.

    The errors of all their transfers together tell how far a latency is off by chance; those that
    are far out count as three usual ones.
    """
    told = [device for device in devices if device.leverage_s and device.latency_s]
    if not told:
        return 0.0
    errors = [device.errors[phase] for device in told for phase in ("download", "upload")]
    logs = np.log1p(np.concatenate(errors))
    usual = 1.4826 * float(np.median(np.abs(logs)))
    free = max(len(logs) - 3 * len(told), 1)
    variance = float(np.sum(np.minimum(np.abs(logs), 3 * usual) ** 2)) / free
    shares = np.array([device.leverage_s / device.latency_s for device in told])
    return variance * float(np.mean(np.minimum(shares, 1 / math.sqrt(variance or 1.0)) ** 2))


def _group(name: str, devices: Sequence[Device], count: int) -> dict[str, Any]:
    def drawn(value: Callable[[Device], float], dimension: Dimension, noise: float = 0.0) -> Any:
        values = np.array([value(device) for device in devices])
        median = _written(float(np.median(values)), dimension)
        if len(devices) == 1 or (values <= 0).any() or np.ptp(values) <= 1e-6 * values.max():
            return median
        middle, sigma = lognormal(values, noise)
        median, sigma = _written(middle, dimension), round(sigma, 4)
        return {"distribution": "lognormal", "median": median, "sigma": sigma} if sigma else median

    noise = compute_noise(devices)
    return {
        "name": name,
        "count": count,
        "compute": drawn(lambda device: device.compute, SAMPLE_RATE, noise),
        "downlink": drawn(lambda device: device.downlink, DATA_RATE),
        "uplink": drawn(lambda device: device.uplink, DATA_RATE),
        "latency": drawn(lambda device: device.latency_s, DURATION, latency_noise(devices)),
        **_jitter(devices),
    }


def _written(value: float, dimension: Dimension) -> str:
    """Return a quantity with four digits."""
    return format_quantity(float(f"{value:.4g}"), dimension)


def _jitter(devices: Sequence[Device]) -> dict[str, Any]:
    sigma = _scatter(devices)
    return {"compute_jitter": {"sigma": round(sigma, 4)}} if sigma > STEADY else {}


def _scatter(devices: Sequence[Device]) -> float:
    """Return by what sigma their trainings scatter."""
    squares, free = (
        sum(column) for column in zip(*(device.scatter for device in devices), strict=True)
    )
    return math.sqrt(squares / free) if free > 0 else 0.0
