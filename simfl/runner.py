"""Run a scenario, or go on with an interrupted run: what `simfl run` and `simfl resume` do."""

import gc
import hashlib
import io
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from simfl.build import Builder, versions
from simfl.checkpoint import Checkpoints
from simfl.checkpoint import load as load_checkpoint
from simfl.errors import InputError
from simfl.eventlog import decode, whole_lines
from simfl.executors.base import Executor, executors
from simfl.learner import Learner
from simfl.replay import Replay
from simfl.result import Result
from simfl.rundir import (
    DIAGNOSTICS,
    EVENTS,
    MODEL,
    PROVENANCE,
    SCENARIO,
    SUMMARY,
    Recorder,
    check_free,
    is_finished,
    is_run,
    is_same,
    prepare,
    read_json,
    write_atomically,
    write_json,
)
from simfl.scenario import Document, Scenario, expand
from simfl.sim.coordinator import Coordinator
from simfl.sim.server import main
from simfl.sim.timeline import Listener, Timeline
from simfl.summary import Summary


@dataclass(frozen=True)
class Options:
    """How to run, as opposed to what: nothing here changes a result on the same kind of device.

    Attributes:
        executor: where to compute, by name.
        workers: of the executor (None: its own default).
        device: torch device: cpu, cuda, or auto.
        time_only: run the clock without training.
        data_dir: where data sets lie (None: ``SIMFL_DATA``, else they are downloaded).
        executor_options: further options of the executor.
        checkpoint_every_s: host seconds between checkpoints, at least.
    """

    executor: str = "inline"
    workers: int | None = None
    device: str = "cpu"
    time_only: bool = False
    data_dir: Path | None = None
    executor_options: Mapping[str, Any] = field(default_factory=dict)
    checkpoint_every_s: float = 5.0

    def data_folder(self) -> Path | None:
        """Return the data folder.

        Raises:
            InputError: it was named but is not there.
        """
        named = self.data_dir or os.environ.get("SIMFL_DATA") or None
        if named is not None and not Path(named).is_dir():
            raise InputError(f"the data folder {named} does not exist")
        return None if named is None else Path(named)

    def make_executor(self) -> Executor:
        """Return a new executor.

        Raises:
            InputError: it is unknown, or has no such options.
        """
        options = dict(self.executor_options)
        if self.workers is not None:
            options["workers"] = self.workers
        kind = executors.get(self.executor)
        if unknown := sorted(set(options) - set(kind.model_fields)):
            raise InputError(f"executor {self.executor!r} has no option {', '.join(unknown)}")
        return kind.model_validate(options)


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
) -> list[Result]:
    """Run every variant and seed of `scenario`; return their results in that order.

    Args:
        scenario: what to run.
        out: the folder of run folders (None: ``runs/NAME``).
        options: how to run.
        overwrite: replace what is in the run folders.
        seeds: instead of the scenario's own.
        listen: returns who is to be told of everything that happens in a run, e.g. for a progress
            line.
        go_on: keep finished runs of the same scenario and resume interrupted ones.

    Raises:
        InputError: the scenario can't be run; nothing was written.
        RunError: a run failed; its folder stays readable and can be resumed.
    """
    options = options or Options()
    todo = jobs(scenario, out, seeds)
    kept = [go_on and _is_begun(job, options) for job in todo]
    for job, keep in zip(todo, kept, strict=True):
        if not keep:
            check_free(job.folder, job.scenario.to_yaml(), options.time_only, overwrite)
    if options.executor == "ray" and len(todo) > 1:
        _spread(todo, kept, options)
        return [Result(job.folder) for job in todo]
    return [
        _do(job, keep, options, listen(job) if listen else ())
        for job, keep in zip(todo, kept, strict=True)
    ]


def _do(job: Job, keep: bool, options: Options, listeners: Sequence[Listener] = ()) -> Result:
    done = resume(job.folder, options, listeners) if keep else run_one(job, options, listeners)
    # Devices, processes and events refer to each other: their data would stay for many runs.
    gc.collect()
    return done


def _spread(todo: Sequence[Job], kept: Sequence[bool], options: Options) -> None:
    """Do several jobs at a time, each clock in a process of its own, training on one cluster."""
    from simfl.executors.ray import at_once

    # Another process may have another working directory, and other variables.
    needs_files = any(job.scenario.data.dataset.needs_files for job in todo)
    folder = options.data_folder() if needs_files else None
    options = replace(options, data_dir=None if folder is None else folder.resolve())
    there = [replace(job, folder=job.folder.resolve()) for job in todo]
    calls = [partial(_do, job, keep, options) for job, keep in zip(there, kept, strict=True)]
    at_once(calls, options.executor_options.get("address"), options.workers)


def _is_begun(job: Job, options: Options) -> bool:
    return is_run(job.folder) and is_same(job.folder, job.scenario.to_yaml(), options.time_only)


def run_one(job: Job, options: Options, listeners: Sequence[Listener] = ()) -> Result:
    """Run one job, in place of whatever run its folder holds; see `run`."""
    executor = options.make_executor()
    builder = _builder(job.scenario, options, executor)
    try:
        # Whatever is wrong with the input is found before anything is written.
        _ = builder.settings, builder.fleet, builder.learner
        prepare(job.folder, job.scenario.to_yaml(), _provenance(job, options, executor))
        return _simulate(job.folder, builder, listeners, None, options.checkpoint_every_s)
    finally:
        executor.close()


