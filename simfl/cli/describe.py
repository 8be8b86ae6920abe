"""`simfl describe`: one component, its options and where it comes from."""

from typing import Annotated

import typer

from simfl.cli import _complete
from simfl.cli import _options as shared
from simfl.cli.app import app


@app.command("describe")
def describe(
    kind: Annotated[
        str, typer.Argument(help="Such as selectors (or selector).", autocompletion=_complete.kinds)
    ],
    name: Annotated[
        str | None,
        typer.Argument(
            help="Such as fedcor, which alone will do too, if nothing else is called so.",
            autocompletion=_complete.members,
        ),
    ] = None,
    as_json: shared.AsJson = False,
    allow_code: shared.AllowCode = False,
) -> None:
    """Describe a component: its options, defaults, units and source."""
    import json
    from dataclasses import asdict

    from simfl.scenario.describe import Description, kind_of

    if name is None:
        kind, name = kind_of(kind), kind
    with shared.importing(allow_code):
        description = Description.find(kind, name)
    typer.echo(
        json.dumps(asdict(description), indent=2, ensure_ascii=False)
        if as_json
        else str(description)
    )
