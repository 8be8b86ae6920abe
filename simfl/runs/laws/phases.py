"""The phases of a participation."""

from itertools import pairwise

from simfl.runs.folder import EVENTS
from simfl.runs.laws.base import DELIVERED, ENDS, PHASES, Violation, Violations
from simfl.runs.records import Records


def phases(records: Records) -> Violations:
    """A participation's phases end one after the other, as the log says, within its time."""
    ended = {(event["client"], event["event"], event["t"]) for _, event in records.of(*PHASES)}
    for line, part in records.participations:
        ends = [part["selected_s"], *(part[name] for name in ENDS if part[name] is not None)]
        if any(later < earlier for earlier, later in pairwise([*ends, part["t"]])):
            yield Violation(EVENTS, line, f"its phases end at {ends} s, it at {part['t']} s")
        for kind, (column, _) in PHASES.items():
            at_s = part[column]
            if at_s is not None and (part["client"], kind, at_s) not in ended:
                yield Violation(EVENTS, line, f"{column} is {at_s}, but nothing is {kind} then")
        if (part["outcome"] in DELIVERED) > (part["upload_end_s"] is not None):
            yield Violation(EVENTS, line, f"{part['outcome']}, but its upload never ended")
        if part["upload_end_s"] is not None and part["compute_end_s"] is None:
            yield Violation(EVENTS, line, "it uploads what it has not computed")
        if part["outcome"] in ("offline", "skipped") and part["upload_end_s"] is not None:
            yield Violation(EVENTS, line, f"{part['outcome']}, but its upload ended")
