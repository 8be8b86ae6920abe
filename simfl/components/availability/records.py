"""Recorded sessions in memory: flat arrays of the instants at which records change state."""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from simfl.core.tables.csv_file import open_csv
from simfl.core.tables.frame import read_frame
from simfl.core.types import Flags, Ids
from simfl.core.units.dimensions import LATEST_S
from simfl.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Records:
    """Periodic on/off records.

    Attributes:
        periods: `(r,)` length of each, ticks.
        flips: all records' changes of state, each record's ascending in ``[0, period)``, ticks.
        first: `(r + 1,)` where each record's flips begin.
        starts_on: `(r,)` whether each is online just before its instant 0, that is at its end.
        begins_s: the first instant of the file.
        names: `(r,)` what the file calls the device of each.
    """

    TICKS: ClassVar[int] = 1024
    """Ticks a second: a power of two, so that seconds <-> ticks is exact."""

    periods: Ids
    flips: Ids
    first: Ids
    starts_on: Flags
    begins_s: float
    names: Sequence[str]

    @cached_property
    def _padded(self) -> Ids:
        """`(changes + 1,)` `flips` and one more: an empty last record has something to look at."""
        return np.append(self.flips, 0)

    @property
    def longest_s(self) -> float:
        """How long a record is online without a break, at the most (infinite: always)."""
        longest = 0.0
        for record, (low, high) in enumerate(pairwise(self.first.tolist())):
            if low == high:
                longest = max(longest, math.inf if self.starts_on[record] else 0.0)
                continue
            flips = self.flips[low:high]
            spells = np.diff(np.append(flips, flips[0] + self.periods[record]))
            online = spells[int(self.starts_on[record]) :: 2]  # after a flip, it is the other way
            longest = max(longest, float(online.max(initial=0)) / self.TICKS)
        return longest

    def look(self, records: Ids, at: Ids) -> tuple[Flags, Ids]:
        """Return whether each record is online at tick ``at`` and the ticks to its next change.

        Args:
            records: `(m,)` which.
            at: `(m,)` in ``[0, period)``.

        Returns:
            `(m,)` online and `(m,)` ticks, -1 if it never changes.
        """
        low, end = self.first[records], self.first[records + 1]
        none = low == end
        high = end.copy()
        padded = self._padded
        while (low < high).any():  # bisection in all records at once
            middle = (low + high) // 2
            passed = (padded[middle] <= at) & (low < high)
            low = np.where(passed, middle + 1, low)
            high = np.where(passed, high, np.minimum(middle, high))
        first = self.first[records]
        is_on = self.starts_on[records] ^ ((low - first) % 2 == 1)
        wraps = low == end
        upcoming = padded[np.where(wraps, first, low)] + wraps * self.periods[records]
        return is_on, np.where(none, -1, upcoming - at)


def read_records(file: Path, skip_unknown: bool, period_s: float | None) -> Records:
    """Return the records in `file`, in order of their id (see `Trace`).

    Raises:
        InputError: the file can't be read or makes no sense.
    """
    known, owner, start, end, state = _rows(file)
    latest = int(end.max())
    whole = None if period_s is None else round(period_s * Records.TICKS)
    periods, flips, starts_on, names = [], [], [], []
    bounds = np.searchsorted(owner, np.arange(owner[-1] + 2))
    for name, (low, high) in zip(known, pairwise(bounds.tolist()), strict=True):
        a, b, states = start[low:high], end[low:high], state[low:high]
        length = latest
        if skip_unknown:
            unknown = states == -1
            if unknown.all():
                continue
            a, b, gone = _without(a, b, unknown)
            length -= gone
        length = length if whole is None else whole
        edges, ends_on = _changes(a, b, states == 1, length)
        periods.append(length)
        flips.append(edges)
        starts_on.append(ends_on)
        names.append(name)
    if not periods:
        raise InputError(f"{file}: nothing is known of any device")
    first = np.concatenate([[0], np.cumsum([len(edges) for edges in flips])])
    return Records(
        np.array(periods),
        np.concatenate(flips).astype(np.int64),
        first,
        np.array(starts_on),
        int(start.min()) / Records.TICKS,
        names,
    )


