"""`simfl describe`: a component, key or unit of scenarios, its options and where it comes from."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from simfl.cli import _complete
from simfl.cli import _options as shared
from simfl.cli.app import app

if TYPE_CHECKING:
    from simfl.runs.folder.file_descriptions import FileDescription
    from simfl.scenario.reference.describe import Description
    from simfl.scenario.reference.describe_key import KeyDescription
    from simfl.scenario.reference.describe_units import UnitDescription

    AnyDescription = Description | KeyDescription | UnitDescription | FileDescription


@app.command("describe")
def describe(
    kind: Annotated[
        str,
        typer.Argument(
            help="Such as selectors (or selector); or, alone, a component's name, a key of "
            "scenarios, such as rounds.stop, a file or column of runs, such as rounds.csv or "
            "events, or a unit, such as MB/s; units: all of them.",
            autocompletion=_complete.describable,
        ),
    ],
    name: Annotated[
        str | None,
        typer.Argument(
            help="Such as fedcor; the name alone describes all that is called so. Or a key of a "
            "section, as in `rounds stop`.",
            autocompletion=_complete.members,
        ),
    ] = None,
    as_json: shared.AsJson = False,
    allow_code: shared.AllowCode = False,
) -> None:
    """Describe a component, key or column: options, units, source."""
    import json
    from dataclasses import asdict

    from simfl.cli.commands.list_ import list_
    from simfl.report.width import narrowed
    from simfl.scenario.reference.describe_key import lists

    if name is None and lists(kind):
        list_(kind, as_json)
        return
    with shared.importing(allow_code):
        descriptions, more = _alone(kind) if name is None else (_within(kind, name), [])
    if as_json:
        told = [asdict(description) for description in descriptions]
        plain = told[0] if len(told) == 1 else told
        typer.echo(json.dumps(plain, indent=2))
    else:
        typer.echo(narrowed("\n\n".join(filter(None, [*map(str, descriptions), *more]))))


def _alone(word: str) -> "tuple[Sequence[AnyDescription], list[str]]":
    """Return what a word alone describes, and hints at what else is called so.

    Raises:
        InputError: nothing is called so, or a command is, or several keys are.
    """
    from simfl.errors import InputError, NameNotFound
    from simfl.runs.folder import file_descriptions
    from simfl.scenario.reference.describe import Description
    from simfl.scenario.reference.describe_key import also, described

    files = file_descriptions.described(word)
    in_files = [_in_file(word, file) for file in files]
    try:
        descriptions = described(word)
    except NameNotFound:
        if files:
            return files, []
        _refuse_command(word)
        raise
    except InputError as error:
        raise InputError("\n".join([str(error), *in_files])) from None
    hints = [also(word)] if isinstance(descriptions[0], Description) else []
    return descriptions, hints + in_files


def _in_file(word: str, file: "FileDescription") -> str:
    """Return a hint at what is called `word` in a file."""
    fact = file.entry == "kind of event" and word not in file.columns
    entry = "fact of an event" if fact else file.entry
    return f"A {entry} of {file.file} is called so too: simfl describe {file.file}"


def _within(kind: str, name: str) -> "Sequence[AnyDescription]":
    """Return the component of that kind and name, or the key of that name in a section.

    Raises:
        InputError: there is neither, or the kind is a command.
    """
    from simfl.errors import NameNotFound
    from simfl.scenario.keys import find
    from simfl.scenario.reference.describe import Description
    from simfl.scenario.reference.describe_key import described, keys_within

    try:
        return [Description.find(kind, name)]
    except NameNotFound as error:
        if find(path := f"{kind}.{name}"):
            return described(path)
        if error.kind == "kind" and (keys := keys_within(kind)):
            raise NameNotFound(f"key of {kind}", name, keys) from None
        _refuse_command(kind)
        raise


def _refuse_command(word: str) -> None:
    """Refuse to describe a command.

    Raises:
        InputError: it is one, whose help has what is asked.
    """
    from simfl.errors import InputError

    if word in {command.name for command in app.registered_commands}:
        raise InputError(f"{word!r} is a command; see `simfl {word} --help`") from None
