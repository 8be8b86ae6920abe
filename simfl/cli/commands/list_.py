"""`simfl list`: what there is to choose from."""

from typing import Annotated

import typer

from simfl.cli import _complete
from simfl.cli import _options as shared
from simfl.cli.app import app


@app.command("list")
def list_(
    kind: Annotated[
        str | None,
        typer.Argument(help="Only this kind, such as selectors.", autocompletion=_complete.kinds),
    ] = None,
    as_json: shared.AsJson = False,
) -> None:
    """List every component, distribution and device, one line each."""
    import json

    from simfl.report.width import hanging
    from simfl.scenario.reference.describe import LISTED, overview

    kinds = [kind] if kind is not None else LISTED
    overviews = {listed: overview(listed) for listed in kinds}
    if as_json:
        typer.echo(json.dumps(overviews, indent=2))
        return
    for listed, members in overviews.items():
        if kind is None:
            typer.echo(f"{listed}:")
        width = max((len(name) for name in members), default=0)
        for name, text in members.items():
            shown = f"{'' if kind else '  '}{name:<{width}}  "
            typer.echo(hanging(shown + text, len(shown)))
