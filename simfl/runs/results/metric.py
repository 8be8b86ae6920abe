"""What is measured of runs, over the seeds of a variant: what they reached, took and spent."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simfl.core.costs import SPENT, Cost, Unit
from simfl.core.rows import EPSILONS as PRIVACY
from simfl.runs.folder.measures import TERMINAL_ROUNDS
from simfl.runs.results.costs import READINGS
from simfl.runs.results.paired import Times
from simfl.runs.results.result import RunResult
from simfl.runs.results.several import all_errors, all_metrics, have_accuracy, untrained
from simfl.runs.results.statistics import ANY, Figure, Range


@dataclass(frozen=True)
class Metric:
    """Something measured of a run.

    Attributes:
        name: as in tables for programs.
        unit: says how its values are written.
        of: of a whole run (NaN: it has none).
        cost: which attribute of `Reached` it is, if it can be asked of a target.
        worst: what a run that has none counts as: negative where more is better (NaN: not known).
        within: the least and the most that a number without a unit can be.
        title: what people call it ("": its name, in their letters).
    """

    name: str
    unit: Unit
    of: Callable[[RunResult], float]
    cost: str = ""
    worst: float = math.inf
    within: Range = ANY
    title: str = ""

    @property
    def stem(self) -> str:
        """Its name without a unit."""
        return self.name.removesuffix("_s").removesuffix("_j")

    @property
    def judges(self) -> bool:
        """Whether it tells how good models are: an accuracy, error, or one of the scenario's."""
        return self.unit == "number" or self.name.endswith("accuracy")

    @property
    def possible(self) -> Range:
        """What it can be."""
        return {"share": (0.0, 1.0), "number": self.within}.get(self.unit, (0.0, math.inf))

    def until(self, run: RunResult, target: float | None) -> float | None:
        """Return what a run had taken when it reached `target`, if that is a cost (None: never).

        Without a target: what is measured of the whole run (`of`).
        """
        if target is None:
            return self.of(run)
        reached = run.reached(target)
        return None if reached is None else float(getattr(reached, self.cost))

    def followed(self, run: RunResult) -> float:
        """Return what a run took that never got to a target: it would have cost more, if ever.

        Bytes, joules and epsilon are those by the end of the last round, counted as to a target.
        """
        reading = READINGS.get(self.cost)
        if reading is None:
            return float(self.of(run))
        return float(reading.by_round(run)[-1]) if run.n_rounds else 0.0


def _of_cost(cost: Cost) -> Metric:
    whole = READINGS[cost.column].whole
    return Metric(cost.column, cost.unit, whole, cost.column, title=cost.title)


ACCURACY = Metric("accuracy", "share", lambda run: run.final_accuracy, worst=-math.inf)
TERMINAL = Metric(
    "terminal_accuracy",
    "share",
    lambda run: run.terminal_accuracy,
    worst=-math.inf,
    title=f"accuracy, last {TERMINAL_ROUNDS} rounds",
)
TIME = Metric("time_s", "time", lambda run: run.end_s, "time_s", title="time")
ROUNDS = Metric("rounds", "count", lambda run: run.n_rounds, "round")
BY_COST: Mapping[str, Metric] = {cost.name: _of_cost(cost) for cost in SPENT}
"""What is measured of each cost that is summed up, by its name."""
BYTES, ENERGY = BY_COST["bytes"], BY_COST["energy"]
WASTED = Metric("wasted_bytes", "bytes", lambda run: run.wasted_bytes, title="wasted")
IDLE = Metric("idle_energy_j", "energy", lambda run: run.idle_energy_j, title="energy idle")
NORMALISED = Metric(
    "normalised_time",
    "ratio",
    lambda run: run.normalised_round,
    title="last arrival / deadline",
)

EPSILONS = [BY_COST[name] for name in PRIVACY]
"""The privacy spent, see `simfl.core.epsilon`."""
COSTS = (TIME, ROUNDS, *BY_COST.values())
"""What can be asked of a target."""


def _mean_gemd(run: RunResult) -> float:
    known = run.of_rounds("gemd")
    known = known[np.isfinite(known)]
    return float(known.mean()) if len(known) else math.nan


def _mean_staleness(run: RunResult) -> float:
    counted = run.of_clients("staleness")[run.used]
    return float(counted.mean()) if len(counted) else math.nan


def _never_heard(run: RunResult) -> float:
    if run.finished:  # whatever its log
        return 1 - float(run.summary["distinct_participants"]) / run.devices
    return 1 - float((run.participations > 0).mean()) if run.log != "none" else math.nan


