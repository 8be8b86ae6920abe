"""What befell runs, one by one, so that their numbers are of less, or more, than they seem."""

from collections.abc import Sequence

import numpy as np

from simfl.core.rows import COUNTED
from simfl.core.units import DATA_SIZE, ENERGY, parse_quantity
from simfl.report import formats
from simfl.report.formats import SOME
from simfl.runs.results.grouping import Groups
from simfl.runs.results.result import RunResult
from simfl.scenario.parts.rounds import Stop

STOPS = tuple(Stop.model_fields)
"""What `rounds.stop` ends a run by; whatever else ended one came before."""
MORE = 0.01
"""Share of a budget that was used beyond it, or of bytes cut off, from which on that is told."""
TAIL = 0.2
"""Share of a run's time that came after its last round, from which on that is told."""
BUDGETS = (
    ("bytes", DATA_SIZE, formats.size, lambda run: float(run.total_bytes)),
    ("energy", ENERGY, formats.energy, lambda run: run.total_energy_j),
)
"""Those of `STOPS` of which a round takes a piece that nobody knows before: name, what it is, how
it is written, what a run took of it."""


def diverged(groups: Groups) -> list[str]:
    """Say of each variant whose training diverged what became of that."""
    told = []
    for name, runs in groups.items():
        discarded = int(sum(np.nansum(run.of_rounds("discarded")) for run in runs))
        lost = [run for run in runs if run.loss_is_lost]
        what = []
        if discarded:
            what.append(f"{formats.plural(discarded, 'update')} not finite and discarded")
        if lost:
            seeds = f" ({formats.plural(len(lost), 'seed')})" if len(runs) > 1 else ""
            what.append(f"the last loss that was measured is not finite{seeds}")
        if what:
            noisy = any(run.written("aggregation", "noise_multiplier") for run in runs)
            less = "less noise (`aggregation.noise_multiplier`, `clip`) or " if noisy else ""
            if any(run.attacks for run in runs):
                less += "an aggregator that withstands attackers or "
            told.append(
                f"{name}: training diverged, {' and '.join(what)}; {less}a smaller learning rate "
                "may help."
            )
    return _some(told)


def _some(told: list[str]) -> list[str]:
    """Return the first of sentences that say the same of a variant each, and how many follow."""
    more = len(told) - SOME
    return [*told[:SOME], f"{formats.plural(more, 'more variant')} likewise."] if more > 1 else told


def unheard(groups: Groups) -> list[str]:
    """Say of whom no update ever counted: what was learnt is nothing."""
    told = []
    for name, runs in groups.items():
        outcomes = _outcomes(runs)
        if outcomes and "arrived" not in outcomes:
            rounds = formats.plural(sum(run.n_rounds for run in runs), "round")
            listed = formats.listed([f"{n:,} {outcome}" for outcome, n in outcomes.items()])
            told.append(f"{name}: no update ever counted in {rounds} ({listed}).")
    return _some(told)


def roundless(groups: Groups) -> list[str]:
    """Say whose runs ended before a round did: there is no number of theirs."""
    told = []
    for name, runs in groups.items():
        ended = [run for run in runs if run.finished and not run.n_rounds]
        if ended:
            seeds = f" ({formats.plural(len(ended), 'seed')})" if len(runs) > 1 else ""
            end = formats.duration(ended[0].end_s)
            why = ""
            if all(run.summary.get("finished") in ("accuracy", "target") for run in ended):
                why = ", for the model that it began with was as good as `rounds.stop` asks"
            elif all(map(_asked_nobody, ended)):
                why = _waited_for(ended[0])
            told.append(f"{name}: the run ended, at {end}, before any round did{seeds}{why}.")
    return _some(told)


def _asked_nobody(run: RunResult) -> bool:
    """Return whether a run was stopped by its own rule before anybody was asked to take part."""
    summary = run.summary
    refused = any(key.startswith("refused_") for key in summary)
    stopped = summary.get("finished") in STOPS  # whatever else ended it is told
    return stopped and not (summary["participations"] or refused)


def _waited_for(run: RunResult) -> str:
    """Return what a run waited for that asked nobody, as far as its policy says it."""
    from simfl.sim.policies.base import policies

    policy = run.component("rounds", "policy")
    if policy not in policies.names() or not policies.get(policy).has_quorum:
        return "; nobody was ever asked"
    return (
        "; nobody was ever asked, for a round begins once enough clients are available at once "
        "(`rounds.min_clients` says how many)"
    )


