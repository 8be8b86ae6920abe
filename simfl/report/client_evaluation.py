"""How well a model serves clients, as text."""

import io
import math
import textwrap

from rich import box
from rich.console import Console
from rich.table import Table

from simfl.report import formats
from simfl.report.width import text_width
from simfl.runs.evaluate import ClientEvaluation

HEADS = ("", "clients", "mean", "all samples", "std", "worst tenth", "best tenth")


def as_text(evaluation: ClientEvaluation) -> str:
    """Return an evaluation for people: whom the model serves how well."""
    run, width = evaluation.run, text_width()
    on = "keeps aside" if evaluation.kept_aside else "trains on"
    line = f"{run.name}, {run.variant}, seed {run.seed}: {evaluation.measure} of the final model "
    line += f"on the samples that each client {on}"
    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False, markup=False, color_system=None)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in HEADS:
        table.add_column(head, justify="right" if head else "left", overflow="fold")
    shown = formats.percent if evaluation.measure == "accuracy" else _number
    for spread in evaluation.spreads:
        numbers = (
            spread.mean, spread.pooled, spread.std, spread.worst_tenth, spread.best_tenth
        )  # fmt: skip
        table.add_row(spread.whom, formats.count(spread.clients), *map(shown, numbers))
    console.print(table)
    rows = [row.rstrip() for row in file.getvalue().splitlines()]
    return "\n".join([textwrap.fill(line, width), *rows]).strip("\n")


def _number(value: float) -> str:
    return formats.NOTHING if math.isnan(value) else f"{value:.4g}"
