"""Checks that need more than the scenario itself: how it is to be run."""

from collections.abc import Iterable

from simfl.errors import ScenarioError
from simfl.scenario.variants import Run
from simfl.scenario.yaml import Location, dotted


def check_time_only(runs: Iterable[Run]) -> None:
    """Make sure that `runs` can be made without training (``--time-only``).

    Raises:
        ScenarioError: what needs training, each with its place.
    """
    problems: dict[str, None] = {}
    for run in runs:
        found: list[tuple[Location, str]] = []
        selector, stop = run.scenario.selection, run.scenario.rounds.stop
        if selector.needs_training:
            found.append(
                (
                    ("selection",),
                    f"{selector.name!r} needs losses, profiles or updates, which --time-only never "
                    "has",
                )
            )
        if stop.rounds is None and stop.time is None and stop.bytes is None:
            found.append(
                (
                    ("rounds", "stop"),
                    "needs rounds, time or bytes: under --time-only no accuracy is ever reached",
                )
            )
        for path, message in found:
            document = run.scenario._document
            place = "" if document is None else f"{document.place(path)}: "
            problems[f"{place}{dotted(path)}: {message}"] = None
    if problems:
        raise ScenarioError("\n".join(problems))
