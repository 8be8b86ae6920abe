"""`simfl schema`: the scenario language, for editors."""

import typer

from simfl.cli.app import app


@app.command("schema")
def schema() -> None:
    """Print the JSON Schema of scenarios, so that editors complete and check them."""
    import json

    from simfl.scenario.schema import scenario_schema

    typer.echo(json.dumps(scenario_schema(), indent=2, ensure_ascii=False))
