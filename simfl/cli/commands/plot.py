"""`simfl plot`: one chart of runs, for a paper or a slide."""

import re
from pathlib import Path
from typing import Annotated

import typer

from simfl.cli import _complete
from simfl.cli import _options as shared
from simfl.cli._aside import say_aside
from simfl.cli.app import app

SPENT = ("bytes", "energy", "epsilon", "epsilon_poisson")
XS = ("time", "rounds", *SPENT)
YS = ("accuracy", "loss", "duration", "gemd", "rounds", *SPENT)


@app.command("plot")
def plot_command(
    folders: shared.Folders,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help=".pdf, .svg or .png.")],
    x: Annotated[
        str, typer.Option("--x", help=", ".join(XS), autocompletion=_complete.one_of(*XS))
    ] = "time",
    y: Annotated[
        str | None,
        typer.Option(
            "--y",
            help=f"{', '.join(YS)}, an error such as rmse, or a metric (default: accuracy; without "
            "it the error, the loss, or rounds).",
            autocompletion=_complete.one_of(*YS),
        ),
    ] = None,
    band: Annotated[
        str,
        typer.Option(
            "--band",
            help="Over seeds: ci (95%), std, range, runs or none.",
            autocompletion=_complete.one_of("ci", "std", "range", "runs", "none"),
        ),
    ] = "ci",
    width: Annotated[
        str,
        typer.Option(
            "--width", help="column (85 mm), page, slide, or a length such as 85mm, 3.3in."
        ),
    ] = "column",
    height: Annotated[
        str | None,
        typer.Option("--height", help="A length such as 60mm (default: depends on the width)."),
    ] = None,
    style: Annotated[
        str, typer.Option("--style", help="paper, serif, slide, or one of matplotlib's own.")
    ] = "paper",
    log: Annotated[str, typer.Option("--log", help="Logarithmic axes: x, y or xy.")] = "",
) -> None:
    """Draw runs as curves, in the size and style of a publication."""
    from typing import cast

    from simfl.report.figures.looks import LOOKS
    from simfl.report.figures.savefig import check_picture, save
    from simfl.report.plot import WIDTHS, Band, plot
    from simfl.report.plot.caption import caption
    from simfl.runs.results.find import find_runs
    from simfl.runs.results.grouping import by_variant

    check_picture(out)
    width_mm = WIDTHS.get(width) or _millimetres("--width", width)
    height_mm = None if height is None else _millimetres("--height", height)
    runs = find_runs(folders)
    figure = plot(
        runs,
        x,
        y,
        band=cast(Band, band),
        width_mm=width_mm,
        height_mm=height_mm,
        style=style,
        log=log,
    )
    save(figure, out)
    typer.echo(f"Picture: {out}")
    for line in caption(runs, x, y, band):
        typer.echo(f"  {line}")
    if (variants := len(by_variant(runs))) > LOOKS:
        say_aside(
            f"warning: {variants} variants share {LOOKS} colours and dashes; name fewer folders"
        )


def _millimetres(option: str, text: str) -> float:
    from simfl.errors import InputError

    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(mm|cm|in)\s*", text)
    if match is None:
        raise InputError(f"{option}: expected a length such as 85mm, 8.5cm or 3.3in, got {text!r}")
    return float(match[1]) * {"mm": 1.0, "cm": 10.0, "in": 25.4}[match[2]]
