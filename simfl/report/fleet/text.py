"""The fleet as a table and a few sentences."""

import math
from collections.abc import Sequence

from simfl.components.availability.week import in_words
from simfl.report import formats
from simfl.report.axes import Unit
from simfl.report.fleet.facts import FleetFacts, GroupFacts, Spread
from simfl.report.text_columns import fitting, folded, longest, table_width
from simfl.report.text_page import TextPage

_RATES: tuple[Unit, ...] = (
    ("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9), ("Tbit/s", 1e12)
)  # fmt: skip
_SPEEDS: tuple[Unit, ...] = (("samples/s", 1.0),)
_LATENCIES: tuple[Unit, ...] = (("ms", 1e-3), ("s", 1.0))
_ROUNDS: tuple[Unit, ...] = (("ns", 1e-9), ("µs", 1e-6), *_LATENCIES)
_NUMBERS: dict[str, tuple[str, tuple[Unit, ...]]] = {
    "compute": ("compute", _SPEEDS),
    "downlink": ("downlink", _RATES),
    "uplink": ("uplink", _RATES),
    "latency": ("latency", _LATENCIES),
    "samples": ("samples held", (("", 1.0),)),
    "round": ("full round", _ROUNDS),
}
NAME = 16
"""Columns of a group's name, at most, where there is little room."""


def as_text(facts: FleetFacts) -> str:
    """Return a table, a column per group, and what to expect of a round."""
    page = TextPage()
    timed, told = math.isfinite(facts.deadline_s), "Median over devices (5th to 95th percentile)."
    tables = [_columns(facts.groups, timed)]
    if table_width(max(map(longest, column)) for column in tables[0]) > page.width:
        tables = [*fitting(_columns(facts.groups, timed, stacked=True), page.width)]
        told = "Median over devices, below it the 5th–95th percentile."
    for columns in tables:
        page.table(columns, whole_names=True)
    for sentence in (told, *sentences(facts)):
        page.line(sentence)
    return str(page).strip("\n")


def _columns(
    groups: list[GroupFacts], timed: bool, *, stacked: bool = False
) -> list[Sequence[str]]:
    """Return the columns of a table, each with its head: what is told, then a group each.

    Args:
        groups: of devices.
        timed: whether rounds have a deadline.
        stacked: whether spreads stand below their medians, and names of groups in folds.
    """
    heads = [folded(group.name, NAME) if stacked else group.name for group in groups]
    lines = _lines(groups, timed, "\n{}–{}" if stacked else " ({} to {})")
    return list(zip(("", *heads), *((name, *cells) for name, cells in lines), strict=True))


def _lines(groups: list[GroupFacts], timed: bool, range_: str) -> list[tuple[str, list[str]]]:
    lines = [("devices", [formats.count(group.count) for group in groups])]
    for number, (name, units) in _NUMBERS.items():
        spreads = [group.numbers[number] for group in groups]
        symbol, per = _unit(spreads, units)
        head = f"{name} ({symbol})" if symbol and math.isfinite(per) else name
        lines.append((head, [_spread(spread, per, range_) for spread in spreads]))
    lines.append(("online", [formats.percent(group.online) for group in groups]))
    if timed:
        lines.append(("by the deadline", [formats.percent(group.in_time) for group in groups]))
    for what in ("attackers", "without_data", "without_memory"):
        counts = [getattr(group, what) for group in groups]
        if any(counts):
            lines.append((what.replace("_", " "), [formats.count(count) for count in counts]))
    return lines


def _unit(spreads: list[Spread], units: tuple[Unit, ...]) -> Unit:
    """Return the largest unit in which every median is at least 1, or the smallest.

    Of rounds, which may take a second here and hours there, it is enough if one median is.
    """
    medians = [spread.p50 for spread in spreads if math.isfinite(spread.p50)]
    if not medians:
        return "", math.inf
    told = max(medians) if units is _ROUNDS else min(medians)
    fitting = [unit for unit in units if told >= unit[1]]
    return fitting[-1] if fitting else units[0]


def _spread(spread: Spread, per: float, range_: str) -> str:
    if spread.p5 == spread.p95 or math.isnan(spread.p50):
        return _number(spread.p50, per)
    ends = range_.format(_number(spread.p5, per), _number(spread.p95, per))
    return f"{_number(spread.p50, per)}{ends}"


def _number(value: float, per: float) -> str:
    if math.isnan(value):
        return formats.NOTHING
    if math.isinf(value):
        return "unlimited"
    return f"{value / per:,.0f}" if value / per >= 1000 else f"{value / per:.3g}"


def sentences(facts: FleetFacts) -> list[str]:
    """Return what to expect of batteries and of a round."""
    lines = []
    if facts.with_battery:
        whose = f" of {formats.listed(facts.with_battery)}" if len(facts.members) > 1 else ""
        lines.append(
            f"Online{whose}: and charged enough to take work, in the mean over a week without any; "
            "work takes charge, too."
        )
    if facts.quorum > facts.most_online:
        most = in_words(facts.most_online, map(len, facts.members.values()))
        devices = formats.count(facts.groups[-1].count)
        lines.append(
            f"A round begins once {formats.count(facts.quorum)} clients are available at once "
            f"(`rounds.min_clients`); in a week never more than {most} of {devices} "
            "devices are online."
        )
    if math.isfinite(facts.deadline_s):
        share = facts.groups[-1].in_time
        lines.append(
            f"Deadline: {formats.duration(facts.deadline_s)}; {formats.percent(share)} of the "
            "devices can finish the full workload by then."
        )
    whom = formats.plural(facts.clients, "client")
    if facts.asked > facts.clients:
        whom = f"the first {facts.clients} of {facts.asked} clients"
    other, kind = facts.other_policy, f"synchronous round with {whom} drawn uniformly"
    if at := facts.edge_rounds:
        rounds, each = formats.plural(at.rounds, "round"), formats.plural(at.clients, "client")
        edges = formats.plural(at.edges, "edge server")
        kind = f"round of {edges}, {rounds} each with {each} drawn uniformly,"
    if of := facts.buffered:
        kind = (
            f"round of {formats.plural(of.updates, 'update')}, with "
            f"{formats.plural(of.clients, 'client')} at work who are drawn uniformly,"
        )
    lasts = (
        f"{'would take' if other else 'takes'} {formats.duration(facts.expected_round_s)} in the "
        "mean, if everybody is online and has every link to itself"
        + (f", {formats.listed(facts.included)} included." if facts.included else ".")
    )
    if math.isnan(facts.expected_round_s):
        lasts = f"never ends: no device {'is ever done in time' if facts.clients else 'can train'}."
    lines.append(
        (f"Rounds of policy {other!r} go otherwise; a" if other else "A") + f" {kind} {lasts}"
    )
    if facts.left_out:
        lines.append(f"Left out of that: {formats.listed(facts.left_out)}.")
    if facts.asked_s:
        lines.append(
            f"Before it first chooses, selector {facts.selector!r} asks clients something, which "
            f"takes {formats.duration(facts.asked_s)}; no such questions are in the round above."
        )
    return lines
