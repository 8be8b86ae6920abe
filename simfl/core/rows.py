"""One dataclass per output table: what is in `rounds.csv` and `clients.csv`, with units."""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Literal

Outcome = Literal["arrived", "late", "offline", "skipped", "filtered", "discarded", "unfinished"]
"""arrived in time; late: cut off or too late; offline: the device left; skipped: nothing useful
fits its time; filtered: it kept its update back and sent a status; discarded: its update was not
finite; unfinished: the run ended first."""


@dataclass(slots=True)
class RoundRow:
    """One aggregation.  Times are virtual seconds since the run began.

    A column is declared here and computed in `simfl.sim.server.accounting`, nowhere else.
    """

    round: int
    start_s: float
    end_s: float = math.nan
    deadline_s: float | None = None
    """The round's deadline relative to its start (None: no deadline)."""
    last_arrival_s: float | None = None
    """When the last update that counted arrived (None: none did)."""
    selected: int = 0
    missing: int = 0
    """By how many clients the round fell short of what was asked for (several selections: the
    worst of them)."""
    arrived: int = 0
    late: int = 0
    offline: int = 0
    skipped: int = 0
    filtered: int = 0
    discarded: int = 0
    accuracy: float | None = None
    loss: float | None = None
    train_loss: float | None = None
    download_bytes: int = 0
    upload_bytes: int = 0
    probe_bytes: int = 0
    wasted_bytes: int = 0
    energy_j: float = 0.0
    """Of all participations booked in this round, as in `ClientRow.energy_j`, and of answers to
    probes: each phase's power times its time, and `power.idle` until the last has answered."""
    idle_energy_j: float = 0.0
    """`power.idle` of all other devices that are online by their availability, from the end of the
    round before to the end of this one.  How many are online is looked at when a round begins and
    when it ends, and changes evenly in between; of groups above 1000 devices a sample is looked at.
    What a device idles while it takes part is in `energy_j`, never in both."""
    gemd: float | None = None


@dataclass(slots=True)
class ClientRow:
    """One participation of one client."""

    round: int
    client: int
    group: str
    selected_s: float
    download_end_s: float | None
    compute_end_s: float | None
    upload_end_s: float | None
    outcome: Outcome
    samples: int
    steps: int
    coreset_size: int
    staleness: int
    download_bytes: int
    upload_bytes: int
    energy_j: float
    """Each phase's power times its time; and, once it has delivered its update, `power.idle` while
    the device waits for the round to end: until the update is aggregated (or dropped), but no
    longer than until the device goes offline, or is chosen or asked anew.  While it is away from
    work that is paused it draws nothing."""


def header(row: type) -> list[str]:
    """Return the column names of a table, in order."""
    return [column.name for column in fields(row)]


class Columns:
    """Reads the rows of one table quickly."""

    def __init__(self, row: type) -> None:
        self.names = tuple(header(row))
        self.values: Callable[[object], tuple[Any, ...]] = attrgetter(*self.names)
        """Returns what is in a row, in the order of its columns."""


COLUMNS: dict[type, Columns] = {row: Columns(row) for row in (RoundRow, ClientRow)}
"""By the class of a row."""
