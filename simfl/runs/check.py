"""Whether a run's folder obeys the laws of `simfl.runs.laws`: an examiner that trusts nobody."""

import os
from dataclasses import dataclass

from simfl.errors import RunError
from simfl.runs.folder.folder import given_run
from simfl.runs.folder.records import Records
from simfl.runs.laws import LAWS, Law

READABLE = "readable"
"""The law that the others rest on: every file says something."""


@dataclass(frozen=True)
class Finding:
    """What became of one law.

    Attributes:
        law: its name.
        violation: the first place where it is broken: file, line and values.
        skipped: why it was not checked; empty: it was.
    """

    law: str
    violation: str = ""
    skipped: str = ""

    @property
    def holds(self) -> bool:
        """Whether the law was checked and is kept."""
        return not (self.violation or self.skipped)

    def __str__(self) -> str:
        words = f"BROKEN  {self.violation}" if self.violation else self.skipped or "holds"
        return f"{self.law + ' ':.<18} {words}"


def check(folder: str | os.PathLike[str]) -> list[Finding]:
    """Hold a run's folder to every law; of one that has not finished, what can be checked.

    Only the folder is read: nothing is run, and no code that the scenario names is imported.

    Raises:
        InputError: `folder` is no run folder.
    """
    folder = given_run(folder)
    try:
        records = Records.read(folder)
    except (ValueError, RunError, OSError, RecursionError) as error:
        broken = Finding(READABLE, str(error))
        return [broken, *(Finding(law.name, skipped="not checked") for law in LAWS)]
    return [Finding(READABLE), *(_examine(law, records) for law in LAWS)]


def _examine(law: Law, records: Records) -> Finding:
    if law.finished and records.summary is None:
        return Finding(law.name, skipped="not checked: the run has not finished")
    if law.full_log and records.log != "full":
        words = f"not checked: the run was recorded with --log {records.log}"
        return Finding(law.name, skipped=words)
    try:
        if unknown := law.unknown(records):
            return Finding(law.name, skipped=f"not checked: {unknown}")
        violation = next(law.violations(records), "")
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        violation = f"the folder is not of the form expected ({type(error).__name__}: {error})"
    return Finding(law.name, str(violation))