def resume(
    folder: Path, options: Options | None = None, listeners: Sequence[Listener] = ()
) -> Result:
    """Go on with the interrupted run in `folder`; its files become those of an uninterrupted one.

    Args:
        folder: a run folder.
        options: where to compute and where the data lie; whether training is skipped is the run's.
        listeners: told of everything, what is replayed included.

    Raises:
        InputError: `folder` holds no run.
        RunError: the replay differs from the log.
    """
    if not is_run(folder):
        raise InputError(f"{folder} is not a run folder")
    if is_finished(folder):
        return Result(folder)
    recorded = read_json(folder / PROVENANCE)
    options = replace(
        options or Options(), time_only=recorded["time_only"], device=recorded["device"]
    )
    executor = options.make_executor()
    builder = _builder(Scenario.load(folder / SCENARIO), options, executor)
    try:
        every_s = options.checkpoint_every_s
        return _simulate(folder, builder, listeners, load_checkpoint(folder), every_s)
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
        "versions": versions(),
        "machine": {
            "system": platform.platform(),
            "processor": platform.machine(),
            "cores": os.cpu_count(),
        },
        "scenario_sha256": hashlib.sha256(job.scenario.to_yaml().encode()).hexdigest(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def _simulate(
    folder: Path,
    builder: Builder,
    listeners: Sequence[Listener],
    checkpoint: dict[str, Any] | None,
    every_s: float,
) -> Result:
    """Run the clock to the end and write what came of it."""
    began = time.perf_counter()
    learner = builder.learner
    timeline = Timeline()
    summary = Summary(builder.scenario.evaluation.targets, builder.scenario.devices)
    # A checkpoint is ahead of the log if the machine went down between the two: start over then.
    events = whole_lines(folder / EVENTS)
    if checkpoint is not None and checkpoint["events"] > len(events):
        checkpoint = None
    coordinator: Coordinator = learner
    if checkpoint is not None and isinstance(learner, Learner):
        state = checkpoint
        past = [decode(line) for line in events[: state["events"]]]
        coordinator = Replay(learner, past, lambda: learner.load_state_dict(state["learner"]))
    recorder = Recorder(folder)
    timeline.listen(recorder.listen)
    timeline.listen(summary.listen)
    if isinstance(learner, Learner):
        skip = 0 if checkpoint is None else checkpoint["events"]
        saves = Checkpoints(folder, lambda: {"learner": learner.state_dict()}, every_s)

        def offer(_time_s: float, kind: str, _facts: dict[str, Any]) -> None:
            # The state is that of all events before the one just noted; not while a selector waits
            # for answers, which are no part of it.
            before = recorder.events.count - 1
            safe = kind in ("round", "dispatched") and not server.selection.under_way
            if safe and before > skip and saves.due:
                recorder.flush()
                saves.save(before)

        timeline.listen(offer)
    for listener in listeners:
        timeline.listen(listener)
    server = builder.server(timeline, coordinator)
    try:
        with _few_collections():
            policy = builder.scenario.rounds.policy.fresh()
            timeline.run(until=timeline.process(main(server, policy)))
    except BaseException:
        recorder.close()
        raise
    learner.ledger.check()
    recorder.close()
    if isinstance(learner, Learner):
        write_atomically(folder / MODEL, _model_bytes(builder, learner))
        if shown := learner.diagnostics():
            write_atomically(folder / DIAGNOSTICS, _arrays_bytes(shown))
    ledger = learner.ledger
    write_json(
        folder / SUMMARY,
        {
            "name": builder.scenario.name,
            "seed": builder.scenario.seed,
            "finished": server.why_finished,
            "time_only": builder.time_only,
            "oracle": builder.scenario.selection.oracle,
            **summary.as_dict(),
            "trainings": {
                "issued": ledger.issued,
                "computed": 0 if builder.time_only else ledger.computed,
                "dropped": ledger.dropped,
                "open": len(ledger.open),
            },
            "events_sha256": recorder.events.digest,
        },
    )
    provenance = read_json(folder / PROVENANCE)
    host_s = provenance.get("host_s", 0.0) + time.perf_counter() - began
    write_json(folder / PROVENANCE, {**provenance, "host_s": host_s})
    return Result(folder)


@contextmanager
def _few_collections() -> Iterator[None]:
    """Let Python look for reference cycles less often.

    Events and processes refer to each other, so cycles are made all the time; at Python's own pace
    looking for them takes a third of a large fleet's host time.
    """
    before = gc.get_threshold()
    gc.set_threshold(20_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _arrays_bytes(arrays: Mapping[str, Any]) -> bytes:
    """Return an .npz file of named arrays."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _model_bytes(builder: Builder, learner: Learner) -> bytes:
    import torch

    from simfl.learning.flat import build, state_dict

    shape, classes = builder.scenario.data.dataset.shape()
    module = build(builder.scenario.model, shape, classes)
    buffer = io.BytesIO()
    torch.save(state_dict(module, learner.model), buffer)
    return buffer.getvalue()
