"""What participations of each group of the fleet came to and cost, in one run."""

from dataclasses import replace

import numpy as np

from simfl.report import formats
from simfl.report.page.tables import Cell, Table, name_cell
from simfl.runs.results.result import RunResult

LATE = 0.95
"""The quantile of times that is told beside the median."""


def by_group(run: RunResult) -> tuple[str, Table] | None:
    """Return a row per group whose devices were asked, and what is said before it.

    None: there are not two of them.
    """
    of_each = run.of_clients("group")
    asked_at_all = set(np.unique(of_each).tolist())
    groups = [name for name, _ in run.groups if name in asked_at_all]
    if len(groups) < 2:
        return None
    moved = run.of_clients("download_bytes") + run.of_clients("upload_bytes")
    heads = ["group", "devices asked", "participations", "counted", "median time", "95% within"]
    rows = []
    for group in groups:
        own = of_each == group
        took_s = run.durations_s[own & run.used]
        asked, counted = int(own.sum()), len(took_s)
        cells = [
            group_cell(run, name_cell(group)),
            _count(len(np.unique(run.of_clients("client")[own]))),
            _count(asked),
            Cell(formats.percent(counted / asked), sort=counted / asked),
            *(_time(float(np.quantile(took_s, q)) if counted else np.nan) for q in (0.5, LATE)),
            Cell(formats.size(float(moved[own].sum())), sort=float(moved[own].sum())),
        ]
        if run.powered:
            spent_j = float(run.of_clients("energy_j")[own].sum())
            known = np.nan if group in run.unpowered else spent_j
            cells.append(Cell(formats.energy(known), sort=known))
        rows.append(cells)
    heads += ["bytes", *(["energy at work"] if run.powered else [])]
    about = "By group of the fleet; times are from selection to arrival, of updates that counted."
    return about, Table(heads, rows)


def group_cell(run: RunResult, name: Cell) -> Cell:
    """Return the cell that names a group, which says how its devices attack, if they do."""
    for group in run.fleet:
        if group.name == name.text and group.attack:
            since = f" from round {group.attack_from}" if group.attack_from > 1 else ""
            return replace(name, more=f"attackers: {group.attack}{since}")
    return name


def _count(number: int) -> Cell:
    return Cell(f"{number:,}", sort=float(number))


def _time(seconds: float) -> Cell:
    return Cell(formats.duration(seconds), sort=seconds)
