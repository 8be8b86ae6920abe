"""Whom the models of which variant serve better than those of a baseline, as text and as data."""

import textwrap
from collections.abc import Sequence
from typing import Any

from simfl.core.costs import Unit
from simfl.report.comparison.cells import difference_text
from simfl.report.comparison.forms import facts
from simfl.report.comparison.legend import legend_of_differences, legend_of_many, legend_of_seeds
from simfl.report.text_page import TextPage
from simfl.runs.evaluation.client_differences import (
    STATISTICS,
    ClientDifference,
    by_variants,
    client_differences,
)
from simfl.runs.evaluation.client_evaluation import ClientEvaluation
from simfl.runs.results.grouping import Groups, by_variant


def as_text(evaluations: Sequence[ClientEvaluation], baseline: str) -> str:
    """Return for people what each variant differs by from the `baseline`, seed by seed."""
    page, differences = TextPage(), client_differences(evaluations, baseline)
    groups = by_variant(evaluation.run for evaluation in evaluations)
    measure = by_variants(evaluations)[baseline][0].measure
    for variant, fine_tuned in dict.fromkeys((d.variant, d.fine_tuned) for d in differences):
        own = [d for d in differences if (d.variant, d.fine_tuned) == (variant, fine_tuned)]
        models = "fine-tuned models" if fine_tuned else "final models"
        title = f"{variant}, {measure} of the {models} by client: difference from {baseline}"
        page.line(textwrap.fill(title, page.width))
        page.tables(_columns(own, measure))
    figures = [figure for difference in differences for figure in difference.of.values()]
    told = [*legend_of_differences(figures, baseline), *legend_of_many(figures)]
    there = {baseline, *(difference.variant for difference in differences)}
    told += legend_of_seeds({name: groups[name] for name in groups if name in there}, baseline)
    told += [_why_none(groups, name, baseline) for name in groups if name not in there]
    for line in told:
        page.line(textwrap.fill(line, page.width))
    return str(page).strip("\n")


def _why_none(groups: Groups, variant: str, baseline: str) -> str:
    """Return why there is no difference between two variants."""
    seeds, base = ({run.seed for run in groups[name]} for name in (variant, baseline))
    if seeds & base:
        return f"{variant} is judged by another measure, or on other samples, than {baseline}."
    return f"{variant} has no seed in common with {baseline}."


def as_data(evaluations: Sequence[ClientEvaluation], baseline: str) -> list[dict[str, Any]]:
    """Return the same for programs, ready for JSON."""
    return [
        {
            "variant": difference.variant,
            "baseline": baseline,
            "whom": difference.whom,
            "fine_tuned": difference.fine_tuned,
            **{statistic: facts(figure) for statistic, figure in difference.of.items()},
        }
        for difference in client_differences(evaluations, baseline)
    ]


def _columns(differences: Sequence[ClientDifference], measure: str) -> list[tuple[str, ...]]:
    unit: Unit = "share" if measure == "accuracy" else "number"
    rows: list[tuple[str, ...]] = [("", *(name.replace("_", " ") for name in STATISTICS))]
    for difference in differences:
        told = (difference_text(figure, unit) for figure in difference.of.values())
        rows.append((difference.whom, *told))
    return list(zip(*rows, strict=True))
