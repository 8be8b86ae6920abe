"""docs/reproduction.md and docs/findings.md, from the items of simfl.papers and their results.

    python -m analysis.reproduction [--results docs/results] [--pages docs]

`simfl reproduce PAPER/ITEM --out DIR` makes DIR/PAPER/ITEM.csv; docs/results has those that count.
"""

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill

from analysis.standing_out import standing_out
from simfl.core.costs import Unit
from simfl.papers.claims import Claim, Verdict, median, paired, seeds_of, values
from simfl.papers.item import Item, Paper, items, papers
from simfl.papers.measures import Measure, Record, read
from simfl.report import formats
from simfl.report.comparison.cells import (
    TEXT,
    difference_text,
    figure_text,
    interval_text,
    ratio_text,
)
from simfl.runs.results.paired import Ratio
from simfl.runs.results.statistics import Figure
from simfl.scenario.parts.experiment import parse_seeds

DOCS = Path(__file__).parents[1] / "docs"
Results = Mapping[str, Sequence[Record]]
"""By item, what was measured."""

HEAD = """\
# The papers' tables and figures, and what simfl measures

Written by `python -m analysis.reproduction` from [results](results), one CSV file per item; don't
edit. There each number has its seed, commit, machine and the digest of its scenario. `simfl
reproduce` lists the items and what they cost, `simfl reproduce PAPER/ITEM --data-dir DIR` runs one
(and goes on with it), `make papers-quick` runs a reduced form of all, in minutes.

How to read it. A claim of a paper is *so ordered* if the medians over seeds are, a seed that never
reached its target counting as later than all others; it *holds* if the paired 95% intervals lie on
its side too. An item is **reproduced** if all its claims are so ordered, none of them perhaps by
chance, with all its seeds and rounds; **partly** if something of that is missing; *begun* if so few
rows were run that no claim can be judged; numbers may still differ, and stand beside the printed
ones. Behind a claim: how many times as much the one row takes as the other, seed by seed (geometric
mean, 95% interval); "within": each seed counts at most so much, for some seed was followed only so
far without getting there. ± is the standard deviation over seeds. One seed is one seed. *Reading*:
whose description was followed where a paper's text and its authors' code differ;
[papers.md](papers.md) has the readings.
"""

OURS = "findings"
"""The folder of those items that no paper has."""
FINDINGS = """\
# What the papers don't say

Written by `python -m analysis.reproduction` from `docs/results/findings`, one CSV file per
question; don't edit. `simfl reproduce findings/ITEM --data-dir DIR` runs one of them, or goes on
with it; the scenarios are `scenarios/papers/findings_*.yaml`. [reproduction.md](reproduction.md)
says how to read the verdicts. What was asked is what a reader of the papers would expect; "DOES NOT
HOLD" is a finding, too. Seeds are paired: the same devices, data and initial models under every
row. Time, bytes and energy are those of simfl's clock, probes and broadcasts included (not the pass
that finds a coreset, which FedCore does not count); energy is that of devices at work.

{standing_out}

![accuracy over virtual time by selector](images/findings_selectors.png)
![the same under one deadline](images/findings_combined.png)
![synchronous and asynchronous](images/findings_asynchronous.png)

Bands are 95% intervals. The pictures:

    for item in selectors combined asynchronous; do
        simfl plot runs/papers/findings/$item --out docs/images/findings_$item.png --width page
    done
"""


def page(results: Results) -> str:
    """Return the whole page on the papers."""
    known = {name: paper for name, paper in papers().items() if name != OURS}
    return "\n".join([HEAD, *_index(items(), known, results), *_sections(known, results)]) + "\n"


def findings(results: Results) -> str:
    """Return the whole page on what the papers don't say."""
    head = FINDINGS.format(standing_out=fill(standing_out(results), 100))
    return "\n".join([head, *_sections({OURS: papers()[OURS]}, results)]) + "\n"


def _sections(known: Mapping[str, Paper], results: Results) -> Iterator[str]:
    """Yield the items of each paper that has any."""
    for name, paper in known.items():
        own = [item for item in items() if item.id.startswith(f"{name}/")]
        if own and name != OURS:
            yield from ("", f"## {paper.title}")
        for item in own:
            yield ""
            yield from _section(item, results.get(item.id, ()))


def _index(every: Sequence[Item], known: Mapping[str, Paper], results: Results) -> Iterator[str]:
    """Yield a row per table and figure."""
    yield "## Every table and figure"
    yield ""
    yield "| paper | what | reproduced? | what is missing |"
    yield "|---|---|---|---|"
    for name, paper in known.items():
        for part in paper.parts:
            told = [
                f"[{item.id}](#{_anchor(item)}): {verdict(item, results.get(item.id, ()))}"
                for item in every
                if part in item.covers.get(name, ())
            ]
            if part in paper.elsewhere:
                told.append(paper.elsewhere[part])
            missing = paper.not_repeated.get(part, "")
            yield f"| {paper.title.partition(' (')[0]} | {part} | {', '.join(told)} | {missing} |"


def _anchor(item: Item) -> str:
    return item.id.replace("/", "")