def ended_early(groups: Groups) -> list[str]:
    """Say whose runs had to end before they were to, and why: their totals are of less."""
    by_reason: dict[str, list[str]] = {}
    for name, runs in groups.items():
        early: dict[str, list[float]] = {}
        for run in runs:
            why = run.summary.get("finished", STOPS[0]) if run.finished else STOPS[0]
            if why not in STOPS:
                early.setdefault(why, []).append(run.end_s)
        for why, ends in early.items():
            some = f"{len(ends)} of {len(runs)} seeds, " if len(ends) < len(runs) else ""
            times = dict.fromkeys(formats.duration(end_s) for end_s in (min(ends), max(ends)))
            by_reason.setdefault(why, []).append(f"{name} ({some}at {' to '.join(times)})")
    return [
        f"{formats.listed(names, SOME)} ended before `rounds.stop` was reached: {why}."
        for why, names in by_reason.items()
    ]


def after_last_round(groups: Groups) -> list[str]:
    """Say whose runs went on for long after their last round: what is known of them ends there."""
    told = []
    for name, runs in groups.items():
        ends_s = {run: float(run.of_rounds("end_s")[-1]) for run in runs if run.n_rounds}
        shares = {run: 1 - ends_s[run] / run.end_s for run in ends_s if run.end_s > 0}
        run = max(shares, key=lambda run: shares[run], default=None)
        if run is not None and shares[run] >= TAIL:
            seed = f" (seed {run.seed})" if len(runs) > 1 else ""
            told.append(
                f"{name}: {formats.percent(shares[run], 0)} of its "
                f"{formats.duration(run.end_s)}{seed} came after its last round had ended, at "
                f"{formats.duration(ends_s[run])}: what is told by round, such as curves, stops "
                "there."
            )
    return _some(told)


def overspent(groups: Groups) -> list[str]:
    """Say whose runs used more than `rounds.stop` allows: budgets are looked at as rounds end."""
    by_rule: dict[str, list[str]] = {}
    for name, runs in groups.items():
        for rule, dimension, text, total in BUDGETS:
            used = {
                total(run): parse_quantity(limit, dimension)
                for run in runs
                if run.finished and (limit := run.written("rounds", "stop", rule)) is not None
            }
            most = max(used, key=lambda amount: amount / used[amount], default=0.0)
            if used and most > used[most] * (1 + MORE):
                up_to = "up to " if len(used) > 1 else ""
                took = f"{name} took {up_to}{text(most)} of {text(used[most])}"
                by_rule.setdefault(rule, []).append(took)
    return [
        f"`rounds.stop.{rule}` is looked at as rounds end: in all {formats.listed(took, SOME)}."
        for rule, took in by_rule.items()
    ]


def abandoned(groups: Groups) -> list[str]:
    """Say how many rounds made no model, for too few updates came in time."""
    told = []
    for name, runs in groups.items():
        runs = [run for run in runs if run.finished]
        if lost := sum(run.summary.get("abandoned_rounds", 0) for run in runs):
            least = runs[0].written("rounds", "policy", "min_updates")
            few = "too few updates" if runs[0].forks else f"fewer updates than {least}"
            told.append(
                f"{name}: {lost:,} of {formats.plural(sum(run.n_rounds for run in runs), 'round')} "
                f"abandoned, with {few} (`rounds.policy.min_updates`): all work for them was in "
                "vain."
            )
    return _some(told)


def short_of_memory(groups: Groups) -> list[str]:
    """Say how many devices, of those that were asked, can't hold the training in memory."""
    told = []
    for name, runs in groups.items():
        runs = [run for run in runs if run.finished]
        counts = [run.summary.get("refused_memory", 0) for run in runs]
        if any(counts):
            refused, run = max(counts), runs[counts.index(max(counts))]
            most = "up to " if min(counts) < refused else ""
            needed = run.summary.get("needed_memory_bytes")
            needs = f" (it needs {formats.size(needed)})" if needed else ""
            devices = formats.plural(run.devices, "device")
            told.append(
                f"{name}: {most}{refused:,} of {devices} refused, with too little memory to train"
                f"{needs}."
            )
    return _some(told)


def cut_off(groups: Groups) -> list[str]:
    """Say how much of what counts as wasted was under way when runs ended: of long ones little.

    Of asynchronous ones, whose clients are always at work.
    """
    told = []
    for name, runs in groups.items():
        runs = [run for run in runs if run.finished and run.total_bytes]
        before = sum(float(np.nansum(run.of_rounds("wasted_bytes"))) for run in runs)
        cut = sum(run.wasted_bytes for run in runs) - before
        share = cut / sum(run.total_bytes for run in runs) if runs else 0.0
        if share >= MORE:
            told.append(
                f"{name}: {formats.percent(share)} of all bytes are wasted only in so far as the "
                "run ended before the work was done."
            )
    return _some(told)


def _outcomes(runs: Sequence[RunResult]) -> dict[str, int]:
    """Return how often rounds saw each outcome, of those that they count."""
    counts = {name: int(sum(np.nansum(run.of_rounds(name)) for run in runs)) for name in COUNTED}
    return {name: n for name, n in counts.items() if n}
