"""`simfl partition`: who holds which labels, before anything is trained."""

import typer

from simfl.cli import _options as shared
from simfl.cli import _preview as preview
from simfl.cli.app import app


@app.command("partition")
def partition_command(
    file: preview.File,
    changes: shared.Changes = None,
    variant: preview.Variant = None,
    seed: shared.Seed = None,
    data_dir: shared.DataDir = None,
    allow_code: shared.AllowCode = False,
    out: preview.Out = None,
    as_json: shared.AsJson = False,
) -> None:
    """Show how a scenario splits its data: who holds which labels."""
    import json

    from simfl.core.labels import skew
    from simfl.errors import InputError
    from simfl.report.figures.savefig import check_picture, save
    from simfl.report.partition import picture, summary
    from simfl.runs.folder.eventlog import finite

    if out is not None:
        check_picture(out)
    scenario = preview.load(file, changes, variant, seed, allow_code)
    data = preview.builder(scenario, data_dir).federation
    counts = data.label_counts
    if counts is None:
        dataset = scenario.data.dataset
        why = (
            "makes each client's samples when asked for, so nobody has counted their labels"
            if dataset.targets == "classes"
            else f"has {dataset.targets} to learn, no classes to count"
        )
        raise InputError(f"data set {dataset.name!r} {why}; look at `simfl fleet` for the sizes")
    if out is not None:
        title = f"{scenario.data.dataset.name}, {scenario.data.partition.name}"
        save(picture(counts, title), out)
    if as_json:
        skews = finite(skew(counts).tolist())
        told = {"label_counts": counts.tolist(), "skew": skews}
        if data.names is not None:
            told["names"] = data.names.tolist()
        typer.echo(json.dumps(told))
        return
    typer.echo(summary(counts))
    preview.tell_which(scenario)
    if out is not None:
        typer.echo(f"Picture: {out}")
