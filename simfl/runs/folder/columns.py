"""What the files of a run's folder hold: what each column means, from where it is declared."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simfl.core import rows
from simfl.runs.folder.folder import CLIENTS, ROUNDS, SUMMARY
from simfl.runs.folder.summary import MEANINGS

WIDTH = 96


@dataclass(frozen=True)
class FileDescription:
    """What is in a file of a run's folder.

    Attributes:
        file: its name.
        about: what a row of it is.
        columns: their meanings, by name.
    """

    file: str
    about: str
    columns: Mapping[str, str]

    def __str__(self) -> str:
        indent = 6 * " "
        lines = [
            f"{self.file} (in every run's folder)",
            "",
            *textwrap.wrap(self.about, WIDTH, fix_sentence_endings=True),
            "",
        ]
        for name, meaning in self.columns.items():
            lines += [f"  {name}", textwrap.indent(textwrap.fill(meaning, WIDTH - 6), indent)]
        return "\n".join(lines)


def described(word: str) -> list[FileDescription]:
    """Return the file that is called `word`, or the columns in files that are ([]: none is)."""
    if word in FILES:
        return [FILES[word]()]
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


FILES: Mapping[str, Callable[[], FileDescription]] = {
    ROUNDS: _table(ROUNDS, rows.RoundRow),
    CLIENTS: _table(CLIENTS, rows.ClientRow),
    SUMMARY: _summary,
}
"""What describes each file, by its name."""
