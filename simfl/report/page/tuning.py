"""A page about a tuning: what was best, and what every trial came to."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simfl.core.files import write_output
from simfl.report import formats
from simfl.report.axes import UNITS, Axis, linear, logarithmic
from simfl.report.charts.base import Drawing, Rows, scale
from simfl.report.charts.embedded import island
from simfl.report.charts.svg import Plot
from simfl.report.page.answer.tuning import answer, formatter, settings, value_text
from simfl.report.page.rendering import render, script
from simfl.report.page.tables import Cell, Table, leading_number, magnitude
from simfl.runs.tuning.trials import PAGE, Trial, Tuning, metric_called
from simfl.scenario.language.place import as_written
from simfl.scenario.parts.tune import Range

STATES: Mapping[str, tuple[str, str]] = {
    "done": ("o-arrived", "within all limits"),
    "over a limit": ("o-late", "over a limit"),
}


def write_page(tuning: Tuning) -> Path:
    """Write the page about a tuning into its folder; return its path.

    Raises:
        RunError: it can't be written.
    """
    path = tuning.folder / PAGE
    write_output(path, page(tuning).encode())
    return path


def page(tuning: Tuning) -> str:
    """Return the page about a tuning as HTML."""
    charts = (_history(tuning), *(_by_parameter(tuning, path) for path in tuning.spec.parameters))
    drawings = [drawing for drawing in charts if drawing is not None]
    return render(
        "tuning.html",
        title=f"{tuning.name}: {tuning.spec.objective}",
        answer=answer(tuning),
        settings=settings(tuning),
        drawings=drawings,
        island=island(drawings),
        trials=_table(tuning),
        script=script(),
    )


def _table(tuning: Tuning) -> Table:
    rows = []
    for trial in sorted(tuning.trials, key=lambda t: (t.state != "done", t.cost, t.name)):
        taken = [trial.taken.get(name, math.nan) for name in tuning.spec.limits]
        rows.append(
            [
                Cell(trial.name),
                Cell(trial.state, "text"),
                Cell(value_text(tuning, trial), sort=tuning.value(trial)),
                Cell(str(trial.seeds), sort=trial.seeds),
                *(
                    Cell(formatter(name)(value), sort=value)
                    for name, value in zip(tuning.spec.limits, taken, strict=True)
                ),
                *(_parameter(trial.parameters[path]) for path in tuning.spec.parameters),
            ]
        )
    limits = [name.replace("_", " ") for name in tuning.spec.limits]
    heads = ["trial", "state", tuning.spec.objective, "seeds", *limits, *tuning.spec.parameters]
    return Table(heads, rows, ["state"])


def _parameter(value: Any) -> Cell:
    return Cell(as_written(value), sort=magnitude(value))


# Charts ------------------------------------------------------------------------------------------


def _with_values(tuning: Tuning) -> list[tuple[int, Trial]]:
    return [(n, trial) for n, trial in enumerate(tuning.trials) if math.isfinite(trial.cost)]


def _objective_axis(tuning: Tuning, shown: Sequence[tuple[int, Trial]]) -> Axis:
    name = tuning.spec.measured
    values = np.array([tuning.value(trial) for _, trial in shown])
    share = metric_called(name).unit == "share"
    return scale(tuning.spec.objective, values, UNITS.get(name, ()), share)


def _history(tuning: Tuning) -> Drawing | None:
    shown = _with_values(tuning)
    if not shown:
        return None
    x = linear("trial", -0.5, len(tuning.trials) - 0.5, whole=True)
    plot = Plot("objective by trial", x, _objective_axis(tuning, shown))
    best, path = None, list[tuple[float, float]]()
    for number, trial in shown:
        if trial.state == "done" and (best is None or trial.cost < best.cost):
            if best is not None:
                path.append((float(number), tuning.value(best)))
            path.append((float(number), tuning.value(trial)))
            best = trial
    if best is not None:
        path.append((len(tuning.trials) - 0.5, tuning.value(best)))
    plot.line([at for at, _ in path], [value for _, value in path], "line c0", "the best so far")
    _dots(plot, tuning, [(float(number), trial) for number, trial in shown])
    left = len(tuning.trials) - len(shown)
    legend = [("c0", "the best so far")] * (best is not None) + _legend(shown)
    about = f"{formats.plural(left, 'trial')} given up or refused, without a value." if left else ""
    return Drawing("Trials", about, str(plot), legend, table=_numbers(tuning))


def _by_parameter(tuning: Tuning, path: str) -> Drawing | None:
    shown, choice = _with_values(tuning), tuning.spec.parameters[path]
    if not shown:
        return None
    if isinstance(choice, Range):
        low, high = choice.bounds
        label = f"{path} ({choice.unit})" if choice.unit else path
        room = (high - low) / 25
        x = linear(label, low - room, high + room, whole=choice.whole)
        if choice.log:
            x = logarithmic(label, low, high)
        places = [leading_number(trial.parameters[path]) or 0.0 for _, trial in shown]
    else:
        names = [as_written(value) for value in choice]
        ticks = tuple((float(i), name) for i, name in enumerate(names))
        x = Axis(path, -0.5, len(names) - 0.5, ticks, names=True)
        places = [float(names.index(as_written(t.parameters[path]))) for _, t in shown]
    plot = Plot(f"objective by {path}", x, _objective_axis(tuning, shown))
    _dots(plot, tuning, [(at, trial) for at, (_, trial) in zip(places, shown, strict=True)])
    return Drawing(path, "", str(plot), _legend(shown), table=_numbers(tuning))


def _legend(shown: Sequence[tuple[int, Trial]]) -> list[tuple[str, str]]:
    there = {trial.state for _, trial in shown}
    return [entry for state, entry in STATES.items() if state in there]


def _numbers(tuning: Tuning) -> Rows:
    """Return every trial that has a value, with what it chose, as `trials.csv` names them."""
    paths = list(tuning.spec.parameters)
    table: list[Sequence[str | float]] = [("trial", "state", tuning.spec.objective, *paths)]
    for _, trial in _with_values(tuning):
        chosen = [str(as_written(trial.parameters[path])) for path in paths]
        table.append((trial.name, trial.state, tuning.value(trial), *chosen))
    return table


def _dots(plot: Plot, tuning: Tuning, dots: Sequence[tuple[float, Trial]]) -> None:
    for at, trial in dots:
        chosen = ", ".join(f"{p} {as_written(v)}" for p, v in trial.parameters.items())
        tip = f"{trial.name}: {value_text(tuning, trial)}, {trial.state}; {chosen}"
        plot.dot(at, tuning.value(trial), STATES.get(trial.state, ("o-offline", ""))[0], tip)
