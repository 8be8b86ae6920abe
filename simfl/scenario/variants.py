"""One document -> the runs it stands for: every variant with every seed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from simfl.errors import InputError, ScenarioError
from simfl.scenario.document import Document
from simfl.scenario.experiment import SEEDS
from simfl.scenario.problems import report
from simfl.scenario.scenario import Scenario, check, read

DEFAULT = "default"
"""What the only variant of a scenario without variants is called."""


class Run(NamedTuple):
    """One run of a scenario: a variant of it with a seed."""

    variant: str
    seed: int
    scenario: Scenario


def expand(source: Document | Scenario, seeds: Sequence[int] | None = None) -> list[Run]:
    """Return every run that `source` stands for, variants in the order written, seeds inside.

    Each run's scenario is complete: it has the variant's changes, its own seed, and neither
    variants nor seeds.  Changes made by `Document.set` win over a variant's.

    Args:
        source: a scenario, or a document that describes one.
        seeds: instead of its own.

    Raises:
        ScenarioError: everything that is wrong with it or with a variant of it.
    """
    base = source if isinstance(source, Scenario) else read(source)
    seeds = base.seeds or (base.seed,) if seeds is None else _checked(seeds)
    if not base.variants:
        return _runs(DEFAULT, base, seeds)
    document = _document(base)
    runs: list[Run] = []
    failures: list[str] = []
    for name in base.variants:
        try:
            changed = variant(document, name)
        except ScenarioError as error:
            failures.append(f"{error} (in variant {name!r})")
            continue
        scenario, problems = check(changed)
        if scenario is None:
            lines = report(changed, problems).splitlines()
            failures.extend(f"{line} (in variant {name!r})" for line in lines)
        else:
            runs.extend(_runs(name, scenario, seeds))
    if failures:
        raise ScenarioError("\n".join(dict.fromkeys(failures)))
    return runs


def variant(document: Document, name: str) -> Document:
    """Return `document` as its variant `name` has it.

    Raises:
        ScenarioError: a change of the variant can't be made.
    """
    changed = document
    for override in document.variant(name):
        if (key := override.path[0]) in ("variants", "seed", "seeds"):
            place = override.marks[override.path].key
            raise ScenarioError(f"{place}: a variant can't change {key!r}: all run with all seeds")
        changed = changed.change(override)
    for override in document.overrides:
        if override.path[0] not in ("variants", "seeds"):
            changed = changed.change(override)
    data = {key: value for key, value in changed.data.items() if key not in ("variants", "seeds")}
    return replace(changed, data=data)


def _document(scenario: Scenario) -> Document:
    """Return the document that `scenario` was read from, or one that describes it."""
    document = scenario._document
    seeds = {"seed": scenario.seed, "seeds": scenario.seeds}
    if document is not None and read(document).model_copy(update=seeds) == scenario:
        return document
    return Document.of(scenario.to_dict(), folder=scenario.folder)


def _checked(seeds: Sequence[int]) -> Sequence[int]:
    """Return `seeds` if a scenario could have them.

    Raises:
        InputError: one is out of range or listed twice.
    """
    seen: set[int] = set()
    for seed in seeds:
        if not 0 <= seed < SEEDS:
            raise InputError(f"a seed must be at least 0 and below 2^63, but got {seed}")
        if seed in seen:
            raise InputError(f"seed {seed} is listed twice")
        seen.add(seed)
    return seeds


def _runs(name: str, scenario: Scenario, seeds: Sequence[int]) -> list[Run]:
    return [
        Run(name, seed, scenario.model_copy(update={"seed": seed, "variants": {}, "seeds": ()}))
        for seed in seeds
    ]
