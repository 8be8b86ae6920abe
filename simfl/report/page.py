"""One HTML page about one run or several: the answer first, then why, then how it was made.

The page stands alone: its style and its charts are inside, it has no script and fetches nothing,
and the same run folders always give the same bytes.
"""

from collections.abc import Callable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from simfl.report import formats
from simfl.report.charts import clients, costs, learning, rounds
from simfl.report.charts.base import Drawing, Groups
from simfl.report.devices import Devices
from simfl.report.html import cell, mean_cell, table, table_of
from simfl.report.origins import origins
from simfl.report.results import Results, results
from simfl.report.svg import WIDE
from simfl.report.words import headline, notes
from simfl.runs.folder import write_atomically
from simfl.runs.result import OUTCOMES, RunResult, by_variant

SLOWEST = 12
"""Devices in the table of those that cost most."""


def write_page(runs: Sequence[RunResult], path: Path) -> None:
    """Write the page about `runs`.

    Raises:
        RunError: the file can't be written.
    """
    write_atomically(path, page(runs).encode())


def page(runs: Sequence[RunResult]) -> str:
    """Return the page about `runs` (at least one) as HTML."""
    groups = by_variant(runs)
    title = formats.listed(list(dict.fromkeys(run.name for run in runs)))
    if len(runs) == 1:
        only = "" if runs[0].variant == "default" else f", {runs[0].variant}"
        title += f"{only}, seed {runs[0].seed}"
    style = files("simfl.report").joinpath("style.css").read_text(encoding="utf-8")
    body = "\n".join(
        part
        for part in (
            _header(title, runs, groups),
            _answer(groups),
            _section("Learning", [learning.accuracy(groups, cost) for cost in _OTHER_COSTS]),
            _section("Rounds", [draw(groups) for draw in _ABOUT_ROUNDS]),
            _section("Clients", [draw(groups) for draw in _ABOUT_CLIENTS], _clients(groups)),
            _section("Costs", [draw(groups) for draw in _ABOUT_COSTS]),
            origins(runs, groups),
        )
        if part
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"{body}\n</body>\n</html>\n"
    )


_OTHER_COSTS = (learning.ROUNDS, learning.BYTES)
_ABOUT_ROUNDS: tuple[Callable[[Groups], Drawing | None], ...] = (
    rounds.round_durations,
    rounds.outcomes,
    rounds.gemd,
)
_ABOUT_CLIENTS = (clients.participation, clients.client_times, clients.staleness)
_ABOUT_COSTS = (costs.bytes_by_purpose, costs.energy_by_purpose)


# The first screen -----------------------------------------------------------------------------


def _header(title: str, runs: Sequence[RunResult], groups: Groups) -> str:
    about = dict.fromkeys(str(run.scenario.get("description", "")) for run in runs)
    several = "" if len(groups) == 1 else f"{formats.plural(len(groups), 'variant')} · "
    seeds = sorted({run.seed for run in runs})
    told = f"{several}seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
    fleet = formats.listed(sorted({formats.plural(run.devices, "device") for run in runs}))
    facts = f"{told} · {fleet} · {_range(runs)}"
    lines = [f"<h1>{escape(title)}</h1>"]
    lines += [f"<p>{escape(text)}</p>" for text in about if text]
    return f"<header>\n{chr(10).join(lines)}\n<p>{escape(facts)}</p>\n</header>"


def _range(runs: Sequence[RunResult]) -> str:
    rounds = sorted({run.n_rounds for run in runs})
    if len(rounds) == 1:
        return formats.plural(rounds[0], "round")
    return f"{rounds[0]:,} to {formats.plural(rounds[-1], 'round')}"


