"""How a run was made: versions, machine, what was assumed, and what perhaps not meant."""

import hashlib
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from simfl.build.builder import Builder
from simfl.core.ownership import users_own
from simfl.runs.inputs import contents
from simfl.runs.job import Job
from simfl.runs.options import Options
from simfl.scenario.assumptions import SEEDS, assumptions
from simfl.scenario.cautions import cautions
from simfl.scenario.checks import components
from simfl.scenario.language.place import dotted
from simfl.scenario.scenario import Scenario
from simfl.training.executors.base import executors


def told_cautions(scenario: Scenario) -> list[str]:
    """Return what of `scenario` may not be what was meant, a line each."""
    return [f"{dotted(path)}: {text}" for path, text in cautions(scenario)]


def provenance(job: Job, options: Options, builder: Builder) -> dict[str, Any]:
    """Return how a run is made, ready for JSON, of the parts of `builder`."""
    device = options.torch_device()
    return {
        "variant": job.variant,
        "seed": job.scenario.seed,
        "factors": job.factors,
        "place": job.place,
        "study": job.study._asdict(),
        "assumed": [
            str(assumption)
            for assumption in assumptions(job.scenario)
            if assumption.path not in SEEDS
        ],
        "cautions": told_cautions(job.scenario),
        "time_only": options.time_only,
        "oracle": job.scenario.selection.oracle,
        "powered": job.scenario.powered,
        "unpowered": job.scenario.unpowered,
        **_of_own_metrics(job.scenario),
        "log": options.log,
        "log_compressed": options.compress_log,
        "executor": executors.dump(builder.executor),
        "device": device,
        "threads_per_worker": 1,
        "versions": _versions() | _of_others(job.scenario, builder.packages),
        "commit": _commit(),
        "machine": {
            "system": platform.platform(),
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            **_gpu(device),
        },
        "files": contents(job.scenario),
        **_of_data(builder),
        "scenario_sha256": hashlib.sha256(job.text.encode()).hexdigest(),
        "started": now(),
    }


def now() -> str:
    """Return the date and time, as a provenance says when a run was begun."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")


def _of_own_metrics(scenario: Scenario) -> dict[str, Any]:
    """Return what of users' own metrics is better, which nobody can tell without their code."""
    own = {m.label: m.better for m in scenario.evaluation.metrics if m.better and users_own([m])}
    return {"better": own} if own else {}


def _of_data(builder: Builder) -> dict[str, Any]:
    """Return what the data say that nobody can tell without them."""
    names, judged_on = builder.federation.names, builder.judged_on
    told: dict[str, Any] = {} if names is None else {"clients": names.tolist()}
    return told if not judged_on else {**told, "judged_on": judged_on}


def _gpu(device: str) -> dict[str, str]:
    if device == "cpu":
        return {}
    from simfl.training.gpu import name_of

    return {"gpu": name} if (name := name_of(device)) else {}


@cache
def _versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    from importlib.metadata import version

    packages = ("simfl", "torch", "numpy", "scipy", "simpy", "kmedoids")
    return {"python": sys.version.split()[0]} | {name: version(name) for name in packages}


def _of_others(scenario: Scenario, more: Sequence[str]) -> dict[str, str]:
    """Return the versions of installed packages that lent `scenario` components, and of `more`."""
    from importlib.metadata import version

    lenders = {type(component).__module__ for _, component in components(scenario)}
    packages = {module.partition(".")[0] for module in lenders} - {"simfl"}
    searched = tuple((path, _changed_ns(Path(path))) for path in sys.path)
    installed = _installed(searched) if packages else {}
    names = {*more, *(name for package in packages for name in installed.get(package, ()))}
    return {name: version(name) for name in sorted(names)}


def _changed_ns(path: Path) -> int:
    """Return when a folder (or file) was last changed (0: it is not there)."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=1)
def _installed(_searched: tuple[tuple[str, int], ...]) -> Mapping[str, Sequence[str]]:
    """Return what brought each importable package: asked once for all runs, for it takes long.

    Args:
        _searched: the folders of `sys.path`, and when each was last changed: installing does that.
    """
    from importlib.metadata import packages_distributions

    return packages_distributions()


@cache
def _commit() -> str | None:
    """Return the commit of the checkout that simfl runs from, ``-dirty`` if changed; else None."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return None
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        described = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return described.stdout.strip()
