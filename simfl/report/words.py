"""The answer in words: who reached what when, and how these numbers are to be read."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simfl.report import formats
from simfl.report.devices import Devices
from simfl.report.runs import Reached, RunData

Groups = Mapping[str, Sequence[RunData]]

BIASED = 0.05
"""Share of samples never heard that is worth a note."""
NAMED = 3
"""Variants named in a note."""
WASTEFUL = 0.01
"""Share of bytes wasted that is worth a note."""


@dataclass(frozen=True)
class Standing:
    """How one variant did at one target.

    Attributes:
        name: the variant.
        seeds: how many runs it has.
        reached: of those that reached the target.
    """

    name: str
    seeds: int
    reached: tuple[Reached, ...]

    @property
    def time_s(self) -> float:
        """Mean over the seeds that reached it (infinite: none did)."""
        times = [one.time_s for one in self.reached]
        return math.fsum(times) / len(times) if times else math.inf

    @property
    def whole(self) -> bool:
        """Whether every seed reached it."""
        return len(self.reached) == self.seeds

    @property
    def order(self) -> tuple[bool, int, float]:
        """Key that puts the best first: those that reached it with every seed, then by time."""
        return (not self.reached, self.seeds - len(self.reached), self.time_s)


def standings(groups: Groups, target: float) -> list[Standing]:
    """Return every variant's standing at `target`, the best first."""
    found = [
        Standing(name, len(runs), tuple(at for run in runs if (at := run.reached(target))))
        for name, runs in groups.items()
    ]
    return sorted(found, key=lambda one: one.order)


def all_targets(groups: Groups) -> list[float]:
    """Return the accuracies that any of the scenarios asks about, lowest first."""
    return sorted({target for runs in groups.values() for run in runs for target in run.targets})


def headline(groups: Groups) -> list[str]:
    """Return the answer, as one or two sentences."""
    runs = [run for members in groups.values() for run in members]
    if not any(run.n_rounds for run in runs):
        return ["No round has ended yet."]
    if not any(len(run.evaluated) for run in runs):
        return _durations(groups)
    targets = all_targets(groups)
    met = [target for target in targets if any(run.reached(target) for run in runs)]
    missed = [formats.target(target) for target in targets if target not in met]
    sentences = _race(standings(groups, met[-1]), met[-1]) if met else []
    if missed or not met:
        nobody = "Nobody" if len(groups) > 1 else "It never"
        never = f"{nobody} reached {formats.listed(missed)}; the " if missed else "The "
        sentences.append(f"{never}best accuracy was {_best(groups)}.")
    return sentences


def _best(groups: Groups) -> str:
    best, name = max(
        ((run.best_accuracy, name) for name, runs in groups.items() for run in runs),
        key=lambda pair: (math.isfinite(pair[0]), pair[0]),
    )
    return formats.percent(best) + (f" ({name})" if len(groups) > 1 else "")


def _race(ranked: Sequence[Standing], target: float) -> list[str]:
    first, text = ranked[0], formats.target(target)
    costs = (
        f"{formats.duration(first.time_s)} of virtual time, "
        f"{_rounds(first)} and {formats.size(_mean(first, 'bytes'))} moved"
    )
    if len(ranked) == 1:
        return [f"Reached {text} after {costs}{_seeds(first)}."]
    if not first.whole:
        return [
            f"No variant reached {text} with every seed; {first.name} did with "
            f"{len(first.reached)} of {first.seeds}, after {costs}."
        ]
    who = f"{first.name} reached {text} first"
    if first.seeds > 1:
        who = f"{first.name} was the first to reach {text} with every seed"
    sentences = [f"{who}: after {costs}{_seeds(first)}."]
    took = [
        f"{one.name} took {formats.duration(one.time_s)}"
        + (f" ({formats.times(one.time_s / first.time_s)} as long)" if first.time_s else "")
        for one in ranked[1:]
        if one.whole
    ]
    if took:
        sentences.append(f"{formats.listed(took)}.")
    if some := [one.name for one in ranked if one.reached and not one.whole]:
        sentences.append(f"{formats.listed(some)} did with some seeds only.")
    if never := [one.name for one in ranked if not one.reached]:
        sentences.append(f"{formats.listed(never)} never did.")
    return sentences


def _mean(standing: Standing, what: str) -> float:
    return float(np.mean([getattr(one, what) for one in standing.reached]))


def _rounds(standing: Standing) -> str:
    rounds = _mean(standing, "round")
    return f"{formats.count(rounds)} round{'' if rounds == 1 else 's'}"


