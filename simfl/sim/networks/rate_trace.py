"""Capacities that vary over time: a factor, constant between instants that a file gives."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from simfl.core.tables.table import read_table
from simfl.core.units import Duration
from simfl.core.units.dimensions import LATEST_S
from simfl.errors import InputError

FACTORS = (1e-9, 1e9)
"""Smallest and largest factor."""


class RateTrace(BaseModel):
    """Where a link's factors stand: a CSV with columns ``time_s, factor``, the first row at 0."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: Path = Field(description="the CSV, relative to the scenario")
    period: Duration | None = Field(
        None,
        ge=1e-3,
        description="start again after this duration; omitted: the last factor stays",
    )

    def read(self, folder: Path) -> "Factors":
        """Return what the file says.

        Raises:
            InputError: it can't be read or makes no sense.
        """
        table = read_table(folder, str(self.file), ["time_s", "factor"])
        times, factors = table.numbers("time_s"), table.numbers("factor")
        if times[0] != 0:
            raise InputError(f"{table.place(0)}: the first row must be at time_s 0")
        ends = np.append(times[1:], LATEST_S if self.period is None else self.period)
        if len(wrong := np.flatnonzero(~(times < ends))):
            row = min(int(wrong[0]) + 1, len(times) - 1)
            raise InputError(
                f"{table.place(row)}: time_s must grow from row to row, and stay below "
                f"{'the period' if self.period is not None else f'{LATEST_S:g} s'}"
            )
        least, most = FACTORS
        what = f"a factor: it must be above 0, from {least:g} to {most:g}"
        table.require("factor", lambda x: (x >= least) & (x <= most), what)
        return Factors(times.tolist(), factors.tolist(), self.period)


class Factors:
    """A factor of time.

    Args:
        times_s: `(m,)` when each factor begins, from 0, growing.
        factors: `(m,)` what holds until the next one begins.
        period_s: when it all begins again (None: never).
    """

    def __init__(
        self, times_s: Sequence[float], factors: Sequence[float], period_s: float | None
    ) -> None:
        self._times_s, self._factors, self._period_s = times_s, factors, period_s

    def at(self, now_s: float) -> float:
        """Return the factor that holds now; at the instant of a change, the new one."""
        return self._factors[self._number(now_s) % len(self._factors)]

    def next_change_s(self, now_s: float) -> float:
        """Return the first instant after `now_s` at which the next factor begins (inf: never)."""
        return self._instant_s(self._number(now_s) + 1)

    def _instant_s(self, number: int) -> float:
        cycle, place = divmod(number, len(self._times_s))
        if not cycle:
            return self._times_s[place]
        return math.inf if self._period_s is None else cycle * self._period_s + self._times_s[place]

    def _number(self, now_s: float) -> int:
        """Return how many changes there were by now.

        Rounding can put ``now - cycles * period`` beside the file's time, so the instants decide.
        """
        cycle = 0 if self._period_s is None else int(now_s // self._period_s)
        since_s = now_s - cycle * (self._period_s or 0.0)
        number = cycle * len(self._times_s) + bisect_right(self._times_s, since_s) - 1
        while self._instant_s(number + 1) <= now_s:
            number += 1
        while number > 0 and self._instant_s(number) > now_s:
            number -= 1
        return number
