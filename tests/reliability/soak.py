"""What the tests of reliability share: how long they are, and what must not depend on anything."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings

from simfl import Options, Scenario
from simfl.runs.folder.lock import LOCK
from simfl.runs.job import Job
from simfl.runs.run import resume, run_one

SOAKS = "SIMFL_SOAK" in os.environ
"""Whether this is `make soak`."""
SHARE = float(os.environ.get("SIMFL_SOAK") or 1.0)
"""Of the full length of a soak."""
EAGER = Options(checkpoint_every_s=0.0)
"""A checkpoint at every event that allows one."""
GROWING = ("events.jsonl", "rounds.csv", "clients.csv")


def cases(short: int, full: int) -> int:
    """Return how many cases there are: `short`, or in a soak `full`."""
    return max(int(full * SHARE), 1) if SOAKS else short


def parts(number: int, most: int = 500) -> list[range]:
    """Return the cases from 0 to `number` in parts, so that a soak tells how far it is."""
    return [range(first, min(first + most, number)) for first in range(0, number, most)]


def random_cases(short: int, full: int) -> settings:
    """Return how Hypothesis goes about it: the same cases each time, but in a soak new ones."""
    return settings(
        max_examples=cases(short, full),
        derandomize=not SOAKS,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )


class Cut:
    """Copies a run's folder at an event: what a kill at that moment leaves.

    Args:
        folder: the run's.
        at: the event's number, from 0.
        to: where the copy goes.
    """

    def __init__(self, folder: Path, at: int, to: Path) -> None:
        self._folder, self._left, self._to = folder, at, to

    def listen(self, _time_s: float, _kind: str, _facts: dict[str, Any]) -> None:
        """Take note of one event."""
        if self._left == 0:
            shutil.copytree(self._folder, self._to, ignore=shutil.ignore_patterns(LOCK))
        self._left -= 1


def interrupted(scenario: Scenario, top: Path, cuts: Sequence[int]) -> Path:
    """Run, interrupted at the event of each of `cuts`, one after the other; return the folder."""
    folder = top / "cut-0"
    first, *others = [
        Cut(top / f"cut-{number}", at, top / f"cut-{number + 1}") for number, at in enumerate(cuts)
    ]
    run_one(Job("default", scenario, folder), EAGER, [first.listen])
    for number, cut in enumerate(others, start=1):
        resume(top / f"cut-{number}", EAGER, [cut.listen])
    last = top / f"cut-{len(cuts)}"
    resume(last, EAGER)
    return last