def _seeds(standing: Standing) -> str:
    if standing.seeds == 1:
        return ""
    if standing.whole:
        return f" in the mean of {standing.seeds} seeds"
    return f", with {len(standing.reached)} of {standing.seeds} seeds"


def _durations(groups: Groups) -> list[str]:
    means = {
        name: float(
            np.mean(np.concatenate([r.rounds["end_s"] - r.rounds["start_s"] for r in runs]))
        )
        for name, runs in groups.items()
        if any(run.n_rounds for run in runs)
    }
    if len(means) == 1:
        run = next(run for runs in groups.values() for run in runs if run.n_rounds)
        ended = f"{formats.plural(run.n_rounds, 'round')} took {formats.duration(run.end_s)}"
        return [f"{ended} of virtual time: {formats.duration(*means.values())} each."]
    ranked = sorted(means.items(), key=lambda pair: pair[1])
    fastest, best = ranked[0]
    sentences = [f"{fastest} has the shortest rounds: {formats.duration(best)} in the mean."]
    slowest, most = ranked[-1]
    if best > 0:
        ratio = formats.times(most / best)
        sentences.append(f"{slowest} takes {formats.duration(most)} ({ratio} as long).")
    return sentences


def notes(groups: Groups) -> list[tuple[str, str]]:
    """Return what a reader must know before believing the numbers: a heading and a sentence."""
    runs = [run for members in groups.values() for run in members]
    found = []
    if any(run.time_only for run in runs):
        text = "nothing was trained, so there is no accuracy; only times, bytes and energy count."
        found.append(("Time only", text))
    if any(run.oracle for run in runs):
        names = [name for name, members in groups.items() if any(run.oracle for run in members)]
        who = f" ({formats.listed(names)})" if len(groups) > 1 else ""
        found.append(
            (
                "Oracle selector",
                f"it saw what no server can know, such as true speeds or labels{who}: an upper "
                "bound, not a method.",
            )
        )
    if open_ := [run for run in runs if run.summary is None]:
        which = formats.listed(
            [f"{run.variant} seed {run.seed} (round {run.n_rounds})" for run in open_]
        )
        found.append(("Not finished", f"{which}; `simfl resume` goes on where it stopped."))
    found += [("Never heard", text) for text in _never_heard(groups)]
    found += [("Wasted", text) for text in _wasted(groups)]
    issued = sum(run.summary["trainings"]["issued"] for run in runs if run.summary)
    dropped = sum(run.summary["trainings"]["dropped"] for run in runs if run.summary)
    if dropped and not all(run.time_only for run in runs):
        found.append(
            ("Never trained", f"{dropped:,} of {issued:,} trainings were dropped before they cost.")
        )
    return found


def _never_heard(groups: Groups) -> list[str]:
    """Say whose data did not take part, where that is much of it."""
    found = []
    for name, runs in groups.items():
        devices = [Devices.of(run) for run in runs]
        share, index = max((one.samples_lost, -i) for i, one in enumerate(devices))
        if share >= BIASED:
            who = formats.plural(int(devices[-index].never.sum()), "device")
            of = f" with {name}" if len(groups) > 1 else ""
            seed = f" (seed {runs[-index].seed})" if len(runs) > 1 else ""
            held = (
                f"{who}{of}{seed}, with {formats.percent(share, 0)} of the samples of those asked"
            )
            found.append((share, held))
    return [f"{told}: no update of theirs ever counted." for told in _worst(found)]


def _wasted(groups: Groups) -> list[str]:
    found = []
    for name, runs in groups.items():
        share = sum(r.wasted_bytes for r in runs) / (sum(r.total_bytes for r in runs) or 1.0)
        if share >= WASTEFUL:
            of = f" ({name})" if len(groups) > 1 else ""
            found.append((share, f"{formats.percent(share)}{of}"))
    if len(groups) == 1:
        return [f"{told} of all bytes came to nothing." for told in _worst(found)]
    return [f"of all bytes, so many came to nothing: {told}." for told in _worst(found)]


def _worst(found: list[tuple[float, str]]) -> list[str]:
    """Return the worst few in one line, or nothing."""
    ranked = [text for _, text in sorted(found, key=lambda pair: -pair[0])]
    others = len(ranked) - NAMED
    more = [f"less with {formats.plural(others, 'other variant')}"] if others > 0 else []
    return ["; ".join(ranked[:NAMED] + more)] if ranked else []
