"""What the event log tells: each kind of event, and what stands in its line."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from simfl.runs.folder.folder import CLIENTS, ROUNDS


@dataclass(frozen=True)
class EventKind:
    """One kind of event.

    Attributes:
        meaning: what has happened.
        facts: what its line says beside `t` and `event`, by name.
        row_of: the table whose columns are its facts ("": none; those are `facts` already).
    """

    meaning: str
    facts: Mapping[str, str] = field(default_factory=dict)
    row_of: str = ""

    @property
    def of_clients(self) -> bool:
        """Whether it tells of single clients, of which ``--log rounds`` says nothing."""
        return not self.facts.keys().isdisjoint(("client", "clients")) or self.row_of == CLIENTS

    def __str__(self) -> str:
        if self.row_of:
            return f"{self.meaning}  The columns of {self.row_of}."
        return "\n".join([self.meaning, *(f"{name}: {text}" for name, text in self.facts.items())])


_ROUND = "the server's round"
_CLIENT = "its number, from 0"
_WHO_ASKS = {
    "round": "for which a selection asks",
    "turn": "how many selections were made for this round before",
    "report": "what is asked, such as loss or profile",
    "model": "at which model: global, or trial",
}

_BY_UPDATE = {
    "losses": "mean training losses, by client",
    "discarded": "of updates that were not finite: [client, how many orders it had before]",
    "filtered": "likewise, of updates that the server threw away (absent: of none)",
    "gemd": "as in rounds.csv",
}

EVENT_KINDS: Mapping[str, EventKind] = {
    "round": EventKind(
        "A round begins.",
        {"round": "its number, from 1", "version": "of the model that it begins with"},
    ),
    "probe": EventKind(
        "A selector asks clients something before it chooses.",
        {
            **_WHO_ASKS,
            "samples": "on at most so many samples of each (null: on all)",
            "asked": "who; those who are offline or at work are not reached",
        },
    ),
    "probed": EventKind(
        "All have answered, or left.",
        {
            **_WHO_ASKS,
            "answered": "who did",
            "bytes": "that the question and the answers moved",
            "energy_j": "that they took, as in clients.csv",
        },
    ),
    "selected": EventKind(
        "Clients are chosen.",
        {
            "round": _ROUND,
            "tier": "which chose them (policy tiered only)",
            "edge": "server that chose them, from 0 (policy hierarchical only)",
            "asked": "how many were wanted",
            "clients": "who is chosen, as often as each was drawn",
        },
    ),
    "refused": EventKind(
        "A client that was chosen refuses, and is not asked again.",
        {
            "round": _ROUND,
            "client": _CLIENT,
            "reason": "memory: its device has too little",
            "needs_bytes": "memory that training takes",
        },
    ),
    "dispatched": EventKind(
        "A client is sent its order.",
        {
            "round": _ROUND,
            "client": _CLIENT,
            "units": "sample-units to compute: one is forward, backward and update of a sample",
            "full_epochs": "passes over all of its samples",
            "coreset_size": "samples of its coreset (0: none)",
            "coreset_epochs": "passes over those",
        },
    ),
    "downloaded": EventKind(
        "A client has what it was to fetch.",
        {"client": _CLIENT, "bytes": "its size"},
    ),
    "computed": EventKind(
        "A client has computed.", {"client": _CLIENT, "units": "sample-units computed"}
    ),
    "salvaged": EventKind(
        "A client that leaves in the middle of training keeps the SGD steps that it has finished.",
        {"client": _CLIENT, "steps": "how many"},
    ),
    "filtered": EventKind(
        "A client's filter has judged its update.",
        {"client": _CLIENT, "kept": "whether it uploads the update, or only a status"},
    ),
    "uploaded": EventKind(
        "A client has sent all, and the server has it.",
        {"client": _CLIENT, "bytes": "its size"},
    ),
    "failed": EventKind(
        "A client's training breaks off: its work is lost, it stays.", {"client": _CLIENT}
    ),
    "offline": EventKind("A client at work leaves, or its battery is empty.", {"client": _CLIENT}),
    "online": EventKind("A client is back, and its work goes on.", {"client": _CLIENT}),
    "aggregated": EventKind(
        "Updates become a new model; or a round ends in which none did, and the model stays.",
        {"round": _ROUND, "version": "of the model from now on", **_BY_UPDATE},
    ),
    "abandoned": EventKind(
        "Too few updates came in a round: the model stays, and who sent one is late.",
        {"round": _ROUND, "arrived": "updates that came", "needed": "how many it takes"},
    ),
    "backhaul": EventKind(
        "A model has come from the cloud to an edge server, or from there to the cloud.",
        {
            "round": _ROUND,
            "edge": "server, from 0",
            "direction": "down to it, or up from it",
            "bytes": "the model's size",
        },
    ),
    "edge_aggregated": EventKind(
        "Updates become an edge server's next model.",
        {"round": _ROUND, "edge": "server, from 0", **_BY_UPDATE},
    ),
    "participation": EventKind("A participation is booked.", row_of=CLIENTS),
    "evaluated": EventKind(
        "A model is judged.",
        {
            "round": "whose model it is (0: that which the run begins with)",
            "accuracy": "share of right answers (null: the loss knows none)",
            "loss": "mean per sample (null: not finite)",
            "METRIC": "each of `evaluation.metrics`, by its name",
        },
    ),
    "round_end": EventKind("A round ends.", row_of=ROUNDS),
    "target": EventKind(
        "A model is at a target or better, for the first time.",
        {
            "accuracy": "the target",
            "metric": "where it is one of `evaluation.metrics`, its name instead",
            "value": "and the target",
            "round": "whose model it is",
            "bytes": "moved when that round ended",
            "energy_j": "spent by participations and probes by then",
            "epsilon": "of privacy spent by then (in logs of runs that tell it)",
            "epsilon_poisson": "likewise",
            "time_s": "when that round ended, where that is before `t`",
        },
    ),
    "forked": EventKind(
        "From here on a fork goes by another policy.",
        {"fork": "its number, from 1", "round": _ROUND},
    ),
    "idled": EventKind(
        "The run is over; this its fleet idled since the last round ended.",
        {"energy_j": "as `idle_energy_j` in rounds.csv"},
    ),
}
"""By kind, about in the order of a round."""

COMMON: Mapping[str, str] = {
    "t": "When it happened, virtual seconds since the run began.",
    "event": "Its kind, one of the following; below each is what its line says.",
}
"""What stands in every line."""
