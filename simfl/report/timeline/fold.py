"""The event log of a run folded into events of the Chrome trace format.

A track for the server's rounds, and one per device, grouped as in the fleet, with a slice per
participation (or answered probe) around its download, compute and upload.  Arrows lead from the
round that sends a device out to its slice, and from an update that counts back to the round;
counters tell accuracy, bytes moved and how many are at work.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from simfl.core.rows import COUNTED, MOVED
from simfl.core.target import target_of
from simfl.report.timeline.trace_events import PHASES, Visit, metadata, nanoseconds, slice_of
from simfl.runs.results.column import target_text

ARROWS = 20_000
"""So many arrows are drawn in a moment; later updates have none."""

SERVER = 1
"""Process id of the server's track; groups of devices follow.  Viewers keep id 0 to themselves."""
ROUNDS = 1
"""Thread id of the server's rounds; a device's thread id is one more than its own id."""

_TOLD = (
    "round", "outcome", "samples", "steps", "coreset_size", "staleness", "download_bytes",
    "upload_bytes", "energy_j",
)  # fmt: skip
_ROUND = ("selected", *COUNTED, "accuracy")


class TraceFold:
    """Folds the event log into trace events.

    Args:
        groups: names of the fleet's groups and the id of the first device of each.
        tracks: so many devices are drawn.
        called: what each is called, by its number.

    Attributes:
        events: of the trace, so far.
        slices: how many of these are slices.
    """

    def __init__(
        self, groups: Sequence[tuple[str, int]], tracks: int, called: Callable[[int], str]
    ) -> None:
        self.events: list[dict[str, Any]] = []
        self.slices = 0
        self._names = [name for name, _ in groups]
        self._firsts = [first for _, first in groups]
        self._visits: dict[int, list[Visit]] = {}
        self._probes: dict[int, Visit] = {}
        self._asked_s = 0.0
        self._seen: set[int] = set()
        self._tracks = tracks
        self._called = called
        self._unseen: set[int] = set()
        self._arrows = 0
        self._working: set[int] = set()
        self._moved = 0
        self._last: dict[str, dict[str, Any]] = {}

    @property
    def left_out(self) -> int:
        """How many devices have no track."""
        return len(self._unseen)

    def take(self, event: dict[str, Any]) -> None:
        """Fold in one event of the log."""
        time_s, kind = float(event["t"]), event["event"]
        if kind in PHASES:
            self._visit(event["client"]).finish(PHASES[kind], time_s)
            if kind == "uploaded":
                self._working.discard(event["client"])
        elif kind == "dispatched":
            self._visits.setdefault(event["client"], []).append(Visit(time_s, time_s))
            self._working.add(event["client"])
        elif kind in ("offline", "online"):
            visit = self._visit(event["client"])
            visit.stop(time_s)
            visit.phase_s, visit.away = time_s, kind == "offline"
        elif kind == "participation":
            self._participation(event, time_s)
        elif kind == "probed":
            self._probed(event, time_s)
        elif kind == "round_end":
            self._round(event)
        elif kind == "target":
            at = nanoseconds(event.get("time_s", time_s)) / 1000
            name = f"target {target_text(target_of(event))}"
            mark = {"ph": "i", "name": name, "pid": SERVER, "tid": ROUNDS, "ts": at, "s": "p"}
            self.events.append(mark)
        if kind in ("round", "probed"):
            self._asked_s = time_s
        if kind in ("dispatched", "uploaded", "participation"):
            self._count("at work", time_s, len(self._working))

    def names(self) -> Iterator[dict[str, Any]]:
        """Yield what tells a viewer how tracks are called and ordered."""
        yield metadata("process_name", SERVER, ROUNDS, name="server")
        yield metadata("process_sort_index", SERVER, ROUNDS, sort_index=0)
        yield metadata("thread_name", SERVER, ROUNDS, name="rounds")
        for process in sorted({self._process(client) for client in self._seen}):
            name = self._names[process - SERVER - 1] if self._names else "fleet"
            yield metadata("process_name", process, 1, name=f"devices: {name}")
            yield metadata("process_sort_index", process, 1, sort_index=process)
        for client in sorted(self._seen):
            process = self._process(client)
            yield metadata("thread_name", process, client + 1, name=self._called(client))
            yield metadata("thread_sort_index", process, client + 1, sort_index=client)

    def _process(self, client: int) -> int:
        """Return the process id of a device's group."""
        return SERVER + max(bisect_right(self._firsts, client), 1)

    def _visit(self, client: int) -> Visit:
        """Return what `client` is doing; who was not sent any work answers a probe."""
        if client in self._working:  # an update of its own may wait to be aggregated meanwhile
            return self._visits[client][-1]
        return self._probes.setdefault(client, Visit(self._asked_s, self._asked_s))

    def _participation(self, row: dict[str, Any], time_s: float) -> None:
        """Draw a participation that is booked now, unless nothing was ever sent to its client."""
        # An update may still wait to be aggregated when its device is sent out again.
        visits = self._visits.get(int(row["client"]), [])
        visit = next(
            (candidate for candidate in visits if candidate.since_s == row["selected_s"]), None
        )
        if visit is None or row["outcome"] == "skipped":  # it was never sent anything
            return
        if visit is visits[-1]:  # else it was sent out again meanwhile
            self._working.discard(int(row["client"]))
        visits.remove(visit)
        if not visits:
            del self._visits[int(row["client"])]
        if row["upload_end_s"] is not None:
            end_s = float(row["upload_end_s"])
        elif visit.away and row["outcome"] == "offline":
            end_s = visit.phase_s  # it left then, and the server learnt of it now
        else:
            end_s = time_s
            visit.stop(time_s)
        client = int(row["client"])
        if not self._has_track(client):
            return
        facts = {name: row[name] for name in _TOLD if name in row}
        self._draw(client, f"round {row['round']}: {row['outcome']}", visit, end_s, facts)
        track = self._process(client), client + 1
        self._arrow("sent out", visit.since_s, visit.since_s, (SERVER, ROUNDS), track)
        if row["outcome"] == "arrived":
            self._arrow("counted", end_s - 1e-9, time_s - 1e-9, track, (SERVER, ROUNDS))

    def _probed(self, event: dict[str, Any], time_s: float) -> None:
        for client, visit in sorted(self._probes.items()):
            answered = client in event["answered"]
            if not answered and not visit.away:
                visit.stop(time_s)
            if self._has_track(client):
                facts = {"round": event["round"], "answered": answered}
                self._draw(client, f"probe: {event['report']}", visit, visit.phase_s, facts)
        self._probes.clear()

    def _has_track(self, client: int) -> bool:
        """Return whether a device has a track, as it has from now on if there is room."""
        if client not in self._seen:
            if len(self._seen) >= self._tracks:
                self._unseen.add(client)
                return False
            self._seen.add(client)
        return True

    def _draw(
        self, client: int, title: str, visit: Visit, end_s: float, facts: dict[str, Any]
    ) -> None:
        """Draw what a device did that has a track."""
        process = self._process(client)
        self.slices += 1 + len(visit.phases)
        self.events.append(slice_of(title, process, client + 1, visit.since_s, end_s, facts))
        for name, start_s, stop_s in visit.phases:
            self.events.append(slice_of(name, process, client + 1, start_s, stop_s, {}))

    def _arrow(
        self, name: str, start_s: float, end_s: float, out: tuple[int, int], to: tuple[int, int]
    ) -> None:
        """Draw an arrow from the slice around its start to that around its end, if there is any."""
        if self._arrows >= ARROWS or end_s < start_s:
            return
        self._arrows += 1
        facts = {"name": name, "cat": "model", "id": self._arrows}
        for kind, (process, thread), at_s in (("s", out, start_s), ("f", to, end_s)):
            at = {"pid": process, "tid": thread, "ts": nanoseconds(at_s) / 1000}
            self.events.append({"ph": kind, **facts, **at, **({"bp": "e"} if kind == "f" else {})})

    def _count(self, name: str, time_s: float, value: float) -> None:
        at = nanoseconds(time_s) / 1000
        last = self._last.get(name)
        if last is not None and last["ts"] == at:
            last["args"] = {name: value}
        elif last is None or last["args"][name] != value:
            counter = {"ph": "C", "name": name, "pid": SERVER, "ts": at, "args": {name: value}}
            self._last[name] = counter
            self.events.append(counter)

    def _round(self, row: dict[str, Any]) -> None:
        if row["round"] > 0:
            facts = {name: row[name] for name in _ROUND if row.get(name) is not None}
            name = f"round {row['round']}"
            self.events.append(slice_of(name, SERVER, ROUNDS, row["start_s"], row["end_s"], facts))
            self.slices += 1
        self._moved += sum(row[name] for name in MOVED)
        self._count("bytes moved", row["end_s"], self._moved + row.get("in_flight_bytes", 0))
        if row.get("accuracy") is not None:
            self._count("accuracy", row["end_s"], row["accuracy"])
