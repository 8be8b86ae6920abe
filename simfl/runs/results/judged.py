"""How good a run's models were: what each evaluation of its folder tells."""

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simfl.core.rows import PrivateRoundRow, header
from simfl.core.types import Floats, Ids
from simfl.runs.folder.measures import terminal_accuracy
from simfl.runs.folder.run_tables import RunTables
from simfl.runs.folder.tables import column_of

if TYPE_CHECKING:
    from simfl.components.losses.base import Loss
    from simfl.scenario.criteria import Criteria


class JudgedRun(RunTables):
    """A run's rounds, and what its models were judged by."""

    def of_rounds(self, name: str) -> NDArray[Any]:
        """Return `(rounds,)` a column of `rounds`, from round 1 on.

        Raises:
            InputError: there is none of that name.
        """
        return column_of(self.round_rows, name)

    @property
    def n_rounds(self) -> int:
        """Aggregations made."""
        return len(self.round_rows)

    @cached_property
    def evaluated(self) -> Ids:
        """`(evaluations,)` indices of the rounds whose model's accuracy is known.

        A loss that knows no right answers has none; see `judged_in_time`.
        """
        return np.flatnonzero(np.isfinite(self.of_rounds("accuracy")))

    @property
    def has_accuracy(self) -> bool:
        """Whether that of any model is known."""
        return len(self.evaluated) > 0 or math.isfinite(self.initially("accuracy"))

    @cached_property
    def _accuracies(self) -> Floats:
        """`(evaluations,)` of the rounds that were `evaluated`."""
        return np.asarray(self.of_rounds("accuracy")[self.evaluated], dtype=np.float64)

    @property
    def _metric_columns(self) -> list[str]:
        return [name for name in self.round_rows.columns if name not in header(PrivateRoundRow)]

    @cached_property
    def last_evaluation(self) -> dict[str, float]:
        """What the last evaluation gave, by column of `rounds` (NaN: no number; empty: none yet).

        Where the loss knows no right answers it has no accuracy, and where the model has diverged
        no loss.
        """
        last = self.summary.get("last_evaluation") if self.finished else None
        if last is None:
            judged = np.flatnonzero(self.judged_in_time[: self.n_rounds])
            if not len(judged):
                return self.initial_evaluation
            last = self.round_rows.iloc[judged[-1]]
        numbers = {name: last.get(name) for name in ("accuracy", "loss", *self._metric_columns)}
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
        """The highest of all evaluations, the initial model's included (NaN: there was none)."""
        judged = np.append(self.initial_evaluation.get("accuracy", math.nan), self._accuracies)
        return float(np.nanmax(judged)) if self.has_accuracy else math.nan

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
        if name in ("accuracy", "loss", *self._metric_columns):
            return self.of_rounds(name).astype(np.float64)
        return self.errors(name)

    def initially(self, name: str) -> float:
        """Return what `judged_by` says of the model that the run begins with.

        NaN: it was not judged, or there is nothing of that name.
        """
        loss, judged = self._loss_with_error, self.initial_evaluation
        if loss is not None and loss.error == name and math.isfinite(judged.get("loss", math.nan)):
            return loss.error_of(judged["loss"])
        return judged.get(name, math.nan)
