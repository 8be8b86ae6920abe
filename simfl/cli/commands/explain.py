"""`simfl explain`: why a run took as long as it did, and what would have shortened it."""

from pathlib import Path
from typing import Annotated

import typer

from simfl.cli import _options as shared
from simfl.cli.app import app


@app.command("explain")
def explain_command(
    folder: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="A run folder.")],
    round_: Annotated[int | None, typer.Option("--round", help="Only this round.")] = None,
    what_if: Annotated[
        bool | None,
        typer.Option(
            "--what-if/--no-what-if",
            help="Replay its clock with one thing changed at a time (default: if that is cheap).",
        ),
    ] = None,
    data_dir: shared.DataDir = None,
    allow_code: shared.AllowCode = False,
    as_json: shared.AsJson = False,
) -> None:
    """Explain where a run's time went, and what would have helped."""
    import json

    from simfl.report.explanation import as_text
    from simfl.runs.explain import explain
    from simfl.runs.options import Options
    from simfl.runs.results.find import load

    progress = shared.progress(as_json, "--no-what-if leaves out what takes long", passing=True)
    with shared.importing(allow_code), progress as board:
        explanation = explain(
            load(folder), round_, what_if=what_if, options=Options(data_dir=data_dir), watch=board
        )
    typer.echo(json.dumps(explanation.as_dict(), indent=2) if as_json else as_text(explanation))
