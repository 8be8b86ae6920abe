"""`simfl schema`: the scenario language, for editors."""

from pathlib import Path
from typing import Annotated

import typer

from simfl.cli.app import app

BESIDE = ".simfl-schema.json"
"""Where `simfl new` writes the schema.

A file beside the scenario rather than an address: it needs no network, and it knows the components
of this very installation, plugins included.
"""


@app.command("schema")
def schema(
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write it to this file instead.")
    ] = None,
) -> None:
    """Print the JSON Schema of scenarios, for editors."""
    from simfl.core.files import write_output
    from simfl.runs.folder.outside import require_place

    if out is None:
        typer.echo(text())
        return
    require_place(out, "--out")
    write_output(out, f"{text()}\n".encode())


def text() -> str:
    """Return the schema as strict JSON."""
    import json

    from simfl.scenario.reference.schema import scenario_schema

    return json.dumps(scenario_schema(), indent=2, allow_nan=False)
