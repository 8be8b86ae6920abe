"""Compare runs: what they reached and spent, over seeds, and against a baseline."""

from collections.abc import Sequence

from simfl.core.arguments import require_kind, require_several
from simfl.errors import InputError
from simfl.runs.results.asked_targets import as_targets
from simfl.runs.results.compared_columns import columns_of
from simfl.runs.results.comparison import Comparison
from simfl.runs.results.grouping import by_variant, require_variant
from simfl.runs.results.result import RunResult
from simfl.runs.results.several import all_targets, untrained


def compare(
    results: Sequence[RunResult],
    targets: Sequence[float | str] | None = None,
    baseline: str | None = None,
    ideal: str | None = None,
) -> Comparison:
    """Return what runs reached and spent, a row per variant, the baseline first.

    Args:
        results: runs, finished or not.
        targets: accuracies, such as 0.3 or "30%", or other numbers, such as "rmse 0.35"; where the
            loss knows no accuracy, errors, such as 0.35, too (None: those of the scenarios).
        baseline: variant that all are compared with, seed by seed: by how much less each needs to
            reach a target (2: half as much), or a round of it where there is no target, and the
            differences in accuracy, error and metrics.
        ideal: variant whose terminal accuracy is a relative improvement of 1 over the baseline.

    Raises:
        InputError: these are no runs, there is no such variant, or a target is none.
    """
    results = _checked(results)
    require_several("targets", targets, "['60%']")
    groups = by_variant(results)
    for argument, variant in (("baseline", baseline), ("ideal", ideal)):
        require_kind(argument, variant, str | None, "the name of a variant")
        if variant:
            require_variant(variant, groups)
    if baseline is not None:  # first
        groups = {baseline: groups[baseline], **groups}
    asked = all_targets(results) if targets is None else as_targets(targets, results)
    if untrained(results):  # which no target could be reached by
        asked = []
    columns = columns_of(groups, asked, baseline, ideal)
    return Comparison(groups, columns, asked, baseline)


def _checked(results: Sequence[RunResult]) -> list[RunResult]:
    """Return runs, which may come one by one.

    Raises:
        InputError: these are none.
    """
    require_several("results", results, "[load(folder), load(another)]", optional=False)
    results = list(results)
    for run in results:
        if not isinstance(run, RunResult):
            raise InputError(f"results: expected runs such as load(folder), got {run!r}")
    return results
