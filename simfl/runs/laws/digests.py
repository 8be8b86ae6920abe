"""Digests of what was run and of what came of it."""

from hashlib import sha256

from simfl.runs.folder import EVENTS, PROVENANCE, SUMMARY
from simfl.runs.laws.base import Violation, Violations
from simfl.runs.records import Records


def event_digest(records: Records) -> Violations:
    """The summary's digest is that of the event log."""
    assert records.summary is not None
    digest = sha256("".join(f"{line}\n" for line in records.lines).encode()).hexdigest()
    if records.summary["events_sha256"] != digest:
        words = f"events_sha256 is {records.summary['events_sha256']}, that of {EVENTS} is {digest}"
        yield Violation(SUMMARY, 1, words)


def scenario_digest(records: Records) -> Violations:
    """The scenario is the one that was run."""
    digest = sha256(records.scenario_bytes).hexdigest()
    if (told := records.provenance["scenario_sha256"]) != digest:
        yield Violation(PROVENANCE, 1, f"scenario_sha256 is {told}, that of the file is {digest}")
