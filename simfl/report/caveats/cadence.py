"""How often models were judged, and what that hides of when targets were reached."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simfl.report import formats
from simfl.report.formats import SOME
from simfl.runs.results.grouping import Groups, all_runs
from simfl.runs.results.result import RunResult
from simfl.runs.results.several import all_targets, untrained

COARSE = 0.1
"""Share of the time to a target for which nobody looked that is worth a word."""


def seen_unequally(groups: Groups, targets: Sequence[float] | None = None) -> list[str]:
    """Say that targets were looked for more often with some variants than with others.

    Args:
        groups: the runs, by variant.
        targets: those asked about (None: the scenarios').
    """
    asked = _asked(groups, targets)
    if not asked or untrained(all_runs(groups)):
        return []
    every = {name: _every(runs[0]) for name, runs in groups.items()}
    if len(set(every.values())) < 2:
        return _seen_at_the_end(groups, every, asked) if len(groups) > 1 else []
    listed = formats.listed([f"{_in_words(n)} with {name}" for name, n in every.items()], SOME)
    return [
        f"models were judged {listed}; a target counts from the evaluation that first saw it, "
        "so that variants judged less often seem slower."
    ]


def _asked(groups: Groups, targets: Sequence[float] | None) -> Sequence[float]:
    """Return the targets asked about: those given, or else the scenarios'."""
    return all_targets(all_runs(groups)) if targets is None else targets


def _every(run: RunResult) -> int:
    """Return every how many rounds a run's model is judged."""
    return int(run.written("evaluation", "every") or 1)


def _in_words(rounds: int) -> str:
    return "every round" if rounds == 1 else f"every {rounds:,} rounds"


def _seen_at_the_end(
    groups: Groups, every: Mapping[str, int], targets: Sequence[float]
) -> list[str]:
    """Say whose last model, judged because its run ended, was the first that a target saw."""
    longest = max(run.n_rounds for run in all_runs(groups))
    names = [
        name
        for name, runs in groups.items()
        if any(
            (reached := run.reached(target)) is not None
            and reached.round % every[name]
            and reached.round < longest
            for run in runs
            for target in targets
        )
    ]
    if not names:
        return []
    return [
        f"with {formats.listed(names, SOME)} a target counts from a model that was judged only "
        "because its run ended, between two evaluations; of runs that went on such a model was not "
        "seen, so that they seem slower."
    ]


def seen_late(groups: Groups, targets: Sequence[float] | None = None) -> list[str]:
    """Say by how much targets may have been reached before they were seen, where that is much.

    Args:
        groups: the runs, by variant.
        targets: those asked about (None: the scenarios').
    """
    every = {_every(run) for run in all_runs(groups)}
    if len(every) > 1 or every == {1}:  # see `seen_unequally`
        return []
    asked = _asked(groups, targets)
    unseen = {
        name: max((_unseen_s(run, target) for run in own for target in asked), default=0.0)
        for name, own in groups.items()
    }
    told = [
        formats.duration(s) + (f" with {name}" if len(groups) > 1 else "")
        for name, s in unseen.items()
        if s > 0
    ]
    if not told:
        return []
    return [
        f"models were judged {_in_words(*every)}: targets may have "
        f"been reached before that was seen, by up to {formats.listed(told, SOME)}."
    ]


def _unseen_s(run: RunResult, target: float) -> float:
    """Return how long before it saw `target` a run may have reached it, if that is much.

    The first model that nobody looked at is that of the round after the last look.
    """
    reached = run.reached(target)
    if reached is None or not reached.round:  # 0: the run began there
        return 0.0
    ends_s = run.of_rounds("end_s")
    before = np.flatnonzero(_judged(run) & (ends_s < reached.time_s))
    unseen_s = reached.time_s - float(ends_s[before[-1] + 1 if len(before) else 0])
    return unseen_s if unseen_s > COARSE * reached.time_s else 0.0


def never_judged(groups: Groups, targets: Sequence[float] | None = None) -> list[str]:
    """Say whose targets the model that a run began with may have been at: nobody judged that.

    Args:
        groups: the runs, by variant.
        targets: those asked about (None: the scenarios').
    """
    runs, asked = all_runs(groups), _asked(groups, targets)
    reached_s = [at.time_s for run in runs for target in asked if (at := run.reached(target))]
    at_once = 0.0 in reached_s
    names = [
        name
        for name, own in groups.items()
        if any(
            (at_once or run.written("model", "weights_file"))
            and not run.initial_evaluation
            and (reached := run.reached(target)) is not None
            and not np.any(_judged(run) & (run.of_rounds("end_s") < reached.time_s))
            for run in own
            for target in asked
        )
    ]
    if not names:
        return []
    who = f"with {formats.listed(names, SOME)} " if len(groups) > 1 else ""
    return [
        f"{who}a target was reached by the first model that was judged; the one that the run began "
        "with was not, and may have been there from the start (`evaluation.initial: true` judges "
        "it)."
    ]


def _judged(run: RunResult) -> NDArray[np.bool_]:
    """Return `(rounds,)` whether the model of each was judged."""
    judged: NDArray[np.bool_] = np.isfinite(run.of_rounds("accuracy"))
    judged |= np.isfinite(run.of_rounds("loss"))
    return judged
