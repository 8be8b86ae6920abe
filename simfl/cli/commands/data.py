"""`simfl data`: which data sets and traces there are, and getting those that can be downloaded."""

from pathlib import Path
from typing import Annotated, Any

import typer

from simfl.cli import _complete
from simfl.cli import _options as shared
from simfl.cli._aside import say_aside
from simfl.cli.app import app

data = typer.Typer(rich_markup_mode=None)
app.add_typer(data, name="data")


@data.callback(invoke_without_command=True)
def list_data(
    context: typer.Context,
    as_json: shared.AsJson = False,
) -> None:
    """List data sets and traces and where they are, or fetch them."""
    if context.invoked_subcommand is not None:
        return
    import json

    rows = _rows()
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        typer.echo(f"{row['name']:<{max(len(r['name']) for r in rows)}}  {row['where']}")
        for line in _details(row):
            typer.echo(f"    {line}")
    typer.echo("\n`simfl data fetch NAME [--to FOLDER]` downloads; --json has every checksum.")


@data.command("fetch")
def fetch_data(
    name: Annotated[
        str,
        typer.Argument(
            help="A data set or a trace, as `simfl data` lists it.",
            autocompletion=_complete.origins,
        ),
    ],
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            help="Destination (default: $SIMFL_DATA or the cache; traces: the working directory).",
        ),
    ] = None,
) -> None:
    """Download a data set into the data folder, or a trace beside scenarios; checksums verified."""
    from simfl.core.downloads.fetch import fetch
    from simfl.core.downloads.folders import data_folders
    from simfl.core.downloads.origins import ORIGINS

    trace = name in ORIGINS and ORIGINS[name].kind == "trace"
    folder = to or (Path() if trace else data_folders()[0])
    for file in fetch(name, folder, _announcing()):
        typer.echo(file)


def _announcing() -> Any:
    """Return what says on stderr that a download has begun."""
    begun: set[str] = set()

    def tell(url: str, _there: int, size: int) -> None:
        if url not in begun:
            begun.add(url)
            say_aside(f"{url} ({size:,} bytes)")

    return tell


def _rows() -> list[dict[str, Any]]:
    """Return a mapping for each data set and trace."""
    from dataclasses import asdict

    from simfl.components.datasets.base import datasets
    from simfl.components.datasets.own.base import OwnDataset
    from simfl.core.downloads.origins import ORIGINS

    rows: list[dict[str, Any]] = []
    for name in datasets.names():
        if name not in ORIGINS:
            own = issubclass(datasets.get(name), OwnDataset)
            where = "your own files" if own else "built in: a generator"
            rows.append({"name": name, "kind": "data set", "where": where})
    for name, origin in ORIGINS.items():
        facts = asdict(origin)
        facts["downloads"] = [
            {key: download[key] for key in ("url", "bytes", "sha256")}
            for download in facts["downloads"]
        ]
        rows.append({"name": name, **facts, "bytes": origin.bytes, "where": _where(name)})
    return rows


def _where(name: str) -> str:
    from simfl.core.downloads.folders import data_folders
    from simfl.core.downloads.origins import ORIGINS

    origin = ORIGINS[name]
    places = [*data_folders(), Path()] if origin.kind == "trace" else data_folders()
    folders = [folder for place in places for folder in (place, place / "traces")]
    missing, folder = min(((len(origin.missing(f)), f) for f in folders), key=lambda pair: pair[0])
    if not missing:
        return str(folder.resolve())
    there = len(origin.files) - missing
    some = f" ({there} of {len(origin.files)} files are in {folder.resolve()})" if there else ""
    return f"{'to be downloaded' if origin.downloads else 'by hand'}{some}"


def _details(row: dict[str, Any]) -> list[str]:
    """Return lines on what is not built in."""
    if "about" not in row:
        return []
    lines = [f"{row['kind']}: {row['about']}", f"{row['licence']}; {row['home']}"]
    downloads = row["downloads"]
    if not downloads:
        return [*lines, row["by_hand"]]
    more = f" (and {len(downloads) - 1} more)" if len(downloads) > 1 else ""
    return [*lines, f"{row['bytes']:,} bytes, SHA-256 {downloads[0]['sha256']}{more}"]
