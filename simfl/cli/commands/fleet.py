"""`simfl fleet`: the devices of a scenario, before anything is trained."""

import typer

from simfl.cli import _options as shared
from simfl.cli import _preview as preview
from simfl.cli.app import app


@app.command("fleet")
def fleet_command(
    file: preview.File,
    changes: shared.Changes = None,
    variant: preview.Variant = None,
    seed: shared.Seed = None,
    data_dir: shared.DataDir = None,
    allow_code: shared.AllowCode = False,
    out: preview.Out = None,
    as_json: shared.AsJson = False,
) -> None:
    """Show a scenario's fleet: speeds, links, stragglers, rounds."""
    import json

    from simfl.report.figures.savefig import check_picture, save
    from simfl.report.fleet.picture import picture
    from simfl.report.fleet.survey import survey
    from simfl.report.fleet.text import as_text

    if out is not None:
        check_picture(out)
    scenario = preview.load(file, changes, variant, seed, allow_code)
    facts = survey(preview.builder(scenario, data_dir))
    if out is not None:
        save(picture(facts), out)
    if as_json:
        typer.echo(json.dumps(facts.as_dict(), indent=2))
        return
    typer.echo(as_text(facts))
    preview.tell_which(scenario)
    with shared.importing(allow_code):  # of variants that are not shown, too
        preview.tell_assumptions(scenario)
    if out is not None:
        typer.echo(f"Picture: {out}")
