"""`simfl describe`: a component, key or unit of scenarios, its options and where it comes from."""

from collections.abc import Sequence
from typing import Annotated

import typer

from simfl.cli import _complete
from simfl.cli import _options as shared
from simfl.cli.app import app


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
    from simfl.errors import InputError, NameNotFound
    from simfl.runs.folder import columns
    from simfl.scenario.keys import find
    from simfl.scenario.reference.describe import Description
    from simfl.scenario.reference.describe_key import (
        KeyDescription,
        also,
        described,
        keys_within,
        lists,
    )
    from simfl.scenario.reference.describe_units import UnitDescription

    if name is None and lists(kind):
        list_(kind, as_json)
        return
    written = columns.described(kind) if name is None else []
    descriptions: Sequence[Description | KeyDescription | UnitDescription | columns.FileDescription]
    with shared.importing(allow_code):
        try:
            descriptions = described(kind) if name is None else [Description.find(kind, name)]
        except NameNotFound as error:
            if name is not None and find(path := f"{kind}.{name}"):  # a section, and a key in it
                descriptions = described(path)
            elif name is not None and error.kind == "kind" and (keys := keys_within(kind)):
                raise NameNotFound(f"key of {kind}", name, keys) from None
            elif not written and kind in {command.name for command in app.registered_commands}:
                raise InputError(f"{kind!r} is a command; see `simfl {kind} --help`") from None
            elif not written:
                raise
            else:
                descriptions, written = written, []
    if as_json:
        told = [asdict(description) for description in descriptions]
        plain = told[0] if len(told) == 1 else told
        typer.echo(json.dumps(plain, indent=2, ensure_ascii=False))
    else:
        more = [also(kind)] if isinstance(descriptions[0], Description) and name is None else []
        more += [
            f"A {table.entry} of {table.file} is called so too: simfl describe {table.file}"
            for table in written
        ]
        typer.echo("\n\n".join(filter(None, [*map(str, descriptions), *more])))
