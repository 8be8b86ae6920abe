"""Round anatomy: what a round's time went to, along the client that it waited for last.

The critical path of a round is that of the last update that counted in it.  Its download, compute
and upload, each as far as it lies within the round, and the rest, waiting (for somebody to be
online, for answers to a probe, for a deadline), sum exactly to the round's duration.  A pause while
a device is offline is part of the phase that it interrupts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simfl.core.types import Floats, Ids
from simfl.report import formats
from simfl.report.axes import TIME_UNITS, linear
from simfl.report.charts.base import Drawing, Groups, bars, mean
from simfl.report.svg import Plot
from simfl.runs.result import RunResult

PHASES = ("wait", "download", "compute", "upload")
CSS = ("p-wait", "p-model", "p-compute", "p-update")
COLUMNS = 160
"""So many columns still have gaps between them."""


@dataclass(frozen=True, eq=False)
class Anatomy:
    """The rounds of one run.

    Attributes:
        phases: `(rounds, 4)` seconds of `PHASES`; a row sums to the round's duration.
        clients: `(rounds,)` the critical client (-1: no update counted).
    """

    phases: Floats
    clients: Ids

    @classmethod
    def of(cls, run: RunResult) -> "Anatomy":
        """Take a run's rounds apart."""
        start, end = run.column("start_s"), run.column("end_s")
        used = np.flatnonzero(run.used & np.isfinite(run.part("upload_end_s")))
        order = used[np.argsort(run.part("upload_end_s")[used], kind="stable")]
        arrived = run.part("upload_end_s")[order]
        if not len(order):
            phases = np.zeros((len(end), len(PHASES)))
            phases[:, 0] = end - start
            return cls(phases, np.full(len(end), -1))
        at = np.searchsorted(arrived, end, side="right") - 1
        heard = (at >= 0) & (arrived[at] > start)
        critical = np.where(heard, order[at], -1)
        names = ("selected_s", "download_end_s", "compute_end_s", "upload_end_s")
        ends = np.array([run.part(name)[critical] for name in names], dtype=np.float64).reshape(
            len(names), len(end)
        )
        ends = np.fmax.accumulate(np.clip(np.nan_to_num(ends), start, end), axis=0)
        spans = np.where(critical >= 0, np.diff(ends, axis=0), 0.0)
        wait = (end - start) - spans.sum(axis=0)
        clients = np.where(critical >= 0, run.part("client")[critical], -1)
        return cls(np.column_stack([wait, *spans]), clients)


def anatomy(groups: Groups) -> Drawing | None:
    """Return where the rounds' time went: by round for one run, else means by variant."""
    runs = [run for members in groups.values() for run in members]
    if not any(run.n_rounds and len(run.clients) for run in runs):
        return None
    if len(runs) == 1:
        return _by_round(runs[0])
    parts = {
        name: [mean([float(m[i]) for m in _means(members)]) for i, _ in enumerate(PHASES)]
        for name, members in groups.items()
    }
    most = max(sum(part) for part in parts.values())
    return bars(
        "Anatomy of a round",
        "Along the client that each round waited for last; means over rounds and seeds.",
        linear("time", 0.0, most, units=TIME_UNITS),
        parts,
        {name: [formats.duration(value) for value in part] for name, part in parts.items()},
        PHASES,
        CSS,
    )


def _means(runs: Sequence[RunResult]) -> list[Floats]:
    return [Anatomy.of(run).phases.mean(axis=0) for run in runs if run.n_rounds]


def _by_round(run: RunResult) -> Drawing:
    found = Anatomy.of(run)
    rounds = run.column("round")
    width = -(-len(rounds) // COLUMNS)
    top = float(found.phases.sum(axis=1).max())
    x = linear("round", float(rounds[0]) - 0.5, float(rounds[-1]) + 0.5)
    plot = Plot("anatomy of each round", x, linear("duration", 0.0, top, units=TIME_UNITS))
    for first in range(0, len(rounds), width):
        some = found.phases[first : first + width].mean(axis=0)
        low, base = float(rounds[first]) - 0.42, 0.0
        tip = _tip(rounds[first], some, found.clients[first] if width == 1 else None)
        for css, seconds in zip(CSS, some, strict=True):
            plot.box(low, low + width - 0.16, base, base + float(seconds), css, tip)
            base += float(seconds)
    about = "Along the client that each round waited for last. " + _critical(found)
    about += f" Means over {width} rounds." if width > 1 else ""
    return Drawing("Anatomy of each round", about, str(plot), list(zip(CSS, PHASES, strict=True)))


def _tip(round_: float, seconds: Floats, client: int | None) -> str:
    parts = ", ".join(
        f"{phase} {formats.duration(float(s))}" for phase, s in zip(PHASES, seconds, strict=True)
    )
    who = "" if client is None else f" device {client}," if client >= 0 else " nobody arrived,"
    return f"round {round_:.0f}:{who} {parts}; most of it {PHASES[int(seconds.argmax())]}"


def _critical(found: Anatomy) -> str:
    """Say which phase and which device rounds waited for most often."""
    counts = np.bincount(found.phases.argmax(axis=1), minlength=len(PHASES))
    longest = PHASES[int(counts.argmax())]
    text = f"The longest phase: {longest}, in {counts.max()} of {len(found.phases)} rounds."
    heard = found.clients[found.clients >= 0]
    if not len(heard):
        return text
    often = np.bincount(heard)
    return f"{text} Most often waited for: device {often.argmax()}, in {often.max()} rounds."
