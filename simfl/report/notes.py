"""What a reader must know before believing the numbers: short rounds, devices never heard."""

from simfl.report import formats
from simfl.report.cautions import diverged, seen_unequally
from simfl.report.charts.base import Groups, all_runs, with_clients
from simfl.report.devices import Devices

BIASED = 0.05
"""Share of samples never heard that is worth a note."""
NAMED = 3
"""Variants named in a note."""
WASTEFUL = 0.01
"""Share of bytes wasted that is worth a note."""


def notes(groups: Groups) -> list[tuple[str, str]]:
    """Return what a reader must know before believing the numbers: a heading and a sentence."""
    runs = all_runs(groups)
    headed = []
    if any(run.time_only for run in runs):
        text = "nothing was trained, so there is no accuracy; only times, bytes and energy count."
        headed.append(("Time only", text))
    if any(run.oracle for run in runs):
        names = [name for name, members in groups.items() if any(run.oracle for run in members)]
        who = f" ({formats.listed(names)})" if len(groups) > 1 else ""
        headed.append(
            (
                "Oracle selector",
                f"it saw what no server can know, such as true speeds or labels{who}: an upper "
                "bound, not a method.",
            )
        )
    if open_ := [run for run in runs if not run.finished]:
        which = formats.listed(
            [f"{run.variant} seed {run.seed} (round {run.n_rounds})" for run in open_]
        )
        headed.append(("Not finished", f"{which}; `simfl resume` goes on where it stopped."))
    headed += [("Diverged", text) for text in diverged(groups)]
    headed += [("Looked at unequally", text) for text in seen_unequally(groups)]
    headed += [("Rounds ran short", text) for text in _rounds_run_short(groups)]
    headed += [("Never heard", text) for text in _never_heard(with_clients(groups))]
    headed += [("Wasted", text) for text in _wasted(groups)]
    issued = sum(run.summary["trainings"]["issued"] for run in runs if run.finished)
    dropped = sum(run.summary["trainings"]["dropped"] for run in runs if run.finished)
    if dropped and not all(run.time_only for run in runs):
        headed.append(
            ("Never trained", f"{dropped:,} of {issued:,} trainings were dropped before they cost.")
        )
    return headed


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
    return [
        f"{sentence}: no update of theirs ever counted." for sentence in _worst_few(by_severity)
    ]


def _wasted(groups: Groups) -> list[str]:
    by_severity = []
    for name, runs in groups.items():
        share = sum(r.wasted_bytes for r in runs) / (sum(r.total_bytes for r in runs) or 1.0)
        if share >= WASTEFUL:
            variant = f" ({name})" if len(groups) > 1 else ""
            by_severity.append((share, f"{formats.percent(share)}{variant}"))
    if len(groups) == 1:
        return [f"{sentence} of all bytes came to nothing." for sentence in _worst_few(by_severity)]
    return [
        f"of all bytes, so many came to nothing: {sentence}."
        for sentence in _worst_few(by_severity)
    ]


def _worst_few(by_severity: list[tuple[float, str]]) -> list[str]:
    """Return the worst few in one line, or nothing."""
    ranked = [text for _, text in sorted(by_severity, key=lambda pair: -pair[0])]
    others = len(ranked) - NAMED
    more = [f"less with {formats.plural(others, 'other variant')}"] if others > 0 else []
    return ["; ".join(ranked[:NAMED] + more)] if ranked else []
