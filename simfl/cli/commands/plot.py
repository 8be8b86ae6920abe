"""`simfl plot`: one chart of runs, for a paper or a slide."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simfl.cli import _complete
from simfl.cli import _options as shared
from simfl.cli._aside import say_aside
from simfl.cli.app import app
from simfl.core.costs import SPENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.figure import Figure

    from simfl.runs.results.result import RunResult

KINDS = ("curves", "tradeoff")
COSTS = tuple(cost.name for cost in SPENT)
XS = ("time", "rounds", *COSTS)
YS = ("accuracy", "loss", "duration", "gemd", "rounds", *COSTS)


@app.command("plot")
def plot_command(
    folders: shared.Folders,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help=".pdf, .svg or .png.")],
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            help="curves of rounds, or the tradeoff of two columns of `simfl compare`.",
            autocompletion=_complete.one_of(*KINDS),
        ),
    ] = "curves",
    x: Annotated[
        str | None,
        typer.Option(
            "--x",
            help=f"{', '.join(XS)} (default: time). Of a tradeoff a column by its CSV name: "
            "time_s_to_60%.",
            autocompletion=_complete.one_of(*XS),
        ),
    ] = None,
    y: Annotated[
        str | None,
        typer.Option(
            "--y",
            help=f"{', '.join(YS)}, an error such as rmse, or a metric (default: accuracy; without "
            "it the error, the loss, or rounds). Of a tradeoff a column: bytes_to_60%, accuracy.",
            autocompletion=_complete.one_of(*YS),
        ),
    ] = None,
    band: Annotated[
        str | None,
        typer.Option(
            "--band",
            help="Of curves, over seeds: ci (95%, the default), std, range, runs or none.",
            autocompletion=_complete.one_of("ci", "std", "range", "runs", "none"),
        ),
    ] = None,
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
    """Draw curves or trade-offs of runs for a publication."""
    from simfl.report.figures.looks import LOOKS
    from simfl.report.figures.savefig import check_picture, save
    from simfl.report.plot.canvas import WIDTHS
    from simfl.runs.results.find import find_runs
    from simfl.runs.results.grouping import by_variant

    check_picture(out)
    look = {
        "width_mm": WIDTHS.get(width) or _millimetres("--width", width),
        "height_mm": None if height is None else _millimetres("--height", height),
        "style": style,
        "log": log,
    }
    _check_kind(kind, x, y, band)
    runs = find_runs(folders)
    figure, told = (
        _curves(runs, x or "time", y, band or "ci", look)
        if kind == "curves"
        else _tradeoff(runs, str(x), str(y), look)
    )
    save(figure, out)
    typer.echo(f"Picture: {out}")
    for line in told:
        typer.echo(f"  {line}")
    if (variants := len(by_variant(runs))) > LOOKS:
        looks = f"{LOOKS} colours and {'dashes' if kind == 'curves' else 'markers'}"
        say_aside(f"warning: {variants} variants share {looks}; name fewer folders")


def _check_kind(kind: str, x: str | None, y: str | None, band: str | None) -> None:
    """Refuse what is no kind of picture, and what does not go with it.

    Raises:
        InputError: naming what does.
    """
    from simfl.errors import InputError, nearest

    if kind not in KINDS:
        raise InputError(f"--kind: unknown {kind!r}{nearest(kind, KINDS)}")
    if kind == "tradeoff" and (x is None or y is None):
        raise InputError(
            "--kind tradeoff needs --x and --y: columns of `simfl compare`, such as "
            "time_s_to_60% and bytes_to_60%"
        )
    if kind == "tradeoff" and band is not None:
        raise InputError("--band is of curves; a tradeoff shows each seed")


def _curves(
    runs: "Sequence[RunResult]", x: str, y: str | None, band: str, look: "Mapping[str, Any]"
) -> "tuple[Figure, Iterable[str]]":
    """Return a figure, and what its caption has to say."""
    from typing import cast

    from simfl.report.plot import Band, plot
    from simfl.report.plot.caption import caption

    return plot(runs, x, y, band=cast(Band, band), **look), caption(runs, x, y, band)


def _tradeoff(
    runs: "Sequence[RunResult]", x: str, y: str, look: "Mapping[str, Any]"
) -> "tuple[Figure, Iterable[str]]":
    """Return a figure, and what its caption has to say."""
    from simfl.report.plot.tradeoff import draw
    from simfl.report.plot.tradeoff_caption import caption
    from simfl.runs.results.tradeoff import tradeoff

    told = tradeoff(runs, x, y)
    return draw(told, **look), caption(told)


def _millimetres(option: str, text: str) -> float:
    from simfl.errors import InputError

    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(mm|cm|in)\s*", text)
    if match is None:
        raise InputError(f"{option}: expected a length such as 85mm, 8.5cm or 3.3in, got {text!r}")
    return float(match[1]) * {"mm": 1.0, "cm": 10.0, "in": 25.4}[match[2]]
