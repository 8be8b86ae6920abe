"""What a caption must say of a picture of points: whose medians it has, and who never got there."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from simfl.components.metrics.base import Better
from simfl.core.types import Floats
from simfl.report import formats
from simfl.report.formats import SOME
from simfl.report.plot.caption import so_many, those
from simfl.report.plot.tradeoff import label_of
from simfl.runs.results.column import target_text
from simfl.runs.results.result import RunResult
from simfl.runs.results.tradeoff import Measured, Tradeoff

SIDES: Mapping[Better, str] = {"more": "higher", "less": "lower"}


def caption(told: Tradeoff) -> Iterator[str]:
    """Yield what can't be seen in the picture that `simfl.report.plot.tradeoff` draws."""
    placed = [len(own.runs) for own in told.variants.values() if own.median is not None]
    several = [seeds for seeds in placed if seeds > 1]
    if several:
        seeds = so_many(min(several), max(several))
        yield f"small points: seeds; large ones: medians over {seeds} seeds"
    if told.front and len(told.variants) > 1:
        sides = zip(told.better, told.columns, strict=True)
        better = ", ".join(f"{SIDES[side]} {label_of(told, column)}" for side, column in sides)
        luck = ", though chance may have a part in it" if several else ""
        names = formats.listed(list(told.front), SOME)
        yield f"front: {names}; no other is as good in both ({better}){luck}"
    lines: dict[str, list[str]] = {}
    for name, own in told.variants.items():
        lacking = np.flatnonzero(~own.complete).tolist()
        if lacking:
            some = f" ({len(lacking)} of {len(own.runs)} seeds)" if own.complete.any() else ""
            why = _why(told, [own.runs[n] for n in lacking], own.points[lacking])
            lines.setdefault(f"{why}, {_how(own)}", []).append(name + some)
    for line, whose in lines.items():
        yield f"{line}: {formats.listed(whose, SOME)}"
    if unfinished := those(told.groups, lambda run: not run.finished):
        yield f"not finished, counted as far as they got: {unfinished}"


def _how(own: Measured) -> str:
    """Return what became of seeds that lack one of the two."""
    if not own.complete.any():
        return "left out"
    return "no median" if own.median is None else "the worst in medians"


def _why(told: Tradeoff, runs: Sequence[RunResult], points: Floats) -> str:
    """Return what the first of `runs` lacks, and whether any may still have it.

    Args:
        told: what variants have.
        runs: those of a variant that lack one of the two.
        points: `(runs, 2)` across and up.
    """
    column = told.columns[int(np.flatnonzero(~np.isfinite(points[0]))[0])]
    if column.target is not None and runs[0].reached(column.target) is None:
        never = "never reached" if all(run.finished for run in runs) else "not yet at"
        return f"{never} {target_text(column.target)}"
    return f"without {label_of(told, column)}"
