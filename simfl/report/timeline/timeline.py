"""The timeline of a run in the Chrome trace format: Perfetto and chrome://tracing open it.

It is a fold over the event log (see `fold`).  Times are microseconds of virtual time, exact to the
nanosecond.  Where a run is long, or a fleet large, it has what a viewer loads in a moment.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simfl.core.files import write_output
from simfl.core.machine.garbage import few_collections
from simfl.errors import InputError, RunError
from simfl.report import formats
from simfl.report.timeline.fold import TraceFold
from simfl.runs.folder.eventlog import decode
from simfl.runs.folder.folder import TRACE, event_lines
from simfl.runs.results.result import RunResult

SLICES = 100_000
"""So many slices load in a moment; a longer run's timeline ends with the round that exceeds it."""

EVENTS = 200_000
"""So many events of the log are read in a moment: a longer run's timeline ends with the round that
exceeds it, though most of its devices may have no track."""

TRACKS = 2000
"""So many devices can be scrolled through; of a larger fleet the first to be seen are drawn."""


def write_trace(run: RunResult) -> Path:
    """Write `trace.json` into the folder of a run, finished or not; return its path.

    Raises:
        InputError: the event log is missing or damaged.
        RunError: the file can't be written.
    """
    path = run.folder / TRACE
    write_output(path, trace(run).encode())
    return path


def trace(run: RunResult, slices: int = SLICES, tracks: int = TRACKS, events: int = EVENTS) -> str:
    """Return the timeline of a run as JSON, an event a line.

    Args:
        run: finished or not.
        slices: it ends with the round that has more.
        tracks: so many devices have one.
        events: it ends with the round that has more of them in the log.
    """
    fold = TraceFold(run.groups, tracks, run.called)
    notes = []
    if run.log != "full":
        notes.append(f"recorded with --log {run.log}: what devices did is not in the event log")
    with few_collections():
        for read, event in enumerate(_events(run.folder), 1):
            fold.take(event)
            if event["event"] == "round_end" and (fold.slices > slices or read > events):
                most = f"{slices:,} slices" if fold.slices > slices else f"{events:,} events"
                notes.append(f"cut off after round {event['round']}: more than {most}")
                break
    if fold.left_out:
        notes.append(
            f"{formats.plural(fold.left_out, 'device')} more than the {tracks:,} that are drawn"
        )
    lines = ",\n".join(_json(event) for event in [*fold.names(), *fold.events])
    other = {"clock": "virtual time"} | ({"note": "; ".join(notes)} if notes else {})
    return f'{{"displayTimeUnit":"ms","otherData":{_json(other)},"traceEvents":[\n{lines}\n]}}\n'


def _events(folder: Path) -> Iterator[dict[str, Any]]:
    try:
        yield from map(decode, event_lines(folder))
    except (OSError, ValueError, RunError) as error:
        raise InputError(f"the event log of {folder} can't be read: {error}") from None


_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)


def _json(value: dict[str, Any]) -> str:
    return _ENCODER.encode(value)
