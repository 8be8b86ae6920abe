"""The critical paths of a run's rounds, walked backwards from what each waited for last.

From the last update that counted in a round the path leads through its client's upload, compute and
download, and on to whoever's end let that client be sent out, until the end of the round before.
Of whoever came to nothing all is waiting, and so is what is left.  A pause while a device is
offline is part of the phase that it interrupts.

All times are whole nanoseconds, so they add up exactly.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from simfl.core.types import Flags, Floats
from simfl.runs.folder.folder import logged
from simfl.runs.results.questions import answers
from simfl.runs.results.result import RunResult

PHASES = ("idle", "poll", "download", "compute", "upload", "wait")
"""idle: nobody was at work for it yet; poll: the selector's questions were out; wait: for a
deadline, for clients who came to nothing, or for the server."""
IDLE, POLL, DOWNLOAD, WAIT = 0, 1, 2, 5
STEPS = ("selected_s", "download_end_s", "compute_end_s", "upload_end_s")
"""Columns with the ends of a participation's phases, and its beginning."""
CUT_OFF = '"event":"participation"', '"upload_end_s":null'
"""What stands in the log where a participation was booked that never came."""
NOBODY = -1
"""Stands for the client of a round that waited for none."""

Span = tuple[int, int]
"""Start and end, nanoseconds."""


class Paths:
    """The critical paths of a run's rounds.

    Attributes:
        end: of the run, nanoseconds.
        round_starts: `(rounds,)` when each began, nanoseconds.
        round_ends: `(rounds,)` when each ended, nanoseconds.
    """

    def __init__(self, run: RunResult) -> None:
        self.end = round(run.end_s * 1e9)
        self.round_starts = _nanoseconds(run.of_rounds("start_s")).tolist()
        self.round_ends = _nanoseconds(run.of_rounds("end_s")).tolist()
        steps = np.array([run.of_clients(name) for name in STEPS], dtype=np.float64)
        self._steps = np.fmax.accumulate(_nanoseconds(np.nan_to_num(steps)), axis=0)
        self._run, self._clients = run, run.of_clients("client")
        self._cut_off: Flags = ~np.isfinite(steps[-1])
        ended = np.flatnonzero(~self._cut_off)
        self._ended = {int(self._steps[-1, i]): int(i) for i in ended}
        polls = [poll for poll in _polls(run) if poll[1] > poll[0]]
        self._poll_starts = {stop: start for start, stop in polls}
        self._polls = _union(polls)

    def walk(self, start: int, end: int, opened: int, last: int) -> tuple[list[int], int]:
        """Return the nanoseconds of each phase between `start` and `end`, and the critical client.

        Args:
            start: when the round before ended.
            end: when this one ended.
            opened: when it began.
            last: the participation whose update counted last in it (-1: none did).
        """
        if last < 0 or self._steps[-1, last] <= start:
            before = self.pause(start, max(start, min(opened, end)), IDLE)
            after = self.pause(max(start, min(opened, end)), end, WAIT)
            return [a + b for a, b in zip(before, after, strict=True)], NOBODY
        part: int | None = last
        client = int(self._clients[last])
        at = min(int(self._steps[-1, last]), end)
        phases = self.pause(at, end, WAIT)
        while part is not None:
            cuts = np.clip(self._steps[:, part], start, at).tolist()
            if self._cut_off[part]:
                phases[WAIT] += at - cuts[0]
            else:
                for phase, (low, high) in enumerate(pairwise(cuts), start=DOWNLOAD):
                    phases[phase] += high - low
            at = cuts[0]
            if at > start and at in self._poll_starts:
                asked = max(self._poll_starts[at], start)
                phases[POLL] += at - asked
                at = asked
            part = self._before(at) if at > start else None
        return [a + b for a, b in zip(phases, self.pause(start, at, IDLE), strict=True)], client

    def _before(self, at: int) -> int | None:
        """Return the participation whose end let another begin at `at`, if there is one."""
        part = self._ended.get(at)
        part = self._lost.get(at) if part is None else part
        return part if part is not None and self._steps[0, part] < at else None

    @cached_property
    def _lost(self) -> dict[int, int]:
        """When participations ended that came to nothing, as far as the log says, and which."""
        if self._run.log != "full" or not self._cut_off.any():
            return {}
        selected_s = self._run.of_clients("selected_s").tolist()
        starts = zip(self._clients.tolist(), selected_s, strict=True)
        places = {start: place for place, start in enumerate(starts)}
        booked = logged(self._run.folder, lambda line: all(part in line for part in CUT_OFF))
        ends = [(e["t"], places.get((e["client"], e["selected_s"]))) for _, e in booked]
        return {round(at_s * 1e9): place for at_s, place in ends if place is not None}

    def pause(self, start: int, end: int, phase: int) -> list[int]:
        """Return a stretch in which nobody who counted was at work: polled in, else of `phase`."""
        phases = [0] * len(PHASES)
        for asked, answered in self._polls[bisect_right(self._polls, start, key=itemgetter(1)) :]:
            if asked >= end:
                break
            phases[POLL] += min(answered, end) - max(asked, start)
        phases[phase] = end - start - phases[POLL]
        return phases


def _nanoseconds(seconds: Floats) -> NDArray[np.int64]:
    return np.rint(np.asarray(seconds, dtype=np.float64) * 1e9).astype(np.int64)


def _union(spans: Iterable[Span]) -> list[Span]:
    """Return spans that cover what `spans` cover, apart from each other, in order."""
    union: list[Span] = []
    for start, end in sorted(spans):
        if union and start <= union[-1][1]:
            union[-1] = union[-1][0], max(union[-1][1], end)
        else:
            union.append((start, end))
    return union


def _polls(run: RunResult) -> Iterator[Span]:
    """Yield when a selector's questions were out."""
    if not np.nan_to_num(run.of_rounds("probe_bytes")).any():
        return
    polls = logged(run.folder, lambda line: '"event":"probe' in line)
    for _, question, answer in answers(polls):
        yield round(question["t"] * 1e9), round(answer["t"] * 1e9)
