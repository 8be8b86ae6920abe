"""Round anatomy: what a round's time went to, along the clients that it waited for last."""

from collections.abc import Sequence

import numpy as np

from simfl.core.types import Floats
from simfl.report import formats
from simfl.report.axes import TIME_UNITS, linear
from simfl.report.charts.base import COLUMNS, Drawing, bars, mean, rounds_told
from simfl.report.charts.svg import Plot
from simfl.runs.results.anatomy import NANOSECONDS_END_S, Anatomy
from simfl.runs.results.critical_path import NOBODY, PHASES
from simfl.runs.results.grouping import Groups, all_runs
from simfl.runs.results.result import RunResult

CSS = ("p-idle", "p-probe", "p-model", "p-compute", "p-update", "p-wait")
ABOUT = (
    "From the end of one round to the end of the next, along the clients that it waited for; idle: "
    "no device worked for the round yet."
)


def anatomy(groups: Groups) -> Drawing | None:
    """Return where the rounds' time went: by round for one run, else means by variant."""
    runs = all_runs(groups)
    if not any(run.n_rounds and len(run.client_rows) for run in runs):
        return None
    if any(run.end_s > NANOSECONDS_END_S for run in runs):
        return None
    if len(runs) == 1:
        return _by_round(runs[0])
    means = {
        name: [Anatomy.of(run).rounds_s.mean(axis=0) for run in members if run.n_rounds]
        for name, members in groups.items()
    }
    shown = [
        i for i, _ in enumerate(PHASES) if any(m[i] > 0 for own in means.values() for m in own)
    ]
    parts = {
        name: {PHASES[i]: mean([float(m[i]) for m in own]) for i in shown}
        for name, own in means.items()
    }
    most = max(sum(part.values()) for part in parts.values())
    return bars(
        "Anatomy of a round",
        f"{ABOUT} Means over rounds and seeds.",
        linear("time", 0.0, most, units=TIME_UNITS),
        parts,
        {PHASES[i]: CSS[i] for i in shown},
        "time_s",
        formats.duration,
    )


def _by_round(run: RunResult) -> Drawing:
    """Return a bar for each round; where these are many, for the mean of some side by side."""
    anatomy = Anatomy.of(run)
    phases = anatomy.rounds_s
    rounds = run.of_rounds("round")
    width = -(-len(rounds) // COLUMNS)
    x = linear("round", float(rounds[0]) - 0.5, float(rounds[-1]) + 0.5, whole=True)
    firsts = np.arange(0, len(rounds), width)
    by_bar = np.array([phases[first : first + width].mean(axis=0) for first in firsts])
    y = linear("duration", 0.0, 1.05 * float(by_bar.sum(axis=1).max()), units=TIME_UNITS)
    plot = Plot("anatomy of each round", x, y)
    table: list[Sequence[str | float]] = [("from_round", "to_round", "phase", "time_s")]
    for first, means in zip(firsts.tolist(), by_bar, strict=True):
        low, base = float(rounds[first]) - 0.42, 0.0
        last = min(first + width, len(rounds)) - 1
        counted = bool(run.of_rounds("arrived")[first])
        device = int(anatomy.clients[first])
        nobody = "waited for nobody" if counted else "nobody arrived"
        who = nobody if device == NOBODY else run.called(device)
        tip = _tip((rounds[first], rounds[last]), means, who)
        for phase, css, seconds in zip(PHASES, CSS, means, strict=True):
            row = (float(rounds[first]), float(rounds[last]), phase, float(seconds))
            table.append(row)
            plot.box(
                low,
                low + min(width, len(rounds) - first) - 0.16,
                base,
                base + float(seconds),
                css,
                tip,
            )
            base += float(seconds)
    about = f"{ABOUT} {_critical(run, anatomy)}"
    about += f" Each bar is the mean of {width} rounds." if width > 1 else ""
    legend = [(CSS[i], PHASES[i]) for i in np.flatnonzero(phases.sum(axis=0))]
    return Drawing("Anatomy of each round", about, str(plot), legend, table=table)


def _tip(ends: tuple[float, float], seconds: Floats, last: str) -> str:
    """Say what a round, or each of several in the mean, went by, and who was `last` in it."""
    parts = ", ".join(
        f"{phase} {formats.duration(float(s))}"
        for phase, s in zip(PHASES, seconds, strict=True)
        if s > 0
    )
    who = f" {last}," if ends[0] == ends[1] else ""
    return f"{rounds_told(*ends)}:{who} {parts}; most of it {PHASES[int(seconds.argmax())]}"


def _critical(run: RunResult, anatomy: Anatomy) -> str:
    """Say which phase and which device rounds waited for most often."""
    longest = anatomy.phases_ns[:-1].argmax(axis=1)
    counts = np.bincount(longest, minlength=len(PHASES))
    all_rounds = formats.plural(len(longest), "round")
    phase = PHASES[int(counts.argmax())]
    text = f"The longest phase: {phase}, in {counts.max():,} of {all_rounds}."
    if timed := int(anatomy.by_deadline.sum()):
        text += f" Ended by their deadline: {timed:,} of {all_rounds}."
    return text + "".join(
        f" Most often waited for: {run.called(client)}, in {formats.plural(often, 'round')}."
        for client, often in anatomy.critical(1)
    )
