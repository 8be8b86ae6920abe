"""Trials of a tuning: a choice, run with every seed, until it is known what it comes to."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from simfl.core.arguments import called
from simfl.core.costs import TUNED
from simfl.core.ownership import users_own
from simfl.core.target import MetricTarget
from simfl.errors import InputError, ScenarioError
from simfl.runs.job import Job, jobs
from simfl.runs.options import Options
from simfl.runs.results.result import RunResult
from simfl.runs.run_jobs import run_jobs
from simfl.runs.tuning.looked_for import looked_for, refuse_unknown
from simfl.runs.tuning.trials import State, Trial, best_of, metric_called
from simfl.scenario import Document, Scenario
from simfl.scenario.checks import one_of_each, refuse
from simfl.scenario.one_variant import read_with, variant
from simfl.scenario.variants import try_out


class TrialRunner:
    """Tries choices.

    Args:
        document: the scenario, as written, with what is looked for.
        out: the folder of the trials (None: ``runs/NAME-tuning``).
        options: how to run.
        variant: the one that is tuned, of a scenario that has several.
        seeds: instead of the scenario's own.
        overwrite: run again what has been run; else it is kept, and what was interrupted resumed.
        go_on: with `overwrite`, run again only what has been run with other settings.

    Attributes:
        base: the scenario that is tuned.
        spec: what is looked for.
        choices: what each parameter may be, by its path.
        every: rounds from one evaluation to the next.
        folder: of the trials.
        more: whether more of the objective is better.

    Raises:
        InputError: the scenario does not say what to look for, or it can't be looked for.
    """

    def __init__(
        self,
        document: Document,
        out: Path | None,
        options: Options,
        variant: str | None,
        seeds: Sequence[int] | None,
        overwrite: bool,
        go_on: bool,
    ) -> None:
        self.base = read_with(document, [variant] if variant else [])
        self.spec = looked_for(self.base, document.source, variant)
        self._tuned = try_out(document, self.spec, variant)
        refuse_unknown(self.spec, self._tuned)
        self.choices = self.spec.parameters
        self.every = self._tuned.evaluation.every
        measured, self._criteria = self.spec.measured, self._tuned.criteria
        self.more = self._criteria.better(measured) == "more"
        if options.time_only and (self.spec.target is not None or measured not in TUNED):
            untrained = called("--time-only", "time_only")
            raise InputError(
                f"{self.spec.objective!r} needs training, which {untrained} leaves out"
            )
        self.folder = out or Path("runs") / f"{self.base.name}-tuning"
        self._document, self._variant = document, variant
        self._options, self._seeds = options, seeds
        self._overwrite, self._go_on = overwrite, go_on or not overwrite
        self._trials: list[Trial] = []
        self._capped: dict[Path, str] = {}  # what ends a run that can't be the best any more

    def attempt(self, number: int, parameters: Mapping[str, Any]) -> tuple[Trial, float]:
        """Try a choice; return what became of it, and its gap.

        That is what its accuracy lacked of one, or another number of the target: tells apart those
        that never got there.
        """
        trial, gap = self._tried(f"trial-{number:03}", parameters)
        self._trials.append(trial)
        return trial, gap

    def _tried(self, name: str, parameters: Mapping[str, Any]) -> tuple[Trial, float]:
        """Run a choice with as many seeds as decide whether it is better than the best so far."""
        try:
            todo = self._jobs(name, parameters)
        except ScenarioError as error:
            return Trial(name, parameters, "refused", why=str(error)), 1.0
        decisive = len(todo) // 2 + 1
        runs = self._run(todo[:decisive])
        if not self._is_hopeless(runs, len(todo)):
            runs += self._run(todo[decisive:])
        gap = median(map(self._gap, runs))
        cost = median(map(self._cost, runs)) if len(runs) == len(todo) else math.inf
        if math.isinf(cost):
            state: State = "given up" if best_of(self._trials) else "never"
            return Trial(name, parameters, state, cost, seeds=len(runs)), gap
        taken = {limit: median(map(metric_called(limit).of, runs)) for limit in self.spec.limits}
        within = all(taken[limit] <= most for limit, most in self.spec.limits.items())
        state = "done" if within else "over a limit"
        return Trial(name, parameters, state, cost, taken, len(runs)), gap

    def _gap(self, run: RunResult) -> float:
        """Return how far the best model of a run stayed from the target, in its own unit."""
        target = self.spec.target
        if not isinstance(target, MetricTarget):
            return 1 - max(run.best_accuracy, 0.0)
        values = run.judged_by(target.metric)
        sign = -1.0 if self._criteria.better(target.metric) == "more" else 1.0
        known = sign * values[np.isfinite(values)]
        return float(known.min()) - sign * float(target) if len(known) else math.inf

    def _jobs(self, name: str, parameters: Mapping[str, Any]) -> list[Job]:
        """Return the runs of a trial.

        Raises:
            ScenarioError: it can't be run.
        """
        document = variant(self._document, self._variant)  # which alone may know what is tuned
        for path, value in parameters.items():  # it wins over --set
            written = ("tune", "parameters", path)
            document = document.change(self._document.override(path, written, value))
        seeds = self._seeds or self.base.seeds or (self.base.seed,)
        asked = jobs(document, self.folder, seeds)
        todo = [
            Job(
                name,
                self._bounded(job.scenario, len(asked), folder),
                folder,
                dict(parameters),
            )
            for job in asked
            for folder in [self.folder / name / job.folder.name]
        ]
        refuse(
            one_of_each((job.variant, job.scenario) for job in todo),
            trains=not self._options.time_only,
        )
        for job in todo:
            refuse_unknown(self.spec, job.scenario)
        return todo

    def _bounded(self, scenario: Scenario, seeds: int, folder: Path) -> Scenario:
        """Return `scenario` ended at the target, and once it can't be the best any more."""
        if self.spec.target is None:
            return scenario
        stop = scenario.rounds.stop
        rule = "target" if isinstance(self.spec.target, MetricTarget) else "accuracy"
        ends: dict[str, Any] = {rule: self.spec.target}
        best = best_of(self._trials)
        # What is limited can't be told of a run that was cut off.
        capped = self.spec.measured in ("time", "rounds", "bytes") and not self.spec.limits
        if best is not None and capped:
            # The mean of the two in the middle is below the best only if the higher is below twice.
            cost, cap = self.spec.measured, best.cost * (1 if seeds % 2 else 2)
            if cost == "rounds" or cap == 0:  # 0: the best began at the target
                cost, cap = "rounds", max(math.ceil(cap), 1)
            limit = getattr(stop, cost)
            if limit is None or cap < limit:
                ends[cost] = cap
                self._capped[folder] = cost
        rounds = scenario.rounds.model_copy(update={"stop": stop.model_copy(update=ends)})
        return scenario.model_copy(update={"rounds": rounds})

    def _run(self, todo: Sequence[Job]) -> list[RunResult]:
        if not todo:
            return []
        return run_jobs(todo, self._options, self._overwrite, go_on=self._go_on, tell_reuse=False)

    def _cost(self, run: RunResult) -> float:
        metric = metric_called(self.spec.measured)
        cost = metric.until(run, target := self.spec.target)
        reached = None if target is None else run.reached(target)
        if reached is not None and reached.round % run.scenario["evaluation"]["every"]:
            # Seen only as the run ended: others that were cut off were not looked at then.
            cut_off = run.summary["finished"] == self._capped.get(run.folder)
            cost = None if cut_off else metric.of(run)
        if cost is None or math.isnan(cost):
            return math.inf
        return -float(cost) if self.more else float(cost)

    @property
    def _best_case(self) -> float:
        """The least that a cost can be: of a user's own loss or metric nothing is known."""
        measured = self.spec.measured
        if measured in self._criteria.named and measured != "loss":
            least, most = self._criteria.named[measured].within
            return -most if self.more else least
        chosen = any(path.startswith("training.loss") for path in self.choices)
        return -math.inf if chosen or users_own([self._tuned.training.loss]) else 0.0

    def _is_hopeless(self, runs: Sequence[RunResult], seeds: int) -> bool:
        """Whether the median can't be below the best's, whatever the seeds that are left give."""
        best = best_of(self._trials)
        known = sorted(map(self._cost, runs))
        least = median([*[self._best_case] * (seeds - len(known)), *known])
        return least == math.inf or (best is not None and least >= best.cost)
