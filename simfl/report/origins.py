"""How runs were made: what their scenarios differ in, versions, machine, resolved scenarios."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from simfl.report import formats
from simfl.report.charts.base import Groups
from simfl.report.html import cell, code, table
from simfl.runs.result import RunResult

SCENARIOS = 12
"""Resolved scenarios shown in full; the others are in their folders."""

_OF_ITS_OWN = {"variant", "seed", "scenario_sha256", "started", "host_s"}
"""What the provenance of each run says of it alone."""


def origins(runs: Sequence[RunResult], groups: Groups) -> str:
    """Return the last section of a page."""
    parts = ["<section>\n<h2>How it was made</h2>"]
    if len(groups) > 1:
        parts.append(_differences({name: _flat(own[0].scenario) for name, own in groups.items()}))
    parts += [_each(runs), _shared(runs)]
    for name, members in list(groups.items())[:SCENARIOS]:
        label = "Resolved scenario" if len(groups) == 1 else f"Resolved scenario of {name}"
        text = escape(members[0].scenario_text)
        parts.append(f"<details><summary>{escape(label)}</summary><pre>{text}</pre></details>")
    if len(groups) > SCENARIOS:
        others = f"{len(groups) - SCENARIOS} more resolved scenarios are in their run folders."
        parts.append(f'<p class="about">{others}</p>')
    parts.append(
        '<p class="about">Each run folder has <code>rounds.csv</code>, <code>clients.csv</code>, '
        "<code>events.jsonl</code> and <code>trace.json</code>, a timeline with a track per "
        "device that Perfetto opens.</p>\n</section>"
    )
    return "\n".join(parts)


def _differences(scenarios: Mapping[str, Mapping[str, str]]) -> str:
    """Return a table of what the variants' scenarios differ in."""
    paths = dict.fromkeys(path for flat in scenarios.values() for path in flat)
    differing = [
        path
        for path in paths
        if path != "seed" and len({flat.get(path) for flat in scenarios.values()}) > 1
    ]
    if not differing:
        return '<p class="about">The scenarios are the same.</p>'
    rows = [
        [code(path), *(cell(f.get(path, formats.NOTHING), "text") for f in scenarios.values())]
        for path in differing
    ]
    about = '<p class="about">What differs; everything else is the same, random numbers too.</p>'
    return f"{about}\n{table(['', *scenarios], rows, list(scenarios))}"


def _each(runs: Sequence[RunResult]) -> str:
    """Return a table of what each run's provenance says of it alone."""
    rows = []
    for run in runs:
        host_s = run.provenance.get("host_s")
        rows.append(
            [
                cell(run.variant),
                cell(str(run.seed)),
                cell(str(run.provenance.get("started", "")), "text"),
                cell(formats.NOTHING if host_s is None else formats.duration(float(host_s))),
                code(str((run.summary if run.finished else {}).get("events_sha256", ""))[:16]),
                code(str(run.provenance.get("scenario_sha256", ""))[:16]),
            ]
        )
    heads = ["variant", "seed", "started", "host time", "event log", "scenario"]
    return table(heads, rows, ["started", "event log", "scenario"])


def _shared(runs: Sequence[RunResult]) -> str:
    """Return a table of versions and machine; where runs differ, all values."""
    facts = [_flat(run.provenance) for run in runs]
    paths = dict.fromkeys(path for flat in facts for path in flat if path not in _OF_ITS_OWN)
    rows = [
        [code(path), cell("; ".join(dict.fromkeys(f.get(path, "") for f in facts)), "wrap")]
        for path in paths
    ]
    body = table(["", ""], rows)
    return f"<details><summary>Versions and machine</summary>{body}</details>"


def _flat(value: Any, path: str = "") -> dict[str, str]:
    """Return the leaves of nested data by path, such as ``fleet[0].count``."""
    if isinstance(value, Mapping) and value:
        parts = [(f"{path}.{key}" if path else str(key), item) for key, item in value.items()]
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        parts = [(f"{path}[{index}]", item) for index, item in enumerate(value)]
    else:
        plain = isinstance(value, str)
        return {path: value if plain else json.dumps(value, ensure_ascii=False, default=str)}
    return {leaf: text for where, item in parts for leaf, text in _flat(item, where).items()}
