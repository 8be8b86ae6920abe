"""simfl: event-driven simulation of federated learning on heterogeneous edge devices.

>>> from simfl import Scenario, load, run  # doctest: +SKIP
>>> results = run(Scenario.load("scenario.yaml"))  # doctest: +SKIP
>>> results[0].rounds.accuracy.max()  # doctest: +SKIP
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Options", "Result", "Scenario", "load", "resume", "run"]

if TYPE_CHECKING:
    from simfl.runs.options import Options
    from simfl.runs.result import Result, load
    from simfl.runs.run import resume, run
    from simfl.scenario import Scenario

_HOMES = {
    "Options": "simfl.runs.options",
    "Result": "simfl.runs.result",
    "Scenario": "simfl.scenario",
    "load": "simfl.runs.result",
    "resume": "simfl.runs.run",
    "run": "simfl.runs.run",
}


def __getattr__(name: str) -> Any:
    """Import the public names when they are first used, so that `simfl --help` stays quick."""
    import importlib

    if name not in _HOMES:
        raise AttributeError(f"module 'simfl' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
