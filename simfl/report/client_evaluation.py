"""How well a model serves clients, as text."""

import math
import textwrap
from collections.abc import Callable

from simfl.report import formats
from simfl.report.text_page import TextPage
from simfl.runs.fine_tune import FineTuning
from simfl.runs.served import ClientEvaluation

HEADS: tuple[str, ...] = ("", "clients", "mean", "all samples", "std", "worst tenth", "best tenth")
FINE_TUNED: tuple[str, ...] = ("", "mean", "change", "worse", "std", "worst tenth", "best tenth")


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
    if evaluation.fine_tuning is not None:
        page.line(textwrap.fill(_how(evaluation.fine_tuning), page.width))
        page.table(_fine_tuned(evaluation, shown))
    return f"{textwrap.fill(line, page.width)}\n{page}".strip("\n")


def _fine_tuned(
    evaluation: ClientEvaluation, shown: Callable[[float], str]
) -> list[tuple[str, ...]]:
    rows = [FINE_TUNED]
    for spread in evaluation.fine_tuned_spreads:
        change = _change(spread.change, evaluation.measure)
        more = map(shown, (spread.std, spread.worst_tenth, spread.best_tenth))
        worse = formats.count(spread.worse)
        rows.append((spread.whom, shown(spread.mean), change, worse, *more))
    return list(zip(*rows, strict=True))


def _change(change: float, measure: str) -> str:
    """Return by how much a mean changes: of shares in percentage points."""
    if math.isnan(change):
        return formats.NOTHING
    return f"{100 * change:+.1f} points" if measure == "accuracy" else f"{change:+.4g}"


def _how(how: FineTuning) -> str:
    epochs = formats.plural(how.epochs, "epoch")
    line = f"after {epochs} of fine-tuning on the samples that each client trains on, at a learning"
    line += f" rate of {how.learning_rate:g}"
    if how.left_out:
        line += f" ({formats.plural(how.left_out, 'client')} with none aside left out)"
    return line


def _number(value: float) -> str:
    return formats.NOTHING if math.isnan(value) else f"{value:.4g}"
