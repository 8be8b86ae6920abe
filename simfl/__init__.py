"""simfl: event-driven simulation of federated learning on heterogeneous edge devices.

>>> from simfl import load, run  # doctest: +SKIP
>>> results = run("scenario.yaml")  # doctest: +SKIP
>>> results[0].rounds.accuracy.max()  # doctest: +SKIP
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:  # `as` says that they are exported
    from simfl.components.aggregators.base import Aggregator as Aggregator
    from simfl.components.attacks.base import Attack as Attack
    from simfl.components.availability.base import Availability as Availability
    from simfl.components.compressors.base import Compressor as Compressor
    from simfl.components.coresets.base import Coreset as Coreset
    from simfl.components.datasets.base import Dataset as Dataset
    from simfl.components.filters.base import UpdateFilter as UpdateFilter
    from simfl.components.losses.base import Loss as Loss
    from simfl.components.metrics.base import QualityMetric as QualityMetric
    from simfl.components.models.base import Model as Model
    from simfl.components.optimizers.base import Optimizer as Optimizer
    from simfl.components.partitions.base import Partition as Partition
    from simfl.components.schedules.base import Schedule as Schedule
    from simfl.components.selectors.base import Selector as Selector
    from simfl.components.trackers.base import Tracker as Tracker
    from simfl.components.workloads.base import Workload as Workload
    from simfl.report.flower import run_flower as run_flower
    from simfl.report.run import run as run
    from simfl.runs.options import Options as Options
    from simfl.runs.results.compare import compare as compare
    from simfl.runs.results.find import load as load
    from simfl.runs.results.result import RunResult as RunResult
    from simfl.runs.run import resume as resume
    from simfl.scenario import Scenario as Scenario
    from simfl.sim.networks.base import Network as Network
    from simfl.sim.policies.base import RoundPolicy as RoundPolicy
    from simfl.training.executors.base import Executor as Executor

_HOMES = {
    "Aggregator": "simfl.components.aggregators.base",
    "Attack": "simfl.components.attacks.base",
    "Availability": "simfl.components.availability.base",
    "Compressor": "simfl.components.compressors.base",
    "Coreset": "simfl.components.coresets.base",
    "Dataset": "simfl.components.datasets.base",
    "Executor": "simfl.training.executors.base",
    "Loss": "simfl.components.losses.base",
    "Model": "simfl.components.models.base",
    "Network": "simfl.sim.networks.base",
    "Optimizer": "simfl.components.optimizers.base",
    "Options": "simfl.runs.options",
    "Partition": "simfl.components.partitions.base",
    "QualityMetric": "simfl.components.metrics.base",
    "RoundPolicy": "simfl.sim.policies.base",
    "RunResult": "simfl.runs.results.result",
    "Scenario": "simfl.scenario",
    "Schedule": "simfl.components.schedules.base",
    "Selector": "simfl.components.selectors.base",
    "Tracker": "simfl.components.trackers.base",
    "UpdateFilter": "simfl.components.filters.base",
    "Workload": "simfl.components.workloads.base",
    "compare": "simfl.runs.results.compare",
    "load": "simfl.runs.results.find",
    "resume": "simfl.runs.run",
    "run": "simfl.report.run",
    "run_flower": "simfl.report.flower",
}
__all__ = list(_HOMES)


def __dir__() -> list[str]:
    return [*globals(), *__all__]


def __getattr__(name: str) -> Any:
    """Import the public names when they are first used, so that `simfl --help` stays quick."""
    import importlib

    if name not in _HOMES:
        raise AttributeError(f"module 'simfl' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
