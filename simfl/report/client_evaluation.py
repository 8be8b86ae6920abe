"""How well a model serves clients, as text."""

import math
import textwrap
from collections.abc import Callable, Sequence

from simfl.core.costs import Unit
from simfl.report import formats
from simfl.report.comparison.cells import difference_text, figure_text
from simfl.report.text_page import TextPage
from simfl.runs.evaluation.client_differences import by_variants
from simfl.runs.evaluation.client_evaluation import ClientEvaluation, Spread
from simfl.runs.evaluation.fine_tune import FineTuning
from simfl.runs.results.statistics import Figure

HEADS: tuple[str, ...] = ("", "clients", "mean", "all samples", "std", "worst tenth", "best tenth")
OVER_SEEDS: tuple[str, ...] = ("", "seeds", "mean", "std", "worst tenth", "best tenth")
FINE_TUNED: tuple[str, ...] = ("", "mean", "change", "worse", "std", "worst tenth", "best tenth")


def as_text(evaluation: ClientEvaluation) -> str:
    """Return an evaluation for people: whom the model serves how well."""
    run, page = evaluation.run, TextPage()
    model = "clients' own models" if evaluation.personal else "the final model"
    line = f"{run.name}, {run.variant}, seed {run.seed}: {evaluation.measure} of {model} "
    line += _on(evaluation)
    shown = _shown(evaluation)
    rows = [HEADS]
    for spread in evaluation.spreads:
        numbers = (
            spread.mean, spread.pooled, spread.std, spread.worst_tenth, spread.best_tenth
        )  # fmt: skip
        rows.append((spread.whom, formats.count(spread.clients), *map(shown, numbers)))
    page.tables(list(zip(*rows, strict=True)))
    if evaluation.fine_tuning is not None:
        page.line(textwrap.fill(_how(evaluation.fine_tuning), page.width))
        page.tables(_fine_tuned(evaluation, shown))
    return f"{textwrap.fill(line, page.width)}\n{page}".strip("\n")


def over_seeds(evaluations: Sequence[ClientEvaluation]) -> str:
    """Return for people whom the models of each variant with several seeds serve ("": none has)."""
    page = TextPage()
    for variant, own in by_variants(evaluations).items():
        if len(own) < 2:
            continue
        first = own[0]
        models = "clients' own models" if first.personal else "the final models"
        line = f"{variant}, over {len(own)} seeds: {first.measure} of {models} {_on(first)}"
        page.line(
            textwrap.fill(f"{line}; ± is the sample standard deviation over seeds", page.width)
        )
        page.tables(_figures([evaluation.spreads for evaluation in own], _shown(first)))
        if first.fine_tuning is not None:
            how = f"{_how(first.fine_tuning, of_one=False)}; in brackets a 95% interval over seeds"
            page.line(textwrap.fill(how, page.width))
            page.tables(_fine_tuned_figures(own))
    return str(page).strip("\n")


def _figures(
    by_seed: Sequence[Sequence[Spread]], shown: Callable[[float], str]
) -> list[tuple[str, ...]]:
    """Return columns: who, in how many seeds there are such, and how well they are served."""
    rows = [OVER_SEEDS]
    for whom in dict.fromkeys(spread.whom for spreads in by_seed for spread in spreads):
        own = [spread for spreads in by_seed for spread in spreads if spread.whom == whom]
        numbers = zip(*((s.mean, s.std, s.worst_tenth, s.best_tenth) for s in own), strict=True)
        told = (figure_text(Figure.of(values), shown) for values in numbers)
        rows.append((whom, formats.count(len(own)), *told))
    return list(zip(*rows, strict=True))


def _fine_tuned_figures(own: Sequence[ClientEvaluation]) -> list[tuple[str, ...]]:
    """Return such columns of fine-tuned models; what that adds to a mean has a 95% interval."""
    spreads = [spread for evaluation in own for spread in evaluation.fine_tuned_spreads]
    whom, _, mean, _, *tenths = _figures([e.fine_tuned_spreads for e in own], _shown(own[0]))
    unit: Unit = "share" if own[0].measure == "accuracy" else "number"
    changes = [
        difference_text(Figure.of([s.change for s in spreads if s.whom == name]), unit)
        for name in whom[1:]
    ]
    return [whom, mean, ("change", *changes), *tenths]


def _on(evaluation: ClientEvaluation) -> str:
    aside = "keeps aside" if evaluation.kept_aside else "trains on"
    return f"on the samples that each client {aside}"


def _shown(evaluation: ClientEvaluation) -> Callable[[float], str]:
    return formats.percent if evaluation.measure == "accuracy" else _number


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


def _how(how: FineTuning, *, of_one: bool = True) -> str:
    epochs = formats.plural(how.epochs, "epoch")
    line = f"after {epochs} of fine-tuning on the samples that each client trains on, at a learning"
    line += f" rate of {how.learning_rate:g}"
    if how.left_out and of_one:
        line += f" ({formats.plural(how.left_out, 'client')} with none aside left out)"
    return line


def _number(value: float) -> str:
    return formats.NOTHING if math.isnan(value) else f"{value:.4g}"
