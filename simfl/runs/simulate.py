"""One run: the clock from its start to its end, and what came of it in the run's folder."""

import gc
import io
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from simfl.build.builder import Builder
from simfl.coordinators.replaying import ReplayingCoordinator
from simfl.coordinators.time_only import TimeOnlyCoordinator
from simfl.coordinators.training import TrainingCoordinator
from simfl.runs.checkpoint import Checkpoints
from simfl.runs.eventlog import decode, whole_lines
from simfl.runs.folder import (
    DIAGNOSTICS,
    EVENTS,
    MODEL,
    PROVENANCE,
    SUMMARY,
    Recorder,
    read_json,
    write_atomically,
    write_json,
)
from simfl.runs.result import Result
from simfl.runs.summary import Summary
from simfl.sim.coordinator import Coordinator
from simfl.sim.policies.base import main
from simfl.sim.server.server import Server
from simfl.sim.timeline import Listener, Timeline


def simulate(
    folder: Path,
    builder: Builder,
    listeners: Sequence[Listener],
    checkpoint: Mapping[str, Any] | None,
    every_s: float,
) -> Result:
    """Run the clock to the end and write what came of it.

    Args:
        folder: of the run, with what was recorded of it before, if anything.
        builder: makes its parts.
        listeners: told of everything, what is replayed included.
        checkpoint: where to take over from the records (None: from the start, training again).
        every_s: host seconds between checkpoints, at least.

    Raises:
        RunError: the run failed, or what is replayed differs from the records.
    """
    began = time.perf_counter()
    scenario, coordinator, timeline = builder.scenario, builder.coordinator, Timeline()
    summary = Summary(scenario.evaluation.targets, scenario.devices)
    recorded = whole_lines(folder / EVENTS)
    # A checkpoint is ahead of the log if the machine went down between the two: start over then.
    if checkpoint is not None and checkpoint["events"] > len(recorded):
        checkpoint = None
    with closing(Recorder(folder)) as recorder:
        server = builder.server(timeline, _coordinator(coordinator, checkpoint, recorded))
        timeline.listen(recorder.listen)
        timeline.listen(summary.listen)
        if isinstance(coordinator, TrainingCoordinator):
            skip = 0 if checkpoint is None else checkpoint["events"]
            saves = Checkpoints(folder, lambda: {"coordinator": coordinator.state_dict()}, every_s)
            timeline.listen(_saver(saves, skip, recorder, server))
        for listener in listeners:
            timeline.listen(listener)
        with _few_collections():
            policy = scenario.rounds.policy.fresh()
            timeline.run(until=timeline.process(main(server, policy)))
        coordinator.ledger.check()
    if isinstance(coordinator, TrainingCoordinator):
        write_atomically(folder / MODEL, _model_bytes(builder, coordinator))
        if shown := coordinator.diagnostics():
            write_atomically(folder / DIAGNOSTICS, _arrays_bytes(shown))
    ledger = coordinator.ledger
    write_json(
        folder / SUMMARY,
        {
            "name": scenario.name,
            "seed": scenario.seed,
            "finished": server.why_finished,
            "time_only": builder.time_only,
            "oracle": scenario.selection.oracle,
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


def _coordinator(
    coordinator: TrainingCoordinator | TimeOnlyCoordinator,
    checkpoint: Mapping[str, Any] | None,
    recorded: Sequence[str],
) -> Coordinator:
    """Return who answers the server: the records up to the checkpoint, if there is one, first."""
    if checkpoint is None or not isinstance(coordinator, TrainingCoordinator):
        return coordinator
    past = [decode(line) for line in recorded[: checkpoint["events"]]]
    state = checkpoint["coordinator"]
    return ReplayingCoordinator(coordinator, past, lambda: coordinator.load_state_dict(state))


def _saver(saves: Checkpoints, skip: int, recorder: Recorder, server: Server) -> Listener:
    """Return what saves the state now and then, once more than `skip` events are recorded."""

    def offer(_time_s: float, kind: str, _facts: dict[str, Any]) -> None:
        # The state is that of all events before the one just noted; not while a selector waits
        # for answers, which are no part of it.
        before = recorder.events.count - 1
        safe = kind in ("round", "dispatched") and not server.selection.under_way
        if safe and before > skip and saves.due:
            recorder.flush()
            saves.save(before)

    return offer


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


def _model_bytes(builder: Builder, coordinator: TrainingCoordinator) -> bytes:
    import torch

    from simfl.training.flat import build, state_dict

    shape, classes = builder.scenario.data.dataset.shape()
    module = build(builder.scenario.model, shape, classes)
    buffer = io.BytesIO()
    torch.save(state_dict(module, coordinator.model), buffer)
    return buffer.getvalue()
