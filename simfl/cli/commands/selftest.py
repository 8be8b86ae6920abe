"""`simfl selftest`: does virtual time obey its laws on this machine?"""

import typer

from simfl.cli import _options as shared
from simfl.cli.app import app


@app.command("selftest")
def selftest(
    as_json: shared.AsJson = False,
) -> None:
    """Check virtual time against closed forms.

    Exit code 1 if one of them does not hold.
    """
    import json
    from dataclasses import asdict

    from simfl.testing.virtual_time.selftest import checks

    results = []
    for check in checks():
        results.append(check)
        if not as_json:
            typer.echo(str(check))
    failed = sum(not check.passed for check in results)
    if as_json:
        rows = [{**asdict(check), "passed": check.passed} for check in results]
        typer.echo(json.dumps(rows, indent=2))
    else:
        typer.echo(f"{len(results) - failed} of {len(results)} laws hold")
    if failed:
        raise typer.Exit(1)
