"""What a server does from instant to instant: whom it sends out when, and whose updates count.

Written from `simfl describe policies ...` and docs/formulas.md, and as plainly as can be.  It knows
nothing of simfl but whom the selector chose, for each device has every link to itself.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

INF = math.inf
Choice = tuple[float, int, Sequence[int]]
"""When somebody was chosen, how many were wanted, and who."""


@dataclass(frozen=True)
class Member:
    """A device: seconds that it downloads, trains and uploads, and when it is online."""

    phases_s: tuple[float, float, float]
    sessions: Sequence[tuple[float, float]]

    def online(self, now_s: float) -> bool:
        """Return whether it is there now."""
        return any(start <= now_s < end for start, end in self.sessions)

    def leaves_s(self, now_s: float) -> float:
        """Return when it next leaves."""
        return min((end for _, end in self.sessions if end > now_s), default=INF)

    def returns_s(self, now_s: float) -> float:
        """Return when it is next back."""
        return min((start for start, _ in self.sessions if start > now_s), default=INF)


@dataclass(eq=False)
class Part:
    """One device's part in a round; `outcome` is "there" until its update is looked at.

    When its training begins it turns out whether that fails, and when (`fails_s`).
    """

    client: int
    round: int
    sent_s: float
    base: int
    trains_s: float
    ends_s: float
    leaves_s: float
    called_off_s: float
    fails_s: float | None = None
    outcome: str = ""
    over_s: float = INF
    booked_s: float = INF
    staleness: int = 0

    @property
    def next_s(self) -> float:
        """When something becomes of it."""
        fails_s = INF if self.fails_s is None else self.fails_s
        return min(self.ends_s, self.called_off_s, self.leaves_s, fails_s)

    @property
    def facts(self) -> tuple[int, float, int, float, str, int]:
        """What a row says of it."""
        return self.client, self.sent_s, self.round, self.booked_s, self.outcome, self.staleness


@dataclass
class _Tier:
    """What a tier waits for: whom it sent, until when, and whether they are being aggregated."""

    parts: list[Part]
    due_s: float
    aggregates: bool = False


@dataclass
class _Edge:
    """What an edge does: its model comes, it waits, its clients work, its model goes up."""

    members: list[int]
    left: int
    due_s: float
    stage: Literal["down", "waits", "works", "up", "done"] = "down"
    parts: list[Part] = field(default_factory=list)
    counts: bool = False


@dataclass
class PlainServer:
    """A run.

    Attributes:
        members: the devices.
        policy: its options, durations in seconds.
        clients: per round.
        n_rounds: after which it ends.
        choices: of the selector, in order; taken from here as they are needed.
        min_clients: the quorum, if any.
        draws: per device a number in [0, 1) by which those unseen belong to tiers.
        breaks_off: draws after which share of it the training that a device begins fails, if so.
        most: updates of one client with which the run ends, if any.
        parts: everybody's, in the order in which they were sent.
        rounds: start and end of each.
        abandoned: which had too few updates, and how many.
        counted: updates that counted, of each client.
        heard: by round, how many of the client of which most did.
    """

    members: Sequence[Member]
    policy: dict[str, Any]
    clients: int
    n_rounds: int
    choices: list[Choice]
    min_clients: int | None = None
    draws: Sequence[float] = ()
    breaks_off: Callable[[int], float | None] = lambda _: None
    most: float = INF
    parts: list[Part] = field(default_factory=list)
    rounds: list[tuple[float, float]] = field(default_factory=list)
    abandoned: list[tuple[int, int]] = field(default_factory=list)
    counted: Counter[int] = field(default_factory=Counter)
    heard: list[int] = field(default_factory=list)
    now_s: float = 0.0
    _start_s: float = 0.0
    _round: int = 0
    _version: int = 0
    _at_work: dict[int, Part] = field(default_factory=dict)
    _arrived: list[Part] = field(default_factory=list)
    _took_s: dict[int, float] = field(default_factory=dict)
    _free_s: float = 0.0

    def run(self) -> "PlainServer":
        """Run to the end."""
        rounds = {
            "fedasync": self._asynchronous,
            "fedbuff": self._asynchronous,
            "semi_synchronous": self._windows,
            "synchronous": self._synchronous,
            "tiered": self._tiers,
            "hierarchical": self._edges,
        }
        rounds[self.policy["name"]]()
        for part in self.parts:
            if part.outcome in ("", "there"):
                part.outcome, part.booked_s = "unfinished", self.now_s
        return self

    @property
    def _over(self) -> bool:
        return len(self.rounds) == self.n_rounds or max(self.heard, default=0) >= self.most

    # -- whom to send

    def _available(self, among: Iterable[int] | None = None) -> set[int]:
        among = range(len(self.members)) if among is None else among
        return {i for i in among if i not in self._at_work and self.members[i].online(self.now_s)}

    def _send(
        self, wanted: int, lasts_s: float = INF, among: Collection[int] | None = None
    ) -> list[Part]:
        """Send whom the selector chose: as many as are wanted, or all who can be had."""
        able = self._available(among)
        at_s, asked, chosen = self.choices.pop(0)
        assert (at_s, asked, len(chosen)) == (self.now_s, wanted, min(wanted, len(able)))
        assert able.issuperset(chosen)
        sent = []
        for client in chosen:
            member, sent_s = self.members[client], self.now_s
            down_s, training_s, up_s = member.phases_s
            part = Part(
                client,
                self._round,
                sent_s,
                self._version,
                trains_s=sent_s + down_s,
                ends_s=sent_s + down_s + training_s + up_s,
                leaves_s=member.leaves_s(sent_s),
                called_off_s=sent_s + lasts_s,
            )
            self._at_work[client] = part
            sent.append(part)
        self.parts += sent
        return sent

    # -- time

    def _go_on(self, *until_s: float) -> None:
        """Go on to the next instant at which something becomes of somebody, or one of these."""
        self.now_s = self._next_s(until_s)
        assert self.now_s < INF
        for part in sorted(self._at_work.values(), key=lambda part: part.client):
            if part.next_s > self.now_s:
                continue
            if part.ends_s == self.now_s:
                part.outcome, part.over_s = "there", self.now_s
                self._arrived.append(part)
            else:
                self._drop(part, "late" if part.called_off_s == self.now_s else "offline")
            del self._at_work[part.client]

    def _next_s(self, until_s: Sequence[float]) -> float:
        """Return that instant, once it is known of all who train by then whether they fail."""
        while True:
            at_s = min([*(part.next_s for part in self._at_work.values()), *until_s])
            loading = [part for part in self._at_work.values() if part.fails_s is None]
            part = min(loading, key=lambda part: part.trains_s, default=None)
            if part is None or part.trains_s > at_s:
                return at_s
            share, training_s = self.breaks_off(part.client), self.members[part.client].phases_s[1]
            part.fails_s = INF if share is None else part.trains_s + share * training_s

    def _drop(self, part: Part, outcome: Literal["late", "offline"]) -> None:
        part.outcome, part.over_s, part.booked_s = outcome, self.now_s, self.now_s

    def _call_off(self, parts: Iterable[Part]) -> None:
        for part in parts:
            if not part.outcome:
                self._drop(part, "late")
                del self._at_work[part.client]

    def _return_s(self) -> float:
        return min(member.returns_s(self.now_s) for member in self.members)

    # -- rounds

    def _open(self) -> None:
        self._round += 1
        self._start_s = self.now_s

    def _close(self, arrived: Sequence[Part]) -> None:
        for part in arrived:
            part.outcome, part.booked_s = "arrived", self.now_s
            part.staleness = self._version - part.base
            self._took_s[part.client] = part.over_s - part.sent_s
            self.counted[part.client] += 1
        self._version += bool(arrived)
        self.rounds.append((self._start_s, self.now_s))
        self.heard.append(max(self.counted.values(), default=0))

    def _serve(self, arrived: Sequence[Part]) -> None:
        """Aggregate, which takes its time if there is anything, and close the round."""
        done_s = self.now_s + self.policy.get("server_time", 0.0) * bool(arrived)
        while self.now_s < done_s:
            self._go_on(done_s)
        self._close(arrived)

    def _too_stale(self, part: Part) -> bool:
        part.staleness = self._version - part.base
        if part.staleness <= self.policy.get("max_staleness", INF):
            return False
        part.outcome, part.booked_s = "late", self.now_s
        return True

    def _asynchronous(self) -> None:
        server_s, enough = self.policy.get("server_time", 0.0), self.policy.get("buffer", 1)
        buffer: list[Part] = []
        done_s = INF  # when the aggregation under way is done
        self._open()
        self._hire()
        while True:
            looks_out = self._missing > 0 and done_s == INF
            self._go_on(done_s, self._return_s() if looks_out else INF)
            if self.now_s < done_s < INF:
                continue
            if self.now_s == done_s:
                self._close(buffer)
                if self._over:
                    return
                buffer, done_s = [], INF
                self._open()
                self._hire()
            while self._arrived and done_s == INF:
                part = self._arrived.pop(0)
                if self._too_stale(part):
                    continue
                buffer.append(part)
                if len(buffer) == enough and server_s:
                    done_s = self.now_s + server_s
                elif len(buffer) == enough:
                    self._close(buffer)
                    if self._over:
                        return
                    buffer = []
                    self._open()
            if done_s == INF:
                self._hire()

    @property
    def _missing(self) -> int:
        """How many more could be at work."""
        return (self.policy.get("concurrency") or self.clients) - len(self._at_work)

    def _hire(self) -> None:
        if self._missing > 0 and self._available():
            self._send(self._missing, self.policy.get("timeout", INF))

    def _windows(self) -> None:
        while not self._over:
            while not self._at_work and not self._available():
                self._go_on(self._return_s())
            self._open()
            beat_s = self.now_s + self.policy["period"]
            self._hire()
            while self.now_s < beat_s:
                self._go_on(beat_s)
            taken, self._arrived = self._arrived, []
            self._serve([part for part in taken if not self._too_stale(part)])

    def _synchronous(self) -> None:
        share = self.policy.get("over_select", 1.0)
        asked = math.ceil(round(share * self.clients, 9))
        carried: list[Part] = []
        while not self._over:
            quorum = self.min_clients or asked
            while True:
                if self.min_clients is None:  # nobody who is still at work is waited for
                    quorum = min(quorum, max(len(self.members) - len(self._at_work), 1))
                if len(self._available()) >= quorum:
                    break
                self._go_on(self._return_s())
            self._open()
            due_s, parts = self.now_s + self.policy.get("deadline", INF), self._send(asked)
            while self.now_s < due_s and not all(part.outcome for part in parts):
                there = [part for part in parts if part.outcome == "there"]
                if asked > self.clients and len(there) >= self.clients:
                    break
                self._go_on(due_s)
            if self.policy.get("late") == "carry":
                parts = carried + parts
                carried = [part for part in parts if not part.outcome]
            else:
                self._call_off(parts)
            there = [part for part in parts if part.outcome == "there"]
            if asked > self.clients and self.policy.get("late") != "carry":
                there.sort(key=lambda part: (part.over_s, part.client))
                for part in there[self.clients :]:
                    part.outcome, part.booked_s = "late", self.now_s
                there = there[: self.clients]
            least = self.policy.get("min_updates", 1)
            if len(there) < least and least > 1:
                self.abandoned.append((self._round, len(there)))
                for part in there:
                    part.outcome, part.booked_s = "late", self.now_s
                there = []
            self._serve(there)

    def _tiers(self) -> None:
        tiers: list[_Tier | None] = [None] * self.policy["tiers"]
        self._open()
        while not self._over:
            places = range(len(tiers))  # models are made before anybody is chosen
            if not any(self._pace(tiers, i) for i in places if tiers[i]) and not any(
                self._pace(tiers, i) for i in places if not tiers[i]
            ):
                due = [tier.due_s for tier in tiers if tier]
                self._go_on(*due, self._return_s() if None in tiers else INF)

    def _pace(self, tiers: list[_Tier | None], place: int) -> bool:
        """Let a tier do what it can do now; return whether that was anything."""
        tier, server_s = tiers[place], self.policy.get("server_time", 0.0)
        if self._over:
            return False
        if tier is None:
            mine = self._members_of(place)
            if not self._available(mine):
                return False
            at_s, _, chosen = self.choices[0]
            if at_s == self.now_s and not set(mine).issuperset(chosen):  # others choose first
                return False
            wanted = self.policy.get("clients_per_tier") or math.ceil(self.clients / len(tiers))
            sent = self._send(wanted, among=mine)
            tiers[place] = _Tier(sent, self.now_s + self.policy.get("deadline", INF))
        elif tier.aggregates and self.now_s >= tier.due_s:
            self._close(tier.parts)
            if not self._over:
                self._open()
            tiers[place] = None
        elif not tier.aggregates and (
            self.now_s >= tier.due_s or all(part.outcome for part in tier.parts)
        ):
            self._call_off(tier.parts)
            there = [part for part in tier.parts if part.outcome == "there"]
            tiers[place] = None
            if there:  # one aggregation at a time
                self._free_s = max(self._free_s, self.now_s) + server_s
                tiers[place] = _Tier(there, self._free_s, aggregates=True)
        else:
            return False
        return True

    def _members_of(self, place: int) -> list[int]:
        """Return who belongs to a tier now: by what they took last, or as was drawn."""
        n, seen = self.policy["tiers"], sorted(self._took_s, key=lambda i: (self._took_s[i], i))
        ranked = [i for rank, i in enumerate(seen) if rank * n // len(seen) == place]
        unseen = [i for i in range(len(self.members)) if i not in self._took_s]
        return ranked + [i for i in unseen if min(int(self.draws[i] * n), n - 1) == place]

    def _edges(self) -> None:
        n, latency_s = self.policy["edges"], self.policy.get("latency", 0.0)
        share = self.policy.get("clients_per_edge") or math.ceil(self.clients / n)
        everybody = range(len(self.members))
        while not self._over:
            while len(self._available()) < (
                self.min_clients or min(share, math.ceil(len(everybody) / n))
            ):
                self._go_on(self._return_s())
            self._open()
            edges = [
                _Edge([i for i in everybody if i % n == place], self.policy["edge_rounds"],
                      self.now_s + latency_s)
                for place in range(n)
            ]  # fmt: skip
            while any(edge.stage != "done" for edge in edges):
                if not any(self._step(edge, share, latency_s) for edge in edges):
                    due = [edge.due_s for edge in edges if edge.due_s > self.now_s]
                    self._go_on(*due, self._return_s())
            if any(edge.counts for edge in edges):
                done_s = self.now_s + self.policy.get("server_time", 0.0)
                while self.now_s < done_s:
                    self._go_on(done_s)
                self._version += 1
            self.rounds.append((self._start_s, self.now_s))

    def _step(self, edge: _Edge, share: int, latency_s: float) -> bool:
        """Let an edge do what it can do now; return whether that was anything."""
        if edge.stage == "waits":
            wanted = min(share, len(edge.members))
            if len(self._available(edge.members)) < (self.min_clients or wanted):
                return False
            at_s, _, chosen = self.choices[0]
            if at_s == self.now_s and not set(edge.members).issuperset(chosen):  # others do first
                return False
            edge.parts = self._send(wanted, among=edge.members)
            edge.stage, edge.due_s = "works", self.now_s + self.policy.get("deadline", INF)
        elif edge.stage == "works":
            if self.now_s < edge.due_s and not all(part.outcome for part in edge.parts):
                return False
            self._call_off(edge.parts)
            for part in edge.parts:
                if part.outcome == "there":
                    part.outcome, part.booked_s, edge.counts = "arrived", self.now_s, True
            edge.left -= 1
            edge.stage, edge.due_s = "waits", INF
            if not edge.left:
                edge.stage, edge.due_s = "up", self.now_s + latency_s * edge.counts
        elif edge.stage != "done" and self.now_s >= edge.due_s:
            edge.stage = "waits" if edge.stage == "down" else "done"
            edge.due_s = INF
        else:
            return False
        return True
