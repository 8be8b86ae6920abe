"""What runs are asked to reach: accuracies, or other numbers that their evaluations measured."""

import math
from collections.abc import Sequence

from simfl.components.metrics.base import BETTER
from simfl.core.target import MetricTarget, parse_target
from simfl.errors import InputError, nearest
from simfl.runs.results.result import RunResult
from simfl.runs.results.several import all_errors, all_judged, easiest_first, have_accuracy
from simfl.scenario.criteria import better_unknown


def as_targets(targets: Sequence[float | str], runs: Sequence[RunResult]) -> list[float]:
    """Return what is to be reached, the easiest first.

    Args:
        targets: accuracies such as 0.3 or "30%", or other numbers such as "rmse 0.35"; of runs
            that have no accuracy, errors such as 0.35, too.
        runs: which are asked.

    Raises:
        InputError: one is none, of what no run was judged by, or a value that no model can have.
    """
    errors = [] if have_accuracy(runs) else all_errors(runs)
    error = errors[0] if len(errors) == 1 else ""
    asked = {_error(target, error) if error else parse_target(target) for target in targets}
    for target in asked:
        if isinstance(target, MetricTarget):
            _refuse_unreachable(target, runs)
    return easiest_first(asked, runs)


def _error(text: float | str, error: str) -> float:
    """Return the target that is meant; a number alone is one of the `error`."""
    if isinstance(text, MetricTarget):
        return text
    try:
        number = float(text)
    except (TypeError, ValueError):
        number = math.nan
    if math.isfinite(number):
        return MetricTarget(number, error)
    if isinstance(text, str) and text.strip()[:1].isalpha():
        return parse_target(text)
    raise InputError(f"expected an error such as 0.5, a number ({error}), got {text!r}")


def _refuse_unreachable(target: MetricTarget, runs: Sequence[RunResult]) -> None:
    """Refuse what no run was judged by, and values that no model can have.

    Raises:
        InputError: telling why.
    """
    name, judged = target.metric, all_judged(runs)
    if name not in judged:
        known = [other for other in judged if judged[other] in BETTER]
        raise InputError(f"no run was judged by {name!r}{nearest(name, known)}")
    if judged[name] not in BETTER:
        raise InputError(better_unknown(name))
    whys = [run.criteria.why_unreachable(target) for run in runs if name in run.criteria.named]
    if whys and all(whys):
        raise InputError(whys[0])
