"""One variant of a document: what it changes, and what it alone may have."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice

from simfl.core.arguments import called
from simfl.errors import ScenarioError
from simfl.scenario.conflicts import refuse_what_is_undone
from simfl.scenario.document import Document
from simfl.scenario.parts.sweep import Point
from simfl.scenario.problems import report
from simfl.scenario.scenario import Scenario, check

FEW, LOOKED_AT = 3, 20
"""Variants that a hint names, and that are looked at for it."""
DEFAULT = "default"
"""What the only variant of a scenario without variants is called."""
_EXPANDED = ("variants", "sweep", "tune", "seeds")
"""What a run's own scenario has no more."""
_OF_ALL = (*_EXPANDED, "seed")
"""What belongs to the scenario, not to a variant of it."""


def variant(document: Document, name: str | None, point: Point = ()) -> Document:
    """Return `document` as its variant `name` (None: no variant) has it, at a point of its sweep.

    Where it has no variants, `DEFAULT` is what it is itself.

    Raises:
        ScenarioError: a change can't be made.
    """
    changed = document
    if name == DEFAULT and not document.data.get("variants"):
        name = None
    own = [] if name is None else document.variant(name)
    swept = [document.override(*factor) for factor in point]
    refuse_what_is_undone(document, swept)
    refuse_what_is_undone(document, [*own, *swept], len(own))  # over a variant's, sweeps win
    for override in (*own, *swept):
        if (key := override.path[0]) in _OF_ALL:
            place = override.marks[override.path].key
            raise ScenarioError(f"{place}: a variant can't change {key!r}: all run with all seeds")
        changed = changed.change(override)
    for override in document.overrides:
        if override.path[0] not in _EXPANDED:
            changed = changed.change(override)
    data = {key: value for key, value in changed.data.items() if key not in _EXPANDED}
    return replace(changed, data=data)


def read_with(document: Document, only: Sequence[str]) -> Scenario:
    """Return the scenario that `document` describes, of which `only` these variants are asked for.

    Where one of them alone has what `Document.set` changes, such as an option of its own round
    policy, it is the scenario with that variant's changes.

    Raises:
        ScenarioError: everything that is wrong with it.
    """
    scenario, problems = check(document)
    if scenario is not None:
        return scenario
    for name in only if document.overrides else ():
        if (scenario := _with_variant(document, name)) is not None:
            return scenario
    told = report(document, problems)
    if document.overrides and (having := list(islice(_having(document), FEW))):
        told += f"\nwith {called('--variant', 'variants')} {' or '.join(having)} it can be set"
    raise ScenarioError(told)


def _having(document: Document) -> Iterator[str]:
    """Yield the variants that alone have what `Document.set` changes."""
    variants = document.data.get("variants")
    for name in islice(variants, LOOKED_AT) if isinstance(variants, dict) else ():
        if _with_variant(document, name) is not None:
            yield name


def _with_variant(document: Document, name: str) -> Scenario | None:
    """Return a scenario with the changes of one of its variants (None: they don't fit)."""
    variants = document.data.get("variants")
    if not isinstance(variants, dict) or not isinstance(variants.get(name), dict):
        return None
    with suppress(ScenarioError):
        changed = variant(document, name)
        several = {key: document.data[key] for key in _EXPANDED if key in document.data}
        return check(replace(changed, data={**changed.data, **several}))[0]
    return None
