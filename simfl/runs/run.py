"""Make one run, or go on with one that was interrupted."""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from simfl.build.builder import Builder
from simfl.core.arguments import called, require_kind
from simfl.errors import InputError
from simfl.runs.folder.folder import (
    PROVENANCE,
    SCENARIO,
    given_run,
    is_finished,
    is_run,
    remove_halves,
)
from simfl.runs.folder.json_files import read_provenance, write_json
from simfl.runs.folder.lock import locked
from simfl.runs.folder.stages import stages
from simfl.runs.inputs import changed, contents
from simfl.runs.job import Job
from simfl.runs.options import Options
from simfl.runs.progress import Tell, reporting
from simfl.runs.provenance import provenance
from simfl.runs.results.result import RunResult
from simfl.runs.reuse import prepare
from simfl.runs.simulation.simulate import simulate
from simfl.scenario import Scenario
from simfl.sim.timeline import Listener
from simfl.training.executors.base import Executor

_LOG = logging.getLogger(__name__)


def run_one(
    job: Job,
    options: Options,
    listeners: Sequence[Listener] = (),
    tell: Tell | None = None,
    build: Callable[[Scenario, Options, Executor], Builder] | None = None,
    overwrite: bool = True,
) -> RunResult:
    """Run one job; see `run_jobs`.

    Args:
        job: what to run.
        options: how.
        listeners: told of everything.
        tell: is told now and then how far it is.
        build: returns what makes its parts, if that is another builder than the usual one.
        overwrite: replace whatever run its folder holds.

    Raises:
        InputError: it holds one that is not to be replaced, written by another process meanwhile.
    """
    executor = options.make_executor()
    with closing(executor), reporting(tell) as reporter:
        builder = (build or builder_of)(job.scenario, options, executor)
        builder.check()  # before anything is written
        with locked(job.folder):
            if is_run(job.folder) and not overwrite:
                raise InputError(
                    f"{job.folder} holds a run that another process made meanwhile; the same again "
                    f"with {called('--resume', 'go_on=True')} keeps it, with "
                    f"{called('--overwrite', 'overwrite=True')} it is replaced, or give another "
                    f"{called('--out', 'out')}"
                )
            prepare(job.folder, job.text, provenance(job, options, builder))
            return simulate(job.folder, builder, listeners, options.checkpoint_every_s, reporter)


def resume(
    folder: str | os.PathLike[str],
    options: Options | None = None,
    listeners: Sequence[Listener] = (),
    tell: Tell | None = None,
) -> RunResult:
    """Go on with the interrupted run in `folder`; its files become those of an uninterrupted one.

    Args:
        folder: a run folder.
        options: where to compute and where the data lie; whether training is skipped is the run's.
        listeners: told of everything, what is replayed included.
        tell: is told now and then how far it is.

    Raises:
        InputError: `folder` holds no run, or another process works on it.
        RunError: the replay differs from the log.
    """
    folder = given_run(folder)
    require_kind("options", options, Options | None, "Options such as Options(jobs=2)")
    if is_finished(folder):
        return RunResult(folder)
    recorded = read_provenance(folder)
    options = replace(
        options or Options(), time_only=recorded["time_only"], device=recorded["device"]
    )
    executor, every_s = options.make_executor(), options.checkpoint_every_s
    with closing(executor), reporting(tell) as reporter:
        (_, scenario), *later = stages(folder)
        builder = builder_of(scenario, options, executor)
        forks = [(at_s, builder.under(stage)) for at_s, stage in later]
        with locked(folder):
            remove_halves(folder)
            _tell_changed(folder, recorded, forks[-1][1].scenario if forks else scenario)
            return simulate(folder, builder, listeners, every_s, reporter, forks)


def _tell_changed(folder: Path, recorded: Mapping[str, Any], scenario: Scenario) -> None:
    """Tell of files that are others now than when the run in `folder` was begun; note them."""
    names = changed(recorded, scenario)
    digest = sha256((folder / SCENARIO).read_bytes()).hexdigest()
    own = [] if digest == recorded["scenario_sha256"] else [SCENARIO]
    if names or own:
        _LOG.warning(
            "%s seed %s: changed since it was begun: %s; what is replayed is compared with its log",
            recorded["variant"], recorded["seed"], ", ".join([*own, *names]),
        )  # fmt: skip
    if names:
        write_json(folder / PROVENANCE, {**recorded, "files": contents(scenario)})


def builder_of(scenario: Scenario, options: Options, executor: Executor) -> Builder:
    """Return what makes the parts of a run of `scenario`.

    Raises:
        InputError: the data folder was named, or the device, but is not there.
    """
    return Builder(
        scenario,
        options.data_folder() if scenario.data.dataset.needs_files else None,
        options.time_only,
        executor,
        options.torch_device(),
    )