def _answer(groups: Groups) -> str:
    first, *rest = headline(groups)
    told = " ".join([f"<b>{escape(first)}</b>", *map(escape, rest)])
    parts = [f'<p class="answer">{told}</p>']
    if warnings := notes(groups):
        items = [f"<li><b>{escape(a)}:</b> {escape(b)}</li>" for a, b in warnings]
        parts.append(f'<ul class="notes">{"".join(items)}</ul>')
    parts.append(_results(results(groups)))
    drawing = learning.accuracy(groups, learning.TIME, WIDE) or learning.progress(groups)
    if drawing is not None:
        parts.append(f'<div class="grid first">{_figure(drawing)}</div>')
    return "\n".join(parts)


def _results(found: Results) -> str:
    above = "".join(
        f'<th class="span" colspan="{n}">{escape(head)}</th>' for head, n in found.heads
    )
    first = ["variant", *(["seeds"] if found.seeded else [])]
    head = f'<tr><th colspan="{len(first)}"></th>{above}</tr><tr>'
    head += "".join(f"<th>{escape(name)}</th>" for name in [*first, *found.columns]) + "</tr>"
    rows = [
        [
            f'<td><i class="key {css}"></i>{escape(name)}</td>',
            *([cell(str(seeds))] if found.seeded else []),
            *(cell(one.text, "best" if one.best else "") for one in cells),
        ]
        for name, css, seeds, cells in found.rows
    ]
    return table_of(head, rows)


# Charts and tables below ----------------------------------------------------------------------


def _figure(drawing: Drawing) -> str:
    legend = ""
    if drawing.legend:
        items = [f'<li><i class="key {css}"></i>{escape(t)}</li>' for css, t in drawing.legend]
        legend = f'<ul class="legend">{"".join(items)}</ul>'
    caption = f"<b>{escape(drawing.title)}</b>{escape(drawing.about)}"
    return f"<figure><figcaption>{caption}</figcaption>{drawing.svg}{legend}</figure>"


def _section(title: str, drawings: Sequence[Drawing | None], more: str = "") -> str:
    there = [_figure(drawing) for drawing in drawings if drawing is not None]
    if not there and not more:
        return ""
    grid = f'<div class="grid">\n{chr(10).join(there)}\n</div>' if there else ""
    return f"<section>\n<h2>{escape(title)}</h2>\n{grid}\n{more}\n</section>"


def _clients(groups: Groups) -> str:
    """Return who straggled: every device that cost most for one run, else counts per variant."""
    runs = [run for members in groups.values() for run in members]
    if len(runs) == 1:
        return _slowest(runs[0])
    rows = []
    for name, members in groups.items():
        found = [Devices.of(run) for run in members]
        ginis = [run.gini for run in members]
        cells = [
            cell(name),
            mean_cell([float(len(one.ids)) for one in found], formats.count),
            mean_cell([float((~one.never).sum()) for one in found], formats.count),
            mean_cell([float(one.never.sum()) for one in found], formats.count),
            mean_cell([one.samples_lost for one in found], formats.percent),
            mean_cell(ginis, formats.ratio),
        ]
        rows.append(cells)
    heads = ["variant", "devices asked", "heard", "never heard", "holding samples", "Gini"]
    return table(heads, rows, ["group"])


def _slowest(run: RunResult) -> str:
    found = Devices.of(run)
    if not len(found.ids):
        return ""
    names = [name for name in OUTCOMES if name != "arrived" and run.outcomes[name]]
    columns = [found.samples, found.asked, found.asked - found.lost]
    columns += [*(found.outcomes[name] for name in names), found.last]
    rows = [
        [
            cell(str(found.ids[at])),
            cell(str(found.groups[at]), "text"),
            *(cell(f"{column[at]:,}") for column in columns),
            cell(formats.duration(float(found.time_s[at]))),
        ]
        for at in found.worst(SLOWEST)
    ]
    heads = [
        "device",
        "group",
        "samples",
        "asked",
        "heard",
        *names,
        "last of its round",
        "mean time",
    ]
    caption = (
        f"{found} Below are those that cost most: never heard first, then the slowest; a dash "
        "means that no update of theirs ever arrived."
    )
    return f'<p class="about">{escape(caption)}</p>\n{table(heads, rows, ["group"])}'
