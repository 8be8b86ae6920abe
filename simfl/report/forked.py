"""Forks: from an instant on they go by other rules than the run that they come from."""

from collections.abc import Mapping, Sequence
from typing import Any

from simfl.report import formats
from simfl.runs.results.grouping import only_longer
from simfl.runs.results.result import RunResult

LINES = 4
"""Forks that are told each by itself."""
MARKS = 6
"""More instants than this are not marked."""


def told(runs: Sequence[RunResult]) -> list[str]:
    """Return of what runs are forks, from when on, and what was changed then; a line per fork."""
    several = len({run.variant for run in runs}) > 1
    lines = list(
        dict.fromkeys(
            f"{f'{run.variant}: fork' if several else 'Fork'} of {fork['variant']}, {_how(fork)}."
            for run in runs
            for fork in run.forks
        )
    )
    more = len(lines) - LINES
    return lines[:LINES] + ([f"{formats.plural(more, 'more fork')}."] if more > 0 else [])


def instants_s(runs: Sequence[RunResult]) -> list[float]:
    """Return when forks began, to be marked on curves over virtual time; [] where it was often."""
    forks = [fork for run in runs for fork in run.forks if not only_longer(fork)]
    instants = sorted({float(fork["at_s"]) for fork in forks})
    return instants if len(instants) <= MARKS else []


def _how(fork: Mapping[str, Any]) -> str:
    changes = ", ".join(fork["set"])
    if changes and only_longer(fork):  # each seed from just before its own end
        return f"gone on with: {changes}"
    return f"from {formats.duration(fork['at_s'])} on: {changes or 'nothing changed'}"
