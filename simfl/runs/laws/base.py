"""What a law is, and what laws call the parts of a participation."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from simfl.runs.folder.records import Records

PHASES = {
    "downloaded": ("download_end_s", "download_bytes"),
    "computed": ("compute_end_s", None),
    "uploaded": ("upload_end_s", "upload_bytes"),
}
"""By event: where its instant and its bytes are in a participation, in order."""
ENDS = tuple(column for column, _ in PHASES.values())
DELIVERED = ("arrived", "discarded", "filtered")
"""Outcomes of those whose upload has ended."""


@dataclass(frozen=True)
class Violation:
    """Where a law is broken.

    Attributes:
        file: of the run folder.
        row: its line, 1-based.
        words: what is there, and what should be.
    """

    file: str
    row: int
    words: str

    def __str__(self) -> str:
        return f"{self.file}:{self.row}: {self.words}"


Violations = Iterator[Violation]


@dataclass(frozen=True)
class Law:
    """A law.

    Attributes:
        name: what it is called.
        violations: yields where it is broken.
        finished: whether it is about runs that have ended only.
        full_log: whether it is about what only a full event log says.
        unknown: returns what of a run it would have to know, and does not ("": it knows enough).
    """

    name: str
    violations: Callable[[Records], Violations]
    finished: bool = False
    full_log: bool = True
    unknown: Callable[[Records], str] = lambda _: ""
