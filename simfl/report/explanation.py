"""An explanation of a run as text."""

import textwrap
from collections.abc import Iterator, Sequence

from simfl.report import formats
from simfl.runs.explain import Explanation

WIDTH = 100
MEANING = {
    "idle": "nobody was at work for it yet",
    "poll": "the selector's questions were out",
    "download": "models on their way",
    "compute": "training",
    "upload": "updates on their way",
    "wait": "for a deadline, for those who came to nothing, or for the server",
}
HOW = (
    "How it was computed: the clock of the same {rounds} again, without training, with that one "
    "thing changed; the same fleet, outages and draws. It says nothing of accuracy."
)


def as_text(explanation: Explanation) -> str:
    """Return an explanation for people."""
    blocks = [_head(explanation), _phases(explanation), _who(explanation)]
    if explanation.round is None:
        blocks.append(_what_if(explanation))
    return "\n\n".join("\n".join(map(_wrapped, lines)) for lines in map(list, blocks) if lines)


def _wrapped(line: str) -> str:
    """Return `line` in lines of a page's width, unless it is to be copied."""
    return line if "--set" in line else textwrap.fill(line, WIDTH, break_on_hyphens=False)


def _head(it: Explanation) -> Iterator[str]:
    run = it.run
    what = f"{run.name}, {run.variant}, seed {run.seed}"
    took = formats.duration(it.elapsed_ns / 1e9)
    if it.round is None:
        yield f"{what}: {formats.plural(run.n_rounds, 'round')} in {took} of virtual time"
    else:
        since, to = formats.duration(it.start_s), formats.duration(it.end_s)
        yield f"{what}, round {it.round}: {took}, from {since} to {to} of virtual time"


def _phases(it: Explanation) -> Iterator[str]:
    yield "Along the clients that rounds waited for:"
    total = it.elapsed_ns or 1
    rows = [
        [name, f"{ns / 1e9:,.9f} s", formats.percent(ns / total), MEANING[name]]
        for name, ns in it.phases_ns.items()
        if ns
    ]
    yield from _columns([*rows, ["in all", f"{it.elapsed_ns / 1e9:,.9f} s", "", ""]], "<>><")
    if it.after_last_ns:
        yield f"  (of it {formats.duration(it.after_last_ns / 1e9)} after the last round)"


def _who(it: Explanation) -> Iterator[str]:
    names = dict(zip(it.run.part("client").tolist(), it.run.part("group").tolist(), strict=True))
    if it.round is not None:
        for client, _ in it.critical:
            yield f"It waited last for device {client} ({names[client]})."
        if not it.critical:
            yield "No update counted in it."
    elif it.critical:
        told = [f"device {c} ({names[c]}) in {formats.plural(n, 'round')}" for c, n in it.critical]
        yield f"Most often waited for: {formats.listed(told)}."
    asked = sum(it.outcomes.values())
    parts = [f"{n:,} {name} ({formats.percent(n / asked)})" for name, n in it.outcomes.items()]
    if asked:
        yield f"Of {formats.plural(asked, 'participation')}: {formats.listed(parts)}."


def _what_if(it: Explanation) -> Iterator[str]:
    if it.why_none:
        yield f"What would have shortened it: not computed: {it.why_none}."
        return
    yield "What would have shortened it:"
    before = float(it.run.column("end_s")[-1])
    known = sorted((c for c in it.counterfactuals if not c.why_not), key=lambda c: c.time_s)
    rows = [
        [
            one.change.name,
            formats.duration(one.time_s),
            f"{100 * (one.time_s / before - 1):+.1f}%" if before else "",
            f"{formats.percent(one.lost)} lost",
        ]
        for one in known
    ]
    as_it_was = 1 - it.outcomes.get("arrived", 0) / (sum(it.outcomes.values()) or 1)
    rows.append(["as it was", formats.duration(before), "", f"{formats.percent(as_it_was)} lost"])
    yield from _columns(rows, "<>>>")
    for one in it.counterfactuals:
        if one.why_not:
            yield f"  left out: {one.change.name}: {one.why_not}"
    if known:
        yield HOW.format(rounds=formats.plural(it.run.n_rounds, "round"))
        for one in known:
            yield f"  {one.change.name}: {' '.join(f'--set {text!r}' for text in one.change.sets)}"


def _columns(rows: Sequence[Sequence[str]], aligned: str) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:{to}{w}}" for cell, to, w in zip(row, aligned, widths, strict=True))
        yield f"  {'  '.join(cells)}".rstrip()
