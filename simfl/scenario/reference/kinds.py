"""Every kind of component that a scenario can name, and where its registry is."""

import importlib
from typing import Any

from simfl.core.registry import Registry
from simfl.errors import NameNotFound

KINDS: dict[str, str] = {
    "datasets": "simfl.components.datasets.base:datasets",
    "partitions": "simfl.components.partitions.base:partitions",
    "models": "simfl.components.models.base:models",
    "optimizers": "simfl.components.optimizers.base:optimizers",
    "schedules": "simfl.components.schedules.base:schedules",
    "losses": "simfl.components.losses.base:losses",
    "metrics": "simfl.components.metrics.base:quality_metrics",
    "availability": "simfl.components.availability.base:availabilities",
    "attacks": "simfl.components.attacks.base:attacks",
    "networks": "simfl.sim.networks.base:networks",
    "policies": "simfl.sim.policies.base:policies",
    "selectors": "simfl.components.selectors.base:selectors",
    "workloads": "simfl.components.workloads.base:workloads",
    "coresets": "simfl.components.coresets.base:coresets",
    "aggregators": "simfl.components.aggregators.base:aggregators",
    "compressors": "simfl.components.compressors.base:compressors",
    "filters": "simfl.components.filters.base:filters",
    "trackers": "simfl.components.trackers.base:trackers",
    "executors": "simfl.training.executors.base:executors",
}
"""Plural, as on the command line -> ``module:registry``."""


def registry(kind: str) -> Registry[Any]:
    """Return the registry of a kind of component, e.g. ``selectors``.

    Raises:
        NameNotFound: there is no such kind.
    """
    if kind not in KINDS:
        raise NameNotFound("kind of component", kind, KINDS)
    module, _, name = KINDS[kind].partition(":")
    members: Registry[Any] = getattr(importlib.import_module(module), name)
    return members


def plural(kind: str) -> str:
    """Return the kind of that plural or singular: ``selector``, ``round policy``, ``policy``.

    Raises:
        NameNotFound: there is no such kind.
    """
    if kind in KINDS:
        return kind
    for candidate in KINDS:
        singular = registry(candidate).kind
        if kind.replace("_", " ") in (singular, singular.split()[-1]):
            return candidate
    raise NameNotFound("kind of component", kind, KINDS)
