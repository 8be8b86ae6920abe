"""What a timeline is drawn of: visits of devices, and events of the Chrome trace format."""

from dataclasses import dataclass, field
from typing import Any

PHASES = {"downloaded": "download", "computed": "compute", "uploaded": "upload"}


@dataclass(eq=False)
class Visit:
    """What a device is doing since it was last sent something.

    Attributes:
        since_s: when that was.
        phase_s: when its present phase began.
        phases: name, start and end of those it has finished, or that it broke off.
        done: names of those it has finished.
        away: whether it is offline.
    """

    since_s: float
    phase_s: float
    phases: list[tuple[str, float, float]] = field(default_factory=list)
    done: set[str] = field(default_factory=set)
    away: bool = False

    def finish(self, name: str, time_s: float) -> None:
        """End a phase that is done."""
        self.done.add(name)
        self._end(name, time_s)

    def stop(self, time_s: float) -> None:
        """End its present phase, done or not."""
        if time_s > self.phase_s:
            left = (name for name in PHASES.values() if name not in self.done)
            self._end("offline" if self.away else next(left, "upload"), time_s)

    def _end(self, name: str, time_s: float) -> None:
        self.phases.append((name, self.phase_s, time_s))
        self.phase_s = time_s


def nanoseconds(time_s: float) -> int:
    """Return whole nanoseconds: what touches in virtual time does so for the viewer too."""
    return round(time_s * 1e9)


def slice_of(
    name: str, process: int, thread: int, start_s: float, end_s: float, facts: dict[str, Any]
) -> dict[str, Any]:
    """Return a slice of a track: `thread` of `process`."""
    start = nanoseconds(start_s)
    event = {"ph": "X", "name": name, "pid": process, "tid": thread, "ts": start / 1000}
    event["dur"] = (nanoseconds(end_s) - start) / 1000
    return event | ({"args": facts} if facts else {})


def metadata(kind: str, process: int, thread: int, **facts: Any) -> dict[str, Any]:
    """Return what tells a viewer how to name or order a track."""
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": facts}
