"""Charts of costs: bytes and energy by what they were for, and what of them came to nothing."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from simfl.report import formats
from simfl.report.axes import BYTE_UNITS, ENERGY_UNITS, Unit, linear
from simfl.report.charts.base import Drawing, bars, by_name, mean
from simfl.runs.results.grouping import Groups
from simfl.runs.results.result import RunResult

BYTE_CSS = (
    "p-model", "p-update", "p-probe", "p-energy", "p-model wasted", "p-update wasted",
)  # fmt: skip
LABELS = {"bytes": "bytes moved", "energy_j": "energy"}
ENERGY_CSS = ("p-energy", "p-energy wasted", "p-probe")


def bytes_by_purpose(groups: Groups) -> Drawing | None:
    """Return what was moved, for what, and what of it came to nothing; means over seeds."""
    parts = {name: _means([bytes_of(run) for run in runs]) for name, runs in groups.items()}
    return _purposes("Bytes by purpose", "bytes", parts, BYTE_UNITS, BYTE_CSS, formats.size)


def energy_by_purpose(groups: Groups) -> Drawing | None:
    """Return what devices at work spent, and what of it came to nothing; means over seeds."""
    known = {name: runs for name, runs in groups.items() if all(run.powered for run in runs)}
    parts = {name: _means([joules_of(run) for run in runs]) for name, runs in known.items()}
    if not parts:
        return None
    drawing = _purposes(
        "Energy of devices at work", "energy_j", parts, ENERGY_UNITS, ENERGY_CSS, formats.energy
    )
    silent = [group for runs in known.values() for group in runs[0].unpowered]
    if drawing is None or not silent:
        return drawing
    who = formats.listed(list(dict.fromkeys(silent)))
    return replace(drawing, about=f"{drawing.about} Devices of {who} have no `power`: 0 J.")


def bytes_of(run: RunResult) -> dict[str, float]:
    """Return bytes moved, for what: models and updates, used or wasted, probes and a backhaul."""
    down, up, used = run.of_clients("download_bytes"), run.of_clients("upload_bytes"), run.used
    return {
        "models, used": float(down[used].sum()),
        "updates, used": float(up[used].sum()),
        "probes": float(run.probe_bytes),
        "models of edges, on the backhaul": float(run.backhaul_bytes),
        "models, wasted": float(down[~used].sum()),
        "updates, wasted": float(up[~used].sum()),
    }


def joules_of(run: RunResult) -> dict[str, float]:
    """Return joules of devices at work, on what, of a run that is `powered`.

    Updates that counted, others, and probes, which no participation's joules are of.
    """
    spent = run.of_clients("energy_j")
    used, wasted = math.fsum(spent[run.used]), math.fsum(spent[~run.used])
    rest = run.total_energy_j - (used + wasted)
    probed = rest > 1e-9 * (used + wasted) and run.probe_bytes > 0
    return {"used": used, "wasted": wasted, "probes": rest if probed else 0.0}


def _means(parts: Sequence[dict[str, float]]) -> dict[str, float]:
    return {key: mean([part[key] for part in parts]) for key in parts[0]}


def _purposes(
    title: str,
    column: str,
    parts: Mapping[str, Mapping[str, float]],
    units: tuple[Unit, ...],
    css: Sequence[str],
    text: Callable[[float], str],
) -> Drawing | None:
    """Return bars of what variants spent; None: nothing.

    Args:
        title: of the chart.
        column: what the numbers are called in tables.
        parts: amounts by purpose, by variant; a purpose with `wasted` in its name came to nothing.
        units: of the axis.
        css: the look of each purpose.
        text: amounts in words.
    """
    most = max(math.fsum(part.values()) for part in parts.values())
    if not most:
        return None
    looks = dict(zip(next(iter(parts.values())), css, strict=True))
    shown = {key: look for key, look in looks.items() if any(part[key] for part in parts.values())}
    wasted = {
        name: math.fsum(v for k, v in part.items() if "wasted" in k)
        / (math.fsum(part.values()) or 1)
        for name, part in parts.items()
    }
    about = f"Wasted: {by_name(wasted, formats.percent)}."
    x = linear(LABELS[column], 0.0, most, units=units)
    return bars(title, about, x, parts, shown, column, text)
