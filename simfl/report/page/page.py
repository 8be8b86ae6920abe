"""One HTML page about one run or several: the answer first, then why, then how it was made.

The page stands alone: its style, its charts and its script are inside, it fetches nothing, and the
same run folders always give the same bytes.  It is whole without the script, which lets readers
choose axes, zoom, hide, sort and download.  Everything that users wrote is escaped by the template.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from simfl.core.files import write_output
from simfl.core.words import of_number, ranges
from simfl.report import forked, formats
from simfl.report.charts import curves
from simfl.report.charts.embedded import embedded, island
from simfl.report.page.answer.headline import paragraphs
from simfl.report.page.factors import factors
from simfl.report.page.notes import USUAL, notes
from simfl.report.page.origins import origins
from simfl.report.page.rendering import render, script
from simfl.report.page.results import results
from simfl.report.page.sections import learning, sections
from simfl.runs.results.grouping import Groups, by_variant
from simfl.runs.results.result import RunResult


def write_page(runs: Sequence[RunResult], path: Path) -> None:
    """Write the page about `runs`.

    Raises:
        InputError: the file can't be there.
        RunError: the disk is full.
    """
    write_output(path, page(runs).encode())


def page(runs: Sequence[RunResult], more: Mapping[str, str] | None = None) -> str:
    """Return the page about `runs` (at least one) as HTML.

    Args:
        runs: finished or not.
        more: what a served page has besides: the way `home`, its `version`, and a `live` script
            that keeps it fresh.
    """
    groups = by_variant(runs)
    first = learning(groups)
    shown = [section for section in sections(groups) if section.drawings or section.tables]
    drawings = [d for section in shown for d in section.drawings]
    tables, reading = results(groups)
    swept = factors(groups)
    return render(
        "page.html",
        title=_title(runs),
        about=[
            *(d for d in dict.fromkeys(run.scenario.get("description") for run in runs) if d),
            *forked.told(runs),
        ],
        facts=_facts(runs, groups),
        answer=paragraphs(groups),
        notes=[(head, text, head not in USUAL) for head, text in notes(groups)],
        results=tables,
        reading=reading,
        first=first,
        sections=shown,
        factors=swept and swept.table,
        many=len(groups) > curves.TOGETHER,
        pivot=embedded(swept.data if swept else {}),
        origins=origins(runs, groups),
        island=island([*([first] if first else []), *drawings]),
        script=script(),
        more=more or {},
    )


def _title(runs: Sequence[RunResult]) -> str:
    title = formats.listed(list(dict.fromkeys(run.name for run in runs)))
    if len(runs) > 1:
        return title
    only = "" if runs[0].variant == "default" else f", {runs[0].variant}"
    return f"{title}{only}, seed {runs[0].seed}"


def _facts(runs: Sequence[RunResult], groups: Groups) -> str:
    several = "" if len(groups) == 1 else f"{formats.plural(len(groups), 'variant')} · "
    seeds = sorted({run.seed for run in runs})
    head = f"{several}{of_number(len(seeds), 'seed')} {ranges(seeds)}"
    fleet = formats.listed(sorted({formats.plural(run.devices, "device") for run in runs}))
    return f"{head} · {fleet} · {_range(runs)}"


def _range(runs: Sequence[RunResult]) -> str:
    counts = sorted({run.n_rounds for run in runs})
    if len(counts) == 1:
        return formats.plural(counts[0], "round")
    return f"{counts[0]:,} to {formats.plural(counts[-1], 'round')}"
