"""What came of a run, read from its folder: of last year or of now, finished or not."""

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simfl.core.rows import MOVED, RoundRow, header
from simfl.core.target import metric_of, parse_target
from simfl.core.types import Floats, Ids
from simfl.errors import InputError, nearest
from simfl.runs.folder.files import RunFiles
from simfl.runs.folder.folder import PROVENANCE, SUMMARY
from simfl.runs.folder.measures import RoundTimes, gini, normalised_times, terminal_accuracy

if TYPE_CHECKING:
    import pandas as pd

    from simfl.components.losses.base import Loss
    from simfl.scenario.criteria import Criteria


@dataclass(frozen=True)
class Reached:
    """When the round ended whose model first reached some target, and what was spent by then."""

    time_s: float
    round: float
    bytes: float
    energy_j: float


class RunResult(RunFiles):
    """What came of a run: everything is a fold over the files of its folder."""

    def of_rounds(self, name: str) -> NDArray[Any]:
        """Return `(rounds,)` a column of `rounds`.

        Raises:
            InputError: there is none of that name.
        """
        return _column(self.round_rows, name)

    def of_clients(self, name: str) -> NDArray[Any]:
        """Return `(participations,)` a column of `clients`.

        Raises:
            InputError: there is none of that name.
        """
        return _column(self.client_rows, name)

    @cached_property
    def short_rounds(self) -> int:
        """Rounds in which fewer clients took part than were asked for."""
        return int((self.of_rounds("missing") > 0).sum())

    @property
    def n_rounds(self) -> int:
        """Aggregations made."""
        return len(self.round_rows)

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

    @cached_property
    def evaluated(self) -> Ids:
        """`(evaluations,)` indices of the rounds whose model's accuracy is known.

        A loss that knows no right answers has none; see `judged_in_time`.
        """
        return np.flatnonzero(np.isfinite(self.of_rounds("accuracy")))

    @cached_property
    def _accuracies(self) -> Floats:
        """`(evaluations,)` of the rounds that were `evaluated`."""
        return np.asarray(self.of_rounds("accuracy")[self.evaluated], dtype=np.float64)

    @cached_property
    def last_evaluation(self) -> dict[str, float]:
        """What the last evaluation gave, by column of `rounds` (NaN: no number; empty: none yet).

        Where the loss knows no right answers it has no accuracy, and where the model has diverged
        no loss.
        """
        metrics = [name for name in self.round_rows.columns if name not in header(RoundRow)]
        last = self.summary.get("last_evaluation") if self.finished else None
        if last is None:
            judged = np.flatnonzero(self.judged_in_time[: self.n_rounds])
            if not len(judged):
                return {}
            last = self.round_rows.iloc[judged[-1]]
        numbers = {name: last.get(name) for name in ("accuracy", "loss", *metrics)}
        return {name: math.nan if x is None else float(x) for name, x in numbers.items()}

    @property
    def final_accuracy(self) -> float:
        """Of the last evaluation (NaN: there was none)."""
        return self.last_evaluation.get("accuracy", math.nan)

    @cached_property
    def _loss_with_error(self) -> "Loss | None":
        """The loss, where an error is told of it in place of an accuracy (None: it is not)."""
        from simfl.components.losses.base import losses

        judged = self.last_evaluation
        # Code of the user's own is not imported to look at what it gave.
        known = self.component("training", "loss") in losses.names()
        if not judged or math.isfinite(judged["accuracy"]) or not known:
            return None
        loss = losses.parse(self.written("training", "loss"))
        return loss if loss.error else None

    @cached_property
    def error(self) -> tuple[str, float] | None:
        """Name and value of the error at the last evaluation, where the loss has no accuracy.

        NaN: the model has diverged.
        """
        if (loss := self._loss_with_error) is None:
            return None
        last = self.last_evaluation["loss"]
        return loss.error, math.nan if self.loss_is_lost else loss.error_of(last)

    def errors(self, name: str) -> Floats:
        """Return `(rounds,)` the error of that name (NaN: not evaluated, or the loss has none)."""
        loss = self._loss_with_error
        if loss is None or loss.error != name:
            return np.full(self.n_rounds, np.nan)
        mean_losses = self.of_rounds("loss").astype(np.float64).tolist()
        return np.array([loss.error_of(x) if math.isfinite(x) else math.nan for x in mean_losses])

    @property
    def metrics(self) -> dict[str, float]:
        """What the last evaluation measured beside accuracy and loss, by column (NaN: no number).

        Where nothing was evaluated there is none.
        """
        return {k: x for k, x in self.last_evaluation.items() if k not in ("accuracy", "loss")}

    @property
    def loss_is_lost(self) -> bool:
        """Whether the last model that was judged has diverged: its loss is no finite number."""
        return not math.isfinite(self.last_evaluation.get("loss", 0.0))

    @property
    def best_accuracy(self) -> float:
        """The highest of all evaluations (NaN: there was none)."""
        return float(self._accuracies.max()) if len(self._accuracies) else math.nan

    @property
    def terminal_accuracy(self) -> float:
        """Mean over the evaluations of the last 50 rounds (NaN: there was none)."""
        rounds = self.of_rounds("round")[self.evaluated].tolist()
        judged = zip(rounds, self._accuracies.tolist(), strict=True)
        accuracy = terminal_accuracy(judged, self.n_rounds)
        return math.nan if accuracy is None else accuracy

    @cached_property
    def criteria(self) -> "Criteria":
        """What its models were judged by, as far as its folder tells."""
        from simfl.runs.folder.criteria import criteria_of

        return criteria_of(self.scenario, self.provenance)

    def judged_by(self, name: str) -> Floats:
        """Return `(rounds,)` the accuracy, the loss, its error or a metric, by its name.

        NaN: not evaluated, or there is none of that name.
        """
        metrics = [column for column in self.round_rows.columns if column not in header(RoundRow)]
        if name in ("accuracy", "loss", *metrics):
            return self.of_rounds(name).astype(np.float64)
        return self.errors(name)

    def reached(self, target: float | str) -> Reached | None:
        """Return when a model that was judged first had reached `target`; None: never.

        Args:
            target: an accuracy, such as "30%", or another number, such as "rmse 0.5".

        Raises:
            InputError: it is neither.
        """
        target = parse_target(target)
        hits = np.flatnonzero(self.criteria.at(target, self.judged_by(metric_of(target))))
        if not len(hits):
            return None
        first = hits[0]
        return Reached(
            float(self.of_rounds("end_s")[first]),
            float(self.of_rounds("round")[first]),
            float(self.moved_bytes[first]),
            float(self.spent_j[first]),
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
        counted_in = np.repeat(rounds, self.of_rounds("arrived").astype(np.int64))[: len(used)]
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
        """Return what `columns` come to at the end (of the last whole round, as `end_s`)."""
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


def _column(table: "pd.DataFrame", name: str) -> NDArray[Any]:
    """Return `(rows,)` one column of a table of a run.

    Raises:
        InputError: it has none of that name.
    """
    if name not in [*table.columns]:
        raise InputError(f"there is no column {name!r}{nearest(str(name), table.columns)}")
    column: NDArray[Any] = table[name].to_numpy()
    return column
