"""How well a model serves clients, as text."""

import math
import textwrap

from simfl.report import formats
from simfl.report.text_page import TextPage
from simfl.runs.evaluate import ClientEvaluation

HEADS: tuple[str, ...] = ("", "clients", "mean", "all samples", "std", "worst tenth", "best tenth")


def as_text(evaluation: ClientEvaluation) -> str:
    """Return an evaluation for people: whom the model serves how well."""
    run, page = evaluation.run, TextPage()
    on = "keeps aside" if evaluation.kept_aside else "trains on"
    line = f"{run.name}, {run.variant}, seed {run.seed}: {evaluation.measure} of the final model "
    line += f"on the samples that each client {on}"
    shown = formats.percent if evaluation.measure == "accuracy" else _number
    rows = [HEADS]
    for spread in evaluation.spreads:
        numbers = (
            spread.mean, spread.pooled, spread.std, spread.worst_tenth, spread.best_tenth
        )  # fmt: skip
        rows.append((spread.whom, formats.count(spread.clients), *map(shown, numbers)))
    page.table(list(zip(*rows, strict=True)))
    return f"{textwrap.fill(line, page.width)}\n{page}".strip("\n")


def _number(value: float) -> str:
    return formats.NOTHING if math.isnan(value) else f"{value:.4g}"
