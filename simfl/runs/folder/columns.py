"""What the files of a run's folder hold: what each column means, from where it is declared."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simfl.core import rows
from simfl.runs.folder.event_kinds import COMMON, EVENT_KINDS
from simfl.runs.folder.folder import CLIENTS, EVENTS, ROUNDS, SUMMARY
from simfl.runs.folder.growing_file import PACKED
from simfl.runs.folder.summary import MEANINGS

WIDTH = 96


@dataclass(frozen=True)
class FileDescription:
    """What is in a file of a run's folder.

    Attributes:
        file: its name.
        about: what a row of it is.
        columns: their meanings, by name; of an event log, those of the kinds of events.
    """

    file: str
    about: str
    columns: Mapping[str, str]

    @property
    def entry(self) -> str:
        """What one of the columns is called."""
        return "kind of event" if self.file == EVENTS else "column"

    def __str__(self) -> str:
        indent = 6 * " "
        lines = [
            f"{self.file} (in every run's folder)",
            "",
            *textwrap.wrap(self.about, WIDTH, fix_sentence_endings=True),
            "",
        ]
        for name, meaning in self.columns.items():
            texts = [textwrap.fill(line, WIDTH - 6) for line in meaning.splitlines() or [""]]
            lines += [f"  {name}", *(textwrap.indent(text, indent) for text in texts)]
        return "\n".join(lines)


def described(word: str) -> list[FileDescription]:
    """Return the file that is called `word`, or the columns in files that are ([]: none is).

    The event log may be called by its bare name, too, which no table is: theirs mean other things.
    """
    file = EVENTS if word in _LOG_NAMES else word
    if file in FILES:
        return [FILES[file]()]
    files = [make() for make in FILES.values()]
    return [
        FileDescription(table.file, table.about, {word: table.columns[word]})
        for table in files
        if word in table.columns
    ]


def texts(declared: Any) -> dict[str, str]:
    """Return what stands below each variable that a class or a module declares ("": nothing)."""
    tree = ast.parse(inspect.cleandoc(inspect.getsource(declared)))
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else tree.body
    below: dict[str, str] = {}
    name = ""
    for statement in body:
        match statement:
            case ast.AnnAssign(target=ast.Name() as variable):
                name = variable.id
            case ast.Assign(targets=[ast.Name() as variable]):
                name = variable.id
            case ast.Expr(value=ast.Constant(value=str(text))) if name:
                below[name] = " ".join(text.split())
                continue
            case _:
                name = ""
        if name:
            below[name] = ""
    return below


def _table(file: str, row: type) -> Callable[[], FileDescription]:
    about = " ".join((row.__doc__ or "").partition("\n\n")[0].split())

    def describe() -> FileDescription:
        columns = texts(row)
        if "outcome" in columns:
            columns["outcome"] += f" {texts(rows)['Outcome'].capitalize()}"
        return FileDescription(file, f"{about}  An empty cell: None.", columns)

    return describe


def _summary() -> FileDescription:
    return FileDescription(SUMMARY, "What came of a run that has ended, as a whole.", MEANINGS)


def _events() -> FileDescription:
    about = (
        "One event a line, as JSON, in the order in which they happened.  With --compress-log the "
        f"file is {EVENTS}{PACKED}; with --log rounds it tells of no single client.  null: not "
        "known, or not finite."
    )
    kinds = {kind: str(event) for kind, event in EVENT_KINDS.items()}
    return FileDescription(EVENTS, about, {**COMMON, **kinds})


_LOG_NAMES = ("events", EVENTS + PACKED)

FILES: Mapping[str, Callable[[], FileDescription]] = {
    ROUNDS: _table(ROUNDS, rows.RoundRow),
    CLIENTS: _table(CLIENTS, rows.ClientRow),
    EVENTS: _events,
    SUMMARY: _summary,
}
"""What describes each file, by its name."""
