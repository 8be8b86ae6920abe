"""`simfl describe`: one component, its options and where it comes from."""

from typing import Annotated

import typer

from simfl.cli import _complete
from simfl.cli._options import AllowCode
from simfl.cli.app import app


@app.command("describe")
def describe(
    kind: Annotated[
        str, typer.Argument(help="Such as selectors (or selector).", autocompletion=_complete.kinds)
    ],
    name: Annotated[str, typer.Argument(help="Such as fedcor.", autocompletion=_complete.members)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    allow_code: AllowCode = False,
) -> None:
    """Describe a component: what it does, its options, defaults, units and source."""
    import json
    from dataclasses import asdict

    from simfl.core.code import importing
    from simfl.scenario.describe import Description

    with importing("anything" if allow_code else "nothing"):
        found = Description.find(kind, name)
    typer.echo(json.dumps(asdict(found), indent=2, ensure_ascii=False) if as_json else str(found))
