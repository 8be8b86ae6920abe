"""One dataclass per output table: what is in `rounds.csv` and `clients.csv`, with units."""

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
    """One aggregation.  Times are virtual seconds since the run began."""

    round: int
    start_s: float
    end_s: float
    deadline_s: float | None
    """The round's deadline relative to its start (None: no deadline)."""
    last_arrival_s: float | None
    """When the last update that counted arrived (None: none did)."""
    selected: int
    arrived: int
    late: int
    offline: int
    skipped: int
    filtered: int
    discarded: int
    accuracy: float | None
    loss: float | None
    train_loss: float | None
    download_bytes: int
    upload_bytes: int
    probe_bytes: int
    wasted_bytes: int
    energy_j: float
    gemd: float | None


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