def _rows(file: Path) -> tuple[list[str], Ids, Ids, Ids, Ids]:
    """Return what devices are called, in the order of their ids, and of each row `(n,)` facts.

    Its device (from 0), start, end and state.
    """
    table = _read(file)
    names, owner = np.unique(table["device"].to_numpy(), return_inverse=True)
    start, end = (_ticks(table[name]) for name in ("start_s", "end_s"))
    if len(wrong := np.flatnonzero((start < 0) | (end <= start))):
        raise InputError(f"{_place(file, wrong[0])}: expected 0 <= start_s < end_s")
    if not len(owner):
        raise InputError(f"{file}: expected rows with 0 <= start_s < end_s")
    order = np.lexsort((start, owner))
    owner, start, end = owner[order], start[order], end[order]
    overlaps = (start[1:] < end[:-1]) & (owner[1:] == owner[:-1])
    if len(wrong := np.flatnonzero(overlaps)):
        raise InputError(f"{_place(file, order[wrong[0] + 1])}: rows of one device overlap")
    return list(map(str, names)), owner, start, end, table["state"].to_numpy()[order]


def _without(a: Ids, b: Ids, unknown: Flags) -> tuple[Ids, Ids, int]:
    """Return `(n,)` when stretches begin and end without the unknown ones, and what these last."""
    gone = np.cumsum(np.where(unknown, b - a, 0))
    before = np.concatenate([[0], gone[:-1]])
    return a - before, b - gone, int(gone[-1])


def _changes(a: Ids, b: Ids, on: Flags, length: int) -> tuple[Ids, bool]:
    """Return `(m,)` when a record changes state in ``[0, length)``, and whether it ends online."""
    a, b = np.minimum(a[on], length), np.minimum(b[on], length)
    edges, times = np.unique(np.concatenate([a, b]), return_counts=True)
    edges = edges[times % 2 == 1]  # an end that is also a start is no change
    ends_on = bool(((a < b) & (b == length)).any())
    if len(edges) and edges[-1] == length:
        edges = edges[:-1]  # the end of a period is the start of the next
        edges = edges[1:] if len(edges) and edges[0] == 0 else np.concatenate([[0], edges])
    return edges, ends_on


def _read(file: Path) -> "pd.DataFrame":
    import pandas as pd

    table = read_frame(file, "the availability trace", ("device", "client_id"))
    if {"device", "client_id"} <= set(table.columns):
        raise InputError(f"{file}: has columns device and client_id, which mean the same; drop one")
    table = table.rename(columns={"client_id": "device"})
    if missing := {"device", "start_s", "end_s"} - set(table.columns):
        raise InputError(f"{file}: no column {', '.join(sorted(missing))}")
    if "state" not in table:
        table["state"] = 1
    for name in ("start_s", "end_s", "state"):
        cells = pd.to_numeric(table[name], errors="coerce").to_numpy(dtype=np.float64)
        if len(wrong := np.flatnonzero(~(np.abs(cells) <= LATEST_S))):
            cell = table[name].iloc[wrong[0]]
            raise InputError(
                f"{_place(file, wrong[0])}: column {name} must hold numbers only, up to "
                f"{LATEST_S:g}; got {'nothing' if pd.isna(cell) else cell!s:.40}"
            )
        table[name] = cells
    wrong = np.flatnonzero(table["device"].isna() | ~table["state"].isin([-1, 0, 1]))
    if len(wrong):
        raise InputError(f"{_place(file, wrong[0])}: expected a device and a state of 1, 0 or -1")
    if table["device"].dtype == object:
        table["device"] = table["device"].astype(str)
    return table


def _place(file: Path, row: int) -> str:
    """Return ``file:line`` of a row; the first is 0."""
    with open_csv(file) as text:
        reader = csv.reader(text)
        next(islice((cells for cells in reader if cells), row + 1, None))
        return f"{file}:{reader.line_num}"


def _ticks(seconds: "pd.Series[float]") -> Ids:
    return np.rint(seconds.to_numpy(dtype=np.float64) * Records.TICKS).astype(np.int64)