def verdict(item: Item, found: Sequence[Record]) -> str:
    """Return in a word whether `item` came out."""
    main = item.column(found)
    claims = [Claim.parse(text) for text in item.claims]
    holding = [claim.holds(item.column(found, claim.measure)) for claim in claims]
    if not any(held is not None for held in holding):
        return "begun" if main else "not run"
    if not all(held in (True, None) for held in holding):
        return "partly" if any(holding) else "**not** reproduced"
    told = [
        claim.told(item.column(found, claim.measure), item.by_seed(found, claim.measure))
        for claim in claims
    ]
    sure = not {Verdict.BY_CHANCE, Verdict.NOT_COMPARABLE} & {*told}
    return "**reproduced**" if sure and not _missing(item, found) else "partly"


def _missing(item: Item, found: Sequence[Record]) -> list[str]:
    """Return what is less than the item asks for."""
    missing = [item.shortened] if item.shortened else []
    planned = len(parse_seeds(item.seeds))
    counts = {row: seeds_of(found, row) for row in item.printed}
    if absent := [row for row, count in counts.items() if not count]:
        missing.append(f"not run: {', '.join(absent)}")
    few = sorted({count for count in counts.values() if 0 < count < planned})
    if few:
        missing.append(f"{' or '.join(map(str, few))} of {formats.plural(planned, 'seed')}")
    return missing


def _section(item: Item, found: Sequence[Record]) -> Iterator[str]:
    """Yield the lines on one item."""
    level = "##" if item.id.startswith(f"{OURS}/") else "###"  # below a paper's
    yield f"{level} {item.id}"
    yield ""
    title = item.title[0].upper() + item.title[1:]
    ours = item.reading == "ours"
    yield f"{title}?" if ours else f"{title}: {verdict(item, found)}. Reading: {item.reading}."
    if missing := _missing(item, found):
        yield f"Less than planned: {'; '.join(missing)}."
    yield ""
    if found:
        yield from _table(item, found)
        yield ""
        if ours:
            yield from ("*Asked*, and what came out:", "")
        yield from _claims(item, found)
        yield ""
    if item.note:
        yield item.note.strip()
        yield ""
    yield _origin(item, found)


def _table(item: Item, found: Sequence[Record]) -> Iterator[str]:
    heads = [f"**{item.measures[0]}**, median", "over seeds", *item.measures[1:]]
    prints = any(item.printed.values())
    heads = ["", *(["printed"] if prints else []), *heads]
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for row, printed in item.printed.items():
        if seeds_of(found, row):
            cells = [row, *([printed] if prints else []), *_main(item, found, row)]
            cells += [_median(item.column(found, text), row) for text in item.measures[1:]]
            yield f"| {' | '.join(cells)} |"


def _main(item: Item, found: Sequence[Record], row: str) -> tuple[str, str]:
    main = item.column(found)
    measure = Measure.parse(item.measures[0])
    text = TEXT[measure.metric.unit]
    if measure.mean_curve:
        return (
            f"**{_median(main, row)}**",
            f"curve of {formats.plural(seeds_of(main, row), 'seed')}",
        )
    figure = Figure.of(values(main, row), possible=measure.metric.possible)
    spread = figure_text(figure, text, target=measure.target is not None)
    interval = (
        "" if figure.interval is None else f", mean in {interval_text(figure.interval, text)}"
    )
    return (
        f"**{_median(main, row)}**",
        f"{formats.plural(figure.seeds, 'seed')}: {spread}{interval}",
    )


def _median(found: Sequence[Record], row: str) -> str:
    number = median(found, row)
    if math.isinf(number):
        last = max(record.followed or 0 for record in found if record.row == row)
        return f"not by {TEXT[found[0].unit](last)}"
    return formats.NOTHING if math.isnan(number) else TEXT[found[0].unit](number)


def _claims(item: Item, found: Sequence[Record]) -> Iterator[str]:
    for claim in map(Claim.parse, item.claims):
        main = item.column(found, claim.measure)
        by_seed = item.by_seed(found, claim.measure)
        yield f"- `{claim.text}`: {claim.told(main, by_seed)}."
        if claim.holds(main) is None:
            continue
        for below, above in claim.steps():
            if told := _paired_text(paired(by_seed, below.row, above.row), main[0].unit):
                yield f"  - {above.row} against {below.row}: {told}"


def _paired_text(numbers: Ratio | Figure | None, unit: Unit) -> str:
    if isinstance(numbers, Ratio) and numbers.seeds > 1:
        return ratio_text(numbers, TEXT[unit])
    if isinstance(numbers, Figure) and numbers.seeds > 1:
        return difference_text(numbers, unit)
    return ""


def _origin(item: Item, found: Sequence[Record]) -> str:
    command = f"`simfl reproduce {item.id}`"
    if not found:
        return f"{command}: not run."
    commits = sorted({c for record in found for c in (record.commit or record.version).split()})
    machines = sorted({record.machine for record in found})
    where = f"[{item.id}.csv](results/{item.id}.csv)"
    return f"{command}; {where}; commit {', '.join(commits)}; {'; '.join(machines)}."


def results_of(folder: Path) -> dict[str, list[Record]]:
    """Return by item what the CSV files in `folder` hold."""
    files = {item.id: folder / f"{item.id}.csv" for item in items()}
    return {name: read(file) for name, file in files.items() if file.exists()}


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=DOCS / "results")
    parser.add_argument("--pages", type=Path, default=DOCS)
    options = parser.parse_args()
    results = results_of(options.results)
    for name, text in {"reproduction": page(results), "findings": findings(results)}.items():
        (options.pages / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
