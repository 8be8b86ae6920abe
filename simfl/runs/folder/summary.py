"""The summary of a run: a fold over its event log, so that a resumed run has the same one."""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simfl.core.epsilon import Spent
from simfl.core.rows import EPSILONS, MOVED, ClientRow, PrivateRoundRow, RoundRow
from simfl.core.target import target_of
from simfl.runs.folder.eventlog import finite
from simfl.runs.folder.measures import (
    TERMINAL_ROUNDS,
    RoundTimes,
    gini,
    normalised_times,
    target_key,
    terminal_accuracy,
)

MEANINGS: dict[str, str] = {
    "name": "of the scenario",
    "seed": "root of all randomness",
    "finished": "what ended the run",
    "time_only": "whether the clock ran without training",
    "oracle": "whether the selector was told what no server can know",
    "virtual_time_s": "when the run ended, virtual seconds",
    "rounds": "that are over, those in which nothing arrived among them",
    "short_rounds": "rounds in which fewer clients took part than were asked for",
    "abandoned_rounds": "rounds in which fewer updates arrived than are needed (absent: none)",
    "final_accuracy": "at the last evaluation",
    "best_accuracy": "at any evaluation, that of the initial model among them",
    "terminal_accuracy": f"mean over the evaluations of the last {TERMINAL_ROUNDS} rounds (of all, "
    "if there were fewer)",
    "last_evaluation": "its round, accuracy, loss and further metrics; where a run ends between "
    "two evaluations, of the last round's model",
    "targets": "for each target: virtual time, round, bytes and energy at the end of the first "
    "round whose model was judged to be at it or better (bytes of transfers, joules of phases that "
    "were over by then), and epsilons where they are told; null: never",
    "totals": "bytes and energy of the whole run",
    "totals.download_bytes": "moved to clients, and to edge servers",
    "totals.upload_bytes": "moved to the server, and to edge servers",
    "totals.probe_bytes": "moved, in both directions, to answer what a selector asked",
    "totals.wasted_bytes": "of those down and up, those of participations that did not arrive, "
    "what was under way when the run ended among them",
    "totals.backhaul_bytes": "of those down and up, those between edge servers and the cloud "
    "(absent: there are none)",
    "totals.energy_j": "of participations and probes, J (null, as at targets: no group of the "
    "fleet says what power it takes)",
    "totals.idle_energy_j": "of all who idled, J",
    "unpowered": "groups of the fleet that don't say what power they take, though others do: they "
    "count as 0 J",
    "participations": "how many had each outcome",
    "distinct_participants": "devices of which at least one update counted",
    "participation_gini": "Gini coefficient of how often devices took part: 0 all alike, to 1",
    "refused_REASON": "devices that refused, such as for want of memory (refused_memory)",
    "needed_memory_bytes": "what training takes, where devices had too little for it",
    "trainings": "how many orders to train there were",
    "trainings.issued": "given to clients",
    "trainings.computed": "whose training was computed",
    "trainings.dropped": "dropped without being computed",
    "trainings.open": "still open at the end",
    "events_sha256": "of the event log",
    "privacy": "what was spent, with an aggregator that adds noise",
    "privacy.delta": "at which epsilon is told",
    "privacy.epsilon": "of the client whose updates counted most often",
    "privacy.epsilon_poisson": "an upper bound that assumes that each round asks each client "
    "independently, with the same probability (null: their probabilities differ)",
    "privacy.why_none": "why both are null",
    "normalised_round_time": "how long rounds with a deadline took, as a share of that, on average",
    "normalised_round_time.last_arrival": "until the last update that counted",
    "normalised_round_time.round_end": "until the round's end",
}
"""What is in `summary.json`, by its keys, those within others as ``OUTER.INNER``."""


