"""Tuning a scenario with Optuna: what `simfl tune` does.

Every trial is a folder of runs, one per seed, and all trials have the same seeds: they meet the
same fleets, outages and initial models.  Trials come one after the other, and each follows from
those before, so to resume is to replay: the sampler asks for the same trials again, and finds their
runs.

A trial is given up as soon as it can't be the best: a run ends at the target, and where nothing is
limited once it has taken as much as the best trial's median; the last seeds are left out where the
others have decided.
"""

import json
import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from simfl.core.at_work import users_own
from simfl.core.extras import extra
from simfl.core.files import write_output
from simfl.errors import InputError, ScenarioError
from simfl.runs.folder.lock import locked
from simfl.runs.job import Job, jobs
from simfl.runs.options import Options
from simfl.runs.results.compare import ACCURACY
from simfl.runs.results.result import RunResult
from simfl.runs.results.trials import METRICS, State, Trial, Tuning, best_of
from simfl.runs.run import run_jobs
from simfl.scenario import Document, Scenario
from simfl.scenario.checks import refuse
from simfl.scenario.parts.tune import LEARNT, Range, Tune
from simfl.scenario.scenario import read
from simfl.scenario.variants import try_out

if TYPE_CHECKING:
    from optuna.study import Study as Asking
    from optuna.trial import Trial as Asked

TRIALS = "trials.csv"

STALE = 10
"""Choices asked for in a row that were tried before; then one that was not is taken instead."""


def tune(
    document: Document,
    out: Path | None = None,
    options: Options | None = None,
    *,
    variant: str | None = None,
    seeds: Sequence[int] | None = None,
    overwrite: bool = False,
    tell: Callable[[Tuning], None] = lambda tuning: None,
) -> Tuning:
    """Look for the best choice that the `tune` section of a scenario describes.

    Args:
        document: the scenario, as written.
        out: the folder of the trials (None: ``runs/NAME-tuning``).
        options: how to run.
        variant: the one that is tuned, of a scenario that has several.
        seeds: instead of the scenario's own.
        overwrite: run again what has been run.
        tell: is told after every trial.

    Raises:
        InputError: Optuna is not there, the scenario does not say what to look for, no trial can be
            run, or another process is at it.
        RunError: a run failed; the same call goes on with it.
    """
    optuna = _optuna()
    study = _Study(document, out, options or Options(), variant, seeds, overwrite)
    sampler = optuna.samplers.TPESampler(seed=study.base.seed % 2**32)
    asking = optuna.create_study(sampler=sampler)
    with locked(study.folder):
        tuning = _tuned(study, asking, optuna, tell)
    if all(trial.state == "refused" for trial in tuning.trials):
        raise InputError(tuning.trials[0].why)
    return tuning


def _tuned(
    study: "_Study", asking: "Asking", optuna: Any, tell: Callable[[Tuning], None]
) -> Tuning:
    """Try as many choices as there are trials, or all that there are; none of them twice."""
    tuning = Tuning(study.base.name, study.spec, study.folder, ())
    tried: dict[str, tuple[Trial, float]] = {}
    stale = 0
    while len(tuning.trials) < study.spec.trials:
        if stale >= STALE:
            if (untried := next(_untried(study.choices, tried), None)) is None:
                break
            asking.enqueue_trial(untried)
        asked = asking.ask()
        parameters = {p: _suggest(asked, p, c) for p, c in study.choices.items()}
        key = json.dumps(parameters, sort_keys=True)
        stale = stale + 1 if key in tried else 0
        if key not in tried:
            trial = study.attempt(len(tuning.trials), parameters)
            tried[key] = trial, study.gap
            tuning = replace(tuning, trials=(*tuning.trials, trial))
            write_output(study.folder / TRIALS, tuning.as_csv().encode())
            tell(tuning)
        trial, gap = tried[key]
        for name, most in tuning.spec.limits.items():
            unknown = math.inf if trial.state == "refused" else most
            asked.set_constraint(name, trial.taken.get(name, unknown) - most)
        if trial.state in ("done", "over a limit"):
            asking.tell(asked, trial.cost)
        else:
            asked.report(gap, 1)
            asking.tell(asked, state=optuna.trial.TrialState.PRUNED)
    return tuning