NEVER_HEARD = Metric("never_heard", "share", _never_heard, title="devices never heard")
"""Of devices, those of which no update counted."""

ON_REQUEST = (
    Metric("best_accuracy", "share", lambda run: run.best_accuracy, worst=-math.inf),
    Metric("loss", "number", lambda run: run.last_evaluation.get("loss", math.nan), title="loss"),
    Metric("gemd", "ratio", _mean_gemd),
    Metric("gini", "ratio", lambda run: run.gini, title="Gini of participations"),
    NEVER_HEARD,
    Metric("staleness", "ratio", _mean_staleness, title="staleness of updates"),
    Metric("download_bytes", "bytes", lambda run: run.download_bytes, title="bytes downloaded"),
    Metric("upload_bytes", "bytes", lambda run: run.upload_bytes, title="bytes uploaded"),
    Metric("probe_bytes", "bytes", lambda run: run.probe_bytes, title="bytes of probes"),
    Metric("backhaul_bytes", "bytes", lambda run: run.backhaul_bytes, title="on the backhaul"),
)
"""What comparisons tell only if it is asked for by name."""


def _per_round(cost: Metric) -> Metric:
    def of(run: RunResult) -> float:
        return cost.of(run) / run.n_rounds if run.n_rounds else math.nan

    return Metric(f"{cost.stem}_per_round", cost.unit, of, title=cost.title)


PER_ROUND = {
    whole: _per_round(whole)
    for whole in (TIME, *(BY_COST[cost.name] for cost in SPENT if cost.per_round))
}
"""What rounds of two variants are compared by where no accuracy is."""


def _per_update(run: RunResult) -> float:
    counted = float(np.nansum(run.of_rounds("arrived")))
    return run.end_s / counted if counted else math.nan


TIME_PER_UPDATE = Metric("time_per_update", "time", _per_update)
"""What variants are compared by whose rounds are of unequal numbers of updates."""


def figure(runs: Sequence[RunResult], metric: Metric, target: float | None) -> Figure:
    """Return one number over the seeds of a variant."""
    values = [metric.until(run, target) for run in runs]
    if target is None:
        return Figure.of(values, metric.worst, possible=metric.possible)
    still = sum(at is None and not run.finished for at, run in zip(values, runs, strict=True))
    return Figure.of(values, open=still, possible=metric.possible)


def times(runs: Sequence[RunResult], metric: Metric, target: float | None) -> Times:
    """Return what a variant needed to reach `target`, or took if there is none, by seed."""
    followed = metric.of if target is None else metric.followed
    return Times(
        {run.seed: metric.until(run, target) for run in runs},
        {run.seed: float(followed(run)) for run in runs},
        in_steps=target is not None,
    )


def totals(results: Sequence[RunResult]) -> list[Metric]:
    """Return what can be said of some of these runs as a whole."""
    errors = all_errors(results)
    judged = [] if untrained(results) else [ACCURACY]
    lengths = [run.n_rounds for run in results]
    # Of a shorter run it is the mean of all rounds, the first ones included.
    if judged and max(lengths, default=0) > TERMINAL_ROUNDS <= min(lengths, default=0):
        judged.append(TERMINAL)
    if errors:
        judged = judged if have_accuracy(results) else []
        least = (0.0, math.inf)
        judged = [*judged, *(Metric(e, "number", _error(e), within=least) for e in errors)]
    judged += [
        Metric(name, "number", _of_the_scenario(name), worst=math.nan, within=within)
        for name, within in all_metrics(results).items()
    ]
    metrics = [*judged, ROUNDS, TIME, BYTES, WASTED]
    if any(run.powered for run in results):
        metrics.append(ENERGY)
    if any(run.idle_energy_j > 0 for run in results):
        metrics.append(IDLE)
    if any(math.isfinite(run.normalised_round) for run in results):
        metrics.append(NORMALISED)
    others = [spent for spent in BY_COST.values() if spent not in (BYTES, ENERGY)]
    metrics += [spent for spent in others if any(math.isfinite(spent.of(r)) for r in results)]
    return metrics


def _error(name: str) -> Callable[[RunResult], float]:
    def of(run: RunResult) -> float:
        return run.error[1] if run.error is not None and run.error[0] == name else math.nan

    return of


def _of_the_scenario(name: str) -> Callable[[RunResult], float]:
    return lambda run: run.metrics.get(name, math.nan)
