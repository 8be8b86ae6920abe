"""Run a scenario, or go on with an interrupted run: what `simfl run` and `simfl resume` do."""

import gc
import hashlib
import logging
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from simfl.build.builder import Builder
from simfl.errors import InputError
from simfl.runs.folder import (
    PROVENANCE,
    SCENARIO,
    check_ours,
    is_finished,
    is_run,
    keeps,
    prepare,
    read_json,
)
from simfl.runs.lock import locked
from simfl.runs.options import Options
from simfl.runs.result import RunResult
from simfl.runs.simulate import simulate
from simfl.scenario import Document, Scenario, expand
from simfl.scenario.checks import refuse
from simfl.sim.timeline import Listener
from simfl.training.executors.base import Executor, executors

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Job:
    """One variant with one seed, and the folder its results go to."""

    variant: str
    scenario: Scenario
    folder: Path


def jobs(
    scenario: Scenario | Document, out: Path | None = None, seeds: Sequence[int] | None = None
) -> list[Job]:
    """Return the runs that `scenario` asks for: every variant with every seed.

    Args:
        scenario: with its variants and seeds; as written, so that errors can name the line, or
            validated.
        out: the folder of run folders (None: ``runs/NAME``).
        seeds: instead of the scenario's own.

    Raises:
        ScenarioError: everything that is wrong with it or with one of its variants.
    """
    found = []
    for variant, seed, one in expand(scenario, seeds):
        top = Path("runs") / one.name if out is None else out
        found.append(Job(variant, one, top / variant / f"seed-{seed}"))
    return found


def run(
    scenario: Scenario | Document,
    out: Path | None = None,
    options: Options | None = None,
    overwrite: bool = False,
    seeds: Sequence[int] | None = None,
    listen: Callable[[Job], Sequence[Listener]] | None = None,
    go_on: bool = False,
) -> list[RunResult]:
    """Run every variant and seed of `scenario`; return their results in that order.

    Args:
        scenario: what to run.
        out: the folder of run folders (None: ``runs/NAME``).
        options: how to run.
        overwrite: replace what is in the run folders; else finished runs of the same scenario are
            reused, and told of in the log, at level WARNING.
        seeds: instead of the scenario's own.
        listen: returns who is to be told of everything that happens in a run, e.g. for a progress
            line.
        go_on: resume interrupted runs.

    Raises:
        InputError: the scenario can't be run; nothing was written.
        RunError: a run failed; its folder stays readable and can be resumed.
    """
    options = options or Options()
    todo = jobs(scenario, out, seeds)
    refuse(
        [(job.variant, job.scenario.seed, job.scenario) for job in todo],
        trains=not options.time_only,
    )
    kept = [_is_kept(job, options, overwrite, go_on) for job in todo]
    if options.executor == "ray" and len(todo) > 1:
        _spread(todo, kept, options)
        return [RunResult(job.folder) for job in todo]
    return [
        _do(job, keep, options, listen(job) if listen else ())
        for job, keep in zip(todo, kept, strict=True)
    ]


def _do(job: Job, keep: bool, options: Options, listeners: Sequence[Listener] = ()) -> RunResult:
    done = resume(job.folder, options, listeners) if keep else run_one(job, options, listeners)
    # Devices, processes and events refer to each other: their data would stay for many runs.
    gc.collect()
    return done


def _spread(todo: Sequence[Job], kept: Sequence[bool], options: Options) -> None:
    """Do several jobs at a time, each clock in a process of its own, training on one cluster."""
    from simfl.training.executors.ray import at_once

    # Another process may have another working directory, and other variables.
    needs_files = any(job.scenario.data.dataset.needs_files for job in todo)
    folder = options.data_folder() if needs_files else None
    options = replace(options, data_dir=None if folder is None else folder.resolve())
    there = [replace(job, folder=job.folder.resolve()) for job in todo]
    calls = [partial(_do, job, keep, options) for job, keep in zip(there, kept, strict=True)]
    at_once(calls, options.executor_options.get("address"), options.workers)


def _is_kept(job: Job, options: Options, overwrite: bool, go_on: bool) -> bool:
    if overwrite:
        check_ours(job.folder)
        return False
    kept = keeps(job.folder, job.scenario.to_yaml(), options.time_only, go_on)
    if kept and is_finished(job.folder):
        _LOG.warning(
            "%s holds this very run, finished: its results are reused; --overwrite computes them "
            "again",
            job.folder,
        )
    return kept


def run_one(job: Job, options: Options, listeners: Sequence[Listener] = ()) -> RunResult:
    """Run one job, in place of whatever run its folder holds; see `run`."""
    options = replace(options, device=options.torch_device())
    executor = options.make_executor()
    builder = _builder(job.scenario, options, executor)
    try:
        builder.check()  # before anything is written
        with locked(job.folder):
            prepare(job.folder, job.scenario.to_yaml(), _provenance(job, options, executor))
            return simulate(job.folder, builder, listeners, options.checkpoint_every_s)
    finally:
        executor.close()


def resume(
    folder: Path, options: Options | None = None, listeners: Sequence[Listener] = ()
) -> RunResult:
    """Go on with the interrupted run in `folder`; its files become those of an uninterrupted one.

    Args:
        folder: a run folder.
        options: where to compute and where the data lie; whether training is skipped is the run's.
        listeners: told of everything, what is replayed included.

    Raises:
        InputError: `folder` holds no run, or another process is at it.
        RunError: the replay differs from the log.
    """
    if not is_run(folder):
        raise InputError(f"{folder} is not a run folder")
    if is_finished(folder):
        return RunResult(folder)
    recorded = read_json(folder / PROVENANCE)
    options = replace(
        options or Options(), time_only=recorded["time_only"], device=recorded["device"]
    )
    options = replace(options, device=options.torch_device())
    executor = options.make_executor()
    builder = _builder(Scenario.load(folder / SCENARIO), options, executor)
    try:
        with locked(folder):
            return simulate(folder, builder, listeners, options.checkpoint_every_s)
    finally:
        executor.close()


def _builder(scenario: Scenario, options: Options, executor: Executor) -> Builder:
    return Builder(
        scenario,
        options.data_folder() if scenario.data.dataset.needs_files else None,
        options.time_only,
        executor,
        options.device,
    )


def _provenance(job: Job, options: Options, executor: Executor) -> dict[str, Any]:
    return {
        "variant": job.variant,
        "seed": job.scenario.seed,
        "time_only": options.time_only,
        "oracle": job.scenario.selection.oracle,
        "executor": executors.dump(executor),
        "device": options.device,
        "threads_per_worker": 1,
        "versions": _versions(),
        "machine": {
            "system": platform.platform(),
            "processor": platform.machine(),
            "cores": os.cpu_count(),
        },
        "scenario_sha256": hashlib.sha256(job.scenario.to_yaml().encode()).hexdigest(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def _versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    from importlib.metadata import version

    packages = ("simfl", "torch", "numpy", "scipy", "simpy", "kmedoids")
    return {"python": sys.version.split()[0]} | {name: version(name) for name in packages}
