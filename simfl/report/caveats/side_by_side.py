"""What keeps numbers of runs side by side from being compared, or makes them alike."""

import json
from collections.abc import Sequence

import numpy as np

from simfl.core.rows import MOVED
from simfl.core.words import owners
from simfl.report import formats
from simfl.report.formats import FEW, SOME
from simfl.runs.results.grouping import Groups
from simfl.runs.results.result import RunResult
from simfl.runs.results.several import judged_on

EXPERIMENT = (("data", "dataset"), ("data", "partition"), ("model",), ("fleet",), ("network",))
"""Paths of a scenario without which numbers of two are hardly of the same thing."""
SAMPLES = {
    "train": "training samples",
    "test": "test samples",
    "clients": "what each client keeps aside",
}
"""By `evaluation.on`, what models are judged on."""
COURSE = ["end_s", *MOVED, "accuracy", "loss"]
"""Columns of `rounds.csv` in which runs that go different ways differ."""
LARGER = 1.1
"""How many times the updates of another variant's rounds make one's rounds larger than those."""
MUCH_LARGER = 2.0
"""Where it is to a target that rounds are counted, which a deadline that some miss leaves sound."""


def unlike(groups: Groups) -> list[str]:
    """Say what keeps numbers of runs from being of one thing: other samples, other experiments.

    Variants of one scenario differ as they are meant to.
    """
    told = []
    by_samples = owners({name: [judged_on(runs[0])] for name, runs in groups.items()})
    if len(by_samples) > 1:
        parts = (
            f"of {what} with {formats.listed(by_samples[on], FEW)}"
            for on, what in SAMPLES.items()
            if on in by_samples
        )
        told.append(f"accuracy and loss are {', '.join(parts)}: they don't compare.")
    firsts = [runs[0] for runs in groups.values()]
    if len({run.name for run in firsts}) > 1:
        differing = [
            ".".join(path) for path in EXPERIMENT if len({_at(r, path) for r in firsts}) > 1
        ]
        if differing:
            told.append(
                f"these are runs of several scenarios, which differ in {formats.listed(differing)}."
            )
    return told


def _at(run: RunResult, path: Sequence[str]) -> str:
    """Return what a run's scenario says at `path`, as text."""
    return json.dumps(run.written(*path), sort_keys=True)


def alike(groups: Groups) -> list[str]:
    """Say which variants did the same in every round: a deadline, say, that nobody misses."""
    courses = {name: [tuple(map(_course, runs))] for name, runs in groups.items()}
    sets: dict[bool, list[list[str]]] = {}
    for names in owners(courses).values():
        if len(names) > 1:
            clock_only = all(run.time_only for name in names for run in groups[name])
            sets.setdefault(clock_only, []).append(names)
    told = []
    for clock_only, same in sets.items():
        what = "time and bytes" if clock_only else "time, bytes, accuracy and loss"
        where = " to the clock, and nothing was trained" if clock_only else ""
        told.append(
            f"every round is the same, in {what}, {_with(same)}: what tells them apart in the "
            f"scenario made no difference{where}."
        )
    return told


def _course(run: RunResult) -> tuple[int, bytes, str]:
    """Return what two runs have in common that go the same way, at the same costs."""
    columns = COURSE if run.time_only else [*COURSE, "energy_j", "idle_energy_j"]
    rounds = run.round_rows[columns].to_numpy(float).tobytes()
    return run.seed, rounds, "" if run.time_only else json.dumps(run.privacy)


def _with(sets: list[list[str]]) -> str:
    """Return which variants are the same, of several sets the first."""
    if len(sets) == 1:
        return f"with {formats.listed(sets[0], SOME)}"
    told = [formats.listed(names, 2) for names in sets[:FEW]]
    more = f"; and {formats.plural(len(sets) - FEW, 'more set')}" if len(sets) > FEW else ""
    return f"within each of {len(sets)} sets of variants ({'; '.join(told)}{more})"


def unequal_rounds(groups: Groups, larger: float = LARGER) -> list[str]:
    """Say of how many updates rounds are, where they differ: the shorter may well be the slower.

    Args:
        groups: the runs, by variant.
        larger: by more times than that.
    """
    begun = {name: [run for run in runs if run.n_rounds] for name, runs in groups.items()}
    counted = {
        name: int(sum(np.nansum(run.of_rounds("arrived")) for run in runs))
        for name, runs in begun.items()
        if runs
    }
    per_round = {name: n / sum(r.n_rounds for r in begun[name]) for name, n in counted.items()}
    if not per_round or max(per_round.values()) <= larger * min(per_round.values()):
        return []
    told = []
    for name, size in per_round.items():
        pace = counted[name] / (sum(run.end_s for run in begun[name]) / formats.HOUR_S)
        hourly = formats.count(round(pace, 1) if pace < 100 else round(pace))
        told.append(f"{formats.count(round(size, 1))} with {name} ({hourly} an hour)")
    return [
        f"the updates that count in a round are {formats.listed(told, SOME)}: what a round "
        "takes does not compare, nor does how many there were."
    ]


def unpowered(groups: Groups) -> list[str]:
    """Say which devices count as if they took no energy."""
    silent = owners({name: [tuple(runs[0].unpowered)] for name, runs in groups.items()})
    return [
        f"it is not known what devices of {formats.listed(list(who))} draw"
        f"{'' if len(names) == len(groups) else f' with {formats.listed(names, SOME)}'} "
        "(no `power`): in energies they count as 0 J."
        for who, names in silent.items()
        if who
    ]
