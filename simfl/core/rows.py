"""One dataclass per output table: what is in `rounds.csv` and `clients.csv`, with units."""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, make_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, Literal, get_args

Outcome = Literal["arrived", "late", "offline", "skipped", "filtered", "discarded", "unfinished"]
"""arrived in time; late: cut off or too late, or its round was abandoned; offline: the device left,
or its training failed; skipped: nothing useful fits its time, or training not its memory; filtered:
it kept its update back and sent a status, or the server threw the update away; discarded: its
update was not finite; unfinished: the run ended first."""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(slots=True)
class RoundRow:
    """One aggregation.  Times are virtual seconds since the run began.

    A column is declared here and computed in `simfl.sim.server.accounting`, nowhere else.
    """

    round: int
    """Number of the aggregation, from 1.  Round 0 is none: it tells how good the model is that the
    run begins with, at 0 s, where `evaluation.initial` asks for that."""
    start_s: float
    """When the round began: the end of the one before, or the end of waiting for a quorum."""
    end_s: float = math.nan
    """When the new model was there."""
    deadline_s: float | None = None
    """How long the round may last from when its orders go out (None: no deadline)."""
    last_arrival_s: float | None = None
    """When the last update that counted arrived (None: none did)."""
    selected: int = 0
    """Clients chosen in this round."""
    missing: int = 0
    """By how many clients the round fell short of what was asked for (several selections: the
    worst of them)."""
    arrived: int = 0
    """Updates that counted."""
    late: int = 0
    """Participations cut off by a deadline, by over-selection, or too stale; or in time, but in a
    round that was abandoned for want of updates."""
    offline: int = 0
    """Participations lost because the device left, or its training failed."""
    skipped: int = 0
    """Clients for whom nothing useful fitted the time, or training not the memory."""
    filtered: int = 0
    """Updates that a filter kept back on the device, or threw away at the server."""
    discarded: int = 0
    """Updates that were not finite."""
    accuracy: float | None = None
    """Share of right answers of the new model; with `evaluation.on: clients` the mean over clients,
    each with its own model where layers are personal (None: not evaluated in this round, or the
    loss knows no right answers)."""
    loss: float | None = None
    """Mean loss of the new model per sample, on the samples that accuracy is measured on; with
    `evaluation.on: clients` the mean over clients of theirs."""
    train_loss: float | None = None
    """Mean of the participants' mean training losses, clients alike (of one with several updates
    that of the last)."""
    download_bytes: int = 0
    """Moved to clients by the participations booked in this round, broken-off ones included.  With
    edge servers also to these, over the backhaul, in transfers that were over."""
    upload_bytes: int = 0
    """Moved to the server, or to edge servers and from these to the cloud, likewise."""
    probe_bytes: int = 0
    """Moved in both directions to answer what a selector asked before it chose."""
    wasted_bytes: int = 0
    """Of the bytes down and up, those of participations that did not arrive."""
    energy_j: float = 0.0
    """Of all participations booked in this round, as in `ClientRow.energy_j`, and of answers to
    probes: each phase's power times its time, and `power.idle` until the last has answered.  Where
    no group of the fleet says what `power` it takes, energy is not known: the cells of all energy
    are empty."""
    idle_energy_j: float = 0.0
    """`power.idle` of all other devices that are online by their availability, and whose battery is
    not empty, from the end of the round before to the end of this one.  These are counted at up to
    16 instants spread evenly over that time (batteries are looked at at its two ends, and change
    evenly in between); of groups above 1000 devices a sample is counted.  What a device idles while
    it takes part is in `energy_j`, never in both."""
    in_flight_bytes: int = 0
    """Moved so far, both ways, by those at work when the round ends, or whose update waits, in
    transfers that are over.  It is booked, too, in the round in which they end."""
    in_flight_energy_j: float = 0.0
    """Spent so far by them, in phases that are over."""
    gemd: float | None = None
    """How far the labels of those whose updates counted are from all labels: the sum over labels of
    the differences of shares, from 0 (alike) to below 2 (FL-DP3S, Eq. 15)."""


