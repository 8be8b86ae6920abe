"""What came of a run, read from its folder: of last year or of now, finished or not."""

import math
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simfl.core.target import metric_of, parse_target
from simfl.core.types import Floats, Ids
from simfl.runs.folder.measures import RoundTimes, gini, normalised_times
from simfl.runs.results.costs import READINGS, CostedRun, Reached


class RunResult(CostedRun):
    """What came of a run: everything is a fold over the files of its folder."""

    @cached_property
    def short_rounds(self) -> int:
        """Rounds in which fewer clients took part than were asked for."""
        return int((self.of_rounds("missing") > 0).sum())

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
            return _reached(0.0, 0.0, {name: how.at_start(self) for name, how in READINGS.items()})
        hits = np.flatnonzero(self.criteria.at(target, self.judged_by(metric_of(target))))
        if not len(hits):
            return None
        first = hits[0]
        return _reached(
            float(self.of_rounds("end_s")[first]),
            float(self.of_rounds("round")[first]),
            {name: float(how.by_round(self)[first]) for name, how in READINGS.items()},
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


def _reached(time_s: float, round_: float, spent: Mapping[str, float]) -> Reached:
    """Return what was spent by then; what is not known is the default, the NaN equal to itself."""
    known = {name: value for name, value in spent.items() if not math.isnan(value)}
    return Reached(time_s, round_, **known)
