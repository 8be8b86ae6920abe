"""Below the answer of a page: charts of rounds, clients and costs, and tables beside them."""

from collections.abc import Sequence
from dataclasses import dataclass

from simfl.core.rows import OUTCOMES
from simfl.core.target import metric_of
from simfl.report import formats, measures
from simfl.report.charts import costs, curves, rounds
from simfl.report.charts.anatomy import anatomy
from simfl.report.charts.base import SPREAD, Drawing
from simfl.report.charts.client_times import client_times
from simfl.report.charts.participation import inequality, participation
from simfl.report.charts.staleness import staleness
from simfl.report.page.devices import Devices
from simfl.report.page.fleet_groups import by_group, group_cell
from simfl.report.page.tables import Cell, Table, mean_cell, name_cell, text_cell
from simfl.runs.results.column import target_text
from simfl.runs.results.grouping import Groups, all_runs, with_clients
from simfl.runs.results.result import RunResult
from simfl.runs.results.several import all_errors, all_metrics, all_targets

SLOWEST = 12
"""Devices in the table of those that cost most."""


@dataclass(frozen=True)
class Section:
    """A part of a page: its charts, and tables with what is said before each."""

    title: str
    drawings: Sequence[Drawing]
    tables: Sequence[tuple[str, Table]] = ()


def learning(groups: Groups) -> Drawing | None:
    """Return how good models are by what they cost; rounds over time, if nothing was evaluated."""
    xs = [measures.TIME, measures.ROUNDS, *measures.COSTS.values()]
    targets = all_targets(all_runs(groups))
    marks = [(metric_of(target), float(target), target_text(target)) for target in targets]
    about = "Dashed lines across are the targets." if marks else ""
    errors = map(measures.of_judged, all_errors(all_runs(groups)))
    own = map(measures.of_judged, all_metrics(all_runs(groups)))
    ys = [measures.ACCURACY, *errors, measures.LOSS, *own]
    drawing = curves.curves("learning", "Learning", about, groups, xs, ys, marks, wide=True)
    return drawing or curves.curves(
        "progress",
        "Rounds over virtual time",
        "Steeper is faster.",
        groups,
        [measures.TIME, measures.BYTES],
        [measures.DONE],
        wide=True,
    )


def sections(groups: Groups) -> list[Section]:
    """Return all but `learning`: rounds, clients and costs, as far as there is anything to show."""
    xs = [measures.ROUNDS, measures.TIME]
    if _spread(groups, measures.ROUNDS) > max(SPREAD, _spread(groups, measures.TIME)):
        xs.reverse()  # by round, the shortest runs would be strokes at its start
    durations = curves.curves(
        "durations",
        "Duration of rounds",
        "From when a round begins to its aggregation.",
        groups,
        xs,
        [measures.DURATION],
    )
    skew = curves.curves(
        "gemd",
        "Label skew of cohorts (GEMD)",
        "Group earth mover's distance, from 0 to 2: of the labels that a round learns from to "
        "everybody's.",
        groups,
        xs,
        [measures.GEMD],
    )
    told = with_clients(groups)
    if not told:
        return [Section("Rounds", _without_none(durations, skew))]
    return [
        Section("Rounds", _without_none(durations, anatomy(told), rounds.outcomes(told), skew)),
        Section(
            "Clients",
            _without_none(participation(told), client_times(told), staleness(told)),
            _clients(told),
        ),
        Section(
            "Costs",
            _without_none(costs.bytes_by_purpose(told), costs.energy_by_purpose(told)),
            _costs(told),
        ),
    ]


def _spread(groups: Groups, measure: measures.Measure) -> float:
    """Return how many times as far the longest run has got as the shortest, if it has begun."""
    ends = [float(measure.of(run)[-1]) for run in all_runs(groups) if run.n_rounds]
    return max(ends, default=1.0) / (min(ends, default=1.0) or 1.0)


def _costs(groups: Groups) -> list[tuple[str, Table]]:
    """Return what each group of the fleet cost, for one run."""
    runs = all_runs(groups)
    table = by_group(runs[0]) if len(runs) == 1 else None
    return [] if table is None else [table]


def _without_none(*drawings: Drawing | None) -> list[Drawing]:
    return [drawing for drawing in drawings if drawing is not None]


def _clients(groups: Groups) -> list[tuple[str, Table]]:
    """Return who straggled: every device that cost most for one run, else counts per variant."""
    runs = all_runs(groups)
    if len(runs) == 1:
        return _slowest(runs[0])
    rows, at_work, attacked = [], False, any(run.attacks for run in runs)
    for name, members in groups.items():
        devices = [Devices.of(run) for run in members]
        at_work = at_work or any((~d.heard & ~d.never).any() for d in devices)
        cells = [
            name_cell(name),
            mean_cell([float(d.fleet) for d in devices], formats.count),
            *([mean_cell([float(run.attackers) for run in members], formats.count)] * attacked),
            mean_cell([float(len(d.ids)) for d in devices], formats.count),
            mean_cell([float(d.heard.sum()) for d in devices], formats.count),
            mean_cell([float(d.never.sum()) for d in devices], formats.count),
            mean_cell([d.samples_lost for d in devices], formats.percent),
            mean_cell([inequality(run) for run in members], formats.ratio),
        ]
        rows.append(cells)
    in_vain = ["asked, never heard", "samples they hold"]
    marked = ["attackers"] * attacked
    heads = ["variant", "devices", *marked, "asked", "heard", *in_vain, "Gini"]
    others = "Asked, and neither heard nor never heard: still at work when the run ended."
    return [(others if at_work else "", Table(heads, rows))]


def _slowest(run: RunResult) -> list[tuple[str, Table]]:
    devices = Devices.of(run)
    if not len(devices.ids):
        return []
    names = [name for name in OUTCOMES if name != "arrived" and run.outcomes[name]]
    columns = [devices.samples, devices.asked, devices.asked - devices.lost]
    columns += [*(devices.outcomes[name] for name in names), devices.last]
    client = ["client"] * bool(run.client_names)
    rows = [
        [
            Cell(str(devices.ids[at]), sort=float(devices.ids[at])),
            *(text_cell(run.client_name(int(devices.ids[at]))) for _ in client),
            group_cell(run, text_cell(str(devices.groups[at]))),
            *(Cell(f"{column[at]:,}", sort=float(column[at])) for column in columns),
            Cell(formats.duration(float(devices.time_s[at])), sort=float(devices.time_s[at])),
        ]
        for at in devices.worst(SLOWEST)
    ]
    heads = ["device", *client, "group", "samples", "asked", "heard", *names]
    few = f"the {len(rows)} that cost most of {len(devices.ids):,}"
    shown = few if len(rows) < len(devices.ids) else "those that cost most first"
    caption = (
        f"{devices} Below are {shown}: never heard first, then the slowest; a dash means that no "
        "update of theirs ever arrived. Last in a round: no update that counted came later."
    )
    heads += ["rounds it was last in", "mean time"]
    return [(caption, Table(heads, rows, [*client, "group"]))]
