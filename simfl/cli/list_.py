"""`simfl list`: what there is to choose from."""

from typing import Annotated

import typer

from simfl.cli.app import app


@app.command("list")
def list_(
    kind: Annotated[str | None, typer.Argument(help="Only this kind, such as selectors.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List every component that a scenario can name, one line each."""
    import json

    from simfl.scenario.describe import summary
    from simfl.scenario.kinds import KINDS, registry

    kinds = [kind] if kind is not None else list(KINDS)
    found = {
        each: {name: summary(registry(each).get(name)) for name in registry(each).names()}
        for each in kinds
    }
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    for each, members in found.items():
        if kind is None:
            typer.echo(f"{each}:")
        width = max((len(name) for name in members), default=0)
        for name, text in members.items():
            typer.echo(f"{'' if kind else '  '}{name:<{width}}  {text}")