def _untried(
    choices: Mapping[str, Range | Sequence[Any]], tried: Container[str]
) -> Iterator[dict[str, Any]]:
    """Yield what is left to try, as the sampler has it, where all choices can be listed.

    Of a range that is not of whole numbers nothing is ever tried twice but by chance.
    """
    for asked in _listed(choices):
        written = {
            path: value if isinstance(choice := choices[path], Range) else choice[value]
            for path, value in asked.items()
        }
        if json.dumps(written, sort_keys=True) not in tried:
            yield asked


def _listed(choices: Mapping[str, Range | Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Yield all choices one after the other: the numbers of ranges, the places in lists."""
    if not choices:
        yield {}
        return
    (path, choice), *others = choices.items()
    if not isinstance(choice, Range):
        values = range(len(choice))
    else:
        low, high = choice.bounds
        values = range(int(low), int(high) + 1) if choice.whole else range(0)
    for value in values:
        for rest in _listed(dict(others)):
            yield {path: value, **rest}


def _optuna() -> Any:
    optuna = extra("optuna", "tune", "simfl tune")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _suggest(asked: "Asked", path: str, choice: Range | Sequence[Any]) -> Any:
    """Return the sampler's choice for a parameter, as a scenario has it."""
    if not isinstance(choice, Range):
        return choice[asked.suggest_categorical(path, range(len(choice)))]
    low, high = choice.bounds
    if choice.whole:
        return choice.written(asked.suggest_int(path, int(low), int(high), log=choice.log))
    return choice.written(asked.suggest_float(path, low, high, log=choice.log))


def _refuse_unknown(spec: Tune, scenario: Scenario) -> None:
    """Refuse a choice of which nobody will know what it is judged by.

    Raises:
        ScenarioError: naming what asks for it.
    """
    loss = scenario.training.loss
    if spec.measured == "accuracy" and not loss.has_accuracy:
        raise ScenarioError(
            f"tune.objective: loss {loss.name!r} has no accuracy; the objective may be 'loss'"
        )
    asked = {"objective": [spec.measured], "under": spec.limits}
    for key, names in asked.items():
        if "energy" in names and not scenario.powered:
            raise ScenarioError(
                f"tune.{key}: no group of the fleet says what `power` it takes, so that no energy "
                "is known"
            )


class _Study:
    """Tries choices.

    Attributes:
        base: the scenario that is tuned.
        spec: what is looked for.
        folder: of the trials.
        gap: what the last trial's accuracy lacked of one: tells apart those that never got there.
    """

    def __init__(
        self,
        document: Document,
        out: Path | None,
        options: Options,
        variant: str | None,
        seeds: Sequence[int] | None,
        overwrite: bool,
    ) -> None:
        self.base = read(document)
        if self.base.tune is None:
            raise InputError(
                f"{document.source} does not say what to look for: it has no `tune` section, and "
                "no --parameter and --objective were given"
            )
        if self.base.sweep is not None:
            raise InputError(
                "a scenario is swept or tuned, not both: it has a `sweep`, which --set sweep=null "
                "takes away"
            )
        if self.base.variants and variant is None:
            names = ", ".join(self.base.variants)
            raise InputError(f"one variant is tuned; name it with --variant, one of: {names}")
        self.spec = self.base.tune
        _refuse_unknown(self.spec, try_out(document, self.spec, variant))
        self.choices = self.spec.parameters
        measured = self.spec.measured
        if options.time_only and (self.spec.target is not None or measured in LEARNT):
            raise InputError(
                f"{self.spec.objective!r} needs training, which --time-only leaves out"
            )
        self.folder = out or Path("runs") / f"{self.base.name}-tuning"
        self.gap = 1.0
        self._document, self._variant = document, variant
        self._options, self._seeds, self._overwrite = options, seeds, overwrite
        self._trials: list[Trial] = []

    def attempt(self, number: int, parameters: Mapping[str, Any]) -> Trial:
        """Try a choice."""
        trial = self._tried(f"trial-{number:03}", parameters)
        self._trials.append(trial)
        return trial

    def _tried(self, name: str, parameters: Mapping[str, Any]) -> Trial:
        self.gap = 1.0
        try:
            todo = self._jobs(name, parameters)
        except ScenarioError as error:
            return Trial(name, parameters, "refused", why=str(error))
        decisive = len(todo) // 2 + 1
        runs = self._run(todo[:decisive])
        if not self._is_hopeless(runs, len(todo)):
            runs += self._run(todo[decisive:])
        self.gap = 1 - median(max(run.best_accuracy, 0.0) for run in runs)
        cost = median(map(self._cost, runs)) if len(runs) == len(todo) else math.inf
        if math.isinf(cost):
            state: State = "given up" if best_of(self._trials) else "never"
            return Trial(name, parameters, state, cost, seeds=len(runs))
        taken = {limit: median(map(METRICS[limit].of, runs)) for limit in self.spec.limits}
        within = all(taken[limit] <= most for limit, most in self.spec.limits.items())
        state = "done" if within else "over a limit"
        return Trial(name, parameters, state, cost, taken, len(runs))

    def _jobs(self, name: str, parameters: Mapping[str, Any]) -> list[Job]:
        """Return the runs of a trial.

        Raises:
            ScenarioError: it can't be run.
        """
        document = self._document
        chosen = [
            document.override(path, ("tune", "parameters", path), value)
            for path, value in parameters.items()
        ]
        overrides = (*document.overrides, *chosen)  # what is tuned wins over --set
        for override in overrides:
            document = document.change(override)
        data = {key: value for key, value in document.data.items() if key != "tune"}
        document = replace(document, data=data, overrides=overrides)  # they win over a variant's
        variants = None if self._variant is None else [self._variant]
        asked = jobs(document, self.folder, self._seeds, variants)
        todo = [
            Job(
                name,
                self._bounded(job.scenario, len(asked)),
                self.folder / name / job.folder.name,
                dict(parameters),
            )
            for job in asked
        ]
        refuse({job.variant: job.scenario for job in todo}, trains=not self._options.time_only)
        for job in todo:
            _refuse_unknown(self.spec, job.scenario)
        return todo

    def _bounded(self, scenario: Scenario, seeds: int) -> Scenario:
        """Return `scenario` ended at the target, and once it can't be the best any more."""
        if self.spec.target is None:
            return scenario
        stop = scenario.rounds.stop
        ends: dict[str, Any] = {"accuracy": self.spec.target}
        best = best_of(self._trials)
        # What is limited can't be told of a run that was cut off.
        capped = self.spec.measured in ("time", "rounds", "bytes") and not self.spec.limits
        if best is not None and capped:
            # The mean of the two in the middle is below the best only if the higher is below twice.
            most = best.cost * (1 if seeds % 2 else 2)
            cap = math.ceil(most) if self.spec.measured == "rounds" else most
            limit = getattr(stop, self.spec.measured)
            ends[self.spec.measured] = cap if limit is None else min(limit, cap)
        rounds = scenario.rounds.model_copy(update={"stop": stop.model_copy(update=ends)})
        return scenario.model_copy(update={"rounds": rounds})

    def _run(self, todo: Sequence[Job]) -> list[RunResult]:
        if not todo:
            return []
        return run_jobs(
            todo, self._options, self._overwrite, go_on=not self._overwrite, tell_reuse=False
        )

    def _cost(self, run: RunResult) -> float:
        metric = METRICS[self.spec.measured]
        if metric is ACCURACY:
            return -run.final_accuracy
        cost = metric.until(run, self.spec.target)
        return math.inf if cost is None or math.isnan(cost) else float(cost)

    @property
    def _least(self) -> float:
        """The least that what is looked for can be: of a user's own loss nothing is known."""
        chosen = any(path.startswith("training.loss") for path in self.choices)
        return -math.inf if chosen or users_own([self.base.training.loss]) else 0.0

    def _is_hopeless(self, runs: Sequence[RunResult], seeds: int) -> bool:
        """Whether the median can't be below the best's, whatever the seeds that are left give."""
        best = best_of(self._trials)
        known = sorted(map(self._cost, runs))
        best_case = -1.0 if METRICS[self.spec.measured] is ACCURACY else self._least
        least = median([*[best_case] * (seeds - len(known)), *known])
        return least == math.inf or (best is not None and least >= best.cost)
