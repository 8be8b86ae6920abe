"""A run's server, recorded as it goes on: from its last checkpoint, until which it is replayed."""

import logging
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from simfl.build.builder import Builder
from simfl.coordinators.base import BaseCoordinator
from simfl.coordinators.replaying import ReplayingCoordinator
from simfl.core.arguments import called
from simfl.errors import RunError
from simfl.runs.folder import checkpoint as checkpoints
from simfl.runs.folder.folder import logged
from simfl.runs.folder.recorder import Recorder
from simfl.sim.coordinator import Coordinator
from simfl.sim.server.server import Server
from simfl.sim.timeline import Listener, Timeline

_LOG = logging.getLogger(__name__)


def recorded_server(
    folder: Path, builder: Builder, timeline: Timeline, recorder: Recorder, every_s: float
) -> tuple[Server, Coordinator]:
    """Return a server that goes on from the last checkpoint, and who answers it."""
    coordinator = builder.coordinator
    if recorder.log != "full" or not coordinator.state_dict():
        if recorder.log != "full" and recorder.resumes and not builder.time_only:
            _LOG.warning(
                "%s was recorded with --log %s, which can't be replayed: it trains from the start "
                "again, and is checked against what is recorded",
                folder, recorder.log,
            )  # fmt: skip
        timeline.listen(recorder.listen, recorder.kinds)
        return builder.server(timeline, coordinator), coordinator
    checkpoint = checkpoints.load(folder, recorder.events.before)
    answers = _coordinator(coordinator, checkpoint, folder)
    server = builder.server(timeline, answers)
    timeline.listen(recorder.listen)
    skip = 0 if checkpoint is None else checkpoint["events"]
    saves = checkpoints.Checkpoints(folder, coordinator.state_dict, every_s)
    timeline.listen(_saver(saves, skip, recorder, server), ("round", "dispatched"))
    return server, answers


def _coordinator(
    coordinator: BaseCoordinator, checkpoint: Mapping[str, Any] | None, folder: Path
) -> Coordinator:
    """Return who answers the server: the records up to the checkpoint, if there is one, first."""
    if checkpoint is None:
        return coordinator
    past = _recorded(folder, checkpoint["events"])

    def take_over() -> None:
        try:
            coordinator.load_state_dict(checkpoint["coordinator"])
        except Exception as error:
            raise RunError(
                "what a checkpoint holds does not fit the components any more "
                f"({type(error).__name__}: {error}); delete the folder `checkpoint`"
            ) from error

    return ReplayingCoordinator(coordinator, past, take_over)


def _recorded(folder: Path, events: int) -> Iterator[dict[str, Any]]:
    """Yield the first `events` of a run's log.

    Raises:
        RunError: a line is none; names it, and what helps.
    """
    try:
        for _, event in islice(logged(folder), events):
            yield event
    except RunError as error:
        anew = called("`--overwrite`", "overwrite=True")
        raise RunError(f"{error} ({anew} begins anew)") from error


def _saver(
    saves: checkpoints.Checkpoints, skip: int, recorder: Recorder, server: Server
) -> Listener:
    """Return what saves the state now and then, once more than `skip` events are recorded."""

    def offer(_time_s: float, _kind: str, _facts: dict[str, Any]) -> None:
        # The state is that of all events before the one just noted; not while a selector waits
        # for answers, which are no part of it.
        before = recorder.events.count - 1
        if before > skip and saves.due and not server.selection.under_way:
            recorder.flush()
            saves.save(before)

    return offer
