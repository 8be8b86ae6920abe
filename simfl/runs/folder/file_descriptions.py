"""What the files of a run's folder hold, and what each column means, from where it is declared."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import partial
from typing import Any

from simfl.coordinators.base import MODEL, PERSONAL
from simfl.coordinators.diagnostics import AGGREGATOR_DIAGNOSTICS, DIAGNOSTICS
from simfl.core import rows
from simfl.runs.folder import provenance_keys, summary
from simfl.runs.folder.event_kinds import COMMON, EVENT_KINDS
from simfl.runs.folder.folder import (
    CHECKPOINT,
    CLIENTS,
    EVENTS,
    PAST,
    PROVENANCE,
    REPORT,
    ROUNDS,
    SCENARIO,
    SUMMARY,
    TRACE,
)
from simfl.runs.folder.growing_file import PACKED

WIDTH = 96


@dataclass(frozen=True)
class FileDescription:
    """What is in a file of a run's folder.

    Attributes:
        file: its name.
        about: what it is, or a row of it.
        columns: their meanings, by name; of an event log, those of the kinds of events; of JSON,
            those of its keys (none: it is no table).
        where: in whose folder it is.
    """

    file: str
    about: str
    columns: Mapping[str, str]
    where: str = "in every run's folder"

    @property
    def entry(self) -> str:
        """What one of the columns is called."""
        if self.file == EVENTS:
            return "kind of event"
        return "key" if self.file.endswith(".json") else "column"

    def about_only(self, word: str) -> "FileDescription | None":
        """Return of the columns that which is called `word`, and what is within (None: none is).

        Where no kind of event is called so, it is the facts of kinds of events that are.
        """
        columns = {name: text for name, text in self.columns.items() if _is_called(name, word)}
        if not columns and self.file == EVENTS:
            kinds = EVENT_KINDS.items()
            columns = {name: str(kind) for name, kind in kinds if word in kind.facts}
        return replace(self, columns=columns) if columns else None

    def __str__(self) -> str:
        indent = 6 * " "
        lines = [
            f"{self.file} ({self.where})",
            "",
            *textwrap.wrap(self.about, WIDTH, fix_sentence_endings=True),
        ]
        lines += [""] if self.columns else []
        for name, meaning in self.columns.items():
            texts = [textwrap.fill(line, WIDTH - 6) for line in meaning.splitlines() or [""]]
            lines += [f"  {name}", *(textwrap.indent(text, indent) for text in texts)]
        return "\n".join(lines)


def _is_called(name: str, word: str) -> bool:
    """Return whether the column `name`, or what it is within, is called `word`."""
    outer, _, inner = name.rpartition(".")
    return word in (name, inner, outer) or fnmatch(word, name.replace("REASON", "?*"))


def described(word: str) -> list[FileDescription]:
    """Return the file that is called `word`, or the columns in files that are ([]: none is).

    The event log may be called by its bare name, too, which no table is: theirs mean other things.
    """
    file = EVENTS if word in _LOG_NAMES else word
    if files := [make() for name, make in FILES.items() if fnmatch(file, name)]:
        return files
    having = [table.about_only(word) for table in (make() for make in FILES.values())]
    told = [table for table in having if table is not None]
    named = [table for table in told if table.file != EVENTS or word in table.columns]
    return named or told  # facts of events alone, where nothing else is called so


def column_texts(declared: Any) -> dict[str, str]:
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


def _table(file: str, row: type, more: type | None = None) -> Callable[[], FileDescription]:
    about = " ".join((row.__doc__ or "").partition("\n\n")[0].split())

    def describe() -> FileDescription:
        columns = column_texts(row) | ({} if more is None else column_texts(more))
        if "outcome" in columns:
            columns["outcome"] += f" {column_texts(rows)['Outcome'].capitalize()}"
        return FileDescription(file, f"{about}  An empty cell: None.", columns)

    return describe


def _events() -> FileDescription:
    about = (
        "One event a line, as JSON, in the order in which they happened.  With --compress-log the "
        f"file is {EVENTS}{PACKED}; with --log rounds it tells of no single client.  null: not "
        "known, or not finite."
    )
    kinds = {kind: str(event) for kind, event in EVENT_KINDS.items()}
    return FileDescription(EVENTS, about, {**COMMON, **kinds})


def _described(
    file: str,
    about: str,
    columns: Mapping[str, str] | None = None,
    where: str = "in every run's folder",
) -> Callable[[], FileDescription]:
    return partial(FileDescription, file, about, columns or {}, where)


_LOG_NAMES = ("events", EVENTS + PACKED)
_ENDED = "in the folder of every run that has ended"
_SHOWN = (
    "Arrays by name, as NumPy's `load` reads them: what the {} keeps of the run to be looked at, "
    "such as {}."
)

FILES: Mapping[str, Callable[[], FileDescription]] = {
    ROUNDS: _table(ROUNDS, rows.RoundRow, rows.PrivateRoundRow),
    CLIENTS: _table(CLIENTS, rows.ClientRow),
    EVENTS: _events,
    SUMMARY: _described(
        SUMMARY, "What came of a run that has ended, as a whole.", summary.MEANINGS, _ENDED
    ),
    PROVENANCE: _described(PROVENANCE, "How a run was made.", provenance_keys.MEANINGS),
    SCENARIO: _described(
        SCENARIO,
        "The scenario of the run, resolved: every default written out, no variants and no other "
        "seeds; `simfl run` takes it as any other.  `simfl describe rounds`, and other sections, "
        "explain its keys.",
    ),
    MODEL: _described(
        MODEL,
        "The final model, a PyTorch state dict; `model.weights_file` can begin another run with "
        "it.",
        where=f"{_ENDED} and trained",
    ),
    PERSONAL: _described(
        PERSONAL,
        "What each client has of its own (`model.personal`), as PyTorch keeps it: `clients` (c,), "
        "those of whom a training counted, and `parameters`, by name (c, *shape).  All others have "
        f"what is in {MODEL}, where these are as the run began.",
        where=f"{_ENDED} and trained, where the model has personal layers",
    ),
    DIAGNOSTICS: _described(
        DIAGNOSTICS,
        _SHOWN.format("selector", "the `embeddings` of fedcor"),
        where="where the selector has something to show",
    ),
    AGGREGATOR_DIAGNOSTICS: _described(
        AGGREGATOR_DIAGNOSTICS,
        _SHOWN.format("aggregator", "the `clip` of each round of dp_fedavg_adaptive"),
        where="where the aggregator has something to show",
    ),
    TRACE: _described(
        TRACE,
        "The timeline, with a track per device, as Chrome writes traces: https://ui.perfetto.dev "
        "shows it.",
        where=_ENDED,
    ),
    REPORT: _described(REPORT, "The report: a page that needs no other file.", where=_ENDED),
    PAST: _described(
        PAST,
        "The scenario that was in force before the first fork that the run comes from, the second, "
        "and so on.",
        where="in the folder of a fork",
    ),
    CHECKPOINT: _described(
        CHECKPOINT,
        "The folder of the last checkpoints, from which `simfl resume` and `simfl fork` go on.",
        where="in the folder of a run that was long enough for one",
    ),
}
"""What describes each file, by its name."""
