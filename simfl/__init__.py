"""simfl: event-driven simulation of federated learning on heterogeneous edge devices.

>>> from simfl import load, run  # doctest: +SKIP
>>> results = run("scenario.yaml")  # doctest: +SKIP
>>> results[0].rounds.accuracy.max()  # doctest: +SKIP
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from simfl.components.aggregators.base import Aggregator
    from simfl.components.availability.base import Availability
    from simfl.components.compressors.base import Compressor
    from simfl.components.coresets.base import Coreset
    from simfl.components.datasets.base import Dataset
    from simfl.components.filters.base import UpdateFilter
    from simfl.components.models.base import Model
    from simfl.components.partitions.base import Partition
    from simfl.components.selectors.base import Selector
    from simfl.components.workloads.base import Workload
    from simfl.report.notebook import run
    from simfl.runs.compare import compare
    from simfl.runs.find import load
    from simfl.runs.flower import run_flower
    from simfl.runs.options import Options
    from simfl.runs.result import RunResult
    from simfl.runs.run import resume
    from simfl.scenario import Scenario
    from simfl.sim.networks.base import Network
    from simfl.sim.policies.base import RoundPolicy
    from simfl.training.executors.base import Executor

_HOMES = {
    "Aggregator": "simfl.components.aggregators.base",
    "Availability": "simfl.components.availability.base",
    "Compressor": "simfl.components.compressors.base",
    "Coreset": "simfl.components.coresets.base",
    "Dataset": "simfl.components.datasets.base",
    "Executor": "simfl.training.executors.base",
    "Model": "simfl.components.models.base",
    "Network": "simfl.sim.networks.base",
    "Options": "simfl.runs.options",
    "Partition": "simfl.components.partitions.base",
    "RoundPolicy": "simfl.sim.policies.base",
    "RunResult": "simfl.runs.result",
    "Scenario": "simfl.scenario",
    "Selector": "simfl.components.selectors.base",
    "UpdateFilter": "simfl.components.filters.base",
    "Workload": "simfl.components.workloads.base",
    "compare": "simfl.runs.compare",
    "load": "simfl.runs.find",
    "resume": "simfl.runs.run",
    "run": "simfl.report.notebook",
    "run_flower": "simfl.runs.flower",
}
__all__ = [
    "Aggregator",
    "Availability",
    "Compressor",
    "Coreset",
    "Dataset",
    "Executor",
    "Model",
    "Network",
    "Options",
    "Partition",
    "RoundPolicy",
    "RunResult",
    "Scenario",
    "Selector",
    "UpdateFilter",
    "Workload",
    "compare",
    "load",
    "resume",
    "run",
    "run_flower",
]


def __getattr__(name: str) -> Any:
    """Import the public names when they are first used, so that `simfl --help` stays quick."""
    import importlib

    if name not in _HOMES:
        raise AttributeError(f"module 'simfl' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
