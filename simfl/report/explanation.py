"""An explanation of a run as text."""

import math
import textwrap
from collections.abc import Iterator, Sequence
from itertools import chain

from simfl.core.words import in_a_line
from simfl.report import formats
from simfl.report.width import text_width
from simfl.runs.explain import NOT_ASKED, UNFINISHED, Explanation
from simfl.runs.folder.folder import CLIENTS
from simfl.runs.results.participations import Participation
from simfl.runs.results.result import RunResult

LEAST = 16
"""Columns of a last cell, however narrow the text is."""
MOST = 40
"""Participations of a round that have a line; its table has them all."""
NAME = 24
"""Characters of a client's name."""
MEANING = {
    "idle": "no device worked for the round yet",
    "poll": "the selector's questions were out",
    "download": "models on their way",
    "compute": "training",
    "upload": "updates on their way",
    "wait": "for a deadline, for lost work, or for the server",
    UNFINISHED: "the round that the end of the run cut off",
}
OF_EDGES = {
    "idle": "no device worked for the round yet, or the model was on its way to edges",
    "wait": "for a deadline, for lost work, for models of edges, or for the cloud",
}
"""The same where a backhaul takes time, too."""
ONE_CHANGED = "With one thing changed, for better or worse"
HOW = (
    "How it was computed: the clock of the same {rounds} again, without training, with that one "
    "thing changed; the same fleet, outages and draws. It says nothing of accuracy."
)


def as_text(explanation: Explanation) -> str:
    """Return an explanation for people."""
    whole = explanation.round is None
    waited_for = (_whom_rounds_waited_for if whole else _whom_the_round_waited_for)(explanation)
    came_of_it = chain(waited_for, _outcomes(explanation))
    blocks = [_head(explanation), _phases(explanation), came_of_it]
    if whole and explanation.why_none != NOT_ASKED:
        blocks.append(_what_if(explanation))
    if explanation.participations:
        blocks.append(_participations(explanation))
    return "\n\n".join("\n".join(map(_wrapped, lines)) for lines in map(list, blocks) if lines)


def _wrapped(line: str) -> str:
    """Return `line` in lines of the text's width, unless it is of a table or is to be copied."""
    return line if line.startswith("  ") else _filled(line)


