"""How runs were made: what their scenarios differ in, versions, machine, resolved scenarios."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simfl.core.words import owners
from simfl.report import formats
from simfl.report.page.tables import Cell, Table, name_cell, text_cell
from simfl.runs.results.grouping import Groups, contents_of
from simfl.runs.results.result import RunResult
from simfl.scenario.language.place import flat

WIDE = 100
"""Characters of variants' names beside each other; of more, each has a row."""
SCENARIOS = 12
"""Resolved scenarios shown in full; the others are in their folders."""
DESCRIBE = "`simfl describe rounds.csv` says what columns mean"
LOGGED = (
    "Each run folder has `rounds.csv`, `clients.csv`, `events.jsonl` and `trace.json`, a timeline "
    f"with a track per device that Perfetto opens. {DESCRIBE}, `simfl explain RUN_DIR` what would "
    "have shortened a run."
)
UNLOGGED = (
    "Each run folder has `rounds.csv`; what single devices did was not recorded (`--log none`). "
    f"{DESCRIBE}."
)

_OF_ITS_OWN = {"variant", "seed", "scenario_sha256", "started", "host_s", "factors", "assumed",
                "cautions", "place", "study", "failed", "clients"}  # fmt: skip
"""What the provenance of each run says of it alone."""


@dataclass(frozen=True)
class Origins:
    """The last section of a page.

    Attributes:
        assumed: what was left to defaults that decide the result, as lines.
        tables: each with what is said before it.
        shared: versions and machine.
        scenarios: resolved scenarios: label, text.
        more: what is said at the end, last of it what is in a run's folder.
    """

    assumed: Sequence[str]
    tables: Sequence[tuple[str, Table | None]]
    shared: Table
    scenarios: Sequence[tuple[str, str]]
    more: Sequence[str]


def origins(runs: Sequence[RunResult], groups: Groups) -> Origins:
    """Return how runs were made."""
    tables: list[tuple[str, Table | None]] = []
    if len(groups) > 1:
        tables.append(_differences(_said({name: own[0] for name, own in groups.items()})))
    shown = list(groups.items())[:SCENARIOS]
    label = "Resolved scenario" + (" of {}" if len(groups) > 1 else "")
    scenarios = [(label.format(name), members[0].scenario_text) for name, members in shown]
    rest = len(groups) - len(shown)
    more = [f"{rest} more resolved scenarios are in their run folders."] if rest else []
    more.append(UNLOGGED if all(run.log == "none" for run in runs) else LOGGED)
    return Origins(
        _assumed(groups),
        [*tables, ("", _table_of_runs(runs))],
        _table_of_versions(runs),
        scenarios,
        more,
    )


def _said(runs: Mapping[str, RunResult]) -> dict[str, dict[str, str]]:
    """Return what runs' scenarios say, and where files that they name had other contents."""
    files = {name: contents_of(run) for name, run in runs.items()}
    digests: dict[str, set[str]] = {}
    for own in files.values():
        for path, digest in own.items():
            digests.setdefault(path, set()).add(digest)
    return {
        name: _texts(run.scenario) | {p: d for p, d in files[name].items() if len(digests[p]) > 1}
        for name, run in runs.items()
    }


def _assumed(groups: Groups) -> list[str]:
    """Return what was assumed, not given; where only some variants assume it, with their names."""
    assumed = {n: map(str, runs[0].provenance.get("assumed", [])) for n, runs in groups.items()}
    return [
        line if len(names) == len(groups) else f"{line} ({formats.listed(names)})"
        for line, names in owners(assumed).items()
    ]


def _differences(scenarios: Mapping[str, Mapping[str, str]]) -> tuple[str, Table | None]:
    """Return a table of what the variants' scenarios differ in."""
    paths = dict.fromkeys(path for flat in scenarios.values() for path in flat)
    differing = [
        path
        for path in paths
        if path != "seed" and len({flat.get(path) for flat in scenarios.values()}) > 1
    ]
    if not differing:
        return "The scenarios are the same.", None
    about = "What differs; everything else is the same, random numbers too."
    if sum(map(len, scenarios)) > max(WIDE, sum(map(len, differing))):
        rows = [
            [
                name_cell(name),
                *(text_cell(flat.get(path, formats.NOTHING)) for path in differing),
            ]
            for name, flat in scenarios.items()
        ]
        return about, Table(["variant", *differing], rows, differing)
    rows = [
        [
            Cell(path, "text", code=True),
            *(text_cell(flat.get(path, formats.NOTHING)) for flat in scenarios.values()),
        ]
        for path in differing
    ]
    return about, Table(["option", *scenarios], rows, list(scenarios))


def _table_of_runs(runs: Sequence[RunResult]) -> Table:
    """Return a table of what each run's provenance says of it alone."""
    rows = []
    for run in runs:
        host_s = run.provenance.get("host_s")
        logged = run.finished and run.log != "none"
        log = run.summary.get("events_sha256", "") if logged else ""
        rows.append(
            [
                name_cell(run.variant),
                Cell(str(run.seed), sort=run.seed),
                Cell(str(run.provenance.get("started", "")), "text"),
                Cell(formats.NOTHING if host_s is None else formats.duration(float(host_s))),
                Cell(str(log)[:16] or formats.NOTHING, "text", code=True),
                Cell(str(run.provenance.get("scenario_sha256", ""))[:16], "text", code=True),
            ]
        )
    heads = ["variant", "seed", "started", "host time", "event log", "scenario"]
    return Table(heads, rows, ["started", "event log", "scenario"])


def _table_of_versions(runs: Sequence[RunResult]) -> Table:
    """Return a table of versions and machine; where runs differ, all values."""
    facts = [
        _texts({key: value for key, value in run.provenance.items() if key not in _OF_ITS_OWN})
        for run in runs
    ]
    paths = dict.fromkeys(path for flat in facts for path in flat)
    rows = [
        [
            Cell(path, "text", code=True),
            Cell("; ".join(dict.fromkeys(f.get(path, "") for f in facts)), "wrap"),
        ]
        for path in paths
    ]
    return Table(["fact", "value"], rows, ["value"])


def _texts(data: Mapping[str, Any]) -> dict[str, str]:
    """Return what is in nested data as text, by path, such as ``fleet[0].count``."""
    return {
        path: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for path, value in flat(data).items()
    }
