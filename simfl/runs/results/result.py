"""What came of a run, read from its folder: of last year or of now, finished or not."""

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simfl.core.rows import COUNTED, EPSILONS, MOVED
from simfl.core.target import metric_of, parse_target
from simfl.core.types import Floats, Ids
from simfl.errors import InputError
from simfl.runs.folder.folder import PROVENANCE, SUMMARY
from simfl.runs.folder.measures import RoundTimes, gini, normalised_times
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
    energy_j: float
    epsilon: float = math.nan
    epsilon_poisson: float = math.nan


class RunResult(JudgedRun):
    """What came of a run: everything is a fold over the files of its folder."""

    def of_clients(self, name: str) -> NDArray[Any]:
        """Return `(participations,)` a column of `clients`.

        Raises:
            InputError: there is none of that name.
        """
        return column_of(self.client_rows, name)

    @cached_property
    def short_rounds(self) -> int:
        """Rounds in which fewer clients took part than were asked for."""
        return int((self.of_rounds("missing") > 0).sum())

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

    def reached(self, target: float | str) -> Reached | None:
        """Return when a model that was judged first had reached `target`; None: never.

        Args:
            target: an accuracy, such as "30%", or another number, such as "rmse 0.5".

        Raises:
            InputError: it is neither.
        """
        target = parse_target(target)
        began = np.array([self.initially(metric_of(target))])
        if self.criteria.at(target, began).any():
            none_j = 0.0 if self.powered else math.nan
            return Reached(0.0, 0.0, 0.0, none_j, *map(self.epsilon_at_start, EPSILONS))
        hits = np.flatnonzero(self.criteria.at(target, self.judged_by(metric_of(target))))
        if not len(hits):
            return None
        first = hits[0]
        told = [name for name in EPSILONS if name in self.round_rows]
        return Reached(
            float(self.of_rounds("end_s")[first]),
            float(self.of_rounds("round")[first]),
            float(self.moved_bytes[first]),
            float(self.spent_j[first]),
            *(float(self.spent_epsilon(name)[first]) for name in told),
        )

    @cached_property
    def outcomes(self) -> Counter[str]:
        """Participations by what became of them."""
        return Counter(
            {str(k): int(n) for k, n in self.client_rows["outcome"].value_counts().items()}
        )

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """`(participations,)` whether its update became part of a model."""
        return np.asarray(self.client_rows["outcome"] == "arrived", dtype=np.bool_)

    @cached_property
    def last_counted(self) -> Ids:
        """`(rounds,)` the row of the update that counted last in each round (-1: none did).

        Rows stand in the order in which they were booked, whatever round they were sent out in.
        """
        used, rounds = np.flatnonzero(self.used), np.arange(self.n_rounds)
        arrived = self.round_rows["arrived"].fillna(0).to_numpy(np.int64)
        counted_in = np.repeat(rounds, arrived)[: len(used)]
        used = used[: len(counted_in)]  # what comes after the last round counts in none
        used = used[np.lexsort((self.of_clients("upload_end_s")[used], counted_in))]
        last = np.searchsorted(counted_in, rounds, side="right") - 1
        known = np.isin(rounds, counted_in)
        return np.where(known, used[last] if len(used) else -1, -1)

    @property
    def total_bytes(self) -> int:
        """Bytes moved in all, probes included (up to the last whole round, as `end_s`)."""
        return int(self._total(*MOVED))

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

    @cached_property
    def deadline_s(self) -> float:
        """The deadline of its rounds, if they all had the same (else NaN)."""
        deadlines = np.unique(self.of_rounds("deadline_s"))  # all NaN are one value
        return float(deadlines[0]) if len(deadlines) == 1 else math.nan

    @cached_property
    def normalised_round(self) -> float:
        """Mean over rounds of the time to the last arrival divided by the deadline.

        As in FedCore's Table 1; NaN: no round had a deadline.
        """
        timed = self.round_rows[self.round_rows["deadline_s"] > 0][list(RoundTimes._fields)]
        rows = timed.astype(object).where(timed.notna(), None).itertuples(index=False, name=None)
        times = normalised_times([RoundTimes(*row) for row in rows])
        return math.nan if times is None else times.last_arrival

    @property
    def privacy(self) -> dict[str, Any]:
        """What its summary tells of privacy ({}: nothing, or the run has not ended)."""
        return dict(self.summary.get("privacy", {})) if self.finished else {}

    @cached_property
    def durations_s(self) -> Floats:
        """`(participations,)` from selection to arrival (NaN: never arrived)."""
        taken: Floats = self.of_clients("upload_end_s") - self.of_clients("selected_s")
        return np.where(self.used, taken, np.nan)

    @cached_property
    def participations(self) -> Ids:
        """`(devices,)` how often each device's update counted."""
        return np.bincount(self.of_clients("client")[self.used], minlength=self.devices)

    @cached_property
    def gini(self) -> float:
        """Gini coefficient of `participations` (0: nobody was heard)."""
        if self.finished:
            return float(self.summary["participation_gini"])
        return gini(self.participations[self.participations > 0].tolist(), self.devices)

    @property
    def facts(self) -> dict[str, Any]:
        """What it is, what it reached and what it took: a row of a table of runs."""
        quality = {"accuracy": self.final_accuracy}
        if self.error is not None:
            quality = {self.error[0]: self.error[1]}
        return {
            "variant": self.variant,
            "seed": self.seed,
            **quality,
            **self.metrics,
            "rounds": self.n_rounds,
            "virtual time (s)": self.end_s,
            "bytes": self.total_bytes,
            "wasted share": self.wasted_share,
            "energy (J)": self.total_energy_j,
            "finished": self.finished,
        }

    def _repr_html_(self) -> str:
        import pandas as pd

        html: str = pd.DataFrame([self.facts]).to_html(index=False, na_rep="")
        return html
