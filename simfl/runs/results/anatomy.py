"""Anatomy of a run: what its virtual time went to, along what each round waited for.

The critical path of a round leads backwards from its end: to the last update that counted in it,
through that client's upload, compute and download, and on to whoever's end let that client be sent
out, until the end of the round before.  Of whoever came to nothing all is waiting, and so is what
is left.  A pause while a device is offline is part of the phase that it interrupts.

All times are whole nanoseconds, so they add up exactly.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simfl.core.arguments import called
from simfl.core.types import Flags, Floats, Ids
from simfl.core.units import DURATION, parse_quantity
from simfl.errors import InputError
from simfl.runs.folder.eventlog import decode
from simfl.runs.folder.folder import event_lines
from simfl.runs.folder.policies import Policies
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
INSTANT_S = 1e-9
"""Times that differ by less are the same."""
NANOSECONDS_END_S = 9e9
"""Some 285 years: 64 bits count nanoseconds for so long."""

Span = tuple[int, int]
"""Start and end, nanoseconds."""


@dataclass(frozen=True, eq=False)
class Anatomy:
    """Where the virtual time of one run went.

    Attributes:
        phases_ns: `(rounds + 1, 6)` nanoseconds of `PHASES` since the end of the round before; the
            last row is what came after the last round.
        clients: `(rounds,)` the critical client: the last whose update counted (`NOBODY`: none did,
            or it had come before the round before ended, as while the server was busy).
        by_deadline: `(rounds,)` which rounds ended because it was time, so that nobody was waited
            for in the end.
    """

    phases_ns: NDArray[np.int64]
    clients: Ids
    by_deadline: Flags

    @classmethod
    def of(cls, run: RunResult) -> "Anatomy":
        """Take the time of a run apart.

        Raises:
            InputError: a file of the run is missing or damaged, or says nothing of its clients.
        """
        if run.end_s > NANOSECONDS_END_S:
            raise InputError(
                f"{run.folder} lasts longer than {NANOSECONDS_END_S:g} s of virtual time, which is "
                "too much for nanoseconds"
            )
        if run.log == "none":
            again = called("--log rounds or full", "log='rounds' or log='full'")
            raise InputError(
                f"{run.folder} was recorded with --log none, which says nothing of what its "
                f"clients did; run it again with {again}"
            )
        paths = _Paths(run)
        ends = [0, *(min(end, paths.end) for end in paths.round_ends)]
        rounds = zip(ends, ends[1:], paths.round_starts, run.last_counted.tolist(), strict=False)
        rows = [paths.walk(*one) for one in rounds]
        tail = paths.pause(ends[-1], paths.end, WAIT)
        phases = np.array([*(row for row, _ in rows), tail], dtype=np.int64)
        clients = np.array([client for _, client in rows], dtype=np.int64)
        return cls(phases, clients, _by_deadline(run))

    @property
    def elapsed_ns(self) -> int:
        """The sum of all phases: the run's virtual time."""
        return int(self.phases_ns.sum())

    @property
    def rounds_s(self) -> Floats:
        """`(rounds, 6)` seconds of `PHASES` by round."""
        return np.asarray(self.phases_ns[:-1] / 1e9)

    def critical(self, most: int = 5) -> list[tuple[int, int]]:
        """Return the clients that most rounds waited for last, and how many rounds each."""
        waited = self.clients[(self.clients != NOBODY) & ~self.by_deadline]
        clients, counts = np.unique(waited, return_counts=True)
        ranked = np.lexsort((clients, -counts))[:most]
        return [(int(clients[at]), int(counts[at])) for at in ranked]


class _Paths:
    """The critical paths of a run's rounds."""

    def __init__(self, run: RunResult) -> None:
        self.end = round(run.end_s * 1e9)
        self.round_starts = _nanoseconds(run.column("start_s")).tolist()
        self.round_ends = _nanoseconds(run.column("end_s")).tolist()
        steps = np.array([run.part(name) for name in STEPS], dtype=np.float64)
        self._steps = np.fmax.accumulate(_nanoseconds(np.nan_to_num(steps)), axis=0)
        self._run, self._clients = run, run.part("client")
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
        starts = zip(self._clients.tolist(), self._run.part("selected_s").tolist(), strict=True)
        places = {start: place for place, start in enumerate(starts)}
        lines = event_lines(self._run.folder)
        booked = [decode(line) for line in lines if all(part in line for part in CUT_OFF)]
        ends = [(e["t"], places.get((e["client"], e["selected_s"]))) for e in booked]
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


def _by_deadline(run: RunResult) -> Flags:
    """Return `(rounds,)` which ended when their deadline, or window, did."""
    if not np.isfinite(run.column("deadline_s")).any():
        return np.zeros(run.n_rounds, dtype=np.bool_)
    policies = Policies.of(run.folder, run.scenario, run.provenance)
    by_round = [policies.in_round(number) for number in run.column("round").tolist()]
    enforced = np.array([policy.get("enforce", True) for policy in by_round])
    server_s = np.array([_server_s(policy) for policy in by_round])
    of_orders = np.array([policy.get("name") == "synchronous" for policy in by_round])
    opened_s = np.where(of_orders, _sent_s(run), run.column("start_s"))
    due_s = opened_s + run.column("deadline_s")  # NaN: there is none
    last_s, end_s = run.column("last_arrival_s"), run.column("end_s")
    # Where nothing counted something may have come all the same, and cost the server its time.
    closed = _same(end_s - server_s, due_s) | (_same(end_s, due_s) & ~np.isfinite(last_s))
    in_vain = (run.column("late") > 0) | ~(last_s > due_s - INSTANT_S)
    return np.asarray(enforced & closed & in_vain)


def _server_s(policy: Mapping[str, Any]) -> float:
    return parse_quantity(policy.get("server_time", "0 s"), DURATION)


def _sent_s(run: RunResult) -> Floats:
    """Return `(rounds,)` when orders went out first, after a selector's questions."""
    sent_s = np.full(run.n_rounds, np.nan)
    place = run.part("round").astype(np.int64) - 1
    closed = place < run.n_rounds
    np.fmin.at(sent_s, place[closed], run.part("selected_s")[closed])
    return np.where(np.isfinite(sent_s), sent_s, run.column("start_s"))


def _same(instants_s: Floats, others_s: Floats) -> Flags:
    return np.isclose(instants_s, others_s, rtol=1e-14, atol=INSTANT_S)


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
    if not np.nan_to_num(run.column("probe_bytes")).any():
        return
    lines = enumerate(event_lines(run.folder), start=1)
    events = ((line, decode(text)) for line, text in lines if '"event":"probe' in text)
    for _, question, answer in answers(events):
        yield round(question["t"] * 1e9), round(answer["t"] * 1e9)