def _filled(line: str, indent: str = "") -> str:
    return textwrap.fill(
        line,
        text_width(),
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _head(explanation: Explanation) -> Iterator[str]:
    run = explanation.run
    what = f"{run.name}, {run.variant}, seed {run.seed}"
    took = formats.duration(explanation.elapsed_ns / 1e9)
    if explanation.round is None:
        why = f"failed {run.failure}" if run.state == "failed" else "has not finished"
        so_far = "" if run.finished else f" so far, for it {why}"
        yield f"{what}: {formats.plural(run.n_rounds, 'round')} in {took} of virtual time{so_far}"
    else:
        since, to = formats.duration(explanation.start_s), formats.duration(explanation.end_s)
        yield f"{what}, round {explanation.round}: {took}, from {since} to {to} of virtual time"


def _phases(explanation: Explanation) -> Iterator[str]:
    """Yield a table of what the time went to."""
    yield "Along the clients that rounds waited for:"
    meaning = {**MEANING, **(OF_EDGES if explanation.run.backhaul_bytes else {})}
    total = explanation.elapsed_ns or 1
    digits = min(max(3, 12 - len(str(total))), 9)  # four at least; `--json` has all of them
    rows = [
        [name, f"{ns / 1e9:,.{digits}f} s", formats.percent(ns / total), meaning[name]]
        for name, ns in explanation.phases_ns.items()
        if ns
    ]
    yield from _columns(
        [*rows, ["in all", f"{explanation.elapsed_ns / 1e9:,.{digits}f} s", "", ""]], "<>><"
    )


def _whom_the_round_waited_for(explanation: Explanation) -> Iterator[str]:
    by_deadline, devices = math.isfinite(explanation.deadline_s), _devices(explanation)
    if by_deadline:
        deadline = formats.duration(explanation.deadline_s)
        late = explanation.outcomes.get("late", 0)
        yield f"It ended by its deadline of {deadline}{f'; late: {late}' if late else ''}."
    for client, _ in explanation.critical:
        device = devices[client]
        last = f"The last update in time was that of device {device}."
        yield last if by_deadline else f"It waited last for device {device}."
    if not explanation.critical:
        early = "What counted in it had come before it began; it waited for nobody."
        yield early if _counted(explanation) else "No update counted in it."


def _whom_rounds_waited_for(explanation: Explanation) -> Iterator[str]:
    devices = _devices(explanation)
    often = [
        f"device {devices[c]} in {formats.plural(n, 'round')}" for c, n in explanation.critical
    ]
    if often:
        yield f"Most often waited for: {formats.listed(often)}."
    if by_deadline := explanation.rounds_by_deadline:
        rounds = formats.plural(explanation.run.n_rounds, "round")
        yield f"Ended by their deadline: {by_deadline:,} of {rounds}."


def _devices(explanation: Explanation) -> dict[int, str]:
    """Return which each device is that was asked, by its number: see `_device`."""
    run = explanation.run
    clients, groups = run.of_clients("client").tolist(), run.of_clients("group").tolist()
    attacks = {group: _attack(explanation, group) for group in {*groups}}
    asked = dict(zip(clients, groups, strict=True))
    return {c: _device(run, c, group, attacks[group]) for c, group in asked.items()}


def _attack(explanation: Explanation, group: str) -> str:
    """Return how devices of a group attack, in the round that is explained or in any ("": not)."""
    if explanation.round is None:
        return explanation.run.attacks.get(group, "")
    return explanation.run.attack_in(explanation.round, group)


def _device(run: RunResult, client: int, group: str, attack: str) -> str:
    """Return a device's number, and in brackets its client's name, its group, and if it attacks."""
    name = formats.shortened(in_a_line(run.client_name(client)), NAME)
    facts = (name, group, "attacker" if attack else "")
    return f"{client} ({', '.join(filter(None, facts))})"


def _outcomes(explanation: Explanation) -> Iterator[str]:
    asked, one_round = sum(explanation.outcomes.values()), explanation.round is not None
    parts = [
        f"{n:,} {name} ({formats.percent(n / asked)})" for name, n in explanation.outcomes.items()
    ]
    if asked:
        whose = " selected in it" if one_round else ""
        yield f"Of {formats.plural(asked, 'participation')}{whose}: {formats.listed(parts)}."
    if one_round and _counted(explanation) != explanation.outcomes.get("arrived", 0):
        yield f"Arrived in it, whenever they were selected: {_counted(explanation):,}."


def _counted(explanation: Explanation) -> int:
    """Return how many updates counted in its round, whichever round had selected their clients."""
    run = explanation.run
    return int(run.of_rounds("arrived")[run.of_rounds("round") == explanation.round].sum())


def _participations(explanation: Explanation) -> Iterator[str]:
    parts = explanation.participations
    yield "The participations selected in it, lost ones first, then the slowest:"
    shown = parts[:MOST]
    cut_off = any(part.cut_off_in for part in shown)
    rows = [["device", "outcome", "download", "compute", "upload", *["cut off in"] * cut_off]]
    for part in shown:
        took = map(formats.duration, (part.download_s, part.compute_s, part.upload_s))
        device = _device(explanation.run, part.client, part.group, part.attack)
        rows.append([device, part.outcome, *took, *[_cut_off(part)] * cut_off])
    yield from _columns(rows, "<<>>><"[: len(rows[0])])
    if len(parts) > MOST:
        yield f"  and {len(parts) - MOST:,} more: {explanation.run.folder / CLIENTS} has all"


def _cut_off(part: Participation) -> str:
    """Return in which phase a participation was cut off, and how far it had come."""
    if not part.cut_off_in:
        return ""
    text = part.cut_off_in
    if text != "compute":
        share = math.isfinite(part.moved_share)
        moved = formats.percent(part.moved_share, 0) if share else formats.size(part.moved_bytes)
        text += f", {moved} {'sent' if text == 'upload' else 'received'}"
    if math.isfinite(part.cut_off_after_s):
        text += f", after {formats.duration(part.cut_off_after_s)}"
    return text


def _what_if(explanation: Explanation) -> Iterator[str]:
    """Yield how long the run would have lasted with one thing changed, and what to set for that."""
    cases = explanation.what_if.cases
    of_all = cases[0].why_not if len(cases) > 1 and len({c.why_not for c in cases}) == 1 else ""
    if why_none := explanation.why_none or of_all:
        yield f"{ONE_CHANGED}: not computed: {why_none}{'' if why_none.endswith('?') else '.'}"
        return
    yield f"{ONE_CHANGED}, shortest first:"
    before = float(explanation.run.of_rounds("end_s")[-1])
    known = sorted((case for case in cases if not case.why_not), key=lambda case: case.time_s)
    rows = [
        [
            case.change.name,
            formats.duration(case.time_s),
            _signed_percent(case.time_s / before - 1) if before else "",
            f"{formats.percent(case.lost)} lost",
        ]
        for case in known
    ]
    lost = f"{formats.percent(explanation.what_if.lost)} lost"
    rows.append(["as it was", formats.duration(before), "", lost])
    yield from _columns(rows, "<>>>")
    for case in cases:
        if case.why_not:
            yield _filled(f"  left out: {case.change.name}: {case.why_not}", "    ")
    if known:
        yield HOW.format(rounds=formats.plural(explanation.run.n_rounds, "round"))
        for case in known:
            sets = " ".join(f"--set {text!r}" for text in case.change.sets)
            yield f"  {case.change.name}: {sets}"


def _signed_percent(share: float) -> str:
    """Return a difference in percent, without a sign where it rounds to none."""
    percent = round(100 * share, 1)
    return f"{percent:+.1f}%" if percent else "0.0%"


def _columns(rows: Sequence[Sequence[str]], aligned: str) -> Iterator[str]:
    """Yield rows with their cells below each other; the last, then the first, folded if need be."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    least = sum(2 + width for width in widths[:-1]) + 2 + min(LEAST, widths[-1])
    widths[0] -= max(min(least - text_width(), widths[0] - LEAST), 0)
    left = sum(2 + width for width in widths[:-1]) + 2
    room = max(LEAST, text_width() - left)
    for name, *others in rows:
        begun, *rest = textwrap.wrap(name, widths[0]) if len(name) > widths[0] else [name]
        row = [begun, *others]
        *cells, last = (f"{cell:{to}{w}}" for cell, to, w in zip(row, aligned, widths, strict=True))
        folded = f"\n{' ' * left}".join(textwrap.wrap(last, room, drop_whitespace=True))
        shown = last if len(last) <= room else folded
        yield f"  {'  '.join([*cells, shown])}".rstrip()
        yield from (f"    {line}" for line in rest)
