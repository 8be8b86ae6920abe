"""Telling runs apart: by variant, by scenario, by where they are."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from simfl.errors import InputError, listed_hint, nearest
from simfl.runs.folder.folder import study_folder
from simfl.runs.results.result import RunResult
from simfl.scenario.language.place import as_written, flat

Groups = Mapping[str, Sequence[RunResult]]
"""Runs by variant."""
_STEP = re.compile(r"[.\[]")
_VALUES = re.compile(r"=([^_=]+)(?=_|$)")
"""Of what a sweep varied, in a variant's name: ``compression=top-k_lr=0.1``."""
_MEANT = 3
"""Variants that a hint names: a value of more says too little."""
_SEED = re.compile(r"^seed: .*$", re.MULTILINE)
_TIME_ONLY, _FORKED = "time only", "forked"
_Made = tuple[bool, str, str, tuple[tuple[str, str], ...]]
_SHOWN = 2
"""Differences between scenarios that a name tells."""
_DIGITS = 8
"""Of a digest that is told."""


def require_variant(variant: str, groups: Groups) -> None:
    """Refuse a `variant` of which there are no runs.

    Raises:
        InputError: naming the nearest that there is.
    """
    if variant not in groups:
        value = variant.replace("_", "-")
        having = [name for name in groups if value in _VALUES.findall(name)]
        hint = listed_hint(having) if 0 < len(having) <= _MEANT else nearest(variant, groups)
        raise InputError(f"no variant {variant!r} was run{hint}")


def all_runs(groups: Groups) -> list[RunResult]:
    """Return the runs of all variants."""
    return list(chain.from_iterable(groups.values()))


def with_clients(groups: Groups) -> Groups:
    """Return the runs whose folders say what each client did (not under ``--log none``)."""
    kept = {name: [run for run in runs if run.log != "none"] for name, runs in groups.items()}
    return {name: runs for name, runs in kept.items() if runs}


def share_seeds(groups: Groups, baseline: str) -> bool:
    """Whether another variant has several seeds that the `baseline` has, too."""
    seeds = {name: {run.seed for run in runs} for name, runs in groups.items()}
    base = seeds.pop(baseline)
    return any(len(base & own) > 1 for own in seeds.values())


def by_variant(results: Iterable[RunResult]) -> dict[str, list[RunResult]]:
    """Return runs by variant, in the order in which variants first come; seeds inside.

    Runs of several scenarios are told apart by the scenario's name.  Runs of one variant whose
    scenarios differ in more than the seed are told apart by what they differ in.  Runs of the same
    variant and seed can't all be repetitions of one thing: they are told apart by where they are.
    A run that is there twice, as where loaded ones were added to others, is there once.
    """
    results = list({run.folder.resolve(): run for run in results}.values())
    several = len({run.name for run in results}) > 1
    named = [(f"{run.name}/{run.variant}" if several else run.variant, run) for run in results]
    by_name: dict[str, list[RunResult]] = {}
    for name, run in named:
        by_name.setdefault(name, []).append(run)
    more = {name: _differences(runs) for name, runs in by_name.items()}
    named = [(name + more[name].get(_made(run), ""), run) for name, run in named]
    runs_by_seed = Counter((name, run.seed) for name, run in named)
    repeated = {name for (name, _), count in runs_by_seed.items() if count > 1}
    groups: dict[str, list[RunResult]] = {}
    for name, run in named:
        where = f" in {_place(run)}" if name in repeated else ""
        groups.setdefault(name + where, []).append(run)
    return groups


def _made(run: RunResult) -> _Made:
    """Return what all seeds of a variant share: trained or not, scenario, past forks, files."""
    files = tuple(sorted(run.contents.items()))
    return run.time_only, _SEED.sub("", run.scenario_text), _forks(run), files


def _forks(run: RunResult) -> str:
    """Return when a run was forked, and to what; one that was only made longer is no other."""
    forks = [fork for fork in run.forks if not only_longer(fork)]
    return ", ".join(f"at {fork['at_s']:g} s ({' '.join(fork.get('set', []))})" for fork in forks)


def only_longer(fork: Mapping[str, Any]) -> bool:
    """Whether a fork changes no more than when the run ends: then it is the run that was longer.

    Args:
        fork: as provenance has it.
    """
    paths = [str(change).partition("=")[0].strip() for change in fork.get("set", [])]
    return all(path == "rounds.stop" or path.startswith("rounds.stop.") for path in paths)


def _differences(runs: Sequence[RunResult]) -> dict[_Made, str]:
    """Return what to say of each way in which `runs` were made, where there are several."""
    ways = {_made(run): run for run in runs}
    if len(ways) < 2:
        return {}
    facts = {way: _facts(run) for way, run in ways.items()}
    paths = dict.fromkeys(path for known in facts.values() for path in known)
    differing = [path for path in paths if _differs(path, list(facts.values()))]
    alike: dict[str, dict[tuple[str, ...], int]] = {}
    told = {}
    for way, known in facts.items():
        text, values = _told(known, differing), tuple(as_written(known.get(p)) for p in differing)
        numbers = alike.setdefault(text, {})
        number = numbers.setdefault(values, len(numbers) + 1)
        told[way] = text if number == 1 else f"{text} #{number}"
    return told


def _differs(path: str, facts: Sequence[Mapping[str, Any]]) -> bool:
    """Whether scenarios differ in a path.

    One that lacks an option is older than it; one that has something else there, or fewer items in
    a list, differs.
    """
    values = {as_written(known[path]) for known in facts if path in known}
    lacking = [known for known in facts if path not in known]
    above = [path[: match.start()] for match in _STEP.finditer(path)]
    return len(values) > 1 or any(
        any(upper in known for upper in above)
        or any(_is_within(other, path) for other in known)
        or any(
            not any(_is_within(other, item) or other == item for other in known)
            for item in (*above, path)
            if item.endswith("]")
        )
        for known in lacking
    )


def _is_within(path: str, above: str) -> bool:
    return path.startswith((f"{above}.", f"{above}["))


def _facts(run: RunResult) -> dict[str, Any]:
    """Return the scenario of a run by path; what it names is not imported."""
    own = {path: value for path, value in flat(run.scenario).items() if path != "seed"}
    return {_TIME_ONLY: run.time_only, _FORKED: _forks(run), **own, **contents_of(run)}


def contents_of(run: RunResult) -> dict[str, str]:
    """Return what a run's scenario does not tell of its files: a short digest of each."""
    return {f"contents of {name}": digest[:_DIGITS] for name, digest in run.contents.items()}


def _told(facts: Mapping[str, Any], differing: Sequence[str]) -> str:
    parts = [f"{p} {as_written(facts.get(p))}" for p in differing if p not in (_TIME_ONLY, _FORKED)]
    if len(parts) > _SHOWN:
        parts = [*parts[:_SHOWN], f"and {len(parts) - _SHOWN} more"]
    if _TIME_ONLY in differing:
        parts = [_TIME_ONLY if facts[_TIME_ONLY] else "trained", *parts]
    if _FORKED in differing:
        forked = str(facts[_FORKED]).partition(" (")[0]
        parts = [f"{_FORKED} {forked}" if forked else "not forked", *parts]
    return f" ({', '.join(parts)})" if parts else ""


def _place(run: RunResult) -> Path:
    """Return the folder that holds a run's variants, or the run's own if it was put elsewhere."""
    return study_folder(run.folder, run.variant, run.seed) or run.folder
