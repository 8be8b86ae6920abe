"""Recorded sessions in memory: flat arrays of the instants at which records change state."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from simfl.core.types import Ids
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
    """

    TICKS: ClassVar[int] = 1024
    """Ticks a second: a power of two, so that seconds <-> ticks is exact."""

    periods: Ids
    flips: Ids
    first: Ids
    starts_on: NDArray[np.bool_]

    def look(self, records: Ids, at: Ids) -> tuple[NDArray[np.bool_], Ids]:
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
        padded = np.append(self.flips, 0)  # so that an empty last record has something to look at
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
    table = _read(file)
    ids, owner = np.unique(table["device"].to_numpy(), return_inverse=True)
    order = np.lexsort((table["start_s"], owner))
    owner = owner[order]
    start, end = (_ticks(table[name])[order] for name in ("start_s", "end_s"))
    state = table["state"].to_numpy()[order]
    if not len(ids) or (start < 0).any() or (end <= start).any():
        raise InputError(f"{file}: expected rows with 0 <= start_s < end_s")
    if ((start[1:] < end[:-1]) & (owner[1:] == owner[:-1])).any():
        raise InputError(f"{file}: rows of one device overlap")
    whole = round(period_s * Records.TICKS) if period_s is not None else int(end.max())
    periods, flips, starts_on = [], [], []
    for record in range(len(ids)):
        low, high = np.searchsorted(owner, [record, record + 1])
        a, b, on = start[low:high], end[low:high], state[low:high] == 1
        length = whole
        if skip_unknown and (state[low:high] == -1).any():
            known = state[low:high] != -1
            b = np.cumsum(np.where(known, b - a, 0))
            a = np.concatenate([[0], b[:-1]])
            length = int(b[-1]) if period_s is None else whole
            if not length:
                continue
        a, b = np.minimum(a[on], length), np.minimum(b[on], length)
        edges, times = np.unique(np.concatenate([a, b]), return_counts=True)
        edges = edges[times % 2 == 1]  # an end that is also a start is no change
        ends_on = bool(((a < b) & (b == length)).any())
        if len(edges) and edges[-1] == length:
            edges = edges[:-1]  # the end of a period is the start of the next
            edges = edges[1:] if edges[0] == 0 else np.concatenate([[0], edges])
        periods.append(length)
        flips.append(edges)
        starts_on.append(ends_on)
    if not periods:
        raise InputError(f"{file}: nothing is known of any device")
    first = np.concatenate([[0], np.cumsum([len(edges) for edges in flips])])
    return Records(
        np.array(periods), np.concatenate(flips).astype(np.int64), first, np.array(starts_on)
    )


def _read(file: Path) -> "pd.DataFrame":
    import pandas as pd

    try:
        table = pd.read_csv(file)
    except (OSError, ValueError) as error:
        raise InputError(f"can't read the availability trace {file}: {error}") from error
    table = table.rename(columns={"client_id": "device"})
    if missing := {"device", "start_s", "end_s"} - set(table.columns):
        raise InputError(f"{file}: no column {', '.join(sorted(missing))}")
    if "state" not in table:
        table["state"] = 1
    for name in ("start_s", "end_s", "state"):
        if not pd.api.types.is_numeric_dtype(table[name]) or table[name].isna().any():
            raise InputError(f"{file}: column {name} must hold numbers only")
    if table["device"].isna().any() or not table["state"].isin([-1, 0, 1]).all():
        raise InputError(f"{file}: expected a device and a state of 1, 0 or -1 in every row")
    return table


def _ticks(seconds: "pd.Series[float]") -> Ids:
    return np.rint(seconds.to_numpy(dtype=np.float64) * Records.TICKS).astype(np.int64)