@dataclass(slots=True)
class PrivateRoundRow(RoundRow):
    """One aggregation of a run that tells what privacy it spends."""

    epsilon: float | None = None
    """Spent by the end of the round by the client whose updates counted most often, at the delta of
    the aggregator (None: rules that spend otherwise have come into force).  Only runs that spend
    any, and can tell how much, have this column and the next."""
    epsilon_poisson: float | None = None
    """An upper bound that assumes that each round asks each client independently, with the same
    probability (None: their probabilities differ)."""


@cache
def round_row(metrics: tuple[str, ...], private: bool = False) -> type[RoundRow]:
    """Return the rows of a run.

    Args:
        metrics: what its evaluations also measure: a column more for each.
        private: whether it tells what privacy it spends.
    """
    row = PrivateRoundRow if private else RoundRow
    if not metrics:
        return row
    columns = [(name, float | None, None) for name in metrics]
    return make_dataclass(row.__name__, columns, bases=(row,), slots=True)


@dataclass(slots=True)
class ClientRow:
    """One participation of one client."""

    round: int
    """Round in which the client was chosen."""
    client: int
    """Its number, from 0, in the order of the fleet's groups."""
    group: str
    """Its group of devices."""
    selected_s: float
    """When it was sent its order."""
    download_end_s: float | None
    """When it had the model (None: it did not come so far, or had it already)."""
    compute_end_s: float | None
    """When it had trained (None: it did not come so far); after a salvage, when it was back."""
    upload_end_s: float | None
    """When its last byte arrived (None: it did not come so far)."""
    outcome: Outcome
    """What became of it."""
    samples: int
    """Training samples that it holds."""
    steps: int
    """SGD steps that its order has; after a salvage, those that were finished."""
    coreset_size: int
    """Samples of its coreset (0: none)."""
    staleness: int
    """Versions by which the model had moved on when its update was aggregated, or dropped for it
    (`max_staleness`); 0 for those that did not arrive."""
    download_bytes: int
    """Moved towards it."""
    upload_bytes: int
    """Moved towards the server."""
    energy_j: float
    """Each phase's power times its time; and, once it has delivered its update, `power.idle` while
    the device waits for the round to end: until the update is aggregated (or dropped), but no
    longer than until the device goes offline, or is chosen or asked anew.  While it is away from
    work that is paused it draws nothing."""


def header(row: type) -> list[str]:
    """Return the column names of a table, in order."""
    return [column.name for column in fields(row)]


COUNTED = tuple(outcome for outcome in OUTCOMES if outcome in header(RoundRow))
"""Outcomes that have a column of `RoundRow`, which counts them."""
MOVED = ("download_bytes", "upload_bytes", "probe_bytes")
"""Columns of `RoundRow` that add up to all bytes moved but those in flight."""
EPSILONS = ("epsilon", "epsilon_poisson")
"""Columns of `PrivateRoundRow` that `RoundRow` lacks."""
JOULES = ("energy_j", "idle_energy_j", "in_flight_energy_j")
"""Columns of energy, which are empty where no power is known; in the log they are 0."""


class Columns:
    """Reads the rows of one table quickly."""

    def __init__(self, row: type) -> None:
        self.names = tuple(header(row))
        self.values: Callable[[object], tuple[Any, ...]] = attrgetter(*self.names)
        """Returns what is in a row, in the order of its columns."""
        self.joules = [index for index, name in enumerate(self.names) if name in JOULES]
        """Where its columns of energy are."""


class _ColumnsOf(dict[type, Columns]):
    """What is known of the rows of each class, looked up once."""

    def __missing__(self, row: type) -> Columns:
        self[row] = Columns(row)
        return self[row]


COLUMNS = _ColumnsOf()
"""By the class of a row."""
