"""Which of the runs that a command is given have finished."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simfl.cli._aside import say_aside

if TYPE_CHECKING:
    from simfl.runs.results.result import RunResult


def finished(runs: "Sequence[RunResult]", baseline: str | None) -> "list[RunResult]":
    """Return the runs that have finished; tell of the others.

    Raises:
        InputError: none has, or none of the `baseline`; says how to go on.
    """
    there = [run for run in runs if run.finished]
    if not there:
        runs[0].require_finished()
    left = [run for run in runs if not run.finished]
    if baseline not in {run.variant for run in there}:
        for run in left:
            if run.variant == baseline:
                run.require_finished()
    if left:
        told = ", ".join(str(run.folder) for run in left)
        say_aside(f"note: left out, not finished: {told}")
    return there
