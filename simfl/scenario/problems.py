"""What is wrong with a document: every problem at once, with its place and what would be right."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from simfl.core.named_options import NESTED
from simfl.scenario.document import Document, within
from simfl.scenario.fields import by_name, mapping_at
from simfl.scenario.hints import Unknown, describes
from simfl.scenario.language.place import Key, Location, Place, dotted
from simfl.scenario.language.yaml_builder import MOST_PROBLEMS
from simfl.scenario.parts.experiment import Experiment
from simfl.scenario.parts.part import WORKED_OUT
from simfl.scenario.wording import message_of

_OTHER_KIND = re.compile(r"expected a (list|mapping).*, got |expected .*, got [\[{]")
_MISSING = "missing key"
WRONG_KEY = ("[key]",)
"""How a path ends, as pydantic has it, where the key itself is wrong, not its value."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, as a path into the document and a message."""

    path: Location
    message: str
    at_key: bool = False


def truths_for_numbers(written: Any, read: Any, path: Location = ()) -> Iterator[Problem]:
    """Yield where a truth value was taken for a number, as Python would have it."""
    if isinstance(written, Mapping) and isinstance(read, Mapping):
        for key in written.keys() & read.keys():
            yield from truths_for_numbers(written[key], read[key], (*path, key))
    elif isinstance(read, list):
        items = written if isinstance(written, list) else [written]
        for index, (item, number) in enumerate(zip(items, read, strict=False)):
            inner = (*path, index) if items is written else path
            yield from truths_for_numbers(item, number, inner)
    elif isinstance(written, bool) and isinstance(read, int | float | str) and read is not written:
        yield Problem(path, f"expected a number, got {str(written).lower()}")


def explained(document: Document, error: ValidationError) -> list[Problem]:
    """Return what pydantic found wrong with `document`, as its writer would say it."""
    problems = _unfold(error.errors(include_url=False), (), Experiment, document.data)
    return merged(document, list(islice(problems, MOST_PROBLEMS)))


def lost_folder(folder: object) -> list[Problem]:
    """Say of a run from elsewhere that the folder of its files is not here, and what helps."""
    if not isinstance(folder, str | Path) or Path(folder).is_dir():
        return []
    told = f"there is no folder {folder}, where the files should be that the scenario names"
    return [Problem(("folder",), f"{told}; name here where they are")]


def first_message(error: ValidationError) -> str:
    """Return the first thing that pydantic found wrong with a value that stands in no document."""
    told = error.errors(include_url=False)[0]
    return message_of(told, told["loc"], None, None)


def report(document: Document, problems: Sequence[Problem]) -> str:
    """Return a line for each problem, in the order of the file."""
    lines: set[tuple[Place, str]] = set()
    for problem in problems:
        place = document.place(within(document.data, problem.path)[0], key=problem.at_key)
        where = f"{dotted(problem.path)}: " if problem.path else ""
        lines.add((place, f"{place}: {where}{problem.message}"))
    return "\n".join(line for _, line in sorted(lines))


def _unfold(
    errors: Sequence[Any],
    prefix: Location,
    model: type[BaseModel] | None,
    data: Mapping[str, Any],
) -> Iterator[Problem]:
    """Yield the problems in pydantic's errors, those of nested components included."""
    unknown, lacking = (
        [error["loc"] for error in errors if error["type"] == kind]
        for kind in ("extra_forbidden", "missing")
    )
    misnamed = [error["loc"][:-1] for error in errors if error["loc"][-1:] == WRONG_KEY]
    for error in errors:
        path = (*prefix, *error["loc"])
        if error["loc"] in misnamed:
            continue  # once it has a name, what it is may be another thing
        if error["type"] == NESTED:
            context = error["ctx"]
            yield from _unfold(context["errors"], path, context.get("model"), data)
        elif error["type"] == "extra_forbidden":
            *above, key = error["loc"]
            missing = [str(loc[-1]) for loc in lacking if list(loc[:-1]) == above]
            told = Unknown(path, error["input"], mapping_at(model, above), missing)
            yield Problem(path, f"unknown key {str(key)!r}{told.hint(data)}", at_key=True)
        elif error["type"] == "too_short" and len(error["input"]):
            continue  # its items are wrong, and told of themselves
        elif error["type"] == "missing" and isinstance(error["loc"][-1], int):
            ends = [loc[-1] for loc in lacking if loc[:-1] == error["loc"][:-1]]
            yield Problem(path[:-1], f"expected {max(ends) + 1} of them, got {error['input']}")
        elif error["type"] == "missing":
            *above, key = error["loc"]
            misspelt = [str(loc[-1]) for loc in unknown if list(loc[:-1]) == above]
            owner = mapping_at(model, above)
            told_there = any(describes(owner, str(key), word) for word in misspelt)
            if not told_there and not get_close_matches(str(key), misspelt, n=1):
                yield Problem(path[:-1], f"{_MISSING} {str(key)!r}{_when_worked_out(owner, key)}")
        else:
            owner = mapping_at(model, error["loc"][:-1])
            field = None if owner is None or not path else by_name(owner, str(path[-1]))
            message = message_of(error, path, mapping_at(model, error["loc"]), field)
            named = path[-1:] == WRONG_KEY
            yield Problem(path[:-1] if named else path, message, at_key=named)


def _when_worked_out(owner: type[BaseModel] | None, key: Key) -> str:
    """Return when a key can be left out, of one that sometimes can."""
    field = None if owner is None else by_name(owner, str(key))
    return "" if field is None or WORKED_OUT not in field.metadata else f": {field.description}"


def merged(document: Document, problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems, those of a union's members (whose paths lead beyond the data) as one.

    Where the value is of the kind that a member wants, what others would want is left out: so it
    is where a member found fault with a piece of the value, which is told where that stands.
    """
    plain: list[Problem] = []
    beyond: dict[Location, dict[str, dict[str, None]]] = {}
    of_pieces: dict[Location, dict[str, list[Problem]]] = {}
    for problem in problems:
        real, rest = within(document.data, problem.path)
        if not rest:
            plain.append(replace(problem, path=real))
            continue
        member, *piece = rest
        path, unknown = within(document.data, (*real, *piece))
        if not unknown and (piece or problem.message.startswith(_MISSING)):
            told = replace(problem, path=path)
            of_pieces.setdefault(real, {}).setdefault(str(member), []).append(told)
        else:
            beyond.setdefault(real, {}).setdefault(str(member), {})[problem.message] = None
    for real, members in beyond.items():
        picked = of_pieces.get(real, members)
        messages = {m: None for member in members if member in picked for m in members[member]}
        meant = [message for message in messages if not _OTHER_KIND.match(message)]
        if messages:
            plain.append(Problem(real, "; or ".join(meant or messages)))
    return [*plain, *(p for told in of_pieces.values() for own in told.values() for p in own)]
