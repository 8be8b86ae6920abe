"""What a run cost: virtual time, bytes, joules, and privacy."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simfl.core.rows import COUNTED, EPSILONS, MOVED
from simfl.core.types import Floats
from simfl.errors import InputError
from simfl.runs.folder.folder import PROVENANCE, SUMMARY
from simfl.runs.folder.tables import column_of
from simfl.runs.results.judged import JudgedRun


@dataclass(frozen=True)
class Reached:
    """When the round ended whose model first reached some target, and what was spent by then.

    NaN: it is not known.
    """

    time_s: float
    round: float
    bytes: float
    energy_j: float = math.nan
    epsilon: float = math.nan
    epsilon_poisson: float = math.nan


class CostedRun(JudgedRun):
    """A run's participations, and what it cost: round by round, and in all."""

    def of_clients(self, name: str) -> NDArray[Any]:
        """Return `(participations,)` a column of `clients`.

        Raises:
            InputError: there is none of that name.
        """
        return column_of(self.client_rows, name)

    @cached_property
    def end_s(self) -> float:
        """Virtual time at the end (of the last whole round, if the run has not ended)."""
        if self.finished:
            return float(self.summary["virtual_time_s"])
        return float(self.of_rounds("end_s")[-1]) if self.n_rounds else 0.0

    @cached_property
    def moved_bytes(self) -> Floats:
        """`(rounds,)` bytes moved from the start to each round's end, those in flight included."""
        booked = self.round_rows[list(MOVED)].fillna(0).sum(axis=1).cumsum()
        return (booked + self.round_rows["in_flight_bytes"].fillna(0)).to_numpy(np.float64)

    @cached_property
    def spent_j(self) -> Floats:
        """`(rounds,)` joules spent by devices at work from the start to each round's end.

        NaN: not `powered`.
        """
        if not self.powered:
            return np.full(self.n_rounds, np.nan)
        booked = self.round_rows["energy_j"].cumsum()
        return (booked + self.round_rows["in_flight_energy_j"].fillna(0)).to_numpy(np.float64)

    def spent_epsilon(self, name: str) -> Floats:
        """Return `(rounds,)` `epsilon` or `epsilon_poisson`, spent by each round's end.

        NaN: the run does not tell it, or was made by an older version.
        """
        if name not in self.round_rows:
            return np.full(self.n_rounds, np.nan)
        return self.of_rounds(name).astype(np.float64)

    def epsilon_at_start(self, name: str) -> float:
        """Return what round 0 says of that, 0 (NaN: nothing, or there is none)."""
        known = self._first and name in self._round_table
        return float(self._round_table[name].iloc[0]) if known else math.nan

    def total_epsilon(self, name: str) -> float:
        """Return `epsilon` or `epsilon_poisson` of the whole run, up to when as `end_s`.

        NaN: the run does not tell it.
        """
        if self.finished or not self.n_rounds:
            spent = self.privacy.get(name)
            return math.nan if spent is None else float(spent)
        return float(self.spent_epsilon(name)[-1])

    @property
    def total_bytes(self) -> int:
        """Bytes moved in all, probes included (up to the last whole round, as `end_s`)."""
        return int(self._total(*MOVED))

    @property
    def download_bytes(self) -> int:
        """Bytes moved to clients and edge servers (up to the last whole round, as `end_s`)."""
        return int(self._total("download_bytes"))

    @property
    def upload_bytes(self) -> int:
        """Bytes moved to the server and to edge servers (likewise)."""
        return int(self._total("upload_bytes"))

    @property
    def probe_bytes(self) -> int:
        """Bytes of questions and answers of selectors (up to the last whole round, as `end_s`)."""
        return int(self._total("probe_bytes"))

    @property
    def backhaul_bytes(self) -> int:
        """Bytes between edge servers and the cloud (up to the last whole round, as `end_s`).

        Of a run that has not ended it is what rounds moved beyond the participations booked in
        them (0, too: fewer of these are there to be read than rounds tell of).
        """
        if self.finished:
            return int(self.summary["totals"].get("backhaul_bytes", 0))
        told = int(np.nansum(self.round_rows[[*COUNTED]].to_numpy(np.float64)))
        # What a fork or the end cuts off no column counts; the latter is in no round at all.
        counted = np.cumsum(self.of_clients("outcome") != "unfinished")
        if told > counted.max(initial=0):
            return 0
        ways = ["download_bytes", "upload_bytes"]
        booked = self.client_rows.loc[counted <= told, ways].to_numpy().sum()
        return max(int(self._total(*ways)) - int(booked), 0)

    @property
    def wasted_bytes(self) -> int:
        """Bytes of participations that came to nothing (up to the last whole round, as `end_s`)."""
        return int(self._total("wasted_bytes"))

    @property
    def wasted_share(self) -> float:
        """Share of all bytes that came to nothing."""
        return self.wasted_bytes / self.total_bytes if self.total_bytes else 0.0

    @property
    def total_energy_j(self) -> float:
        """Joules of devices at work, up to when as `end_s` (NaN: not `powered`)."""
        return self._total("energy_j") if self.powered else math.nan

    @property
    def idle_energy_j(self) -> float:
        """Joules of all devices online that took no part, up to when as `end_s` (NaN likewise)."""
        return self._total("idle_energy_j") if self.powered else math.nan

    def _total(self, *columns: str) -> float:
        """Return what `columns` come to at the end (of the last whole round, as `end_s`).

        Raises:
            InputError: the summary does not say it.
        """
        if self.finished:
            totals = self.summary["totals"]
            for name in columns:
                if not isinstance(totals[name], int | float):
                    raise InputError(
                        f"{self.folder / SUMMARY} has no {name}, which {self.folder / PROVENANCE} "
                        "says is known: one of them is damaged"
                    )
            return float(sum(totals[name] for name in columns))
        return math.fsum(self.round_rows[list(columns)].fillna(0).to_numpy().ravel())

    @property
    def privacy(self) -> dict[str, Any]:
        """What its summary tells of privacy ({}: nothing, or the run has not ended)."""
        return dict(self.summary.get("privacy", {})) if self.finished else {}


@dataclass(frozen=True)
class Reading:
    """How one of `simfl.core.costs.SPENT` is read from a run.

    Attributes:
        by_round: `(rounds,)` what was spent from the start to each round's end (NaN: not known).
        whole: what the whole run spent (NaN: not known).
        at_start: what is spent at round 0, before anything has been (NaN: not known).
    """

    by_round: Callable[[CostedRun], Floats]
    whole: Callable[[CostedRun], float]
    at_start: Callable[[CostedRun], float] = lambda run: 0.0


def _of_privacy(name: str) -> Reading:
    return Reading(
        lambda run: run.spent_epsilon(name),
        lambda run: run.total_epsilon(name),
        lambda run: run.epsilon_at_start(name),
    )


READINGS: Mapping[str, Reading] = {
    "bytes": Reading(lambda run: run.moved_bytes, lambda run: run.total_bytes),
    "energy_j": Reading(
        lambda run: run.spent_j,
        lambda run: run.total_energy_j,
        lambda run: 0.0 if run.powered else math.nan,
    ),
    **{name: _of_privacy(name) for name in EPSILONS},
}
"""By column, which `Reached` has, too."""
