"""What a reader must know before believing the numbers: short rounds, devices never heard."""

import math

from simfl.report import formats
from simfl.report.caveats.headings import caveats
from simfl.report.caveats.side_by_side import LARGER, MUCH_LARGER
from simfl.report.formats import FEW
from simfl.report.page.devices import Devices
from simfl.runs.results.grouping import Groups, all_runs, with_clients
from simfl.runs.results.result import RunResult
from simfl.runs.results.several import all_targets, have_accuracy

BIASED = 0.05
"""Share of samples never heard that is worth a note."""
WASTEFUL = 0.01
"""Share of bytes wasted that is worth a note."""
USUAL = ("Time only", "Energy in part", "Wasted", "Never trained")
"""Headings of what is as it should be; all others are warnings."""


def notes(groups: Groups) -> list[tuple[str, str]]:
    """Return what a reader must know before believing the numbers: a heading and a sentence."""
    runs = all_runs(groups)
    rounds = MUCH_LARGER if all_targets(runs) else math.inf  # numbers of which the table has
    rounds = rounds if have_accuracy(runs) else LARGER
    sentences = {
        "Time only": _time_only(groups),
        "Oracle selector": _oracle(groups),
        "Failed": _failed(groups),
        "Not finished": _not_finished(groups),
        **caveats(groups, energy=True, rounds=rounds, waste=True),
        "Rounds ran short": _rounds_run_short(groups),
        "Never heard": _never_heard(with_clients(groups)),
        "Wasted": _wasted(groups),
        "Never trained": _never_trained(groups),
    }
    return [(heading, text) for heading, texts in sentences.items() for text in texts]


def _time_only(groups: Groups) -> list[str]:
    names = [name for name, runs in groups.items() if any(run.time_only for run in runs)]
    if not names:
        return []
    who = f" with {formats.listed(names)}" if len(names) < len(groups) else ""
    return [
        f"nothing was trained{who}, so there is no accuracy; only times, bytes and energy count."
    ]


def _oracle(groups: Groups) -> list[str]:
    names = [name for name, runs in groups.items() if any(run.oracle for run in runs)]
    if not names:
        return []
    who = f" ({formats.listed(names)})" if len(groups) > 1 else ""
    return [
        f"it saw what no server can know, such as true speeds or labels{who}: an upper bound, not "
        "a method."
    ]


def _failed(groups: Groups) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for run in all_runs(groups):
        if run.state == "failed":
            by_reason.setdefault(run.failure, []).append(f"{run.variant} seed {run.seed}")
    if not by_reason:
        return []
    told = [f"{formats.listed(who, FEW)} {reason}" for reason, who in by_reason.items()]
    others = sum(map(len, list(by_reason.values())[FEW:]))
    more = f"; and {formats.plural(others, 'more run')}" if others else ""
    return [f"{'; '.join(told[:FEW])}{more}; once that is mended, `simfl resume` goes on."]


def _not_finished(groups: Groups) -> list[str]:
    sentences = []
    for state, now in (("stopped", "`simfl resume` goes on where it stopped"),
                       ("running", "still running")):  # fmt: skip
        names = [
            f"{run.variant} seed {run.seed} (round {run.n_rounds:,}{of_planned(run)})"
            for run in all_runs(groups)
            if run.state == state
        ]
        if names:
            sentences.append(f"{formats.listed(names, FEW)}; {now}.")
    return sentences


def of_planned(run: RunResult) -> str:
    """Return of how many rounds that is, where the scenario counts them."""
    return f" of {run.planned_rounds:,}" if run.planned_rounds else ""


def _rounds_run_short(groups: Groups) -> list[str]:
    """Say where fewer clients took part than were asked, and on how many devices that rests."""
    by_severity = []
    for name, runs in groups.items():
        short, rounds = sum(r.short_rounds for r in runs), sum(r.n_rounds for r in runs)
        if not short:
            continue
        which = f"{name}: " if len(groups) > 1 else ""
        text = f"{which}{short:,} of {formats.plural(rounds, 'round')} had fewer clients than asked"
        if told := with_clients({name: runs}).get(name):
            fewest = min(told, key=lambda run: int((run.participations > 0).sum()))
            heard = int((fewest.participations > 0).sum())
            seed = f" (seed {fewest.seed})" if len(runs) > 1 else ""
            devices = formats.plural(fewest.devices, "device")
            text += f"; updates of {heard:,} of {devices} counted{seed}"
        by_severity.append((short / rounds, text))
    return [f"{sentence}." for sentence in _worst_few(by_severity)]


def _never_heard(groups: Groups) -> list[str]:
    """Say whose data did not take part, where that is much of it."""
    by_severity = []
    for name, runs in groups.items():
        devices = [Devices.of(run) for run in runs]
        share, index = max((device.samples_lost, -i) for i, device in enumerate(devices))
        if share >= BIASED:
            owners = formats.plural(int(devices[-index].never.sum()), "device")
            variant = f" with {name}" if len(groups) > 1 else ""
            seed = f" (seed {runs[-index].seed})" if len(runs) > 1 else ""
            samples = f"{formats.percent(share, 0)} of the samples of those asked"
            by_severity.append((share, f"{owners}{variant}{seed}, with {samples}"))
    judged = any(run.finished and not run.time_only and run.holds_data for run in all_runs(groups))
    hint = "; `simfl evaluate` tells how well the model serves them" if judged else ""
    return [f"{few}: no update of theirs ever counted{hint}." for few in _worst_few(by_severity)]


def _wasted(groups: Groups) -> list[str]:
    by_severity = []
    for name, runs in groups.items():
        share = sum(r.wasted_bytes for r in runs) / (sum(r.total_bytes for r in runs) or 1.0)
        if share >= WASTEFUL:
            variant = f" of {name}'s bytes" if len(groups) > 1 else ""
            by_severity.append((share, f"{formats.percent(share)}{variant}"))
    of_all = "" if len(groups) > 1 else " of all bytes"
    why = f"{of_all} were moved for updates that did not arrive."
    return [f"{sentence}{why}" for sentence in _worst_few(by_severity)]


def _never_trained(groups: Groups) -> list[str]:
    trained = [run for run in all_runs(groups) if run.finished and not run.time_only]
    trainings = [run.summary["trainings"] for run in trained]
    issued, dropped = (sum(counts[key] for counts in trainings) for key in ("issued", "dropped"))
    if not dropped:
        return []
    return [
        f"{dropped:,} of {formats.plural(issued, 'training')} were never computed, because "
        "their updates were lost; their time, bytes and energy count."
    ]


def _worst_few(by_severity: list[tuple[float, str]]) -> list[str]:
    """Return the worst few in one line, or nothing."""
    ranked = [text for _, text in sorted(by_severity, key=lambda pair: -pair[0])]
    others = len(ranked) - FEW
    more = [f"fewer with {formats.plural(others, 'other variant')}"] if others > 0 else []
    return ["; ".join(ranked[:FEW] + more)] if ranked else []
