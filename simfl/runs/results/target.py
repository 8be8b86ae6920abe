"""What runs are asked to reach: accuracies, or errors where the loss has no accuracy."""

import math
from collections.abc import Sequence

from simfl.core.units import parse_share
from simfl.errors import InputError
from simfl.runs.results.error_target import ErrorTarget
from simfl.runs.results.result import RunResult
from simfl.runs.results.several import all_errors, have_accuracy


def as_targets(targets: Sequence[float | str], runs: Sequence[RunResult]) -> list[float]:
    """Return what is to be reached, the easiest first.

    Args:
        targets: accuracies such as 0.3 or "30%", or, of runs that have none, errors such as 0.35.
        runs: which are asked.

    Raises:
        InputError: one is neither.
    """
    errors = [] if have_accuracy(runs) else all_errors(runs)
    if len(errors) != 1:
        return sorted({parse_share(target) for target in targets})
    values = sorted({_number(target, errors[0]) for target in targets}, reverse=True)
    return [ErrorTarget(value, errors[0]) for value in values]


def _number(text: float | str, error: str) -> float:
    try:
        number = float(text)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"expected an error such as 0.5, a number ({error}), got {text!r}")
    return number