class Summary:
    """Listens to everything and keeps the totals.

    Args:
        targets: that the scenario asks about.
        clients: devices in the fleet.
        powered: whether it is known what some of them draw; else no energy is told.
    """

    def __init__(
        self, targets: Sequence[float] = (), clients: int = 1, *, powered: bool = True
    ) -> None:
        self.outcomes: Counter[str] = Counter()
        self.totals: Counter[str] = Counter()
        self.refused: dict[str, set[int]] = {}
        self.needed_bytes: int | None = None
        self.energy_j = 0.0
        self.idle_energy_j = 0.0
        self.targets: dict[str, dict[str, float | None] | None] = dict.fromkeys(
            map(target_key, targets)
        )
        self.rounds = 0
        self.short_rounds = self.abandoned_rounds = 0
        self.last: dict[str, Any] | None = None
        self.best: float | None = None
        self.spent: Spent | None = None
        self._judged: deque[tuple[int, float]] = deque(maxlen=TERMINAL_ROUNDS)
        self._timed: list[RoundTimes] = []
        self._clients, self._powered = clients, powered
        self._participants: Counter[int] = Counter()
        self._notes: Mapping[str, Callable[[float, dict[str, Any]], None]] = {
            "participation": self._participation,
            "round_end": self._round,
            "probed": self._probed,
            "backhaul": self._backhaul,
            "idled": self._idled,
            "evaluated": self._evaluated,
            "abandoned": self._abandoned,
            "refused": self._refused,
            "target": self._target,
        }

    @property
    def kinds(self) -> frozenset[str]:
        """Which kinds of events it needs to be told."""
        return frozenset(self._notes)

    def listen(self, time_s: float, kind: str, facts: dict[str, Any]) -> None:
        """Take note of one event."""
        if (note := self._notes.get(kind)) is not None:
            note(time_s, facts)

    def _participation(self, _: float, facts: dict[str, Any]) -> None:
        row: ClientRow = facts["row"]
        self.outcomes[row.outcome] += 1
        self.totals["download_bytes"] += row.download_bytes
        self.totals["upload_bytes"] += row.upload_bytes
        if row.outcome == "arrived":
            self._participants[row.client] += 1
        else:
            self.totals["wasted_bytes"] += row.download_bytes + row.upload_bytes
        self.energy_j += row.energy_j

    def _probed(self, _: float, facts: dict[str, Any]) -> None:
        self.totals["probe_bytes"] += facts["bytes"]
        self.energy_j += facts["energy_j"]

    def _backhaul(self, _: float, facts: dict[str, Any]) -> None:
        way = "download_bytes" if facts["direction"] == "down" else "upload_bytes"
        self.totals[way] += facts["bytes"]
        self.totals["backhaul_bytes"] += facts["bytes"]

    def _idled(self, _: float, facts: dict[str, Any]) -> None:
        self.idle_energy_j += facts["energy_j"]

    def _evaluated(self, _: float, facts: dict[str, Any]) -> None:
        self.last, accuracy = finite(facts), facts["accuracy"]
        if accuracy is not None:  # else the loss knows no right answers
            self.best = max(self.best or 0.0, accuracy)
            if facts["round"]:  # else before any
                self._judged.append((facts["round"], accuracy))

    def _abandoned(self, _: float, facts: dict[str, Any]) -> None:
        self.abandoned_rounds += 1

    def _refused(self, _: float, facts: dict[str, Any]) -> None:
        self.refused.setdefault(facts["reason"], set()).add(facts["client"])
        self.needed_bytes = facts.get("needs_bytes", self.needed_bytes)

    def _target(self, time_s: float, facts: dict[str, Any]) -> None:
        self.targets[target_key(target_of(facts))] = {
            "time_s": facts.get("time_s", time_s),
            "round": facts["round"],
            "bytes": facts["bytes"],
            "energy_j": facts["energy_j"] if self._powered else None,
            **{name: facts[name] for name in EPSILONS if name in facts},
        }

    def _round(self, _: float, facts: dict[str, Any]) -> None:
        row: RoundRow = facts["row"]
        self.rounds = row.round
        self.short_rounds += row.missing > 0
        if isinstance(row, PrivateRoundRow):
            self.spent = Spent(row.epsilon, row.epsilon_poisson)
        self.idle_energy_j += row.idle_energy_j
        if row.deadline_s:
            self._timed.append(
                RoundTimes(row.start_s, row.last_arrival_s, row.end_s, row.deadline_s)
            )

    def as_dict(self, end_s: float) -> dict[str, Any]:
        """Return the summary of a run that ended at `end_s`, ready for JSON."""
        energy = {"energy_j": self.energy_j, "idle_energy_j": self.idle_energy_j}
        result: dict[str, Any] = {
            "virtual_time_s": end_s,
            "rounds": self.rounds,
            "short_rounds": self.short_rounds,
            "final_accuracy": None if self.last is None else self.last["accuracy"],
            "best_accuracy": self.best,
            "terminal_accuracy": terminal_accuracy(self._judged, self.rounds),
            "last_evaluation": self.last,
            "targets": self.targets,
            "totals": {name: self.totals[name] for name in (*MOVED, "wasted_bytes")}
            | {name: self.totals[name] for name in ("backhaul_bytes",) if name in self.totals}
            | (energy if self._powered else dict.fromkeys(energy)),
            "participations": dict(sorted(self.outcomes.items())),
            "distinct_participants": len(self._participants),
            "participation_gini": gini(list(self._participants.values()), self._clients),
        }
        if self.abandoned_rounds:
            result["abandoned_rounds"] = self.abandoned_rounds
        for reason, clients in sorted(self.refused.items()):
            result[f"refused_{reason}"] = len(clients)
        if self.needed_bytes is not None:
            result["needed_memory_bytes"] = self.needed_bytes
        if (normalised := normalised_times(self._timed)) is not None:
            result["normalised_round_time"] = normalised._asdict()
        return result
