"""What came of a tuning: its trials, and the best."""

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from simfl.runs.results.metric import ACCURACY, BY_COST, NEVER_HEARD, ROUNDS, TIME, Metric
from simfl.runs.results.result import RunResult
from simfl.scenario.parts.tune import Tune

TRIALS, PAGE = "trials.csv", "tuning.html"
"""The files in the folder of a tuning that are about all its trials."""
State = Literal["done", "given up", "never", "over a limit", "refused"]
"""given up: it is no better than the best so far; never: most seeds never got there, nor had any
trial before; refused: it can't be run."""
METRICS: Mapping[str, Metric] = {
    "time": TIME, "rounds": ROUNDS, **BY_COST,
    "accuracy": ACCURACY,
    "wasted": Metric("wasted", "share", lambda run: run.wasted_share),
    "never_heard": NEVER_HEARD,
    "epsilon": Metric(
        "epsilon", "ratio", lambda run: _or_infinite(run.privacy.get("epsilon")), "epsilon"
    ),
}  # fmt: skip
"""What can be an objective or a limit; so can what models are judged by, see `metric_called`."""


def metric_called(name: str) -> Metric:
    """Return an objective or a limit by its name."""
    return METRICS.get(name) or Metric(name, "number", _of_the_last(name))


def _or_infinite(epsilon: float | None) -> float:
    return math.inf if epsilon is None else epsilon


def _of_the_last(name: str) -> Callable[[RunResult], float]:
    def of(run: RunResult) -> float:
        error = dict([run.error] if run.error else [])
        return {**error, **run.last_evaluation}.get(name, math.nan)

    return of


@dataclass(frozen=True)
class Trial:
    """One choice, tried.

    Attributes:
        name: of its folder.
        parameters: path -> value, as written.
        state: what became of it.
        cost: the objective's median over seeds, the lower the better: accuracy, and what else more
            is better of, is negative (infinite: most never got there, or it was given up before;
            NaN: it was refused).
        taken: limited quantities: their medians over seeds (given up: not known).
        seeds: how many were run.
        why: it was refused.
    """

    name: str
    parameters: Mapping[str, Any]
    state: State
    cost: float = math.nan
    taken: Mapping[str, float] = field(default_factory=dict)
    seeds: int = 0
    why: str = ""


@dataclass(frozen=True)
class Tuning:
    """What came of it.

    Attributes:
        name: of the scenario.
        spec: what was looked for.
        folder: where the trials are.
        trials: in the order in which they were tried.
        every: rounds from one evaluation to the next.
        more: whether more of the objective is better.
    """

    name: str
    spec: Tune
    folder: Path
    trials: Sequence[Trial]
    every: int = 1
    more: bool = False

    @property
    def best(self) -> Trial | None:
        """The best trial within all limits (None: there is none)."""
        return best_of(self.trials)

    def value(self, trial: Trial) -> float:
        """Return a trial's objective (infinite or NaN as its `cost`)."""
        return -trial.cost if self.more else trial.cost

    def as_csv(self) -> str:
        """Return a line per trial, with a column per parameter and limit."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        asked = [*self.spec.limits, *self.spec.parameters]
        writer.writerow(["trial", "state", self.spec.objective, "seeds", *asked])
        for trial in self.trials:
            taken = [trial.taken.get(name, "") for name in self.spec.limits]
            chosen = [trial.parameters[path] for path in self.spec.parameters]
            value = self.value(trial) if math.isfinite(trial.cost) else ""
            writer.writerow([trial.name, trial.state, value, trial.seeds, *taken, *chosen])
        return buffer.getvalue()


def best_of(trials: Sequence[Trial]) -> Trial | None:
    """Return the best of those within all limits (None: there is none)."""
    done = [trial for trial in trials if trial.state == "done"]
    return min(done, key=lambda trial: trial.cost) if done else None
