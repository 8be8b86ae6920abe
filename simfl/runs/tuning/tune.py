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
from typing import TYPE_CHECKING, Any

from simfl.core.extras import extra
from simfl.core.files import write_output
from simfl.errors import InputError
from simfl.runs.folder.lock import locked
from simfl.runs.options import Options
from simfl.runs.tuning.trial_runner import TrialRunner
from simfl.runs.tuning.trials import TRIALS, Trial, Tuning
from simfl.scenario import Document
from simfl.scenario.parts.tune import Range

if TYPE_CHECKING:
    from optuna.study import Study as Asking
    from optuna.trial import Trial as Asked

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
    go_on: bool = False,
    tell: Callable[[Tuning], None] = lambda tuning: None,
) -> Tuning:
    """Look for the best choice that the `tune` section of a scenario describes.

    Args:
        document: the scenario, as written.
        out: the folder of the trials (None: ``runs/NAME-tuning``).
        options: how to run.
        variant: the one that is tuned, of a scenario that has several.
        seeds: instead of the scenario's own.
        overwrite: run again what has been run; else it is kept, and what was interrupted resumed.
        go_on: with `overwrite`, run again only what has been run with other settings.
        tell: is told after every trial.

    Raises:
        InputError: Optuna is not there, the scenario does not say what to look for, no trial can be
            run, or another process is at it.
        RunError: a run failed; the same call goes on with it.
    """
    optuna = _optuna()
    runner = TrialRunner(document, out, options or Options(), variant, seeds, overwrite, go_on)
    sampler = optuna.samplers.TPESampler(seed=runner.base.seed % 2**32)
    asking = optuna.create_study(sampler=sampler)
    with locked(runner.folder):
        tuning = _tuned(runner, asking, optuna, tell)
    if all(trial.state == "refused" for trial in tuning.trials):
        raise InputError(tuning.trials[0].why)
    return tuning


def _tuned(
    runner: TrialRunner, asking: "Asking", optuna: Any, tell: Callable[[Tuning], None]
) -> Tuning:
    """Try as many choices as there are trials, or all that there are; none of them twice."""
    tuning = Tuning(runner.base.name, runner.spec, runner.folder, (), runner.every, runner.more)
    tried: dict[str, tuple[Trial, float]] = {}
    stale = 0
    while len(tuning.trials) < runner.spec.trials:
        if stale >= STALE:
            if (untried := next(_untried(runner.choices, tried), None)) is None:
                break
            asking.enqueue_trial(untried)
        asked = asking.ask()
        parameters = {p: _suggest(asked, p, c) for p, c in runner.choices.items()}
        key = json.dumps(parameters, sort_keys=True)
        stale = stale + 1 if key in tried else 0
        if key not in tried:
            tried[key] = runner.attempt(len(tuning.trials), parameters)
            tuning = replace(tuning, trials=(*tuning.trials, tried[key][0]))
            write_output(runner.folder / TRIALS, tuning.as_csv().encode())
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
