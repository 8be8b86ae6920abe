"""The past that a fork shares: when the fork begins, and what of the log belongs to it."""

import math
from pathlib import Path

from simfl.core.arguments import called
from simfl.errors import InputError
from simfl.runs.folder.files import RunFiles
from simfl.runs.folder.folder import event_lines, event_of


def shared_past(folder: Path, at_s: float, begun_s: float) -> tuple[float, int]:
    """Return when a fork begins, and how many events of the run in `folder` are its past.

    Args:
        folder: of the run.
        at_s: when the fork is to begin; inf: at the last instant before the end.
        begun_s: when the run itself began as a fork (0: it is none).

    Raises:
        InputError: no fork can begin then.
    """
    if (log := RunFiles(folder).log) != "full":
        recorded = called(f"--log {log}", f"log={log!r}")
        raise InputError(f"{folder} was recorded with {recorded}: its past is not known")
    at_s = float(at_s)  # whose comparisons are not NumPy's
    lines = enumerate(event_lines(folder), start=1)
    times_s = [event_of(folder, number, line)["t"] for number, line in lines]
    last_s = times_s[-1] if times_s else 0.0
    latest_s = max((time_s for time_s in times_s if time_s < last_s), default=0.0)
    if at_s == math.inf:
        at_s = latest_s
    if not at_s > 0:  # nor is it after or before any number that is none
        raise InputError(
            f"a fork begins after 0 s, not at {at_s:g} s; for other rules from the start, run the "
            "scenario"
        )
    shared = sum(time_s <= at_s for time_s in times_s)
    if shared == len(times_s):
        if not last_s > 0:
            raise InputError(
                f"{folder} is recorded until 0 s: it has no instant at which a fork could begin; "
                "for other rules from the start, run the scenario"
            )
        at_end = f", and {called('`--at end`', 'at_s=inf')} just before" if latest_s > 0 else ""
        raise InputError(
            f"{folder} is recorded until {last_s:g} s; a fork begins before that{at_end}"
        )
    if at_s <= begun_s:
        raise InputError(
            f"{folder} is a fork itself, from {begun_s:g} s on; fork it later than that, or "
            "fork the run that it comes from"
        )
    return at_s, shared
